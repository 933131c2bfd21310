"""The Python door, as a program would use it, on both databases."""

import asyncio
import sqlite3
import threading
from datetime import timedelta

import pytest

from tests.verify_clean import assert_verified
from watchkeeper import App, Decision
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.store import ledger

STORM = 200


@pytest.fixture
def app(db_url):
    app = App(db_url, migrate=False)
    yield app
    app.close()


@pytest.mark.req("U-01", "D-14", "D-06")
def test_a_storm_of_signals_becomes_one_run_that_is_told_of_all_of_them(app):
    runs = []

    @app.decision
    def decide(run):
        runs.append(run)
        return Decision(note="looked at it")

    first = app.signal("acme", "acct-1", "mail", data={"n": 0})
    assert first.verdict.allowed
    for n in range(1, STORM):
        assert not app.signal("acme", "acct-1", "mail", data={"n": n}).verdict.allowed
    app.drain()
    assert [len(run.signals) for run in runs] == [1]

    app.clock.advance(seconds=61)
    last = app.signal("acme", "acct-1", "mail", data={"n": STORM})
    assert last.verdict.retry_after_seconds == 239
    app.clock.advance(minutes=10)
    assert [signal.data["n"] for signal in runs[1].signals] == list(range(1, STORM + 1))
    assert_verified(app.db)


@pytest.mark.req("D-14")
def test_an_async_handler_is_called_like_any_other(app):
    seen = []

    @app.decision
    async def decide(run):
        await asyncio.sleep(0)
        seen.append(run.account_id)

    app.trigger("acme", "acct-1", "SIGNAL_ARRIVED", idempotency_key="k")
    app.drain()
    assert seen == ["acct-1"]


@pytest.mark.req("D-05")
def test_a_failed_run_is_not_run_again_by_itself(app):
    calls = []

    @app.decision
    def decide(run):
        calls.append(run)
        raise RuntimeError("the model is down")

    app.trigger("acme", "acct-1", "SIGNAL_ARRIVED", idempotency_key="k")
    app.drain()
    app.clock.advance(days=2)
    assert len(calls) == 1


@pytest.mark.req("U-02", "U-12")
def test_an_app_in_memory_has_a_clock_that_moves_when_told(watchkeeper_app):
    before = watchkeeper_app.clock.now()
    watchkeeper_app.clock.advance(hours=12)
    assert watchkeeper_app.clock.now() - before == timedelta(hours=12)


@pytest.mark.req("U-01", "D-02")
def test_bad_input_names_its_place_and_stores_nothing(app):
    good = {"account_id": "a", "trigger_type": "SIGNAL_ARRIVED", "idempotency_key": "k"}
    with pytest.raises(Invalid, match=r"events\[1\].idempotency_key"):
        app.trigger_many("acme", [good, {**good, "idempotency_key": ""}])
    assert app.trigger_many("acme", [good])[0].allowed


@pytest.mark.req("U-01")
@pytest.mark.parametrize("decision_id", ["01a1e24a-b1de-7283-8515-bf1530136a19", "nonsense"])
def test_explaining_an_unknown_decision_says_that_there_is_none(app, decision_id):
    with pytest.raises(NotFound):
        app.explain(decision_id)


@pytest.mark.req("U-01", "T-02")
def test_an_explanation_names_the_check_that_bound(app):
    app.signal("acme", "acct-1", "mail")
    held_back = app.signal("acme", "acct-1", "mail").verdict
    explanation = app.explain(held_back.decision_id)
    assert explanation.agrees
    assert explanation.trail.binding_check == "debounce"


@pytest.mark.req("U-03", "S-10")
def test_a_message_left_in_my_transaction_shares_its_fate(tmp_path):
    app = App(f"sqlite:///{tmp_path}/mine.db")
    heard = []
    app.on("invoice.paid")(lambda message: heard.append(message.payload))
    for keep in (False, True):
        mine = sqlite3.connect(tmp_path / "mine.db", isolation_level=None)
        mine.execute("begin immediate")
        app.enqueue(mine, "invoice.paid", {"keep": keep}, tenant_id="acme")
        mine.execute("commit" if keep else "rollback")
        mine.close()
    app.drain()
    app.close()
    assert heard == ['{"keep":true}']


@pytest.mark.req("U-03")
def test_an_engine_of_mine_names_the_database(db_url):
    from sqlalchemy import create_engine

    url = db_url.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url)
    app = App(engine, migrate=False)
    assert app.trigger("acme", "a", "SIGNAL_ARRIVED", idempotency_key="k").allowed
    app.close()
    engine.dispose()


@pytest.mark.req("D-14", "O-03")
def test_workers_in_the_background_run_what_was_allowed(app):
    done = threading.Event()
    app.decision(lambda _run: done.set())
    app.start_workers()
    app.trigger("acme", "acct-1", "SIGNAL_ARRIVED", idempotency_key="k")
    assert done.wait(60)


@pytest.mark.req("D-09")
def test_a_kill_switch_thrown_after_the_verdict_stops_the_call(app):
    calls = []
    app.decision(calls.append)
    allowed = app.trigger("acme", "acct-1", "SIGNAL_ARRIVED", idempotency_key="k")
    assert allowed.allowed
    app.kill("tenant", tenant_id="acme", reason="the model talks nonsense")
    app.drain()
    assert calls == []
    assert_verified(app.db)


@pytest.mark.req("D-05", "O-23")
@pytest.mark.parametrize("words", ["\x00", "\ud800", "x" * 100_000])
def test_whatever_a_handler_says_its_run_ends(app, words):
    @app.decision
    def decide(run):
        if run.account_id == "bad":
            raise RuntimeError(words)
        return Decision(note=words)

    for account_id in ("bad", "good"):
        app.trigger("acme", account_id, "SIGNAL_ARRIVED", idempotency_key=account_id)
    app.drain()
    with app.db.read("acme") as tx:
        ended = ledger.newest(tx, {"kind": "run.ended"}, limit=10)
    assert {(e.entry.subject, e.entry.result) for e in ended} == {
        ("bad", "FAILED"),
        ("good", "SUCCEEDED"),
    }
