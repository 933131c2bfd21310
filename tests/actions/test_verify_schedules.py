"""A firing that is not there is found and named, and so is one that should not be."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tests.actions.test_verify import ledger_copy
from tests.databases import START_AT, Clock, Place
from tests.play import ACME, BRIEF, Player, event
from tests.tampering import Intruder
from tests.verify_clean import assert_verified
from watchkeeper.actions.set_schedule import NewSchedule, remove_schedule, set_schedule
from watchkeeper.actions.verify import REZONED, SCHEDULED, verify
from watchkeeper.actions.verify_schedules import incomplete_schedules
from watchkeeper.core.ids import AccountId, ScheduleId
from watchkeeper.core.schedule import CatchUp
from watchkeeper.core.time import DAY, HOUR, Instant
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("T-31")

DAILY = ScheduleId("daily")
ANN = AccountId("ann")


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    player = Player(db, clock)
    player.fire(event("ann"))
    return player


def daily(player: Player, cron: str = "0 8 * * *", **more: object) -> None:
    new = NewSchedule(**{"trigger_type": BRIEF, "cron": cron, "account_id": ANN, **more})
    set_schedule(player.db, ACME, DAILY, new)


def days(player: Player, count: float) -> None:
    player.live_until(Instant(player.clock.at + round(count * DAY)))


def gaps(player: Player) -> list[tuple[object, object]]:
    [found] = [one for one in verify(player.db) if one.invariant == SCHEDULED]
    return [(row["fires_at"], row["why"]) for row in found.rows]


def lose(place: Place, player: Player, kind: str, number: int) -> None:
    """One line about the schedule goes, by a hand that knows its way around."""
    found = sorted(one.seq for one in player.entries(kind=kind))
    Intruder(place).delete(found[number])


@pytest.mark.parametrize("catch_up", list(CatchUp))
def test_a_firing_that_was_lost_between_others_is_named(
    player: Player, place: Place, catch_up: CatchUp
) -> None:
    daily(player, catch_up=catch_up)
    days(player, 4)
    assert_verified(player.db)
    lose(place, player, "schedule.fired", 1)
    [(fires_at, why)] = gaps(player)
    assert fires_at == "2030-01-02T08:00:00Z"
    wanted = {CatchUp.FIRE_ALL: "it was due and did not fire"}
    assert why == wanted.get(catch_up, "neither fired nor missed")


def test_the_last_firing_that_was_lost_is_named(player: Player, place: Place) -> None:
    daily(player)
    days(player, 2)
    lose(place, player, "schedule.fired", -1)
    assert gaps(player) == [
        ("2030-01-02T08:00:00Z", "its next firing is set for 2030-01-03T08:00:00Z")
    ]


def test_a_long_hole_is_one_row(player: Player, place: Place) -> None:
    daily(player, "0 * * * *")
    days(player, 0.25)
    for _ in range(3):
        lose(place, player, "schedule.fired", 1)
    assert gaps(player) == [
        (
            "2030-01-01T02:00:00Z",
            "neither fired nor missed, nor 2 more until 2030-01-01T04:00:00Z",
        )
    ]


def test_what_was_missed_must_be_told(player: Player, place: Place) -> None:
    daily(player, catch_up=CatchUp.SKIP)
    player.clock.advance(days=3)
    player.settle()
    assert_verified(player.db)
    days(player, 1)
    lose(place, player, "schedule.missed", 0)
    found = gaps(player)
    assert found[0][0] == "2030-01-01T08:00:00Z"
    assert "neither fired nor missed" in str(found[0][1])


def test_a_firing_twice_and_one_that_was_not_due(player: Player, place: Place) -> None:
    daily(player)
    days(player, 1.5)
    fired = "kind = 'schedule.fired'"
    ledger_copy(place, fired, at=f"(select max(at) from ledger where {fired})")
    [(fires_at, why)] = gaps(player)
    assert (fires_at, why) == ("2030-01-01T08:00:00Z", "it fired and was not due")


def test_the_same_firing_twice(player: Player, place: Place) -> None:
    daily(player)
    days(player, 1)
    ledger_copy(place, "kind = 'schedule.fired'")
    assert gaps(player) == [("2030-01-01T08:00:00Z", "it fired 2 times")]


def test_a_schedule_that_vanished_and_one_that_came_back(player: Player, place: Place) -> None:
    daily(player)
    days(player, 1)
    place.execute("delete from schedules where schedule_id = 'daily'")
    assert gaps(player) == [("2030-01-02T08:00:00Z", "nobody removed it, and it is gone")]
    daily(player)
    assert gaps(player) == []
    remove_schedule(player.db, ACME, DAILY)
    assert gaps(player) == []
    ledger_copy(place, "kind = 'schedule.fired'")
    assert gaps(player) == [("2030-01-01T08:00:00Z", "fired or missed while it was removed")]


def test_what_a_replaced_schedule_had_not_fired_goes_with_it(player: Player) -> None:
    daily(player)
    player.clock.advance(days=2)  # nobody works
    daily(player, "0 20 * * *")
    days(player, 2)
    remove_schedule(player.db, ACME, DAILY)
    days(player, 1)
    assert_verified(player.db)


def test_a_timer_that_is_late_is_no_hole(player: Player) -> None:
    daily(player)
    player.clock.advance(days=2)
    assert gaps(player) == []


def test_a_time_zone_and_its_changes(player: Player, place: Place) -> None:
    player.clock.set(Instant(START_AT + 87 * DAY))  # 2030-03-29
    daily(player, "30 2 * * *", timezone="Europe/Berlin")
    days(player, 4)
    assert_verified(player.db)
    lose(place, player, "schedule.fired", 2)
    assert [at for at, _ in gaps(player)] == ["2030-03-31T01:00:00Z"]


@pytest.fixture
def other_zone_data(tmp_path: Path) -> dict[str, str]:
    """An environment in which Berlin goes by the clocks of New York."""
    (tmp_path / "Europe").mkdir()
    source = files("tzdata.zoneinfo").joinpath("America", "New_York")
    (tmp_path / "Europe" / "Berlin").write_bytes(source.read_bytes())
    return {**os.environ, "PYTHONTZPATH": str(tmp_path)}


LIVE = (
    "from watchkeeper import App; a = App({!r}, migrate=False); a.clock.advance(days=3); a.close()"
)


def elsewhere(env: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], env=env, capture_output=True, text=True, timeout=60
    )


def verified(env: dict[str, str], place: Place) -> tuple[int, set[str], set[str]]:
    """By a process with other time zone data: exit code, what failed, what is a notice."""
    done = elsewhere(env, "-m", "watchkeeper", "verify", "--json", "--db", place.url)
    found = json.loads(done.stdout)
    failed, notices = (
        {one["invariant"] for one in found[part] if not one["clean"]}
        for part in ("invariants", "notices")
    )
    return done.returncode, failed, notices


@pytest.mark.req("T-31")
def test_new_time_zone_data_are_a_notice_about_the_past(
    player: Player, place: Place, other_zone_data: dict[str, str]
) -> None:
    daily(player, timezone="Europe/Berlin")
    days(player, 3)
    player.clock.advance(days=3.5)  # nobody works: some are missed
    player.settle()
    assert verified(other_zone_data, place) == (0, set(), {REZONED})
    done = elsewhere(other_zone_data, "-c", LIVE.format(place.url))
    assert done.returncode == 0, done.stderr
    fired = [json.loads(one.entry.data)["when"] for one in player.entries(kind="schedule.fired")]
    assert {at[11:] for at in fired} == {"07:00:00Z", "13:00:00Z"}, "firing goes on by the new data"
    assert verified(other_zone_data, place) == (0, set(), {REZONED})
    assert gaps(player) == [], "nor are they a failure to whoever has the former data"


@pytest.mark.req("T-31")
def test_what_is_lost_under_the_same_time_zone_data_is_still_a_failure(
    player: Player, place: Place, other_zone_data: dict[str, str]
) -> None:
    daily(player, timezone="Europe/Berlin")
    days(player, 3)
    done = elsewhere(other_zone_data, "-c", LIVE.format(place.url))
    assert done.returncode == 0, done.stderr
    lose(place, player, "schedule.fired", -2)
    code, failed, _ = verified(other_zone_data, place)
    assert (code, SCHEDULED in failed) == (1, True)


def test_only_the_newest_lines_are_looked_at(player: Player, place: Place) -> None:
    """A history that begins too late is followed from its first firing."""
    daily(player, "0 * * * *")
    days(player, 1)
    lose(place, player, "schedule.fired", 2)
    with player.db.read(ACME) as tx:
        whole = incomplete_schedules(tx, 0).rows
        newest = incomplete_schedules(tx, 0, most=10).rows
        beyond = incomplete_schedules(tx, 10**6).rows
    assert (len(whole), newest, beyond) == (1, [], [])
    lose(place, player, "schedule.fired", -3)
    with player.db.read(ACME) as tx:
        [found] = incomplete_schedules(tx, 0, most=10).rows
    assert found["fires_at"] == "2030-01-01T22:00:00Z"


def test_a_schedule_that_was_set_wrongly_is_noticed(player: Player, place: Place) -> None:
    daily(player)
    kind = "json" if place.engine == "postgresql" else "text"
    at = START_AT + 8 * HOUR
    moved = f"cast(replace(cast(data as text), '{at}', '{at + DAY}') as {kind})"
    Intruder(place).run(f"update ledger set data = {moved} where kind = 'schedule.set'")
    assert ("2030-01-01T08:00:00Z", "it was set to begin at 2030-01-02T08:00:00Z instead") in gaps(
        player
    )
