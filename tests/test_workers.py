"""The loops in one process: they start work at once, hold on to it, and stop in good order.

Time is real here: these tests wait for events with a limit, and never for a time to pass.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.databases import Clock, Place
from tests.messages import TOPIC, delivered, letter, live, one, put, registry
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.handlers.registry import Registry
from watchkeeper.handlers.run_in_threads import Crew
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.workers import Workers, WorkerSettings

WAIT = 60.0
TIMERS_MAX = 50
"""Where a machine is busy, as many are looked at before one that is late is the loop's fault."""


def until(question: Callable[[], Any], seconds: float = WAIT) -> None:
    """Wait for an answer that is true."""
    end = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < end, "it did not happen in time"
        threading.Event().wait(0.005)


@pytest.fixture
def real(clock: Clock) -> None:
    clock.make_real()


@pytest.fixture
def work(db: Database, real: None) -> Iterator[Callable[..., Workers]]:
    started: list[Workers] = []

    def start(handlers: Registry, **settings: Any) -> Workers:
        workers = Workers(db, handlers, WorkerSettings(**settings))
        started.append(workers)
        workers.start()
        return workers

    yield start
    for workers in started:
        workers.stop(1)


@pytest.mark.req("O-03", "S-12")
def test_what_is_enqueued_starts_at_once(db: Database, work: Any) -> None:
    handlers = registry()
    begun: list[float] = []
    handlers.handle(TOPIC, lambda _: begun.append(time.monotonic()))
    work(handlers, poll_seconds=2 * WAIT)
    put(db, letter())
    until(lambda: begun)  # everything is warm from here on
    waits = []
    for _ in range(20):
        begun.clear()
        put(db, letter())
        since = time.monotonic()
        until(lambda: begun)
        waits.append(begun[0] - since)
    assert min(waits) < 0.05, waits  # a busy machine delays some, a loop that dawdles all


@pytest.mark.req("O-03", "S-10")
def test_polling_finds_what_nobody_told_of(db: Database, place: Place, work: Any) -> None:
    handlers = registry()
    seen = threading.Event()
    handlers.handle(TOPIC, lambda _: seen.set())
    work(handlers, poll_seconds=0.2)
    other = place.open()
    put(other, letter())
    assert seen.wait(WAIT)
    other.close()


@pytest.mark.req("O-03")
@pytest.mark.postgresql
def test_another_process_is_told_after_the_commit(databases) -> None:
    """Two databases objects share nothing but PostgreSQL: the wake-up goes through it."""
    with databases.opened("postgresql") as (db, clock):
        clock.make_real()
        handlers = registry()
        begun = threading.Event()
        handlers.handle(TOPIC, lambda _: begun.set())
        from watchkeeper.workers import Notifier

        workers = Workers(db, handlers, WorkerSettings(poll_seconds=30))
        other = clock.place.open()
        notifier = Notifier(other)
        workers.start()
        notifier.start()
        try:
            for _ in range(3):
                begun.clear()
                put(other, letter())
                assert begun.wait(WAIT)
        finally:
            notifier.stop()
            workers.stop(1)
            other.close()


