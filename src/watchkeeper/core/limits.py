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
