"""Schedules: when a cron expression fires, in its time zone, and what downtime leaves due.

How the clock's changes are met:

- A schedule with chosen hours (`30 2 * * *`, `*/15 2 * * *`, `0 */2 * * *`) fires once
  for each matching reading of the wall clock. A reading that a gap leaves out fires at
  the end of the gap; several of them, or one that falls on another firing, are that one
  firing. A reading that comes twice fires the first time.
- A schedule of every hour (`0 * * * *`, `*/15 * * * *`, `* * * * *`) keeps pace with
  elapsed time: an hour that is left out does not fire, an hour that comes twice fires
  twice. Where the clock moves by less than an hour, a reading left out of an hour that
  still happens fires at the end of the gap, and a reading fires a second time only if
  the schedule fires at least that often anyway.

cronsim reads the expression and walks the wall clock; the zone is applied here, because
walking a zone by whole hours misses firings after a change of half an hour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from watchkeeper.core.canonical import sha256_hex
from watchkeeper.core.time import LATEST, MINUTE, SECOND, Instant, from_datetime, to_datetime
from watchkeeper.errors import Invalid

CRON_LENGTH_MAX = 256
GRACE_US = 60 * SECOND
"""A firing this little in the past is on time: somebody has to notice it first."""

FIRE_ALL_MAX = 100
MISSED_COUNT_MAX = 1_000

_ZONE = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+){0,2}")
_MACHINE_ZONES = frozenset({"localtime", "posixrules"})  # differ from machine to machine
_PROBE = datetime(2000, 1, 1)  # noqa: DTZ001 (a wall clock: no zone is meant)
_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)


class CatchUp(StrEnum):
    SKIP = "skip"
    FIRE_ONCE = "fire_once"
    FIRE_ALL = "fire_all"


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression that fires, in a time zone that exists. Made by `parse_cron`."""

    expression: str
    timezone: str
    is_every_hour: bool
    spacing: timedelta  # the shortest time between two firings of an hour


@dataclass(frozen=True, slots=True)
class Missed:
    """Firings that will not happen: the first and last of them, and how many."""

    first_at: Instant
    last_at: Instant
    count: int
    is_exact: bool  # False: `count` stopped at MISSED_COUNT_MAX


@dataclass(frozen=True, slots=True)
class FiringPlan:
    fire: tuple[Instant, ...]  # oldest first
    missed: Missed | None
    next_fire_at: Instant


def parse_cron(expression: str, timezone: str) -> Cron:
    """Check both parts. Raises Invalid: unreadable, unknown, or never firing."""
    zone = _zone(timezone)
    text = " ".join(expression.split()) if len(expression) <= CRON_LENGTH_MAX else ""
    if len(text.split(" ")) != 5:
        raise Invalid.at("cron", "must have five fields: minute hour day month weekday")
    try:
        walk = CronSim(text, _PROBE)
        next(walk)
    except CronSimError as error:
        if _fires_in_other_months(text):
            raise Invalid.at("cron", "never fires: no such day in these months") from None
        raise Invalid.at("cron", f"is not a cron expression: {error}") from None
    except StopIteration:
        raise Invalid.at("cron", "never fires") from None
    return Cron(text, zone.key, len(walk.hours) == 24, _spacing(sorted(walk.minutes)))


def next_fire_at(cron: Cron, after: Instant) -> Instant:
    """The first firing strictly later than `after`."""
    zone = _zone(cron.timezone)
    from_at = to_datetime(after)
    best: datetime | None = None
    for reading in _readings(cron, from_at.astimezone(zone)):
        first = reading.replace(tzinfo=zone).astimezone(UTC)
        if best is not None and first >= best:
            break
        for at in _instants(cron, reading, zone):
            if at > from_at and (best is None or at < best):
                best = at
    if best is None or from_datetime(best) > LATEST:
        raise Invalid.at("cron", "does not fire again")
    return from_datetime(best)


def due_firings(
    cron: Cron,
    fire_at: Instant,
    now: Instant,
    catch_up: CatchUp,
    fire_all_max: int = FIRE_ALL_MAX,
) -> FiringPlan:
    """What to fire now, given that `fire_at` was the next firing when somebody last looked.

    Firings within the grace of `now` are fired whatever the catch-up. Of older ones `skip`
    fires none, `fire_once` the latest unless a later one is on time, `fire_all` the latest
    few. The work is bounded however long nobody looked, so it looks back from `now`.
    """
    if fire_at > now:
        return FiringPlan((), None, fire_at)
    fire = _on_time(cron, fire_at, now)
    wanted = {
        CatchUp.SKIP: 0,
        CatchUp.FIRE_ONCE: 1,
        CatchUp.FIRE_ALL: fire_all_max,
    }[catch_up]
    oldest = fire[0] if fire else Instant(now + 1)
    while len(fire) < wanted and oldest > fire_at:
        oldest = _last_before(cron, oldest, fire_at)
        fire = (oldest, *fire)
    missed = None if oldest <= fire_at else _missed(cron, fire_at, oldest)
    return FiringPlan(fire, missed, next_fire_at(cron, now))


