"""Decision runs as turns: reserved before the call, settled with what the handler reports."""

import json
from collections.abc import Iterator

import pytest

from tests.books import Meter, balanced, events, levels
from tests.databases import START_AT, Clock, Place
from tests.metered import METERED, USED, Worker
from watchkeeper import App, Decision
from watchkeeper.actions.deliver_messages import finish
from watchkeeper.actions.keep_desk import discard_message, redrive_message
from watchkeeper.actions.show_turn import turns_of_decision
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.quota import TOKENS_MAX
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Invalid
from watchkeeper.handlers.registry import Ended, NotStarted
from watchkeeper.handlers.results import Reject
from watchkeeper.store import outbox_settle
from watchkeeper.store.leases import Message

ACME = TenantId("acme")


@pytest.fixture
def app(db_url: str, clock: Clock) -> Iterator[App]:
    opened = App(db_url, migrate=False)
    yield opened
    opened.close()


@pytest.fixture
def worker(app: App) -> Worker:
    return Worker(app)


@pytest.fixture
def meter(app: App) -> Meter:
    return Meter(app.db)


def turns(place: Place) -> list[tuple]:
    return place.execute(
        "select state, settlement_method, charged_micro, ended_by from turns"
        " order by reserved_at, turn_id"
    )


def runs(place: Place) -> list[str]:
    return [state for (state,) in place.execute("select state from runs order by decision_id")]


def dead(place: Place) -> list[str]:
    rows = place.execute("select dead_reason from outbox where status = 'dead' order by id")
    return [reason for (reason,) in rows]


@pytest.mark.req("S-01", "S-06")
def test_quota_is_reserved_before_the_handler_is_called(
    worker: Worker, meter: Meter, place: Place
) -> None:
    decision_id = worker.trigger()
    [message] = worker.claim()
    assert turns(place) == []
    [run] = worker.start(message).values()
    assert (run.turn_id, run.effective_model) == (decision_id, "standard")
    assert meter.stored(decision_id).started_at == START_AT, "the call is the start"
    assert levels(place)["daily", START_AT, "total"] == (400, 0)
    worker.end(message, run, Decision(usage=USED))
    assert turns(place) == [("completed", "actual", 40, "run")]
    assert runs(place) == ["SUCCEEDED"]
    assert balanced(place) == {"completed": 1}


@pytest.mark.req("S-01")
def test_the_handler_is_told_which_model_it_may_use(app: App, meter: Meter, place: Place) -> None:
    meter.policy("[quota.tenant.daily]\ntiers.premium = 2000\n")
    told: list[str] = []

    @app.decision(model="premium", estimated_input_tokens=100, max_output_tokens=100)
    def decide(run) -> Decision:
        told.append(run.effective_model)
        return Decision(usage={"input_tokens": 100, "output_tokens": 100})

    for account in ("ann", "bob"):
        app.trigger("acme", account, "SIGNAL_ARRIVED", idempotency_key=account)
        app.drain()
    assert told == ["premium", "standard"]
    assert balanced(place) == {"completed": 2}


@pytest.mark.req("S-05")
def test_a_run_that_says_nothing_is_estimated(worker: Worker, place: Place) -> None:
    answers = [None, "done", Decision(note="ok"), Decision(usage=None)]
    for n, answer in enumerate(answers):
        worker.do(answer, account=f"a{n}")
    assert turns(place) == [("completed", "estimated", 250, "run")] * len(answers)
    balanced(place)


@pytest.mark.req("S-05")
def test_a_run_that_raises_is_estimated_and_failed(worker: Worker, place: Place) -> None:
    for n, error in enumerate([ValueError("bad"), Reject("never"), SystemExit(1)]):
        worker.do(error, account=f"a{n}")
    assert turns(place) == [("failed", "estimated", 250, "run")] * 3
    assert runs(place) == ["FAILED"] * 3
    assert balanced(place) == {"failed": 3}


class Hostile(dict):
    """A mapping that does not want to be read."""

    def get(self, *_: object) -> object:
        raise RuntimeError("no")

    __getitem__ = get


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


JUNK = {
    "no counters": {},
    "one counter": {"input_tokens": 1},
    "negative": {"input_tokens": -1, "output_tokens": 1},
    "floats": {"input_tokens": 1.0, "output_tokens": 1.0},
    "not numbers": {"input_tokens": "1", "output_tokens": float("nan")},
    "truths": {"input_tokens": True, "output_tokens": True},
    "too many": {"input_tokens": TOKENS_MAX + 1, "output_tokens": 0},
    "hostile": Hostile(USED),
    "a list": [1, 2],
    "a text": "12 tokens",
    "a number": 12,
    "an object": Unspeakable(),
}


@pytest.mark.req("S-05", "S-04")
def test_junk_for_usage_is_charged_by_estimate(worker: Worker, place: Place) -> None:
    for n, usage in enumerate(JUNK.values()):
        worker.do(Decision(usage=usage), account=f"a{n}")
    assert turns(place) == [("completed", "estimated", 250, "run")] * len(JUNK)
    assert runs(place) == ["SUCCEEDED"] * len(JUNK)
    balanced(place)


