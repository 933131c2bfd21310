"""Bounded sends: one endpoint that is slow, full or broken holds up nobody but itself.

The receivers are real servers on the loopback. These tests wait for events with a limit, and never
for a time to pass.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.databases import Clock, Databases, Place
from tests.messages import TOPIC, delivered, letter, live, one, put, registry
from tests.misbehaving import Answer, Receiver
from tests.senders import Post
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.deliver_outside import ABANDONED
from watchkeeper.actions.set_sink import NewSink, Terms, set_sink
from watchkeeper.core.delivery import Guarantee
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.sinks import Reach
from watchkeeper.handlers.endpoint_limits import (
    ENDPOINTS_MAX,
    WAIT_SECONDS,
    WAIT_SECONDS_MAX,
    EndpointLimits,
)
from watchkeeper.handlers.registry import Registry
from watchkeeper.store.database import Database, reachable
from watchkeeper.workers import Workers, WorkerSettings

WAIT = 60.0
HERE = (TenantId("acme"), "https://example.com")
THERE = (TenantId("acme"), "https://example.org")


# -- the bound --------------------------------------------------------------------------------


class Hand:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.req("S-18", "O-12")
def test_an_endpoint_has_its_own_few() -> None:
    limits = EndpointLimits()
    assert [limits.enter(HERE, 2) for _ in range(3)] == [True, True, False]
    assert limits.enter(THERE, 2)
    assert (limits.room(HERE, 2), limits.room(THERE, 2)) == (0, 1)
    limits.leave(HERE, is_well=True)
    assert limits.enter(HERE, 2)


@pytest.mark.req("S-18", "O-12")
def test_one_in_trouble_is_sent_one_at_a_time_until_something_gets_through() -> None:
    limits = EndpointLimits()
    limits.enter(HERE, 4)
    limits.leave(HERE, is_well=False)
    assert [limits.enter(HERE, 4) for _ in range(2)] == [True, False]
    limits.leave(HERE, is_well=None)
    assert limits.room(HERE, 4) == 1
    limits.enter(HERE, 4)
    limits.leave(HERE, is_well=True)
    assert limits.room(HERE, 4) == 4


@pytest.mark.req("S-18", "O-12")
def test_the_wait_grows_while_nothing_gets_through() -> None:
    clock = Hand()
    limits = EndpointLimits(clock)
    limits.enter(HERE, 1)
    assert not limits.enter(HERE, 1)
    waits = []
    for _ in range(6):
        waits.append(limits.wait_seconds(HERE, 0.5))
        clock.now += waits[-1]
        assert not limits.enter(HERE, 1)
    assert waits[0] == WAIT_SECONDS
    assert waits == sorted(waits)
    assert waits[-1] > 4 * WAIT_SECONDS
    clock.now += 3600
    assert limits.wait_seconds(HERE, 0.5) == WAIT_SECONDS_MAX
    assert limits.wait_seconds(HERE, 0.0) == WAIT_SECONDS_MAX / 2
    assert limits.wait_seconds(HERE, 0.999) < WAIT_SECONDS_MAX * 1.5
    limits.leave(HERE, is_well=True)
    assert limits.wait_seconds(HERE, 0.5) == WAIT_SECONDS


@pytest.mark.req("O-12")
def test_what_is_remembered_is_bounded() -> None:
    limits = EndpointLimits()
    limits._troubled = {(TenantId("t"), str(n)) for n in range(ENDPOINTS_MAX)}
    limits.enter(HERE, 1)
    limits.leave(HERE, is_well=False)
    assert len(limits._troubled) == 1


# -- in a worker --------------------------------------------------------------------------------


class Counting(Receiver):
    """Knows how many requests were inside at once; a closed gate keeps them there."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.inside = 0
        self.most = 0
        self._counting = threading.Lock()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._counting:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.gate.wait(WAIT)
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._counting:
                self.inside -= 1

    @property
    def ids(self) -> Counter[str]:
        return Counter([request.headers["webhook-id"] for request in self.requests])


@pytest.fixture
def receiver() -> Iterator[Callable[[], Counting]]:
    with ExitStack() as ending:

        def start() -> Counting:
            made = Counting()
            thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
            thread.start()

            def stop() -> None:
                made.gate.set()
                made.stopping.set()
                made.shutdown()
                thread.join(60)
                made.server_close()

            ending.callback(stop)
            return made

        yield start


@pytest.fixture
def work(db: Database, clock: Clock) -> Iterator[Callable[..., Workers]]:
    clock.make_real()
    started: list[Workers] = []

    def start(handlers: Registry, **settings: Any) -> Workers:
        handlers.reach = Reach.LOOPBACK
        workers = Workers(db, handlers, WorkerSettings(poll_seconds=0.2, **settings))
        started.append(workers)
        workers.start()
        return workers

    yield start
    for workers in started:
        workers.stop(1)