def firing_key(tenant_id: str, account_id: str, trigger_type: str, at: Instant) -> str:
    """The idempotency key of one firing for one account: the same from every scheduler."""
    return sha256_hex([tenant_id, account_id, trigger_type, at])


def _on_time(cron: Cron, fire_at: Instant, now: Instant) -> tuple[Instant, ...]:
    at = max(fire_at, next_fire_at(cron, Instant(now - GRACE_US - 1)))
    found: tuple[Instant, ...] = ()
    while at <= now:
        found = (*found, at)
        at = next_fire_at(cron, at)
    return found


def _last_before(cron: Cron, before: Instant, floor: Instant) -> Instant:
    """The latest firing in [floor, before), where `floor` is one: doubling steps, then halving.

    At `low` a firing before `before` is still to come; from `high` on there is none.
    """
    step, high = MINUTE, int(before) - 1
    low = high - step
    while low > floor and next_fire_at(cron, Instant(low)) >= before:
        step, high = step * 2, low
        low = high - step
    found = next_fire_at(cron, Instant(low)) if low > floor else floor
    while (later := next_fire_at(cron, found)) < before:
        middle = (int(found) + high) // 2
        beyond = next_fire_at(cron, Instant(middle))
        if beyond < before:
            found = beyond
        else:
            found, high = later, middle
    return found


def _missed(cron: Cron, first_at: Instant, before: Instant) -> Missed:
    last_at = _last_before(cron, before, first_at)
    count, at = 1, first_at
    while at < last_at and count < MISSED_COUNT_MAX:
        at = next_fire_at(cron, at)
        count += 1
    return Missed(first_at, last_at, count, at >= last_at)


def _readings(cron: Cron, local: datetime) -> Iterator[datetime]:
    """Matching readings of the wall clock, from where one may still come after `local`.

    If the clock is about to be put back, readings earlier than now are still to come.
    """
    put_back = _offset(local) - _offset((local.astimezone(UTC) + _DAY).astimezone(local.tzinfo))
    start = local.replace(tzinfo=None, fold=0) - max(put_back, timedelta(0))
    try:
        yield from CronSim(cron.expression, start)
    except (StopIteration, OverflowError):
        return


def _instants(cron: Cron, reading: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """When the clock of the zone shows this reading, by the rules above."""
    first = reading.replace(tzinfo=zone)
    second = first.replace(fold=1)
    shift = _offset(first) - _offset(second)
    if shift < timedelta(0):  # in a gap: by the offset before it, `first` is past its end
        end = _gap_end(first)
        if not cron.is_every_hour or end.astimezone(zone).hour == reading.hour:
            yield end
        return
    yield first.astimezone(UTC)
    if shift and cron.is_every_hour and shift >= min(cron.spacing, _HOUR):
        yield second.astimezone(UTC)


def _gap_end(skipped: datetime) -> datetime:
    """The instant at which the clock jumped over this reading, found by halving."""
    high = skipped.astimezone(UTC)
    low = skipped.replace(fold=1).astimezone(UTC)
    zone = skipped.tzinfo
    before = _offset(low.astimezone(zone))
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        if _offset(middle.astimezone(zone)) == before:
            low = middle
        else:
            high = middle
    return high


def _offset(moment: datetime) -> timedelta:
    offset = moment.utcoffset()
    assert offset is not None
    return offset


def _spacing(minutes: list[int]) -> timedelta:
    around = [*minutes[1:], minutes[0] + 60]
    return timedelta(minutes=min(b - a for a, b in zip(minutes, around, strict=True)))


def _fires_in_other_months(text: str) -> bool:
    """Each field is right by itself: it is the day that its months do not have."""
    minute, hour, day, month, weekday = text.split(" ")
    try:
        CronSim(f"{minute} {hour} {day} * {weekday}", _PROBE)
        CronSim(f"{minute} {hour} * {month} {weekday}", _PROBE)
    except CronSimError:
        return False
    return True


def _zone(timezone: str) -> ZoneInfo:
    if len(timezone) <= 64 and _ZONE.fullmatch(timezone) and timezone not in _MACHINE_ZONES:
        try:
            return ZoneInfo(timezone)
        except (OSError, KeyError, ValueError):  # a directory, an unknown name, not a zone
            pass
    raise Invalid.at("timezone", "is not a known time zone such as Europe/Berlin or UTC")
