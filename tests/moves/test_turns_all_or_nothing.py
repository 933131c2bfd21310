"""Every deed with turns, with its 1st step failing, then its 2nd; then the retry, and the books."""

import contextlib
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.books import Meter, balanced, events
from tests.databases import Clock, Place
from tests.metered import USED, Worker
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from watchkeeper import App, Decision
from watchkeeper.actions.meter_runs import Metering
from watchkeeper.actions.run_decisions import end_runs, start_runs
from watchkeeper.core.quota import Asked
from watchkeeper.core.turns import Ending, TurnState, Usage
from watchkeeper.errors import Conflict
from watchkeeper.handlers.attempts import result_of
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.ids import new_id


class World:
    """A program with turns and metered runs, whose books were opened before."""

    def __init__(self, app: App, clock: Clock) -> None:
        self.app, self.clock = app, clock
        self.meter = Meter(app.db)
        self.meter.policy("[quota.tenant.daily]\ntotal = 5000\ntiers.premium = 2000\n")
        self.meter.reserve("old", user_id="u")
        self.worker = Worker(app, model="premium")
        self.metering = Metering("premium", 100, 100)


@pytest.fixture
def world(db_url: str, clock: Clock) -> Iterator[World]:
    app = App(db_url, migrate=False)
    yield World(app, clock)
    app.close()


Deed = Callable[[], object]


def reserve(world: World) -> Deed:
    """New, known, downgraded, refused, wrong: all in one transaction."""
    asked = [
        Asked("t1", "r1", "premium", 100, 100, user_id="u"),
        Asked("t2", "r2", "premium", 100, 100),
        Asked("t3", "r-old", "standard", 1, 1),
        Asked("t4", "r4", "standard", 1000, 1000),
        Asked("t5", "r5", "gone", 1, 1),
    ]
    return lambda: world.meter.turns.reserve_many(world.meter.tenant_id, asked)


def finalize(world: World) -> Deed:
    world.meter.reserve("t1", user_id="u")
    world.meter.reserve("t2", user_id="v")
    world.meter.finalize("t2")
    endings = [
        Ending(turn, TurnState.COMPLETED, True, usage, "test", new_id())
        for turn, usage in [("old", Usage(5000, 1)), ("t1", None), ("t2", None), ("gone", None)]
    ]
    return lambda: world.meter.turns.finalize_many(world.meter.tenant_id, endings)


def progress(world: World) -> Deed:
    world.clock.advance(10)
    return lambda: world.meter.progress("old")


def start(world: World) -> Deed:
    world.worker.trigger("ann")
    world.worker.trigger("bob")
    messages = world.worker.claim()
    return lambda: start_runs(world.app.db, messages, world.metering)


def end(world: World) -> Deed:
    decided = Decision(usage=USED)
    return _ending(world, lambda m, run: Ended(m, run, DELIVERED, decided))


def fail(world: World) -> Deed:
    return _ending(world, lambda m, run: Ended(m, run, result_of(ValueError("no"))))


def _ending(world: World, how: Callable[..., Ended]) -> Deed:
    world.worker.trigger("ann")
    world.worker.trigger("bob")
    messages = world.worker.claim()
    runs = world.worker.start(*messages)
    ended = [how(m, runs[m.id]) for m in messages]
    return lambda: end_runs(world.app.db, world.app.registry, ended, world.metering)


DEEDS = [reserve, finalize, progress, start, end, fail]


@pytest.mark.req("S-01", "S-04", "S-06")
@pytest.mark.parametrize("prepared", DEEDS, ids=lambda deed: deed.__name__)
def test_a_power_cut_leaves_all_or_nothing(world: World, place: Place, prepared) -> None:
    deed = prepared(world)
    before = contents(place)
    books = balanced(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                deed()
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    assert step >= 2, "the cuts did not reach it"
    assert seen.count("commit") == 1, "one transaction per move"
    assert contents(place) != before
    after = balanced(place)
    assert after.total() >= books.total()
    assert len(events(place)) == after.total() - after["running"]
    with power_cut_at(STEPS_MAX):
        deed()  # and a repeat of what was done settles nothing twice
    assert balanced(place) == after


@pytest.mark.req("S-06", "S-04")
def test_a_watchdog_that_is_cut_short_is_followed_by_another(world: World, place: Place) -> None:
    world.meter.finalize("old")
    for step in count(1):
        assert step < STEPS_MAX
        for n in range(2):
            world.meter.reserve(f"t{step}-{n}", tokens=(1, 1))
        world.meter.progress(f"t{step}-1")
        world.clock.advance(301)
        with contextlib.suppress(PowerCut), power_cut_at(step) as seen:
            world.meter.watch()
        balanced(place)
        world.meter.watch()
        assert balanced(place) == {"completed": 1, "failed": 2 * step}
        if len(seen) < step:
            break
    assert step > 6, "the cuts did not reach it"


@pytest.mark.req("S-06")
def test_one_turn_that_cannot_end_keeps_no_other_from_it(world: World, place: Place) -> None:
    """Somebody wrote its dedupe key behind the product's back."""
    for n in range(3):
        world.meter.reserve(f"t{n}")
    Meter(world.app.db, "zulu").reserve("t1")
    place.execute(
        "insert into dedupe_keys (tenant_id, namespace, topic, dedupe_key, message_id, created_at)"
        f" values ('acme', 'mini-chat', 'usage_snapshot', 'acme/t1/r-t1', '{new_id()}', 1)"
    )
    with pytest.raises(Conflict, match="exists already"):
        world.meter.finalize("t1")
    world.clock.advance(301)
    assert world.meter.watch() == 4
    assert world.meter.stored("t1").is_running
    assert balanced(place) == {"running": 1, "failed": 4}
