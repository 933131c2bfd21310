"""One step of the dispatcher: what it asks for, when handlers begin, and what it never forgets."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.databases import Clock, Place
from tests.messages import TOPIC, claim, delivered, letter, live, put, registry
from watchkeeper.actions.dispatcher import Dispatcher
from watchkeeper.handlers.registry import Registry
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.store.statement import same

WAIT = 60.0
LEASE = 30.0
SHOW_MODE = same("show plan_cache_mode")

Make = Callable[..., Dispatcher]


def until(question: Callable[[], Any]) -> None:
    for _ in range(int(WAIT / 0.005)):
        if question():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def make(db: Database) -> Iterator[Make]:
    made: list[Dispatcher] = []

    def dispatcher(handlers: Registry, batch_max: int) -> Dispatcher:
        made.append(Dispatcher(db, handlers, batch_max=batch_max))
        return made[-1]

    yield dispatcher
    for one in made:
        one.dismiss(WAIT)


@pytest.fixture
def seen() -> list[str]:
    return []


@pytest.fixture
def handlers(seen: list[str]) -> Registry:
    found = registry(concurrency=10)
    found.handle(TOPIC, lambda message: seen.append(message.id))
    return found


@pytest.mark.req("S-12")
def test_where_more_is_due_handlers_begin_while_the_database_works(
    db: Database, place: Place, make: Make, handlers: Registry, seen: list[str]
) -> None:
    wanted = put(db, *[letter() for _ in range(5)])
    dispatcher = make(handlers, 2)
    assert dispatcher.step().has_more
    assert seen == []
    dispatcher.step()
    until(lambda: seen == wanted[:2])
    assert not dispatcher.step().has_more
    until(lambda: seen == wanted)
    until(lambda: dispatcher.step() and dispatcher.held == 0)
    assert sorted(delivered(place)) == sorted(wanted)


@pytest.mark.req("S-12", "O-03")
def test_what_is_the_last_of_its_kind_begins_at_once(
    db: Database, make: Make, handlers: Registry, seen: list[str]
) -> None:
    wanted = put(db, letter())
    make(handlers, 2).step()
    until(lambda: seen == wanted)


@pytest.mark.req("S-12")
def test_a_look_begins_what_waits(
    db: Database, make: Make, handlers: Registry, seen: list[str]
) -> None:
    wanted = put(db, *[letter() for _ in range(3)])
    dispatcher = make(handlers, 2)
    dispatcher.step()
    dispatcher.grow()
    until(lambda: seen == wanted[:2])


@pytest.mark.req("S-16")
def test_what_waits_begins_though_the_database_fails(
    db: Database, place: Place, make: Make, handlers: Registry, seen: list[str]
) -> None:
    wanted = put(db, *[letter() for _ in range(3)])
    dispatcher = make(handlers, 2)
    dispatcher.step()
    place.execute("alter table outbox rename to hidden")
    with pytest.raises(Exception, match="outbox"):
        dispatcher.step()
    place.execute("alter table hidden rename to outbox")
    until(lambda: seen == wanted[:2])


@pytest.mark.req("S-16")
def test_what_waits_can_be_given_back(
    db: Database, place: Place, make: Make, handlers: Registry, seen: list[str]
) -> None:
    put(db, *[letter() for _ in range(3)])
    dispatcher = make(handlers, 2)
    dispatcher.step()
    dispatcher.abandon()
    dispatcher.step(claiming=False)
    assert seen == []
    assert {(one.status, one.attempts) for one in live(place).values()} == {("pending", 0)}


@pytest.mark.req("S-12")
def test_a_slot_is_free_when_its_handler_has_returned(
    db: Database, make: Make, seen: list[str]
) -> None:
    handlers = registry(concurrency=2)
    gate = threading.Event()

    def call(message: Message) -> None:
        gate.wait(WAIT)
        seen.append(message.id)

    handlers.handle(TOPIC, call)
    put(db, *[letter() for _ in range(2)])
    dispatcher = make(handlers, 2)
    dispatcher.step()
    assert not dispatcher.has_room
    gate.set()
    until(lambda: dispatcher.has_room)
    assert seen


@pytest.mark.req("S-13")
def test_acks_that_came_too_late_are_counted_one_by_one(
    db: Database, clock: Clock, place: Place, make: Make
) -> None:
    handlers = registry(concurrency=10)
    gate = threading.Event()

    def call(_message: Message) -> None:
        gate.wait(WAIT)

    handlers.handle(TOPIC, call)
    put(db, letter(), letter())
    dispatcher = make(handlers, 10)
    dispatcher.step()
    clock.advance(LEASE)
    [stolen] = claim(db, 1)
    gate.set()
    until(lambda: dispatcher.grow() is False and dispatcher.held == 2)
    until(lambda: dispatcher.step(claiming=False) and dispatcher.held == 0)
    assert (dispatcher.counts["delivered"], dispatcher.counts["fenced"]) == (1, 1)
    assert set(live(place)) == {stolen.id}


@pytest.mark.postgresql
def test_the_plan_of_a_claim_is_made_once(both) -> None:
    """Planning it anew for each batch would cost a third of the claim."""
    db, _ = both["postgresql"]
    with db.batch_system() as tx:
        mode = tx.send(SHOW_MODE)
    assert mode.fetchall() == [("force_generic_plan",)]
