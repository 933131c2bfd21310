"""A failed call of a handler leaves one line in the log, with its ids and its traceback."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.carrying import AUTO, KIND, MEET
from tests.cli.processes import started
from tests.databases import Clock, Place
from tests.hostile import RAISED
from tests.messages import claim, letter, put
from watchkeeper import App
from watchkeeper.actions.deliver_messages import finish
from watchkeeper.errors import Unavailable
from watchkeeper.failures import TRACEBACK_LENGTH_MAX, traceback_of
from watchkeeper.handlers.attempts import attempt
from watchkeeper.handlers.results import Retry

pytestmark = pytest.mark.req("O-03")

LOGGER = "watchkeeper.handlers"


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False)
    app.apply_policy(AUTO, reason="actions go by themselves")
    yield app
    app.close()


def failures(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [one for one in caplog.records if one.name == LOGGER]


def fail(_argument: object) -> None:
    raise ValueError("no, password=hunter22")


async def fail_async(_argument: object) -> None:
    raise ValueError("no, password=hunter22")


def only(caplog: pytest.LogCaptureFixture) -> Any:
    [record] = failures(caplog)
    assert record.levelno == logging.ERROR, "seen at the default level"
    assert "ValueError: no, password=[redacted]" in record.getMessage()
    assert "hunter22" not in caplog.text
    assert f"in {'fail'}" in record.exc_text, "the traceback names the function"
    assert "Traceback (most recent call last)" in caplog.text, "any formatter shows it"
    return record


@pytest.mark.parametrize("handler", [fail, fail_async], ids=["sync", "async"])
def test_a_decision(app: App, caplog: pytest.LogCaptureFixture, handler: Any) -> None:
    app.decision(handler)
    verdict = app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key="k")
    app.drain()
    record = only(caplog)
    assert (record.handler, record.tenant_id, record.account_id) == ("decision", "acme", "ann")
    assert (record.decision_id, record.attempt) == (verdict.decision_id, 1)
    assert record.topic == "decision.evaluation_requested"
    assert verdict.decision_id in record.getMessage()


@pytest.mark.parametrize("handler", [fail, fail_async], ids=["sync", "async"])
def test_a_connector(app: App, caplog: pytest.LogCaptureFixture, handler: Any) -> None:
    app.connector("crm", cadence=False)(handler)
    app.set_pull_budget("acme", 100)
    app.pull("acme", "ann", "crm", pull_job_id="p1")
    app.drain()
    record = only(caplog)
    told = (record.handler, record.pull_job_id, record.connector_id, record.account_id)
    assert told == ("connector", "p1", "crm", "ann")


@pytest.mark.parametrize("handler", [fail, fail_async], ids=["sync", "async"])
def test_an_action(app: App, caplog: pytest.LogCaptureFixture, handler: Any) -> None:
    app.action(MEET, risk="low")(handler)
    plan = app.plans.create("acme", "ann", KIND, [MEET])
    app.plans.approve(plan.plan_id, by="ann")
    app.drain()
    record = only(caplog)
    assert (record.handler, record.plan_id, record.action_type) == ("action", plan.plan_id, MEET)
    assert record.intent_id


@pytest.mark.parametrize("handler", [fail, fail_async], ids=["sync", "async"])
def test_a_proposer(app: App, caplog: pytest.LogCaptureFixture, handler: Any) -> None:
    app.proposer()(handler)
    with pytest.raises(Unavailable):
        app.plans.propose("acme", "ann", KIND)
    record = only(caplog)
    assert (record.handler, record.account_id, record.plan_type) == ("proposer", "ann", KIND)


@pytest.mark.parametrize("handler", [fail, fail_async], ids=["sync", "async"])
def test_a_usage_sink(app: App, caplog: pytest.LogCaptureFixture, handler: Any) -> None:
    app.usage_sink(handler)
    asked = {"model": "standard", "estimated_input_tokens": 1, "max_output_tokens": 1}
    turn = app.reserve_turn("acme", request_id="r", **asked)
    app.finalize_turn("acme", turn.turn_id, outcome="completed")
    app.drain()
    record = only(caplog)
    assert (record.handler, record.tenant_id) == ("usage sink", "acme")


def test_an_answer_of_a_topic_is_a_warning(app: App, caplog: pytest.LogCaptureFixture) -> None:
    @app.on("mine")
    def mine(_message: object) -> None:
        raise Retry("busy", after=5) from OSError("refused")

    [id] = put(app.db, letter(topic="mine"))
    app.drain()
    [record] = failures(caplog)
    assert record.levelno == logging.WARNING
    assert (record.handler, record.message_id) == ("topic", id)
    assert "OSError: refused" in record.exc_text, "causes are told too"


def test_a_failure_whose_end_is_written_again_is_told_once(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    app.on("mine")(fail)
    put(app.db, letter(topic="mine"))
    topic = app.registry.get("watchkeeper", "mine")
    assert topic is not None
    [message] = claim(app.db, topic="mine")
    ended = attempt(topic, message, message)
    for _ in range(3):
        finish(app.db, app.registry, [ended])
    assert only(caplog).message_id == message.id


@pytest.mark.parametrize("name", RAISED)
def test_no_exception_is_too_strange_to_be_told(name: str) -> None:
    try:
        RAISED[name]()
    except BaseException as error:
        told = traceback_of(error)
        assert "Traceback" in told or "…" in told or len(told) == TRACEBACK_LENGTH_MAX
        assert len(told) <= TRACEBACK_LENGTH_MAX
        told.encode()
        assert "\x00" not in told


AGENTS = """
import sys
from watchkeeper import App
app = App({url!r}, migrate=False)

