"""When schedules fire: across changes of the clock, and after nobody looked for a while.

The model below walks the calendar minute by minute and knows nothing of cronsim.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.schedule import (
    GRACE_US,
    MISSED_COUNT_MAX,
    CatchUp,
    Missed,
    due_firings,
    firing_key,
    next_fire_at,
    parse_cron,
)
from watchkeeper.core.spread import spread
from watchkeeper.core.time import DAY, MINUTE, SECOND, Instant, from_datetime, from_iso, to_datetime
from watchkeeper.errors import Invalid

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
LORD_HOWE, SAO_PAULO = "Australia/Lord_Howe", "America/Sao_Paulo"


def firings(expression, timezone, since, until):
    """What fires in [since, until)."""
    cron = parse_cron(expression, timezone)
    at = next_fire_at(cron, Instant(since - 1))
    found = []
    while at < until:
        found.append(at)
        at = next_fire_at(cron, at)
    return found


def local(at, timezone):
    return to_datetime(at).astimezone(ZoneInfo(timezone)).strftime("%H:%M")


def on_day(expression, timezone, day):
    """The readings of the wall clock at the firings of one local day."""
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(timezone))
    end = start + timedelta(days=1)
    found = firings(
        expression,
        timezone,
        from_datetime(start.astimezone(UTC)),
        from_datetime(end.astimezone(UTC)),
    )
    return [local(at, timezone) for at in found]


HOURS = [f"{hour:02}:00" for hour in range(24)]


@pytest.mark.req("D-15")
@pytest.mark.parametrize(
    ("expression", "timezone", "day", "expected"),
    [
        pytest.param("30 2 * * *", BERLIN, "2030-03-30", ["02:30"], id="an ordinary day"),
        pytest.param("30 2 * * *", BERLIN, "2030-03-31", ["03:00"], id="in the gap: at its end"),
        pytest.param("30 2 * * *", BERLIN, "2030-10-27", ["02:30"], id="02:30 comes twice: once"),
        pytest.param("30 2 * * *", NEW_YORK, "2030-03-10", ["03:00"], id="New York, spring"),
        pytest.param("30 1 * * *", NEW_YORK, "2030-11-03", ["01:30"], id="New York, autumn"),
        pytest.param("0 2 * * *", LORD_HOWE, "2030-10-06", ["02:30"], id="half an hour, spring"),
        pytest.param("45 1 * * *", LORD_HOWE, "2030-04-07", ["01:45"], id="half an hour, autumn"),
        pytest.param("0 0 * * *", SAO_PAULO, "2018-11-04", ["01:00"], id="a day without midnight"),
        pytest.param("30 23 * * *", SAO_PAULO, "2018-02-17", ["23:30"], id="the last hour twice"),
        pytest.param(
            "0,30 2,3 * * *",
            BERLIN,
            "2030-03-31",
            ["03:00", "03:30"],
            id="readings left out and the one at the end of the gap are one firing",
        ),
        pytest.param(
            "*/15 2 * * *", BERLIN, "2030-03-31", ["03:00"], id="quarters of a lost hour: once"
        ),
        pytest.param(
            "*/30 2 * * *", BERLIN, "2030-10-27", ["02:00", "02:30"], id="of a doubled hour: once"
        ),
        pytest.param(
            "0 */2 * * *",
            BERLIN,
            "2030-03-31",
            ["00:00", "03:00", *HOURS[4::2]],
            id="every other hour does not lose the missing one",
        ),
        pytest.param(
            "0 * * * *", BERLIN, "2030-03-31", [*HOURS[:2], *HOURS[3:]], id="hourly: 23 hours, 23"
        ),
        pytest.param(
            "30 * * * *",
            BERLIN,
            "2030-10-27",
            [f"{hour:02}:30" for hour in (0, 1, 2, *range(2, 24))],
            id="hourly: 25 hours, 25",
        ),
        pytest.param("0 * * * *", LORD_HOWE, "2030-04-07", HOURS, id="24 and a half hours: 24"),
        pytest.param(
            "45 * * * *",
            LORD_HOWE,
            "2030-04-07",
            [f"{hour:02}:45" for hour in range(24)],
            id="24 and a half hours: the repeated reading is no hour of its own",
        ),
        pytest.param(
            "0 * * * *",
            LORD_HOWE,
            "2030-10-06",
            ["00:00", "01:00", "02:30", *HOURS[3:]],
            id="23 and a half hours: 24, the second is late by its missing half",
        ),
        pytest.param(
            "*/30 5 * * *",
            LORD_HOWE,
            "2030-10-06",
            ["05:00", "05:30"],
            id="hours after a shift of half an hour nothing is lost",
        ),
    ],
)
def test_changes_of_the_clock(expression, timezone, day, expected):
    assert on_day(expression, timezone, day) == expected


CHANGES = [
    (BERLIN, "2030-03-31", "spring"),
    (BERLIN, "2030-10-27", "autumn"),
    (NEW_YORK, "2030-03-10", "spring"),
    (NEW_YORK, "2030-11-03", "autumn"),
    (LORD_HOWE, "2030-10-06", "spring"),
    (LORD_HOWE, "2030-04-07", "autumn"),
    (SAO_PAULO, "2018-11-04", "spring"),
    (SAO_PAULO, "2018-02-18", "autumn"),
]
SPECIAL = [pytest.param(*change, id=f"{change[0]} in {change[2]}") for change in CHANGES]


@cache
def minutes_around(timezone, day):
    """Each minute of three days: the instant, and the reading of the wall clock."""
    start = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(days=1)
    zone = ZoneInfo(timezone)
    minutes = [start + timedelta(minutes=n) for n in range(3 * 1440)]
    return [(from_datetime(at), at.astimezone(zone).replace(tzinfo=None)) for at in minutes]


@pytest.mark.req("D-15")
@pytest.mark.parametrize(("timezone", "day", "_"), SPECIAL)
@pytest.mark.parametrize("step", [1, 15, 30])
def test_a_schedule_of_minutes_keeps_an_even_pace(timezone, day, step, _):
    window = minutes_around(timezone, day)
    found = firings(f"*/{step} * * * *", timezone, window[0][0], window[-1][0] + MINUTE)
    assert found == [at for at, _ in window][::step]


@pytest.mark.req("D-15")
@pytest.mark.parametrize(("timezone", "day", "_"), SPECIAL)
@pytest.mark.parametrize("minute", [0, 15, 45])
def test_an_hourly_schedule_fires_as_often_as_there_are_hours(timezone, day, minute, _):
    window = minutes_around(timezone, day)
    found = firings(f"{minute} * * * *", timezone, window[0][0], window[-1][0] + MINUTE)
    assert abs(len(found) - 72) <= (1 if timezone == LORD_HOWE else 0)
    gaps = {(later - at) // MINUTE for at, later in pairwise(found)}
    assert gaps <= ({30, 45, 60, 75, 90} if timezone == LORD_HOWE else {60})


def expected_of_chosen_hours(window, hours, minutes):
    """Each matching reading once: when it is first shown, or when the clock jumps over it."""
    found, shown_until = [], window[0][1] - timedelta(minutes=1)
    for at, reading in window:
        passed = (reading - shown_until) // timedelta(minutes=1)  # at most 0 in a repetition
        readings = [shown_until + timedelta(minutes=n) for n in range(1, passed + 1)]
        if any(each.hour in hours and each.minute in minutes for each in readings):
            found.append(at)
        shown_until = max(shown_until, reading)
    return found


some_hours = st.sets(st.integers(0, 4) | st.integers(0, 23), min_size=1, max_size=6)
some_minutes = st.sets(st.integers(0, 59) | st.sampled_from([0, 30]), min_size=1, max_size=4)


def listed(numbers):
    return ",".join(map(str, sorted(numbers)))


@pytest.mark.req("D-15")
@given(st.sampled_from(CHANGES), some_hours, some_minutes)
def test_each_chosen_reading_fires_exactly_once(change, hours, minutes):
    timezone, day, _ = change
    window = minutes_around(timezone, day)
    expression = f"{listed(minutes)} {listed(hours)} * * *"
    found = firings(expression, timezone, window[0][0], window[-1][0] + MINUTE)
    assert found == expected_of_chosen_hours(window, hours, minutes)


crons = st.sampled_from(
    ["* * * * *", "*/15 * * * *", "45 * * * *", "30 2 * * *", "0 0 * * MON", "0 0 29 2 *"]
)
zones = st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, SAO_PAULO, "UTC", "Asia/Kathmandu"])
instants = st.integers(from_iso("2015-01-01T00:00:00Z"), from_iso("2035-01-01T00:00:00Z"))


@pytest.mark.req("D-15")
@given(crons, zones, instants, st.integers(0, 3 * DAY))
def test_the_next_firing_is_later_and_the_same_from_anywhere_before_it(expr, zone, after, step):
    cron = parse_cron(expr, zone)
    at = next_fire_at(cron, Instant(after))
    assert after < at
    assert at % SECOND == 0
    assert next_fire_at(cron, Instant(at - 1)) == at
    assert next_fire_at(cron, Instant(max(after, at - step))) >= at
    assert next_fire_at(cron, Instant(after + step)) >= at


@pytest.mark.req("D-15")
@pytest.mark.parametrize(
    ("expression", "timezone", "match"),
    [
        pytest.param("", "UTC", "cron: must have five fields", id="nothing"),
        pytest.param("* * * *", "UTC", "cron: must have five fields", id="a field too few"),
        pytest.param("* * * * * *", "UTC", "cron: must have five fields", id="seconds"),
        pytest.param("@daily", "UTC", "cron: must have five fields", id="a nickname"),
        pytest.param(f"{'0,' * 200}0 * * * *", "UTC", "five fields", id="too long"),
        pytest.param("60 * * * *", "UTC", "Bad minute", id="a minute too many"),
        pytest.param("* 24 * * *", "UTC", "Bad hour", id="an hour too many"),
        pytest.param("*/0 * * * *", "UTC", "Bad minute", id="a step of nothing"),
        pytest.param("* * 32 * *", "UTC", "Bad day-of-month", id="a day that no month has"),
        pytest.param("* * * FOO *", "UTC", "Bad month", id="no such month"),
        pytest.param("0 0 30 2 *", "UTC", "never fires", id="the thirtieth of February"),
        pytest.param("0 0 31 4,6 *", "UTC", "never fires", id="the last of a short month"),
        pytest.param("0 0 * * *", "Mars/Base", "timezone: is not a known", id="no such zone"),
        pytest.param("0 0 * * *", "Europe", "timezone: is not a known", id="half a zone"),
        pytest.param("0 0 * * *", "../passwd", "timezone: is not a known", id="a path"),
        pytest.param("0 0 * * *", "/etc/localtime", "timezone: is not", id="a rooted path"),
        pytest.param("0 0 * * *", "localtime", "timezone: is not", id="this machine's zone"),
        pytest.param("0 0 * * *", "", "timezone: is not a known", id="no zone"),
        pytest.param("0 0 * * *", "A" * 1000, "timezone: is not a known", id="a zone too long"),
    ],
)
def test_what_cannot_fire_is_refused(expression, timezone, match):
    with pytest.raises(Invalid, match=match):
        parse_cron(expression, timezone)


NOON = from_iso("2030-06-01T12:00:00Z")


def minutes_ago(count):
    return Instant(NOON - count * MINUTE)


@pytest.mark.req("D-15")
@pytest.mark.parametrize(
    ("late_us", "catch_up", "is_fired"),
    [
        pytest.param(-1, CatchUp.FIRE_ONCE, None, id="not yet"),
        pytest.param(0, CatchUp.SKIP, True, id="on the dot"),
        pytest.param(GRACE_US, CatchUp.SKIP, True, id="as late as the grace allows"),
        pytest.param(GRACE_US + 1, CatchUp.SKIP, False, id="later is missed"),
        pytest.param(GRACE_US + 1, CatchUp.FIRE_ONCE, True, id="and made up for once"),
        pytest.param(3 * MINUTE, CatchUp.FIRE_ONCE, True, id="a few minutes later still once"),
        pytest.param(GRACE_US + 1, CatchUp.FIRE_ALL, True, id="or made up for at all"),
    ],
)
def test_on_time_or_missed(late_us, catch_up, is_fired):
    cron = parse_cron("0 12 * * *", "UTC")
    plan = due_firings(cron, NOON, Instant(NOON + late_us), catch_up)
    assert plan.fire == ((NOON,) if is_fired else ())
    assert plan.missed == (Missed(NOON, NOON, 1, True) if is_fired is False else None)
    assert plan.next_fire_at == (NOON if is_fired is None else NOON + DAY)


@pytest.mark.req("D-15")
@pytest.mark.parametrize(
    ("catch_up", "fired", "missed"),
    [
        pytest.param(CatchUp.SKIP, [0], (120, 10, 12), id="skip: only what is due now"),
        pytest.param(CatchUp.FIRE_ONCE, [0], (120, 10, 12), id="once: what is due now is the one"),
        pytest.param(CatchUp.FIRE_ALL, [20, 10, 0], (120, 30, 10), id="all: the latest three"),
    ],
)
def test_two_hours_of_a_ten_minute_schedule(catch_up, fired, missed):
    cron = parse_cron("*/10 * * * *", "UTC")
    plan = due_firings(cron, minutes_ago(120), NOON, catch_up, fire_all_max=3)
    first, last, count = missed
    assert plan.fire == tuple(minutes_ago(ago) for ago in fired)
    assert plan.missed == Missed(minutes_ago(first), minutes_ago(last), count, True)
    assert plan.next_fire_at == NOON + 10 * MINUTE


@pytest.mark.req("D-15")
@pytest.mark.parametrize("catch_up", list(CatchUp))
def test_years_of_minutes_cost_no_more_than_a_day(catch_up, monkeypatch):
    looked = []

    def counted(cron, after):
        looked.append(after)
        return next_fire_at(cron, after)

    monkeypatch.setattr("watchkeeper.core.schedule.next_fire_at", counted)
    cron = parse_cron("* * * * *", BERLIN)
    plan = due_firings(cron, from_iso("2020-01-01T00:00:00Z"), NOON, catch_up, fire_all_max=50)
    assert len(looked) < MISSED_COUNT_MAX + 50 * 10
    assert plan.fire[-1] == NOON
    assert (plan.missed.count, plan.missed.is_exact) == (MISSED_COUNT_MAX, False)
    assert plan.missed.last_at == plan.fire[0] - MINUTE


@pytest.mark.req("D-15")
@given(
    crons,
    zones,
    instants,
    st.integers(0, 40 * DAY),
    st.sampled_from(CatchUp),
    st.integers(1, 5),
)
def test_downtime_loses_track_of_nothing(expr, zone, start, away, catch_up, fire_all_max):
    cron = parse_cron(expr, zone)
    if expr.startswith("*"):
        away //= 100  # the model walks all of them
    first, now = next_fire_at(cron, Instant(start)), Instant(start + away)
    due, at = [], first
    while at <= now:
        due.append(at)
        at = next_fire_at(cron, at)
    plan = due_firings(cron, first, now, catch_up, fire_all_max)
    assert plan.next_fire_at == at
    on_time = [each for each in due if each >= now - GRACE_US]
    wanted = {CatchUp.SKIP: 0, CatchUp.FIRE_ONCE: 1, CatchUp.FIRE_ALL: fire_all_max}[catch_up]
    fired = due[len(due) - min(len(due), max(len(on_time), wanted)) :]
    assert list(plan.fire) == fired
    missed = due[: len(due) - len(fired)]
    assert plan.missed == (Missed(missed[0], missed[-1], len(missed), True) if missed else None)


@pytest.mark.req("D-15")
def test_the_key_of_a_firing_is_the_same_everywhere_and_no_two_collide():
    assert firing_key("acme", "a-1", "AUDIT", NOON) == (
        "b28f85e8687953e98778a9cc9ae48781fd2f13709266a852ff81f4c0e8f3d833"
    )
    others = [
        firing_key("acme", "a-1", "AUDIT", NOON),
        firing_key("acme", "a-1", "AUDIT", Instant(NOON + MINUTE)),
        firing_key("acme", "a-1", "OTHER", NOON),
        firing_key("acm", "ea-1", "AUDIT", NOON),
        firing_key('acme","a', "-1", "AUDIT", NOON),
    ]
    assert len(set(others)) == len(others)


@pytest.mark.req("D-08", "D-15")
@given(st.text(max_size=200), st.integers(0, 3600))
def test_a_spread_stays_within_its_span(account_id, spread_seconds):
    assert 0 <= spread(account_id, spread_seconds) <= max(0, spread_seconds - 1)
    assert spread(account_id, spread_seconds) == spread(account_id, spread_seconds)


@pytest.mark.req("D-08", "D-15")
def test_a_spread_is_the_same_in_every_process_and_even():
    assert [spread(f"acct-{n}", 300) for n in range(4)] == [91, 265, 171, 253]
    counts = [0] * 60
    for n in range(6000):
        counts[spread(f"acct-{n}", 60)] += 1
    assert min(counts) > 50
    assert max(counts) < 200
