"""Progress keeps a turn alive; the watchdog ends those that nothing was heard of for too long."""

from datetime import timedelta

import pytest

from tests.books import Meter, balanced
from tests.databases import START_AT, Clock, Place
from watchkeeper import App
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.store.database import Database


@pytest.fixture
def meter(db: Database) -> Meter:
    return Meter(db)


@pytest.mark.req("S-06", "S-05")
def test_the_first_progress_marks_the_start(meter: Meter, clock: Clock) -> None:
    meter.reserve("t1")
    assert meter.stored().started_at is None
    clock.advance(10)
    meter.progress()
    clock.advance(10)
    meter.progress()
    turn = meter.stored()
    assert turn.started_at == START_AT + 10 * SECOND
    assert turn.progressed_at == START_AT + 20 * SECOND
    assert turn.deadline_at == START_AT + 320 * SECOND
    assert meter.finalize(started=False).turn.settlement_method == "estimated"


@pytest.mark.req("S-06")
def test_what_has_ended_cannot_progress(meter: Meter) -> None:
    with pytest.raises(NotFound):
        meter.reserve("t0") and meter.progress("t1")
    meter.reserve("t1")
    meter.finalize("t1")
    before = meter.stored("t1")
    with pytest.raises(Conflict, match="t1 is completed: it cannot progress"):
        meter.progress("t1")
    assert meter.stored("t1") == before


@pytest.mark.req("S-06")
@pytest.mark.parametrize(("late", "ended"), [(0, 0), (1, 1)], ids=["exactly", "a microsecond on"])
def test_the_watchdog_waits_for_the_whole_timeout(
    meter: Meter, place: Place, clock: Clock, late: int, ended: int
) -> None:
    meter.reserve("t1")
    clock.set(meter.stored().deadline_at + late)
    assert meter.watch() == ended
    assert meter.watch() == 0
    assert balanced(place) == ({"failed": 1} if ended else {"running": 1})


@pytest.mark.req("S-06", "S-05")
def test_the_watchdog_settles_like_anybody_else(meter: Meter, place: Place, clock: Clock) -> None:
    for n in range(3):
        meter.reserve(f"t{n}")
    meter.progress("t1")
    clock.advance(200)
    meter.progress("t2")
    clock.advance(101)
    assert meter.watch() == 2
    never, begun = meter.stored("t0"), meter.stored("t1")
    assert (never.settlement_method, never.charged_micro) == ("released", 0)
    assert (begun.settlement_method, begun.charged_micro) == ("estimated", 250)
    assert never.state == begun.state == "failed"
    assert never.ended_by == begun.ended_by == "watchdog"
    assert meter.stored("t2").is_running, "it progressed in time"
    assert balanced(place) == {"failed": 2, "running": 1}


@pytest.mark.req("S-06")
def test_a_clock_that_jumps_back_takes_no_time_from_a_turn(meter: Meter, clock: Clock) -> None:
    meter.reserve("t1")
    meter.progress("t1")
    before = meter.stored("t1")
    clock.advance(hours=-1)
    meter.progress("t1")
    after = meter.stored("t1")
    assert (after.progressed_at, after.deadline_at) == (before.progressed_at, before.deadline_at)


@pytest.mark.req("S-06")
def test_the_watchdog_goes_through_all_tenants(db: Database, place: Place, clock: Clock) -> None:
    for tenant in ("a", "b", "c"):
        Meter(db, tenant).reserve("t1")
    clock.advance(301)
    assert Meter(db).watch() == 3
    assert balanced(place) == {"failed": 3}


@pytest.mark.req("S-06")
def test_advancing_the_clock_ends_what_falls_silent_on_the_way(db_url: str, place: Place) -> None:
    app = App(db_url, migrate=False)
    given = {"model": "standard", "estimated_input_tokens": 1, "max_output_tokens": 1}
    app.reserve_turn("acme", request_id="r1", turn_id="t1", **given)
    done = app.clock.advance(minutes=10)
    assert done.ran["turns timed out"] == 1
    turn = app.turn("acme", "t1")
    assert turn.ended_at == turn.reserved_at + timedelta(seconds=300, microseconds=1)
    app.close()