@app.decision
def decide(run):
    print("begun", file=sys.stderr, flush=True)
    raise ValueError("no, password=hunter22")

@app.on("mine")
def mine(message):
    pass
"""


def test_a_worker_process_logs_its_start_a_failure_and_its_stop(
    place: Place, clock: Clock, tmp_path: Path
) -> None:
    clock.make_real()
    (tmp_path / "agents.py").write_text(AGENTS.format(url=place.url))
    app = App(place.url, migrate=False)
    verdict = app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key="k")
    with started("worker", "--app", "agents:app", folder=tmp_path) as worker:
        worker.wait_for("worker started")
        sql = "select count(*) from outbox where status = 'dead'"
        while place.execute(sql) != [(1,)]:
            app.db.wait_for_news(app.db.news_count, 0.05)
        worker.tell()
        assert worker.end() == 0
    app.close()
    lines = [json.loads(line) for line in worker.errors if line.startswith("{")]
    [start] = [one for one in lines if one["event"].startswith("worker started")]
    assert "watchkeeper 0" in start["event"]
    assert "handlers: decision, topic mine" in start["event"]
    assert "mine" in start["event"].partition("topics:")[2]
    [failure] = [one for one in lines if one["logger"] == LOGGER]
    assert (failure["level"], failure["handler"]) == ("error", "decision")
    assert (failure["tenant_id"], failure["account_id"]) == ("acme", "ann")
    assert failure["decision_id"] == verdict.decision_id
    assert "in decide" in failure["exception"]
    assert "hunter22" not in "".join(worker.errors)
    assert any(one["event"].startswith("worker stopped") for one in lines)


def test_what_is_given_up_at_a_stop_is_named(
    app: App, place: Place, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    import threading

    clock.make_real()
    begun, go = threading.Event(), threading.Event()

    @app.on("mine")
    def mine(_message: object) -> None:
        begun.set()
        go.wait(60)

    [id] = put(app.db, letter(topic="mine"))
    workers = app.start_workers()
    assert begun.wait(60)
    workers.stop(0.1)
    go.set()
    [told] = [one for one in caplog.messages if one.startswith("worker stopped")]
    assert f"1 messages are given up, their handlers have not returned: mine {id} of acme" in told
