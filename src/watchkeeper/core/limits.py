"""Limits on pulls: how fast, how many at once, and when a connector rests.

A rate with a burst is one instant: the time at which the next pull would be on schedule.
It never moves back, so a clock that steps back neither admits more nor locks out for long.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from watchkeeper.core.time import SECOND, Instant


@dataclass(frozen=True, slots=True)
class Rate:
    """So many pulls in so many microseconds, with so many at once after a rest."""

    interval_us: int  # between two pulls on schedule
    burst: int


def rate_of(milli_per_second: int, burst: int) -> Rate:
    """From thousandths of a pull per second: an integer, so that slow rates are exact."""
    return Rate(-(-1000 * SECOND // milli_per_second), max(1, burst))


class Tokens(NamedTuple):
    """What a limiter gives of what was asked."""

    granted: int
    next_at: Instant  # the new schedule, to be stored
    retry_at: Instant  # when the first that was not granted would be


def take(rate: Rate, scheduled_at: Instant, now: Instant, wanted: int) -> Tokens:
    """Grant as many as fit. Never more than rate x time + burst in any window."""
    ahead = rate.interval_us * (rate.burst - 1)
    base = max(possible(rate, scheduled_at, now), now)
    room = (now + ahead - base) // rate.interval_us + 1
    granted = max(0, min(wanted, room))
    next_at = Instant(base + granted * rate.interval_us)
    return Tokens(granted, next_at, Instant(max(now, next_at - ahead)))


def possible(rate: Rate, scheduled_at: Instant, now: Instant) -> Instant:
    """The schedule as it can be: one beyond a full burst is of a clock that has stepped back.

    Where it differs it is to be stored, granted or not: else it would lock out until the
    clock is where it was.
    """
    return Instant(min(scheduled_at, now + rate.interval_us * rate.burst))


class Breaker(NamedTuple):
    """How a connector has done for a tenant lately."""

    failures: int = 0  # in a row
    open_until_at: Instant | None = None
    probe_until_at: Instant | None = None  # one pull is on its way to see whether it works again


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"  # one pull may see whether it works again


@dataclass(frozen=True, slots=True)
class BreakerRule:
    failures: int
    pause_us: int
    probe_us: int


def state_of(breaker: Breaker, now: Instant) -> BreakerState:
    if breaker.open_until_at is None:
        return BreakerState.CLOSED
    return BreakerState.OPEN if now < breaker.open_until_at else BreakerState.HALF_OPEN


def may_pull(breaker: Breaker, now: Instant) -> Instant | None:
    """None: yes. Otherwise when to ask again: it is open, or its probe is not back yet."""
    if breaker.open_until_at is None:
        return None
    if now < breaker.open_until_at:
        return breaker.open_until_at
    if breaker.probe_until_at is not None and now < breaker.probe_until_at:
        return breaker.probe_until_at
    return None


def probing(breaker: Breaker, rule: BreakerRule, now: Instant) -> Breaker:
    """A pull was let through: on an open breaker it is the only one, until it is back."""
    if breaker.open_until_at is None:
        return breaker
    return breaker._replace(probe_until_at=Instant(now + rule.probe_us))


def succeeded(_: Breaker) -> Breaker:
    return Breaker()


def failed(breaker: Breaker, rule: BreakerRule, now: Instant) -> Breaker:
    failures = breaker.failures + 1
    if failures < rule.failures and breaker.open_until_at is None:
        return breaker._replace(failures=failures)
    return Breaker(failures, Instant(now + rule.pause_us))


FULL_PAUSE_US = SECOND
"""When to ask again for a slot: pulls under way end sooner than their leases do."""


class Bucket(NamedTuple):
    """A rate, and how far its schedule has come."""

    rate: Rate
    scheduled_at: Instant


class Hold(NamedTuple):
    """Upstream asked for patience; from `probe_at` on one pull may see whether it still does."""

    until_at: Instant
    probe_at: Instant | None = None


class Gate(NamedTuple):
    """All that stands between a tenant and a connector, but for kill switches and budgets."""

    breaker: Breaker = Breaker()
    hold: Hold | None = None
    own: Bucket | None = None  # the tenant's rate
    shared: Bucket | None = None  # that of all tenants
    slots_max: int | None = None
    slots_used: int = 0
    waiting: int = 0  # who were refused a moment ago: they are not all to come back at once


class Limit(StrEnum):
    """What refuses, in the order in which it is asked."""

    BREAKER = "breaker"
    HOLD = "hold"
    OWN_RATE = "own_rate"
    SHARED_RATE = "shared_rate"
    SLOTS = "slots"


class Stopped(NamedTuple):
    limit: Limit
    retry_at: Instant


@dataclass(frozen=True, slots=True)
class Room:
    """How many may pass now, and when the one after them may."""

    count: int
    retry_at: Instant


def held_until(hold: Hold | None, now: Instant) -> Instant | None:
    if hold is None or now >= hold.until_at:
        return None
    return hold.until_at if hold.probe_at is None or now < hold.probe_at else None


def stopped(gate: Gate, now: Instant) -> Stopped | None:
    """What refuses the next pull, and when to ask again; None: it may pass. Takes nothing."""
    open_until = may_pull(gate.breaker, now)
    if open_until is not None:
        return Stopped(Limit.BREAKER, open_until)
    held = held_until(gate.hold, now)
    if held is not None:
        return Stopped(Limit.HOLD, held)
    for bucket, limit in ((gate.own, Limit.OWN_RATE), (gate.shared, Limit.SHARED_RATE)):
        if bucket is not None:
            tokens = take(bucket.rate, bucket.scheduled_at, now, 1)
            if not tokens.granted:
                behind = gate.waiting * bucket.rate.interval_us
                return Stopped(limit, Instant(tokens.retry_at + behind))
    most = gate.slots_max
    if most is not None and gate.slots_used >= most:
        return Stopped(Limit.SLOTS, Instant(now + FULL_PAUSE_US * (1 + gate.waiting // most)))
    return None


def resting(gate: Gate, now: Instant) -> Stopped | None:
    """What stops a pull that was scheduled before, and when to ask again.

    Rates and slots were taken when it was scheduled. The probe of a hold is scheduled as one.
    """
    open_until = may_pull(gate.breaker, now)
    if open_until is not None:
        return Stopped(Limit.BREAKER, open_until)
    if gate.hold is not None and now < gate.hold.until_at:
        return Stopped(Limit.HOLD, gate.hold.until_at)
    return None


def is_probe(gate: Gate, now: Instant) -> bool:
    """Whether the next pull that passes tries if the connector works again."""
    is_held = gate.hold is not None and now < gate.hold.until_at
    return is_held or gate.breaker.open_until_at is not None


def room(gate: Gate, rule: BreakerRule, now: Instant, wanted: int) -> Room:
    """How many of so many could pass one after the other. Takes nothing."""
    found = [Room(wanted, now)]
    if gate.breaker.open_until_at is not None:
        open_until = may_pull(gate.breaker, now)
        probed = Room(1, Instant(now + rule.probe_us))
        found.append(probed if open_until is None else Room(0, open_until))
    if gate.hold is not None and now < gate.hold.until_at:
        found.append(Room(int(held_until(gate.hold, now) is None), gate.hold.until_at))
    for bucket in (gate.own, gate.shared):
        if bucket is not None:
            tokens = take(bucket.rate, bucket.scheduled_at, now, wanted)
            found.append(Room(tokens.granted, tokens.retry_at))
    if gate.slots_max is not None:
        free = max(0, gate.slots_max - gate.slots_used)
        found.append(Room(free, Instant(now + FULL_PAUSE_US)))
    count = min(one.count for one in found)
    return Room(count, max(one.retry_at for one in found if one.count == count))


def passed(gate: Gate, rule: BreakerRule, now: Instant) -> Gate:
    """A pull has passed: the tokens, the probe and the slot are taken."""
    hold = gate.hold
    if hold is not None:
        hold = None if now >= hold.until_at else Hold(hold.until_at)
    return Gate(
        probing(gate.breaker, rule, now),
        hold,
        _without_token(gate.own, now),
        _without_token(gate.shared, now),
        gate.slots_max,
        gate.slots_used + 1,
        gate.waiting,
    )


def _without_token(bucket: Bucket | None, now: Instant) -> Bucket | None:
    if bucket is None:
        return None
    return Bucket(bucket.rate, take(bucket.rate, bucket.scheduled_at, now, 1).next_at)


def by_clock(gate: Gate, now: Instant) -> Gate:
    """Where the clock has stepped back, schedules step back with it."""
    own, shared = _possible(gate.own, now), _possible(gate.shared, now)
    return (
        gate if (own, shared) == (gate.own, gate.shared) else gate._replace(own=own, shared=shared)
    )


def _possible(bucket: Bucket | None, now: Instant) -> Bucket | None:
    if bucket is None:
        return None
    return Bucket(bucket.rate, possible(bucket.rate, bucket.scheduled_at, now))
