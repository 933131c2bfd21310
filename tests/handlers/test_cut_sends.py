"""Sends that a stopping worker cuts short: each order of threads in which that can happen.

The thread that stops and the event loop of the sends are made to take their turns here, so that
an order that needs a busy machine elsewhere comes every time.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.databases import Clock, Place
from tests.messages import TOPIC, letter, one, put, registry
from watchkeeper.actions.deliver_outside import ABANDONED
from watchkeeper.actions.dispatcher import Dispatcher
from watchkeeper.actions.set_sink import NewSink, Terms, set_sink
from watchkeeper.core.delivery import Guarantee
from watchkeeper.core.ids import SYSTEM, MessageId
from watchkeeper.handlers.endpoint import Endpoint, Kind
from watchkeeper.handlers.results import Retry
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.workers import Workers

WAIT = 30.0


class Silent:
    """A sender whose receiver answers when it is told to, and never well."""

    def __init__(self) -> None:
        self.inside = threading.Event()
        self.answered = asyncio.Event()
        self.leaving: Callable[[], object] = lambda: None

    def __call__(self, _kind: Kind) -> "Silent":
        return self

    async def send(self, _endpoint: Endpoint, _message: Message) -> None:
        self.inside.set()
        try:
            await self.answered.wait()
        finally:
            self.leaving()
        raise Retry("answered 503")

    async def close(self) -> None:
        self.answered.set()


@pytest.fixture
def silent() -> Silent:
    return Silent()


@pytest.fixture
def start(db: Database, clock: Clock, silent: Silent) -> Iterator[Callable[..., Workers]]:
    started: list[Workers] = []

    def make(**rule: Any) -> Workers:
        handlers = registry(**rule)
        handlers.make_sender = silent
        set_sink(db, SYSTEM, "hook", NewSink(TOPIC, "https://example.com/"), Terms("test"))
        started.append(Workers(db, handlers))
        return started[-1]

    yield make
    for workers in started:
        workers.dispatcher.dismiss(WAIT)


def on_loop(dispatcher: Dispatcher, deed: Callable[[], None] = lambda: None) -> None:
    """Come back when the event loop has done this, and all that it was told before."""
    done = threading.Event()

    def do() -> None:
        deed()
        done.set()

    dispatcher._loop.call(do)
    assert done.wait(WAIT)


def settle(db: Database, dispatcher: Dispatcher) -> None:
    """Step until nothing is held. Whoever ends wakes the database."""
    while True:
        seen = db.news_count
        dispatcher.step(claiming=False)
        if not dispatcher.held:
            return
        assert db.wait_for_news(seen, WAIT) != seen, "it never came back"


def sending(db: Database, dispatcher: Dispatcher, silent: Silent) -> MessageId:
    [id] = put(db, letter())
    dispatcher.step()
    assert silent.inside.wait(WAIT)
    return id


@pytest.mark.req("S-16", "O-14")
def test_a_cut_send_is_told_as_abandoned_however_early_it_ends(
    db: Database, place: Place, silent: Silent, start: Callable[..., Workers]
) -> None:
    """The loop cuts it, and it ends, before the thread that asked for it goes on."""
    dispatcher = start().dispatcher
    id = sending(db, dispatcher, silent)
    call = dispatcher._loop.call

    def call_and_wait(deed: Callable[..., None], *arguments: object) -> None:
        seen = db.news_count
        call(deed, *arguments)
        assert db.wait_for_news(seen, WAIT) != seen

    dispatcher._loop.call = call_and_wait
    dispatcher.give_up()
    dispatcher._loop.call = call
    settle(db, dispatcher)
    stored = one(place, id)
    assert (stored.status, stored.attempts, stored.locked_by) == ("pending", 1, None)
    assert stored.last_error == ABANDONED


@pytest.mark.req("S-16", "O-14")
def test_what_has_not_begun_when_sends_are_cut_is_never_sent(
    db: Database, place: Place, silent: Silent, start: Callable[..., Workers]
) -> None:
    """The loop is busy while a message is handed to it and the stop is asked for."""
    dispatcher = start().dispatcher
    gate = threading.Event()
    dispatcher._loop.call(gate.wait, WAIT)
    [id] = put(db, letter())
    dispatcher.step()
    dispatcher.give_up()
    gate.set()
    settle(db, dispatcher)
    assert not silent.inside.is_set()
    stored = one(place, id)
    assert (stored.status, stored.attempts, stored.locked_by) == ("pending", 0, None)


@pytest.mark.req("S-16", "O-14")
def test_an_answer_that_comes_during_the_stop_is_told_as_it_was(
    db: Database, place: Place, silent: Silent, start: Callable[..., Workers]
) -> None:
    """What may be sent only once is not cut; its receiver's word stands."""
    dispatcher = start(guarantee=Guarantee.AT_MOST_ONCE, max_attempts=1).dispatcher
    id = sending(db, dispatcher, silent)
    dispatcher.give_up()
    on_loop(dispatcher)
    assert not dispatcher.is_cutting
    on_loop(dispatcher, silent.answered.set)
    settle(db, dispatcher)
    assert one(place, id).last_error == "answered 503"


@pytest.mark.req("S-16", "O-14")
def test_a_cut_send_comes_back_after_a_grace_that_was_too_short(
    db: Database,
    place: Place,
    silent: Silent,
    start: Callable[..., Workers],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No time at all is left when it is cut, and it is given back even so."""
    workers = start()
    dispatcher = workers.dispatcher
    id = sending(db, dispatcher, silent)
    stepped = threading.Event()
    step = dispatcher.step

    def step_and_tell(**how: Any) -> Any:
        try:
            return step(**how)
        finally:
            stepped.set()

    dispatcher.step = step_and_tell
    silent.leaving = lambda: stepped.wait(WAIT)  # so the first look finds it held
    monkeypatch.setattr("watchkeeper.workers.JOIN_SECONDS_MAX", WAIT)
    assert workers._wind_down(time.monotonic(), 0.0)
    assert one(place, id).last_error == ABANDONED