def sink(db: Database, tenant: str, receiver: Receiver, topic: str = TOPIC) -> None:
    if tenant != SYSTEM:
        create_tenant(db, TenantId(tenant))
    new = NewSink(topic, receiver.url)
    set_sink(db, TenantId(tenant), "hook", new, Terms("test", Reach.LOOPBACK))


def until(question: Callable[[], Any], seconds: float = WAIT) -> None:
    end = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < end, "it did not happen in time"
        threading.Event().wait(0.005)


@pytest.mark.req("S-18", "O-12", "O-22")
def test_a_hanging_endpoint_holds_up_nobody_else(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    hanging, well = receiver(), receiver()
    hanging.gate.clear()
    sink(db, "hanging", hanging)
    sink(db, "well", well)
    stuck = put(db, *[letter("hanging") for _ in range(60)])
    work(registry(concurrency=8, endpoint_concurrency=3))
    until(lambda: hanging.inside == 3)
    others = put(db, *[letter("well") for _ in range(40)])
    until(lambda: set(delivered(place)) == set(others))
    assert hanging.most == 3
    assert well.most <= 3
    assert well.ids == Counter(others), "each once"
    # One that was claimed beyond the slots is put back at once, its attempt with it.
    until(lambda: sum(one(place, id).attempts for id in stuck) == 3)
    hanging.gate.set()
    until(lambda: not set(stuck) & set(live(place)))
    assert hanging.ids == Counter(stuck)
    assert hanging.most == 3


@pytest.mark.req("S-18", "O-12")
def test_the_handler_of_other_tenants_goes_on_beside_a_hanging_endpoint(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    hanging = receiver()
    hanging.gate.clear()
    sink(db, "hanging", hanging)
    handlers = registry(concurrency=8, endpoint_concurrency=2)
    called: list[str] = []
    handlers.handle(TOPIC, lambda message: called.append(message.id))
    put(db, *[letter("hanging") for _ in range(30)])
    work(handlers)
    until(lambda: hanging.inside == 2)
    others = put(db, *[letter("well") for _ in range(30)])
    until(lambda: set(called) == set(others))
    assert hanging.most == 2


@pytest.mark.req("S-18", "S-14")
def test_a_poison_message_does_not_hold_the_others(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    picky = receiver()
    poison = put(db, letter(dedupe_key="poison"))[0]
    others = put(db, *[letter() for _ in range(30)])

    def answer() -> Answer:
        is_poison = picky.requests[-1].headers["webhook-id"] == "poison"
        return Answer(500) if is_poison else Answer()

    picky.next_answer = answer
    sink(db, SYSTEM, picky)
    work(registry(endpoint_concurrency=1, max_attempts=1000))
    until(lambda: set(delivered(place)) == set(others))
    stored = one(place, poison)
    assert stored.attempts >= 1
    assert stored.last_error == "answered 500 with 2 bytes"
    assert picky.most <= 2  # one that was answered may still be leaving when the next comes in


@pytest.mark.req("S-13", "S-18", "S-16")
def test_an_answer_after_the_lease_is_lost_changes_nothing_and_is_counted(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    late = receiver()
    late.gate.clear()
    sink(db, SYSTEM, late)
    [id] = put(db, letter())
    workers = work(registry())
    until(lambda: late.inside == 1)
    token = "01a1e249-b8d3-4af7-98f5-c23c6c8f7820"
    place.execute(f"update outbox set locked_by = '{token}' where id = '{id}'")
    late.gate.set()
    until(lambda: workers.counts["fenced"] == 1)
    assert (one(place, id).status, one(place, id).locked_by) == ("processing", token)
    assert delivered(place) == []
    assert workers.counts["delivered"] == 0


@pytest.mark.req("S-18", "O-12")
@pytest.mark.postgresql
def test_no_transaction_and_no_connection_waits_for_an_answer(
    databases: Databases, receiver: Callable[[], Counting]
) -> None:
    """The pool has one connection, and others still get it while a send hangs."""
    hanging = receiver()
    hanging.gate.clear()
    idle = "select count(*) from pg_stat_activity where state = 'idle in transaction'"
    with databases.opened("postgresql", pool_size=1) as (db, clock):
        clock.make_real()
        sink(db, SYSTEM, hanging)
        handlers = registry()
        handlers.reach = Reach.LOOPBACK
        workers = Workers(db, handlers, WorkerSettings(poll_seconds=2 * WAIT))
        workers.start()
        [id] = put(db, letter())
        until(lambda: hanging.inside == 1)
        reachable(db)
        until(lambda: clock.place.execute(idle)[0][0] == 0)
        assert one(clock.place, id).status == "processing"
        hanging.gate.set()
        until(lambda: delivered(clock.place) == [id])
        workers.stop(1)


@pytest.mark.req("S-18")
def test_an_attempt_ends_before_its_lease(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    hanging = receiver()
    hanging.gate.clear()
    sink(db, SYSTEM, hanging)
    [id] = put(db, letter())
    workers = work(registry(lease_us=4_000_000))
    until(lambda: workers.counts["failed"] >= 1)
    assert one(place, id).last_error == "no answer within 3.2 s"
    assert workers.counts["fenced"] == 0


@pytest.mark.req("S-16", "O-14")
def test_a_stop_gives_back_what_has_no_answer_within_the_grace(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    hanging = receiver()
    hanging.gate.clear()
    sink(db, SYSTEM, hanging)
    [id] = put(db, letter())
    workers = work(registry())
    until(lambda: hanging.inside == 1)
    assert workers.stop(1)
    assert hanging.inside == 1, "it still has not answered"
    stored = one(place, id)
    assert (stored.status, stored.attempts, stored.locked_by) == ("pending", 1, None)
    assert stored.last_error == ABANDONED


@pytest.mark.req("S-16", "S-17")
def test_a_stop_leaves_what_may_be_sent_only_once_to_its_lease(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    """Nobody knows whether it arrived: it is neither sent again nor called a failure."""
    hanging = receiver()
    hanging.gate.clear()
    sink(db, SYSTEM, hanging)
    [id] = put(db, letter())
    workers = work(registry(guarantee=Guarantee.AT_MOST_ONCE, max_attempts=1))
    until(lambda: hanging.inside == 1)
    assert not workers.stop(0.5)
    assert one(place, id).status == "processing"


@pytest.mark.req("S-18")
def test_a_sink_is_taken_up_and_let_go_while_a_handler_works(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    """What the handler holds when the sink comes still ends with the handler."""
    well = receiver()
    gate, inside = threading.Event(), threading.Event()
    called: list[str] = []

    def call(message: Any) -> None:
        inside.set()
        gate.wait(WAIT)
        called.append(message.id)

    handlers = registry()
    handlers.handle(TOPIC, call)
    workers = work(handlers)
    [first] = put(db, letter())
    assert inside.wait(WAIT)
    sink(db, SYSTEM, well)
    [second] = put(db, letter())
    until(lambda: delivered(place) == [second])
    gate.set()
    until(lambda: not live(place))
    assert (called, workers.dispatcher.held) == ([first], 0)
    assert well.ids == Counter([second])


@pytest.mark.req("S-18")
def test_what_nobody_takes_is_looked_at_once_and_left_alone(
    db: Database, place: Place, receiver: Callable[[], Counting], work: Any
) -> None:
    well = receiver()
    sink(db, "well", well)
    workers = work(registry())
    [nobodys] = put(db, letter("other"))
    until(lambda: workers.counts["parked"] == 1)
    theirs = put(db, *[letter("well") for _ in range(20)])
    until(lambda: set(delivered(place)) == set(theirs))
    assert workers.counts["parked"] == 1
    assert one(place, nobodys).attempts == 0
    sink(db, SYSTEM, well)
    until(lambda: nobodys in delivered(place))


@pytest.mark.req("S-18")
def test_a_sink_that_is_set_during_a_claim_gets_what_was_claimed(
    db: Database, place: Place, clock: Clock
) -> None:
    handlers = registry()
    post = handlers.make_sender = Post()
    called: list[Any] = []
    handlers.handle(TOPIC, called.append)
    dispatcher = Workers(db, handlers).dispatcher
    queues = dispatcher._queues

    def late() -> Any:
        found = queues()
        set_sink(db, SYSTEM, "hook", NewSink(TOPIC, "https://example.com/"), Terms("test"))
        return found

    dispatcher._queues = late
    [id] = put(db, letter())
    dispatcher.step()
    until(lambda: post.sent)
    until(lambda: dispatcher.step(claiming=False) and not dispatcher.held)
    dispatcher.dismiss(1)
    assert (called, delivered(place)) == ([], [id])


@pytest.mark.req("S-18", "O-12")
def test_no_more_is_claimed_than_endpoints_have_room(db: Database, clock: Clock) -> None:
    """Where all messages of a topic go to full endpoints, claiming them is for nothing."""
    handlers = registry(concurrency=16, endpoint_concurrency=3)
    handlers.make_sender = Post()
    workers = Workers(db, handlers)
    dispatcher = workers.dispatcher

    def limits() -> dict[str, int]:
        return {queue.topic: queue.limit for queue in dispatcher._queues()}

    new = NewSink(TOPIC, "https://example.com/hook")
    set_sink(db, SYSTEM, "hook", new, Terms("test"))
    dispatcher.outside.look()
    assert limits() == {TOPIC: 3}
    key = (SYSTEM, "https://example.com/hook")
    for _ in range(3):
        dispatcher.outside.limits.enter(key, 3)
    assert limits() == {}
    dispatcher.outside.limits.leave(key, is_well=True)
    assert limits() == {TOPIC: 1}