@pytest.mark.req("S-01")
def test_a_kill_switch_between_allow_and_call_reserves_nothing(
    worker: Worker, app: App, place: Place
) -> None:
    worker.trigger()
    app.kill("tenant", reason="stop", tenant_id="acme")
    assert worker.start(*worker.claim()) == {}
    assert turns(place) == []
    assert (runs(place), dead(place)) == (["FAILED"], ["KILL_SWITCH"])
    assert balanced(place) == {}


@pytest.mark.req("S-01")
def test_over_quota_the_handler_is_not_called_and_may_be_redriven_later(
    worker: Worker, app: App, meter: Meter, place: Place, clock: Clock
) -> None:
    meter.policy("[quota.tenant.daily]\ntotal = 500\n")
    first, second = worker.trigger("ann"), worker.trigger("bob")
    messages = worker.claim()
    ready = worker.start(*messages)
    assert len(ready) == 1, "one of the two fits"
    [(winner, run)] = ready.items()
    [loser] = {first, second} - {winner}
    assert (sorted(runs(place)), dead(place)) == (["FAILED", "RUNNING"], ["QUOTA_EXCEEDED"])
    error = place.execute("select last_error from outbox where status = 'dead'")[0][0]
    assert "quota_exceeded" in error
    assert "400 of 500 are taken" in error
    worker.end(next(m for m in messages if m.id == winner), run, Decision(usage=USED))
    assert turns(place) == [("completed", "actual", 40, "run")]
    clock.advance(days=1)
    redrive_message(app.db, app.registry, ACME, MessageId(loser))
    [again] = worker.claim()
    [run] = worker.start(again).values()
    assert run.turn_id not in (first, second), "another piece of work"
    worker.end(again, run, Decision(usage=USED))
    assert sorted(runs(place)) == ["SUCCEEDED", "SUCCEEDED"]
    assert balanced(place) == {"completed": 2}


@pytest.mark.req("S-05", "S-06")
def test_a_worker_that_dies_leaves_a_turn_that_fails(
    worker: Worker, app: App, place: Place, clock: Clock
) -> None:
    """When its lease is over nobody knows what it did: the run, and the turn, end with that."""
    decision_id = worker.trigger()
    [message] = worker.claim()
    [run] = worker.start(message).values()
    clock.advance(61)
    assert worker.claim() == []
    assert (runs(place), dead(place)) == (["OUTCOME_UNKNOWN"], ["OUTCOME_UNKNOWN"])
    assert turns(place) == [("failed", "estimated", 250, "run")]
    assert worker.end(message, run, Decision(usage=USED)) == {"fenced": 1}
    assert turns(place) == [("failed", "estimated", 250, "run")], "it comes too late"
    redrive_message(app.db, app.registry, ACME, MessageId(decision_id), force=True)
    [again] = worker.claim()
    [run] = worker.start(again).values()
    worker.end(again, run, Decision(usage=USED))
    assert [turn[:3] for turn in turns(place)] == [
        ("failed", "estimated", 250),
        ("completed", "actual", 40),
    ]
    balanced(place)


@pytest.mark.req("S-06")
def test_the_watchdog_leaves_a_run_under_a_living_lease_alone(
    worker: Worker, meter: Meter, app: App, place: Place, clock: Clock
) -> None:
    worker.trigger()
    [message] = worker.claim()
    [run] = worker.start(message).values()
    for _ in range(20):  # twenty minutes, and a timeout of five
        clock.advance(59)
        renew(app, message)
        assert meter.watch() == 0
    worker.end(message, run, Decision(usage=USED))
    assert turns(place) == [("completed", "actual", 40, "run")]
    balanced(place)


def renew(app: App, message: Message) -> None:
    with app.db.begin_system() as tx:
        assert outbox_settle.renew(tx, [(message, 60 * SECOND)]) == ({message.id}, set())


@pytest.mark.req("S-06")
def test_a_run_that_was_given_back_is_ended_by_the_watchdog(
    worker: Worker, meter: Meter, app: App, place: Place, clock: Clock
) -> None:
    """Its worker stopped between the reserve and the call, and nobody took it up in time."""
    worker.trigger()
    [message] = worker.claim()
    [run] = worker.start(message).values()
    finish(app.db, app.registry, [Ended(message, run, NotStarted())])
    clock.advance(301)
    assert meter.watch() == 1
    [again] = worker.claim()
    [run] = worker.start(again).values()
    assert run.turn_id != message.id, "its turn had ended: it got another"
    worker.end(again, run, Decision(usage=USED))
    assert sorted(turn[0] for turn in turns(place)) == ["completed", "failed"]
    assert balanced(place) == {"completed": 1, "failed": 1}