@pytest.mark.req("O-03")
def test_a_timer_starts_at_its_time(db: Database, work: Any) -> None:
    handlers = registry()
    begun: list[tuple[int, int]] = []

    def call(message: Message) -> None:
        with db.read_system() as tx:
            begun.append((tx.now, message.due_at))

    handlers.handle(TOPIC, call)
    work(handlers, poll_seconds=2 * WAIT)
    for _ in range(TIMERS_MAX):
        with db.read_system() as tx:
            at = Instant(tx.now + SECOND // 5)
        put(db, letter(due_at=at))
        count = len(begun)
        until(lambda count=count: len(begun) > count)
        late = [now - due for now, due in begun]
        assert min(late) >= 0
        if len(late) > 2 and min(late) < SECOND // 20:
            return
    raise AssertionError(f"never at its time: {late}")


@pytest.mark.req("S-12")
def test_no_more_is_claimed_than_there_are_free_slots(
    db: Database, place: Place, work: Any
) -> None:
    handlers = registry(concurrency=3)
    gate = threading.Event()
    running: list[str] = []

    def call(message: Message) -> None:
        running.append(message.id)
        gate.wait(WAIT)

    handlers.handle(TOPIC, call)
    put(db, *[letter() for _ in range(8)])
    workers = work(handlers)
    until(lambda: len(running) == 3)
    assert workers.counts["claimed"] == 3
    assert sum(stored.status == "processing" for stored in live(place).values()) == 3
    gate.set()
    until(lambda: workers.counts["delivered"] == 8)
    assert len(running) == 8


def test_blocking_handlers_run_side_by_side(db: Database, work: Any) -> None:
    handlers = registry(concurrency=6)
    together = threading.Barrier(6)
    handlers.handle(TOPIC, lambda _: together.wait(WAIT))
    put(db, *[letter() for _ in range(12)])
    workers = work(handlers)
    until(lambda: workers.counts["delivered"] == 12)


def test_async_handlers_run_side_by_side(db: Database, work: Any) -> None:
    handlers = registry(concurrency=6)
    inside = 0
    most = 0

    async def call(_message: Message) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        while most < 6:
            await asyncio.sleep(0.001)
        inside -= 1

    handlers.handle(TOPIC, call)
    put(db, *[letter() for _ in range(12)])
    workers = work(handlers)
    until(lambda: workers.counts["delivered"] == 12)
    assert most == 6


@pytest.mark.parametrize("error", [SystemExit(1), ValueError("no"), KeyboardInterrupt()])
def test_no_handler_ends_the_worker(db: Database, work: Any, error: BaseException) -> None:
    handlers = registry(max_attempts=1)

    def call(message: Message) -> None:
        if message.tenant_id == "bad":
            raise error

    handlers.handle(TOPIC, call)
    put(db, letter("bad"), letter("bad"))
    workers = work(handlers)
    until(lambda: workers.counts["failed"] == 2)
    put(db, letter("good"))
    until(lambda: workers.counts["delivered"] == 1)


@pytest.mark.req("S-13")
def test_the_lease_of_a_running_handler_is_extended(db: Database, place: Place, work: Any) -> None:
    """The handler holds on to its thread without a pause until its lease has been renewed twice.

    Were it not renewed, it would be over before the second time.
    """
    handlers = registry(lease_us=6 * SECOND)
    calls: list[str] = []
    is_over = False

    def call(message: Message) -> None:
        calls.append(message.id)
        while not is_over:
            pass

    handlers.handle(TOPIC, call)
    [id] = put(db, letter())
    workers = work(handlers, poll_seconds=0.1)
    until(lambda: calls)
    ends = {one(place, id).locked_until}
    try:
        until(lambda: ends.add(one(place, id).locked_until) or len(ends) == 3)
    finally:
        is_over = True
    until(lambda: workers.counts["delivered"] == 1)
    assert len(calls) == 1
    assert workers.counts["fenced"] == 0


@pytest.mark.req("S-13")
def test_who_lost_the_lease_acks_nothing(db: Database, place: Place, work: Any) -> None:
    handlers = registry(lease_us=600 * SECOND)
    gate, inside = threading.Event(), threading.Event()

    def call(_message: Message) -> None:
        inside.set()
        gate.wait(WAIT)

    handlers.handle(TOPIC, call)
    [id] = put(db, letter())
    workers = work(handlers)
    assert inside.wait(WAIT)
    place.execute("update outbox set locked_by = '00000000-0000-4000-8000-000000000000'")
    gate.set()
    until(lambda: workers.counts["fenced"] == 1)
    assert delivered(place) == []
    assert one(place, id).status == "processing"


@pytest.mark.req("S-13")
def test_a_lost_lease_is_noticed_while_the_handler_runs(
    db: Database, place: Place, work: Any
) -> None:
    handlers = registry(lease_us=5 * SECOND)
    gate, inside = threading.Event(), threading.Event()

    def call(_message: Message) -> None:
        inside.set()
        gate.wait(WAIT)

    handlers.handle(TOPIC, call)
    put(db, letter())
    workers = work(handlers)
    assert inside.wait(WAIT)
    place.execute(
        "update outbox set locked_by = '00000000-0000-4000-8000-000000000000',"
        " locked_until = 9000000000000000"
    )
    until(lambda: workers.dispatcher.leases.lost)
    gate.set()
    until(lambda: workers.counts["fenced"] == 1)


@pytest.mark.req("S-16", "O-14")
def test_a_stop_finishes_what_runs_and_gives_back_what_does_not(
    db: Database, place: Place, work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers = registry(concurrency=4)
    gate, inside = threading.Event(), threading.Event()

    def call(message: Message) -> None:
        inside.set()
        gate.wait(WAIT)

    handlers.handle(TOPIC, call)
    wanted = put(db, *[letter() for _ in range(4)])
    monkeypatch.setattr(Crew, "grow", lambda _crew: False)  # one thread, and three wait for it
    workers = work(handlers)
    assert inside.wait(WAIT)
    stopping = threading.Thread(target=workers.stop, args=(WAIT,))
    stopping.start()
    until(lambda: sum(s.status == "pending" for s in live(place).values()) >= 1)
    gate.set()
    stopping.join(WAIT)
    assert workers.counts["delivered"] >= 1
    rest = live(place)
    assert workers.counts["released"] == len(rest) >= 1
    assert {(s.status, s.attempts) for s in rest.values()} == {("pending", 0)}
    assert len(delivered(place)) + len(rest) == len(wanted)


@pytest.mark.req("S-16", "O-14")
def test_the_grace_has_an_end(db: Database, place: Place, work: Any) -> None:
    handlers = registry()
    gate, inside, outside = threading.Event(), threading.Event(), threading.Event()

    def call(_message: Message) -> None:
        inside.set()
        gate.wait(WAIT)
        outside.set()

    handlers.handle(TOPIC, call)
    put(db, letter())
    workers = work(handlers)
    assert inside.wait(WAIT)
    assert workers.stop(0.2) is False
    assert not outside.is_set(), "the stop was over before the handler was"
    gate.set()
    assert [stored.status for stored in live(place).values()] == ["processing"]


def test_many_messages_pass_through_few_threads(
    db: Database, place: Place, work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads are added where nothing has ended since the last look: here something always has."""
    handlers = registry(concurrency=500)
    seen: list[str] = []
    threads: set[str] = set()
    grow = Crew.grow

    def grow_if_idle(crew: Crew) -> bool:
        before = crew._ended_count
        until(lambda: crew._ended_count != before or not crew._waiting)
        return grow(crew)

    def call(message: Message) -> None:
        seen.append(message.id)
        threads.add(str(threading.get_native_id()))

    monkeypatch.setattr(Crew, "grow", grow_if_idle)  # or a busy machine looks too soon
    handlers.handle(TOPIC, call)
    wanted = put(db, *[letter(f"t{n % 3}") for n in range(2000)])
    workers = work(handlers)
    until(lambda: workers.counts["delivered"] == 2000)
    assert sorted(seen) == sorted(wanted)
    assert len(delivered(place)) == 2000
    assert len(threads) < 40


def test_batches_are_delivered_in_threads_too(db: Database, work: Any) -> None:
    from watchkeeper.core.delivery import Delivered

    handlers = registry()
    sizes: list[int] = []

    def deliver(_db: Database, messages: list[Message]) -> list[Delivered]:
        sizes.append(len(messages))
        return [Delivered()] * len(messages)

    handlers.handle_batch(TOPIC, deliver, batch_max=50)
    put(db, *[letter() for _ in range(200)])
    workers = work(handlers)
    until(lambda: workers.counts["delivered"] == 200)
    assert max(sizes) <= 50
    assert len(sizes) < 20


@pytest.mark.req("O-03")
@pytest.mark.postgresql
def test_idle_workers_cost_a_handful_of_statements(databases) -> None:
    with databases.opened("postgresql") as (db, clock):
        clock.make_real()
        handlers = registry()
        handlers.handle(TOPIC, lambda _: None)
        workers = Workers(db, handlers, WorkerSettings(poll_seconds=1))
        steps: list[float] = []
        step = workers.dispatcher.step
        workers.dispatcher.step = lambda **more: steps.append(time.monotonic()) or step(**more)
        workers.start()
        until(lambda: len(steps) >= 6)
        gaps = sorted(later - earlier for earlier, later in pairwise(steps))
        assert gaps[2] > 0.9, "but for two steps when it starts, one a second"
        workers.stop(1)


@pytest.mark.req("S-13", "D-05")
def test_nothing_is_begun_on_a_lease_that_may_have_ended(
    db: Database, place: Place, work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that waited too long for a thread is given back, not run on another's time."""
    handlers = registry(concurrency=2, lease_us=60 * SECOND)
    gate, inside = threading.Event(), threading.Event()
    seen: list[str] = []

    def call(message: Message) -> None:
        seen.append(message.id)
        inside.set()
        gate.wait(WAIT)

    handlers.handle(TOPIC, call)
    first, second = put(db, letter(), letter())
    monkeypatch.setattr(Crew, "grow", lambda _crew: False)  # one thread, however long it takes
    workers = work(handlers)
    assert inside.wait(WAIT)
    crew = workers.dispatcher._crew(next(iter(handlers)))  # made by now, and not by this thread
    workers.dispatcher.leases.renew_due = lambda _db: 0  # its database cannot be reached, say
    held = workers.dispatcher.leases._held
    until(lambda: second in held)
    message, terms = held[second]
    held[second] = (message, terms._replace(renewed=time.monotonic() - 50))
    workers._stopping.set()  # or it would be claimed again at once
    gate.set()
    until(lambda: crew._ended_count == 2)
    workers.stop(5)
    assert seen == [first]
    assert (one(place, second).status, one(place, second).attempts) == ("pending", 0)
