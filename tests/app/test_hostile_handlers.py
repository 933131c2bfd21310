"""Handlers of every kind do the worst they can: their messages end, and nobody else waits for them.

The table of what they do is `tests/hostile.py`.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.carrying import AUTO, KIND, MEET
from tests.databases import Clock, Place
from tests.hostile import ASYNC, BEHAVIOURS, of_kind
from tests.messages import letter, put
from tests.verify_clean import assert_verified
from watchkeeper import App
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.errors import Invalid, Unavailable
from watchkeeper.workers import Workers, WorkerSettings

pytestmark = [
    pytest.mark.req("D-14", "S-10", "O-03"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LEASE_SECONDS = 60
"""As it ships: what is held longer than this was lost."""

POLICY = (
    f"""
run_budget_per_day = "unlimited"
[triggers.SIGNAL_ARRIVED]
max_per_tenant_per_hour = "unlimited"
[delivery.topics."decision.evaluation_requested"]
guarantee = "at_most_once"
max_attempts = 1
concurrency = 2
[delivery.topics."pull.requested"]
guarantee = "at_most_once"
max_attempts = 1
concurrency = 2
[delivery.topics."action.requested"]
concurrency = 2
[delivery.topics."{USAGE_SNAPSHOT}"]
max_attempts = 1
concurrency = 2
[delivery.topics."mine"]
max_attempts = 1
concurrency = 2
"""
    + AUTO
)


class Kind:
    """One kind of handler: how it is registered, how it is asked for, and what is still open."""

    open_sql = "outbox where topic = '{topic}' and status in ('pending', 'processing')"
    topic = ""

    def __init__(self, app: App) -> None:
        self.app = app

    def register(self, call: Callable[[Any], Any]) -> None:
        raise NotImplementedError

    def ask(self, tenant: str, n: int) -> None:
        raise NotImplementedError

    def open(self, place: Place) -> int:
        sql = self.open_sql.format(topic=self.topic)
        return int(place.execute(f"select count(*) from {sql}")[0][0])


class DecisionKind(Kind):
    topic = "decision.evaluation_requested"

    def register(self, call: Callable[[Any], Any]) -> None:
        self.app.decision(call)

    def ask(self, tenant: str, n: int) -> None:
        key = f"{tenant}{n}"
        assert self.app.trigger(tenant, key, "SIGNAL_ARRIVED", idempotency_key=key).allowed


class ConnectorKind(Kind):
    """A connector for each pull: one that fails again and again is left alone for a while."""

    topic = "pull.requested"

    def register(self, call: Callable[[Any], Any]) -> None:
        for name in [*(f"bad{n}" for n in range(150)), *(f"good{n}" for n in range(3))]:
            self.app.connector(name, cadence=False)(call)
        for tenant in ("bad", "good"):
            self.app.set_pull_budget(tenant, 1_000_000)

    def ask(self, tenant: str, n: int) -> None:
        name = f"{tenant}{n}"
        assert self.app.pull(tenant, "ann", name).scheduled


class ActionKind(Kind):
    open_sql = "intents where attempt = 1 and ended_at is null"

    def register(self, call: Callable[[Any], Any]) -> None:
        self.app.action(MEET, risk="low")(call)

    def ask(self, tenant: str, n: int) -> None:
        plan = self.app.plans.create(tenant, f"a{n}", KIND, [MEET])
        self.app.plans.approve(plan.plan_id, by="ann")

    def open(self, place: Place) -> int:
        [(waiting,)] = place.execute("select count(*) from plans where status = 'APPROVED'")
        return waiting + super().open(place)


class UsageKind(Kind):
    topic = USAGE_SNAPSHOT

    def register(self, call: Callable[[Any], Any]) -> None:
        self.app.usage_sink(call)

    def ask(self, tenant: str, n: int) -> None:
        asked = {"model": "standard", "estimated_input_tokens": 1, "max_output_tokens": 1}
        turn = self.app.reserve_turn(tenant, request_id=f"r{n}", **asked)
        usage = {"input_tokens": 1, "output_tokens": 1}
        self.app.finalize_turn(tenant, turn.turn_id, outcome="completed", usage=usage)


class TopicKind(Kind):
    topic = "mine"

    def register(self, call: Callable[[Any], Any]) -> None:
        self.app.on("mine")(call)

    def ask(self, tenant: str, n: int) -> None:
        put(self.app.db, letter(tenant, "mine", ordering_key=f"k{n}"))
        self.app.db.tell()


KINDS = {
    "decision": DecisionKind,
    "connector": ConnectorKind,
    "action": ActionKind,
    "usage sink": UsageKind,
    "topic": TopicKind,
}


@pytest.fixture
def app(place: Place, clock: Clock) -> Iterator[App]:
    clock.make_real()
    app = App(place.url, migrate=False)
    app.apply_policy(POLICY, reason="few slots, one attempt")
    yield app
    app.close()


class Play:
    """Handlers that behave by a list, one call each, and well when it is used up."""

    def __init__(self, behaviours: dict[str, Callable[[], Any]], *, is_async: bool) -> None:
        self.left = list(behaviours.items())
        self.calls: list[str] = []
        self.handler: Callable[[Any], Any] = self._call_async if is_async else self._call

    def _call(self, _argument: Any) -> Any:
        name, behave = self.left.pop() if self.left else ("well", lambda: None)
        self.calls.append(name)
        return behave()

    async def _call_async(self, argument: Any) -> Any:
        await asyncio.sleep(0)
        found = self._call(argument)
        return await found if asyncio.iscoroutine(found) else found


def wait(app: App, kind: Kind, place: Place) -> float:
    """Until nothing is open; how long that took."""
    since = time.monotonic()
    while (left := kind.open(place)) and time.monotonic() - since < LEASE_SECONDS:
        app.db.wait_for_news(app.db.news_count, 0.05)
    assert left == 0, f"{left} did not end"
    return time.monotonic() - since


def worst(app: App, place: Place, kind: Kind, play: Play) -> None:
    """All of the list at once, then one run of somebody else."""
    count = len(play.left)
    kind.register(play.handler)
    workers = app.start_workers(WorkerSettings(poll_seconds=0.2))
    for n in range(count):
        kind.ask("bad", n)
    wait(app, kind, place)
    assert len(play.calls) == count, "each was called once"
    for n in range(3):  # more than there are slots
        kind.ask("good", n)
    assert wait(app, kind, place) < LEASE_SECONDS / 3
    assert play.calls[count:] == ["well"] * 3
    assert_settled(app, workers)
    assert_verified(app.db)


def assert_settled(app: App, workers: Workers) -> None:
    """Nothing is held any more, and no slot is counted twice."""
    for _ in range(200):
        if workers.dispatcher.held == 0:
            return
        app.db.wait_for_news(app.db.news_count, 0.05)
    raise AssertionError(f"{workers.dispatcher.held} are still held")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_handler_does_its_message_ends(
    app: App, place: Place, kind: str, is_async: bool
) -> None:
    worst(app, place, KINDS[kind](app), Play(of_kind(kind), is_async=is_async))


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_done_to_the_event_loop_others_run_on_it(
    app: App, place: Place, kind: str
) -> None:
    worst(app, place, KINDS[kind](app), Play(ASYNC, is_async=True))


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_without_workers(app: App, place: Place, kind: str, is_async: bool) -> None:
    play = Play(of_kind(kind), is_async=is_async)
    count, one = len(play.left), KINDS[kind](app)
    one.register(play.handler)
    for n in range(count):
        one.ask("bad", n)
    app.drain()
    assert one.open(place) == 0
    assert len(play.calls) == count
    assert_verified(app.db)


def test_a_handler_that_is_replaced_ends_what_it_has_begun(app: App, place: Place) -> None:
    begun, go = threading.Event(), threading.Event()
    calls: list[str] = []

    @app.on("mine")
    def first(_message: object) -> None:
        begun.set()
        go.wait(LEASE_SECONDS)
        calls.append("first")

    kind = TopicKind(app)
    workers = app.start_workers(WorkerSettings(poll_seconds=0.2))
    kind.ask("acme", 1)
    assert begun.wait(LEASE_SECONDS)
    app.on("mine")(lambda _message: calls.append("second"))
    asked = 1
    while not calls:  # a claim that was under way may still reach the first one
        asked += 1
        kind.ask("acme", asked)
        app.db.wait_for_news(app.db.news_count, 0.05)
    assert calls[0] == "second"
    go.set()
    wait(app, kind, place)
    assert_settled(app, workers)
    assert len(calls) == asked
    assert "first" in calls
    assert_settled(app, workers)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_runs_of_a_schedule_end_too(place: Place, is_async: bool) -> None:
    app = App(place.url, migrate=False)
    app.apply_policy(POLICY, reason="few slots")
    play = Play(BEHAVIOURS, is_async=is_async)
    app.decision(play.handler)
    for n in range(len(play.left)):
        app.account("bad", f"a{n}", attributes={"n": n})
    told = {"trigger_type": "TIME_RITUAL_DAILY_BRIEF", "cron": "0 * * * *", "spread_seconds": 0}
    app.schedule("bad", "hourly", **told)
    app.clock.advance(hours=1)
    assert len(play.calls) >= len(BEHAVIOURS)
    assert DecisionKind(app).open(place) == 0
    assert_verified(app.db)
    app.close()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", of_kind("proposer"))
def test_whatever_a_proposer_does_its_caller_is_answered(name: str, is_async: bool) -> None:
    app = App("sqlite://")
    behave = of_kind("proposer")[name]

    async def propose_async(_asked: object) -> Any:
        return behave()

    app.proposer()(propose_async if is_async else lambda _asked: behave())
    if name == "raises KeyboardInterrupt" and not is_async:
        with pytest.raises(KeyboardInterrupt):
            app.plans.propose("acme", "a", KIND)
    else:
        with pytest.raises((Unavailable, Invalid)):
            app.plans.propose("acme", "a", KIND)
    app.close()