@pytest.mark.req("S-01")
def test_a_run_that_was_given_back_takes_up_its_turn(
    worker: Worker, app: App, place: Place
) -> None:
    worker.trigger()
    [message] = worker.claim()
    [run] = worker.start(message).values()
    finish(app.db, app.registry, [Ended(message, run, NotStarted())])
    [again] = worker.claim()
    [once_more] = worker.start(again).values()
    assert once_more.turn_id == run.turn_id
    worker.end(again, once_more, Decision(usage=USED))
    assert balanced(place) == {"completed": 1}


@pytest.mark.req("S-01", "S-04")
def test_a_run_has_one_turn_at_a_time(
    worker: Worker, meter: Meter, app: App, place: Place, clock: Clock
) -> None:
    """Also when its first was ended by the watchdog, and it was given back once more after that."""
    worker.trigger()
    for _ in range(3):
        [message] = worker.claim()
        [run] = worker.start(message).values()
        finish(app.db, app.registry, [Ended(message, run, NotStarted())])
        [message] = worker.claim()
        [again] = worker.start(message).values()
        assert again.turn_id == run.turn_id
        finish(app.db, app.registry, [Ended(message, run, NotStarted())])
        clock.advance(301)
        assert meter.watch() == 1
    [message] = worker.claim()
    [run] = worker.start(message).values()
    worker.end(message, run, Decision(usage=USED))
    assert sorted(turn[:3] for turn in turns(place)) == [
        ("completed", "actual", 40),
        *[("failed", "estimated", 250)] * 3,
    ]
    balanced(place)


@pytest.mark.req("S-04")
def test_a_discarded_run_ends_its_turn(worker: Worker, app: App, place: Place) -> None:
    worker.trigger()
    [message] = worker.claim()
    [run] = worker.start(message).values()
    finish(app.db, app.registry, [Ended(message, run, NotStarted())])
    discard_message(app.db, app.registry, ACME, message.id, by="eve")
    assert [turn[0] for turn in turns(place)] == ["failed"]
    balanced(place)


@pytest.mark.req("S-04", "S-05")
def test_usage_of_a_run_that_nobody_metered_is_settled_at_once(
    app: App, meter: Meter, place: Place
) -> None:
    meter.policy("[quota.tenant.daily]\ntotal = 0\n[quota]\ndefault_model = 'premium'\n")
    reports = [USED, USED | {"model": "standard"}, USED | {"model": ["x"]}, None, {"x": 1}]

    @app.decision
    def decide(run) -> Decision:
        return Decision(usage=reports[int(run.account_id)])

    for n in range(len(reports)):
        app.trigger("acme", str(n), "SIGNAL_ARRIVED", idempotency_key=str(n))
    app.drain()
    assert runs(place) == ["SUCCEEDED"] * len(reports)
    settled = place.execute("select effective_model, charged_micro from turns order by 1, 2")
    assert settled == [("premium", 200), ("premium", 200), ("standard", 40)]
    assert balanced(place) == {"completed": 3}


@pytest.mark.req("S-04")
def test_a_model_that_cannot_be_read_does_not_fail_the_run(app: App, place: Place) -> None:
    @app.decision
    def decide(run) -> Decision:
        return Decision(usage=USED | {"model": Unspeakable()})

    app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key="k")
    app.drain()
    assert runs(place) == ["SUCCEEDED"]
    assert balanced(place) == {"completed": 1}


@pytest.mark.req("S-01")
def test_a_model_that_the_policy_does_not_know(app: App, place: Place) -> None:
    worker = Worker(app, model="gone")
    worker.trigger()
    assert worker.start(*worker.claim()) == {}
    assert runs(place) == ["FAILED"]
    [(error,)] = place.execute("select last_error from outbox where attempts > 0")
    assert "no such model" in error
    assert balanced(place) == {}


def test_a_metering_that_makes_no_sense_is_refused(app: App) -> None:
    for tokens in (-1, 1.5, TOKENS_MAX + 1, True, "1"):
        with pytest.raises(Invalid, match="max_output_tokens"):
            app.decision(model="standard", estimated_input_tokens=0, max_output_tokens=tokens)


@pytest.mark.req("S-07", "S-20")
def test_decision_turn_event_and_delivery_can_be_followed_both_ways(app: App, place: Place) -> None:
    received: list[dict] = []
    app.usage_sink(received.append)

    @app.decision(**METERED)
    def decide(run) -> Decision:
        return Decision(usage=USED)

    verdict = app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key="k")
    app.drain()
    [event] = received
    [turn] = turns_of_decision(app.db, ACME, verdict.decision_id)
    assert event["decision_id"] == turn.decision_id == verdict.decision_id
    assert event["turn_id"] == turn.turn_id
    assert turn.event_status == "delivered"
    [stored] = events(place)
    assert (stored.id, stored.payload) == (turn.event_id, event)
    assert app.turn("acme", event["turn_id"]) == turn
    assert json.loads(json.dumps(event)) == event
    assert balanced(place) == {"completed": 1}
