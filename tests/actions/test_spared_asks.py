"""While work follows from work the outbox is asked when there may be more, and twice a second.

Handlers run in the thread of the dispatcher and the process's clock is moved by hand. Somebody
elsewhere puts letters into the outbox: they are claimed by whoever asks.
"""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tests.carrying import AUTO, KIND, STEPS
from tests.databases import START_AT, Clock, Place
from tests.messages import TOPIC, delivered, letter, put
from watchkeeper.act_results import Action
from watchkeeper.actions.dispatcher import QUIET_US, Dispatcher
from watchkeeper.app import App
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.handlers.attempts import attempt
from watchkeeper.handlers.run_in_threads import Crew
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message

WAIT = 60.0
QUIET = QUIET_US / SECOND
LITTLE = 0.001
ROUNDING = 2 / SECOND


class Inline(Crew):
    """A crew without threads: what is begun has ended when that returns."""

    meanwhile: Callable[[], object] | None = None

    def begin(self) -> None:
        told, type(self).meanwhile = type(self).meanwhile, None
        if told is not None:
            told()
        for piece in self._withdrawn():
            assert not isinstance(piece, list)
            if self.topic.is_async:
                asyncio.run(self._attempt_async(*piece))
            else:
                self._ended.append(attempt(self.topic, *piece))


class Hands:
    """A dispatcher that is stepped, and a clock that is moved, by hand."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.at = 0.0
        self.calls: list[str] = []
        self.letters: list[str] = []
        self.crew = type("Crew", (Inline,), {})
        for name in STEPS:
            app.action(name, risk="low")(self._act)
        app.on(TOPIC)(self._read)
        self.dispatcher = Dispatcher(app.db, app.registry, crew=self.crew, clock=lambda: self.at)

    def _act(self, action: Action) -> None:
        self.calls.append(action.step_id)

    def _read(self, message: Message) -> None:
        self.letters.append(message.id)

    def begun(self) -> str:
        """A plan whose first action has been carried out, which nobody has written yet."""
        plan = self.app.plans.create("acme", "ann", KIND, STEPS)
        self.app.plans.approve(plan.plan_id, by="ann")
        self.dispatcher.step()
        assert self.calls == ["step-1"]
        return plan.plan_id

    def after(self, seconds: float) -> tuple[float, float | None]:
        """A step, so long after the first; the time it takes it to be, and when to look again."""
        self.at = seconds
        found = self.dispatcher.step()
        due = None if found.due_at is None else (found.due_at - START_AT) / SECOND
        return (found.now - START_AT) / SECOND, due


@pytest.fixture
def hands(db_url: str) -> Iterator[Hands]:
    app = App(db_url, migrate=False)
    app.apply_policy(AUTO, reason="try")
    made = Hands(app)
    yield made
    made.dispatcher.dismiss(WAIT)
    app.close()


@pytest.fixture
def elsewhere(place: Place) -> Iterator[Database]:
    """Another process, which nobody listens to."""
    opened = place.open()
    yield opened
    opened.close()


@pytest.mark.req("A-11", "O-03")
def test_while_nothing_is_heard_it_is_asked_twice_a_second(hands, elsewhere) -> None:
    hands.begun()
    wanted = put(elsewhere, letter())
    assert hands.after(QUIET - LITTLE) == pytest.approx((QUIET - LITTLE, QUIET), abs=ROUNDING)
    assert hands.calls == ["step-1", "step-2"], "what follows is begun all the same"
    assert hands.letters == []
    hands.after(QUIET)
    assert hands.calls == ["step-1", "step-2", "step-3"]
    assert hands.letters == wanted


@pytest.mark.req("A-11", "O-03")
def test_the_time_runs_from_the_last_ask(hands, elsewhere) -> None:
    hands.begun()
    hands.after(QUIET)  # asks
    wanted = put(elsewhere, letter())
    hands.after(QUIET + QUIET - LITTLE)
    assert (hands.calls[-1], hands.letters) == ("step-3", [])
    hands.after(QUIET + QUIET - LITTLE)  # nothing follows any more
    assert hands.letters == wanted


@pytest.mark.req("A-11", "O-03")
def test_what_is_heard_of_is_asked_for_at_once(hands) -> None:
    hands.begun()
    wanted = put(hands.app.db, letter())
    hands.after(0)
    assert (hands.calls[-1], hands.letters) == ("step-2", wanted)


@pytest.mark.req("A-11", "O-03")
def test_what_is_heard_of_from_elsewhere_too(hands, elsewhere) -> None:
    hands.begun()
    wanted = put(elsewhere, letter())
    hands.app.db.hear()
    hands.after(0)
    assert (hands.calls[-1], hands.letters) == ("step-2", wanted)


@pytest.mark.req("A-11", "O-03")
def test_what_is_heard_of_while_the_database_answers(hands, elsewhere) -> None:
    """It may have come too late for that answer."""
    hands.crew.meanwhile = hands.app.db.hear
    hands.begun()
    assert hands.crew.meanwhile is None, "it was told"
    wanted = put(elsewhere, letter())
    hands.after(0)
    assert (hands.calls[-1], hands.letters) == ("step-2", wanted)


@pytest.mark.req("A-11", "O-03")
def test_ends_of_attempts_are_nothing_to_ask_for(hands, elsewhere) -> None:
    hands.begun()
    put(elsewhere, letter())
    hands.app.db.wake()
    hands.after(QUIET - LITTLE)
    assert (hands.calls[-1], hands.letters) == ("step-2", [])


@pytest.mark.req("A-11", "O-03")
def test_a_timer_that_is_due_is_asked_for(hands, elsewhere, clock: Clock) -> None:
    due = QUIET / 2
    wanted = put(elsewhere, letter(due_at=Instant(START_AT + int(due * SECOND))))
    hands.begun()
    assert hands.after(due - LITTLE) == pytest.approx((due - LITTLE, due), abs=ROUNDING)
    clock.advance(due)
    assert (hands.calls[-1], hands.letters) == ("step-2", [])
    hands.after(due)
    assert (hands.calls[-1], hands.letters) == ("step-3", wanted)


@pytest.mark.req("S-13", "A-11")
def test_what_only_needs_an_ack_gets_it(hands, elsewhere, place: Place) -> None:
    wanted = put(elsewhere, letter())
    hands.begun()
    assert hands.letters == wanted
    more = put(elsewhere, letter())
    hands.after(0)
    assert set(delivered(place)) >= set(wanted)
    assert hands.letters == wanted + more, "and brings what is there"


@pytest.mark.req("A-11")
def test_news_are_heard_and_ends_are_not(db: Database) -> None:
    seen, heard = db.news_count, db.heard_count
    db.wake()
    assert (db.news_count > seen, db.heard_count) == (True, heard)
    seen = db.news_count
    db.hear()
    assert (db.news_count > seen, db.heard_count) == (True, heard + 1)
    put(db, letter())
    assert db.heard_count == heard + 2
