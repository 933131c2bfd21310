"""Schedules: each firing happens once, in its time zone, and what was missed is written down."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from tests.databases import START_AT, Clock, Place
from tests.play import ACME, BRIEF, SIGNAL, Player, event
from tests.verify_clean import assert_verified
from watchkeeper.actions import fire_schedules
from watchkeeper.actions.set_schedule import NewSchedule, remove_schedule, set_schedule
from watchkeeper.core.envelope import SCHEDULE_DUE, SCHEDULED
from watchkeeper.core.ids import AccountId, ScheduleId
from watchkeeper.core.schedule import FIRE_ALL_MAX, CatchUp, firing_key
from watchkeeper.core.spread import spread
from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND, Instant, from_datetime, to_iso
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads

pytestmark = pytest.mark.req("D-15")

ANN = AccountId("ann")
DAILY = ScheduleId("daily")


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    player = Player(db, clock)
    player.fire(event("ann"))
    return player


def daily(player: Player, cron: str = "0 8 * * *", **more: object) -> None:
    new = NewSchedule(**{"trigger_type": BRIEF, "cron": cron, "account_id": ANN, **more})
    set_schedule(player.db, ACME, DAILY, new)


def fired(player: Player) -> list[str]:
    return [loads(e.entry.data)["when"] for e in player.entries(kind="schedule.fired")]


def asked(player: Player) -> list[tuple[str, str]]:
    """Which accounts asked for which plan, in the order in which they were answered."""
    found = [e.entry for e in player.entries(kind="verdict", trigger_type=BRIEF)]
    return [
        (entry.subject, to_iso(loads(entry.data)["event"]["scheduled_at"]))
        for entry in found
        if "retry_of" not in loads(entry.data)["event"]
    ]


def test_it_fires_at_its_time_and_sets_the_next_timer(player: Player) -> None:
    daily(player)
    player.live_until(Instant(START_AT + 8 * HOUR - 1))
    assert fired(player) == []
    player.live_until(Instant(START_AT + 2 * DAY))
    assert fired(player) == ["2030-01-01T08:00:00Z", "2030-01-02T08:00:00Z"]
    assert asked(player) == [("ann", when) for when in fired(player)]
    assert player.verdicts(trigger_type=BRIEF) == [f"ann {BRIEF} ALLOW"] * 2
    assert_verified(player.db)


def test_two_workers_fire_it_once(player: Player, place: Place) -> None:
    daily(player, "* * * * *")
    elsewhere = place.open()
    rival = Player(elsewhere, player.clock)
    for _ in range(5):
        player.clock.advance(60)
        [message] = player.claim([SCHEDULE_DUE])
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda who, m=message: who.handle(m), (player, rival)))
        player.ack([message])
    elsewhere.close()
    assert len(fired(player)) == 5
    assert len(asked(player)) == 5
    assert_verified(player.db)


def test_a_firing_has_a_key_that_follows_from_what_it_is(player: Player) -> None:
    daily(player)
    key = firing_key(ACME, "ann", BRIEF, Instant(START_AT + 8 * HOUR))
    player.live_until(Instant(START_AT + 9 * HOUR))
    assert player.tell(event("ann", BRIEF, key)) == ["SKIP DUPLICATE_IDEMPOTENCY_KEY"]
    others = {
        firing_key("bolt", "ann", BRIEF, START_AT),
        firing_key(ACME, "bob", BRIEF, START_AT),
        firing_key(ACME, "ann", SIGNAL, START_AT),
        firing_key(ACME, "ann", BRIEF, Instant(START_AT + SECOND)),
        firing_key(ACME, "ann", BRIEF, START_AT),
    }
    assert len(others) == 5


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        pytest.param(
            datetime(2030, 3, 29, tzinfo=UTC),
            ["30T01:30:00Z", "31T01:00:00Z", "01T00:30:00Z"],
            id="the hour that is left out fires at its end",
        ),
        pytest.param(
            datetime(2030, 10, 25, tzinfo=UTC),
            ["26T00:30:00Z", "27T00:30:00Z", "28T01:30:00Z"],
            id="the hour that comes twice fires once",
        ),
    ],
)
def test_daylight_saving_neither_loses_nor_doubles(player: Player, day, expected) -> None:
    start = from_datetime(day) + 12 * HOUR
    player.clock.set(Instant(start))
    daily(player, "30 2 * * *", timezone="Europe/Berlin")
    player.live_until(Instant(start + 3 * DAY))
    assert [when[8:] for when in fired(player)] == expected
    assert len(asked(player)) == 3


@pytest.mark.parametrize(
    ("catch_up", "plans", "missed"),
    [
        pytest.param(CatchUp.SKIP, [], 5, id="skip"),
        pytest.param(CatchUp.FIRE_ONCE, ["2030-01-05T08:00:00Z"], 4, id="fire once"),
        pytest.param(
            CatchUp.FIRE_ALL,
            [f"2030-01-0{n}T08:00:00Z" for n in range(1, 6)],
            0,
            id="fire all",
        ),
    ],
)
def test_after_downtime(player: Player, catch_up, plans, missed) -> None:
    daily(player, catch_up=catch_up)
    player.clock.advance(days=5)
    player.settle()
    assert fired(player) == plans
    assert [when for _, when in asked(player)] == plans
    entries = [loads(e.entry.data) for e in player.entries(kind="schedule.missed")]
    assert sum(entry["count"] for entry in entries) == missed
    if missed:
        assert entries[0]["first_at"] == START_AT + 8 * HOUR
        assert entries[0]["is_exact"] is True
    player.clock.advance(days=1)
    player.settle()
    assert len(fired(player)) == len(plans) + (1 if catch_up is not CatchUp.SKIP else 0)
    assert_verified(player.db)


def test_even_all_is_bounded(player: Player) -> None:
    daily(player, "* * * * *", catch_up=CatchUp.FIRE_ALL)
    player.clock.advance(hours=3)
    player.settle()
    assert len(fired(player)) == FIRE_ALL_MAX
    [missed] = player.entries(kind="schedule.missed")
    assert loads(missed.entry.data)["count"] == 180 - FIRE_ALL_MAX
    assert_verified(player.db)


def test_all_accounts_in_slices_each_at_its_second(player: Player, monkeypatch) -> None:
    monkeypatch.setattr(fire_schedules, "SLICE", 3)
    names = [f"a{n}" for n in range(10)]
    player.fire(*(event(name) for name in names))
    daily(player, account_id=None, spread_seconds=60)
    at = Instant(START_AT + 8 * HOUR)
    player.live_until(Instant(at + 30 * SECOND))
    early = [a for a in [*names, "ann"] if spread(a, 60) <= 30]
    assert sorted(account for account, _ in asked(player)) == sorted(early)
    player.live_until(Instant(at + MINUTE))
    assert sorted(asked(player)) == sorted((a, to_iso(at)) for a in [*names, "ann"])
    for entry in player.entries(kind="verdict", trigger_type=BRIEF):
        assert entry.entry.at == at + spread(entry.entry.subject, 60) * SECOND
    assert len(fired(player)) == 1
    assert_verified(player.db)


def test_a_slice_delivered_twice_asks_nobody_twice(player: Player) -> None:
    player.fire(event("bob"))
    daily(player, account_id=None, spread_seconds=0)
    player.clock.advance(hours=8)
    player.deliver([SCHEDULE_DUE])
    [part] = player.claim(["schedule.slice"])
    for _ in range(2):
        player.handle(part)
    player.ack([part])
    player.settle()
    allowed = player.verdicts(trigger_type=BRIEF, result="ALLOW")
    assert allowed == [f"ann {BRIEF} ALLOW", f"bob {BRIEF} ALLOW"]
    assert_verified(player.db)


def test_the_spread_is_the_policys_unless_the_schedule_says(player: Player, place: Place) -> None:
    player.policy("spread_seconds = 10\n")
    daily(player, account_id=None)
    player.clock.advance(hours=8)
    player.settle()
    rows = place.execute(f"select next_attempt_at from outbox where topic = '{SCHEDULED}'")
    wait = spread("ann", 10)
    assert wait > 0
    assert rows == [(player.clock.at + wait * SECOND,)]


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_an_outdated_timer_does_nothing(player: Player, how: str) -> None:
    daily(player)
    if how == "removed":
        remove_schedule(player.db, ACME, DAILY)
    else:
        daily(player, "0 20 * * *")
    player.live_until(Instant(START_AT + 12 * HOUR))
    assert fired(player) == []
    player.live_until(Instant(START_AT + DAY))
    assert fired(player) == ([] if how == "removed" else ["2030-01-01T20:00:00Z"])
    assert_verified(player.db)


def test_a_replaced_schedule_of_the_same_time_fires_once(player: Player) -> None:
    daily(player)
    daily(player)
    player.live_until(Instant(START_AT + DAY))
    assert len(fired(player)) == 1


def test_a_replaced_schedule_asks_no_more_accounts(player: Player) -> None:
    daily(player, account_id=None)
    player.clock.advance(hours=8)
    player.deliver([SCHEDULE_DUE])
    daily(player, "0 20 * * *", account_id=None)
    player.live_until(Instant(START_AT + 12 * HOUR))
    assert asked(player) == []


def test_a_removed_schedule_is_not_there(player: Player) -> None:
    with pytest.raises(NotFound):
        remove_schedule(player.db, ACME, DAILY)


@pytest.mark.parametrize(
    "wrong", [{"cron": "every day"}, {"timezone": "Mars/Olympus"}, {"cron": "0 0 30 2 *"}]
)
def test_a_schedule_that_cannot_fire_is_refused(player: Player, place: Place, wrong) -> None:
    with pytest.raises(Invalid):
        daily(player, **wrong)
    assert place.execute("select count(*) from schedules") == [(0,)]


@pytest.mark.req("D-16")
def test_a_brief_runs_every_day_under_a_stream_of_signals(player: Player) -> None:
    """Through the outbox: each deferral, retry and firing is a message."""
    daily(player)
    for _ in range(2):
        player.live_until(Instant(player.clock.at + 8 * HOUR - 200 * SECOND))
        for _ in range(20):
            player.fire(event("ann"))
            player.live_until(Instant(player.clock.at + 61 * SECOND))
        player.live_until(Instant((player.clock.at // DAY + 1) * DAY))
    assert player.verdicts(trigger_type=BRIEF, result="ALLOW") == [f"ann {BRIEF} ALLOW"] * 2
    assert_verified(player.db)
