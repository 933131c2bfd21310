"""Pulls, carried out: called once, what they bring comes in, and how they went is remembered."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.databases import Clock, Place
from tests.looking import DEEP, messages, spent
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from tests.pulling import Worker, dead, pulls, slots, states, under_way
from tests.verify_clean import assert_verified
from watchkeeper import App
from watchkeeper.actions.deliver_messages import finish
from watchkeeper.actions.keep_desk import discard_message, redrive_message
from watchkeeper.actions.run_pulls import end_pulls
from watchkeeper.core.ids import MessageId
from watchkeeper.core.pulls import PullReason
from watchkeeper.handlers.attempts import result_of
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.handlers.renew_leases import Leases
from watchkeeper.handlers.results import Reject, Retry
from watchkeeper.pull_signals import signals_of
from watchkeeper.results import Pull, PullResult
from watchkeeper.store.leases import queue_for
from watchkeeper.store.outbox import NAMESPACE

REQUESTED = "pull.requested"
OPEN, LIMIT = PullReason.CIRCUIT_OPEN, PullReason.RATE_LIMIT
ERROR = ValueError("no")


@pytest.fixture
def app(db_url: str, clock: Clock) -> Iterator[App]:
    opened = App(db_url, migrate=False)
    yield opened
    opened.close()


@pytest.fixture
def worker(app: App, clock: Clock) -> Worker:
    return Worker(app, clock)


# -- what comes back -------------------------------------------------------------------------------


@pytest.mark.req("P-11")
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_what_a_connector_brings_comes_in_as_signals(
    worker: Worker, app: App, place: Place, kind: str
) -> None:
    called: list[Pull] = []

    def plain(pull: Pull) -> PullResult:
        called.append(pull)
        return PullResult([{"type": "deal.won"}, {"type": "mail", "account_id": "bob"}])

    async def waiting(pull: Pull) -> PullResult:
        await asyncio.sleep(0)
        return plain(pull)

    worker.bring(plain if kind == "sync" else waiting)
    worker.ask(depth=DEEP, correlation_id="c-1")
    app.drain()
    [pull] = called
    assert (pull.account_id, pull.depth, pull.depth_units, pull.budget_remaining) == (
        *("ann", "DEEP", 3, 997),
    )
    assert pulls(place) == [("SUCCEEDED", 2, None)]
    rows = place.execute("select account_id, type, correlation_id from signals order by seq")
    assert rows == [("ann", "deal.won", "c-1"), ("bob", "mail", "c-1")]
    assert len(worker.verdicts()) == 2, "through the same door, so each asked for a run"
    assert worker.heat("bob") is not None
    [entry] = worker.entries(kind="pull.ended")
    assert (entry.entry.result, entry.entry.subject) == ("SUCCEEDED", "ann")
    assert_verified(app.db)


@pytest.mark.req("P-11")
@pytest.mark.parametrize("nothing", [None, [], PullResult()])
def test_nothing_is_an_answer(worker: Worker, app: App, place: Place, nothing: object) -> None:
    worker.bring(lambda _: nothing)
    worker.ask()
    app.drain()
    assert pulls(place) == [("SUCCEEDED", 0, None)]


@pytest.mark.slow
@pytest.mark.req("P-11")
def test_ten_thousand_signals(worker: Worker, app: App, place: Place) -> None:
    worker.bring(lambda _: [{"type": "mail", "account_id": f"a{n % 50}"} for n in range(10_000)])
    worker.ask()
    [message] = worker.claim_pulls()
    [pull] = worker.start(message).values()
    worker.end(message, pull, app.connectors["crm"](pull))
    assert pulls(place) == [("SUCCEEDED", 10_000, None)]
    assert place.execute("select count(*) from signals") == [(10_000,)]


@pytest.mark.req("P-11")
@pytest.mark.parametrize(
    "wrong",
    [
        [{"type": "mail"}, {"type": ""}],
        [{"type": "mail"}, "not an object"],
        [{"no": "type"}],
        "text",
        42,
    ],
)
def test_one_wrong_signal_and_none_comes_in(
    worker: Worker, app: App, place: Place, wrong: object
) -> None:
    worker.bring(lambda _: wrong)
    worker.ask()
    app.drain()
    assert states(place) == ["FAILED"]
    assert place.execute("select count(*) from signals") == [(0,)]
    assert spent(place)["crm"] == (1, 1)


@pytest.mark.req("P-11")
def test_signals_without_ids_are_known_by_their_pull(worker: Worker, place: Place) -> None:
    """A repeat of the end changes nothing; another pull under the same id is another."""
    worker.bring(lambda _: None)
    message, pull = under_way(worker, pull_job_id="mine")
    ended = Ended(message, pull, DELIVERED, signals_of(pull, [{"type": "mail"}]))
    for _ in range(2):
        finish(worker.db, worker.app.registry, [ended])
    assert place.execute("select count(*) from signals") == [(1,)]
    worker.clock.advance(days=2)
    message, pull = under_way(worker, pull_job_id="mine")
    worker.end(message, pull, [{"type": "mail"}])
    assert place.execute("select count(*) from signals") == [(2,)]


@pytest.mark.req("P-03", "P-11")
def test_what_a_pull_on_a_signal_brings_pulls_no_further(
    worker: Worker, app: App, place: Place
) -> None:
    """Else a connector that always finds something would be called until the budget is gone."""
    worker.bring(lambda _: [{"type": "news"}], cadence=True)
    worker.heat_up("ann")
    for _ in range(3):
        app.drain()
        worker.clock.advance(60)
    rows = place.execute("select origin, count(*) from pulls group by 1 order by 1")
    # Two signals heated it up, and one came with the pull of its cadence: each is looked into.
    assert rows == [("cadence", 1), ("signal", 3)]


@pytest.mark.slow
@pytest.mark.req("P-11")
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_connector_that_hangs_is_cut_off(
    worker: Worker, app: App, place: Place, kind: str
) -> None:
    worker.policy('[delivery.topics."pull.requested"]\ntimeout_seconds = 1\n')
    release = threading.Event()

    def hangs(_: Pull) -> None:
        release.wait(60)

    async def waits(_: Pull) -> None:
        await asyncio.sleep(60)

    worker.bring(hangs if kind == "sync" else waits)
    worker.ask()
    app.drain()
    release.set()
    assert states(place) == ["FAILED"]
    assert spent(place)["crm"] == (1, 1)


# -- how it ends -----------------------------------------------------------------------------------


@pytest.mark.req("P-07", "P-08")
@pytest.mark.parametrize(
    ("raised", "reason"),
    [(ERROR, "ATTEMPTS_EXHAUSTED"), (Reject("never"), "REJECTED"), (SystemExit(1), None)],
)
def test_a_failure_is_final_and_spent_stays_spent(
    worker: Worker, app: App, place: Place, raised: BaseException, reason: str | None
) -> None:
    calls = []

    def fails(pull: Pull) -> None:
        calls.append(pull)
        raise raised

    worker.bring(fails)
    worker.ask()
    app.drain()
    worker.clock.advance(hours=5)
    app.drain()
    assert len(calls) == 1, "at most once"
    assert states(place) == ["FAILED"]
    assert dead(place) == [reason or "ATTEMPTS_EXHAUSTED"]
    assert spent(place)["crm"] == (1, 1)
    assert_verified(app.db)


@pytest.mark.req("P-07")
def test_who_dies_on_it_leaves_an_unknown_outcome(
    worker: Worker, place: Place, clock: Clock
) -> None:
    worker.bring(lambda _: None, max_concurrency=1)
    message, pull = under_way(worker)
    clock.advance(61)
    assert worker.claim_pulls() == [], "it is not handed out again"
    assert states(place) == ["OUTCOME_UNKNOWN"]
    assert dead(place) == ["OUTCOME_UNKNOWN"]
    assert slots(place) == 0
    assert worker.end(message, pull, [{"type": "mail"}]) == {"fenced": 1}
    assert states(place) == ["OUTCOME_UNKNOWN"], "who comes back later changes nothing"
    assert_verified(worker.db)


@pytest.mark.req("P-07")
def test_a_failed_pull_is_not_rescheduled_under_its_id(worker: Worker, clock: Clock) -> None:
    worker.bring(lambda _: None)
    message, pull = under_way(worker)
    worker.end(message, pull, ERROR)
    assert worker.ask().reason is PullReason.DUPLICATE


@pytest.mark.req("P-10")
@pytest.mark.parametrize("answer", [None, ERROR, Retry("later"), Reject("never")])
def test_the_slot_is_free_when_it_is_over(worker: Worker, place: Place, answer: object) -> None:
    worker.bring(lambda _: None, max_concurrency=1)
    message, pull = under_way(worker)
    assert worker.ask("bob").reason is LIMIT
    worker.end(message, pull, answer)
    assert slots(place) == 0
    assert worker.ask("bob").is_scheduled


@pytest.mark.req("P-10")
def test_who_waited_for_longer_than_its_slot_waits_for_another(
    worker: Worker, place: Place, clock: Clock
) -> None:
    """Its slot has ended and somebody else has it: there are never two at once."""
    worker.bring(lambda _: None, max_concurrency=1)
    worker.ask("ann")
    clock.advance(301)
    assert worker.ask("bob").is_scheduled
    first, second = sorted(worker.claim_pulls(), key=lambda m: '"bob"' in m.payload)
    [bob] = worker.start(second).values()
    assert worker.start(first) == {}, "bob is under way"
    assert sorted(states(place)) == ["REQUESTED", "RUNNING"]
    worker.end(second, bob)
    clock.advance(2)
    [again] = worker.claim_pulls()
    assert len(worker.start(again)) == 1


@pytest.mark.req("P-10")
def test_a_pull_that_takes_long_keeps_its_slot(worker: Worker, clock: Clock) -> None:
    """As long as its worker lives and says so; then it ends like any other."""
    worker.bring(lambda _: None, max_concurrency=1)
    message, _ = under_way(worker)
    leases, since = Leases(), time.monotonic()
    rule = worker.app.registry.rule_for(REQUESTED)
    leases.hold([message], queue_for(NAMESPACE, REQUESTED, rule, 1), since, None)
    for n in range(1, 11):
        clock.advance(40)
        assert leases.renew_due(worker.db, since + 40 * n) == 0
    assert worker.ask("bob").reason is PullReason.RATE_LIMIT
    clock.advance(60)
    assert worker.ask("bob").is_scheduled


@pytest.mark.req("P-11")
def test_a_connector_that_nobody_brings_waits_to_be_seen(
    worker: Worker, app: App, place: Place, clock: Clock
) -> None:
    worker.bring(lambda _: None, "erp")
    worker.ask(connector="crm")
    app.drain()
    [(status, error, attempts)] = place.execute(
        f"select status, last_error, attempts from outbox where topic = '{REQUESTED}'"
    )
    assert (status, attempts) == ("pending", 0)
    assert error.startswith("unhandled")
    worker.bring(lambda _: None, "crm")
    clock.advance(120)
    app.drain()
    assert states(place) == ["SUCCEEDED"]


@pytest.mark.req("P-11")
def test_two_connectors_each_get_their_own(worker: Worker, app: App, place: Place) -> None:
    seen: list[str] = []
    worker.bring(lambda pull: seen.append(f"crm {pull.connector_id}"), "crm")
    worker.bring(lambda pull: seen.append(f"erp {pull.connector_id}"), "erp")
    worker.ask(connector="crm")
    worker.ask(connector="erp")
    app.drain()
    assert sorted(seen) == ["crm crm", "erp erp"]


@pytest.mark.req("P-06")
@pytest.mark.parametrize(("scope", "id"), [("tenant", None), ("connector", "crm")])
def test_a_kill_switch_between_schedule_and_call(
    worker: Worker, app: App, place: Place, scope: str, id: str | None
) -> None:
    calls: list[Pull] = []
    worker.bring(calls.append, max_concurrency=1)
    worker.ask()
    worker.kill(scope, id)
    app.drain()
    assert calls == []
    [(state, _, error)] = pulls(place)
    assert (state, dead(place), slots(place)) == ("FAILED", ["KILL_SWITCH"], 0)
    assert "kill switch" in error
    assert spent(place)["crm"] == (1, 1)
    worker.kill(scope, id, on=False)
    assert place.execute("select coalesce(max(failures), 0) from connector_states") == [(0,)]


@pytest.mark.req("P-07")
def test_somebody_discards_or_redrives_it(worker: Worker, place: Place) -> None:
    worker.bring(lambda _: None, max_concurrency=1)
    message, pull = under_way(worker)
    worker.end(message, pull, ERROR)
    redrive_message(worker.db, worker.app.registry, worker.tenant_id, message.id, force=True)
    [again] = worker.claim_pulls()
    [pull] = worker.start(again).values()
    assert states(place) == ["RUNNING"]
    worker.end(again, pull, None)
    assert states(place) == ["SUCCEEDED"]
    worker.ask("bob")
    [waiting] = [m["detail"] for m in messages(place, REQUESTED)]
    [(id,)] = place.execute(
        f"select message_id from pulls where pull_job_id = '{waiting['pull_job_id']}'"
    )
    discard_message(worker.db, worker.app.registry, worker.tenant_id, MessageId(str(id)))
    assert sorted(states(place)) == ["FAILED", "SUCCEEDED"]
    assert slots(place) == 0


# -- all or nothing --------------------------------------------------------------------------------


def ending(worker: Worker, answer: object) -> Callable[[], object]:
    """What a worker does when a pull is over, without its care for errors."""
    message, pull = under_way(worker)
    if isinstance(answer, Exception):
        ended = Ended(message, pull, result_of(answer))
    else:
        ended = Ended(message, pull, DELIVERED, signals_of(pull, answer))
    registry, admission = worker.app.registry, worker.app.admission
    return lambda: end_pulls(worker.db, registry, admission, [ended])


@pytest.mark.req("P-11", "P-10")
@pytest.mark.parametrize("answer", [None, ERROR], ids=["success", "failure"])
def test_a_power_cut_leaves_the_end_or_none(worker: Worker, place: Place, answer: object) -> None:
    worker.bring(lambda _: None, max_concurrency=3)
    deed = ending(worker, answer)
    before = contents(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                deed()
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    assert states(place) == ["FAILED" if answer else "SUCCEEDED"]
    assert slots(place) == 0
    assert step > 5
    assert_verified(worker.db)


@pytest.mark.req("P-11")
def test_signals_come_in_before_the_end_that_tells_of_them(worker: Worker, place: Place) -> None:
    """A cut between the two leaves signals that a repeat finds; never an end without them."""
    worker.bring(lambda _: None)
    deed = ending(worker, [{"type": "mail"}, {"type": "call"}])
    came = set()
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step):
                deed()
            break
        except PowerCut:
            came.add(place.execute("select count(*) from signals")[0][0])
            assert states(place) == ["RUNNING"]
    assert came == {0, 2}
    assert pulls(place) == [("SUCCEEDED", 2, None)]
    assert place.execute("select count(*) from signals") == [(2,)]
    assert len(worker.heat("ann").state.recent) == 2, "and they warmed it once"
    assert_verified(worker.db)
