"""Pulls: which one is next, what it is called, and whether its budget allows it.

A pull's id follows from what it is for, so that any number of schedulers make one of it.
The connector's cap is asked first, then the tenant's total; either both are charged or
neither is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from watchkeeper.core.canonical import sha256_hex
from watchkeeper.core.heat import Depth
from watchkeeper.core.limits import BreakerRule
from watchkeeper.core.spread import spread
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant

TOTAL = ""
"""The connector of a tenant's total budget."""
EVERY = "*"
"""In a budget's caps: each connector that has none of its own."""
DEPTH_UNITS = {Depth.SHALLOW: 1, Depth.DEEP: 3}
RETRY_AFTER_MAX_US = DAY


class PullReason(StrEnum):
    """Why a pull was not scheduled."""

    RATE_LIMIT = "RATE_LIMIT"
    DUPLICATE = "DUPLICATE_PULL_JOB_ID"
    NO_BUDGET = "NO_BUDGET"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    CIRCUIT_OPEN = "CIRCUIT_OPEN"
    KILL_SWITCH = "KILL_SWITCH"


class Origin(StrEnum):
    """What a pull is for."""

    CADENCE = "cadence"
    SIGNAL = "signal"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRules:
    """What rules the pulls of one tenant, besides its budget."""

    per_tick_max: int = 100
    lease_us: int = 300 * SECOND
    breaker: BreakerRule = field(default_factory=lambda: BreakerRule(5, 300 * SECOND, 300 * SECOND))


class Budget(NamedTuple):
    """What a tenant may pull in a UTC day: in all, and by connectors that have a cap."""

    total: int
    connectors: Mapping[str, int]

    def cap(self, connector_id: str) -> int | None:
        """Its own, or else the one for every connector."""
        return self.connectors.get(connector_id, self.connectors.get(EVERY))


class PullKey(NamedTuple):
    """What is pulled: an account, by a connector."""

    tenant_id: str
    account_id: str
    connector_id: str


class Consumed(NamedTuple):
    units: int = 0
    pulls: int = 0


class Allowance(NamedTuple):
    """The answer of the budget: allowed or why not, and what truly remains after it."""

    refused: PullReason | None
    remaining: int


def consume(
    budget: Budget | None, connector_id: str, connector: Consumed, total: Consumed, units: int
) -> Allowance:
    """Whether so many units may be taken, from the connector's cap and from the total."""
    if budget is None:
        return Allowance(PullReason.NO_BUDGET, 0)
    cap = budget.cap(connector_id)
    if (cap is not None and connector.units + units > cap) or total.units + units > budget.total:
        left = remaining(budget, connector_id, connector.units, total.units)
        return Allowance(PullReason.BUDGET_EXCEEDED, left)
    after = remaining(budget, connector_id, connector.units + units, total.units + units)
    return Allowance(None, after)


def remaining(budget: Budget, connector_id: str, connector: int, total: int) -> int:
    """What is left for a connector; never less than nothing, though caps may be lowered."""
    left = budget.total - total
    cap = budget.cap(connector_id)
    return max(0, left if cap is None else min(left, cap - connector))


def pull_job_id(key: PullKey, depth: Depth, origin: Origin, slot: str) -> str:
    return "pull:" + sha256_hex([*key, depth.name, origin, slot])


def cadence_slot(slot_at: Instant) -> str:
    return str(slot_at)


def manual_slot(now: Instant) -> str:
    """Asked for by hand: once an hour is one pull."""
    return str(now // HOUR)


def next_slot(slot_at: Instant, cadence_us: int, now: Instant) -> Instant:
    """The cadence goes on in step; slots that were missed are not made up for."""
    missed = max(0, (now - slot_at) // cadence_us)
    return Instant(slot_at + (missed + 1) * cadence_us)


def first_slot(key: PullKey, cadence_us: int, now: Instant) -> Instant:
    """Somewhere within the first cadence, so that accounts that come together do not pull so."""
    return Instant(now + _spread_us(key, cadence_us))


def ruled_anew(key: PullKey, slot_at: Instant, cadence_us: int, now: Instant) -> Instant:
    """The policy is another: at the latest within its cadence from now, and not all at once."""
    return min(slot_at, first_slot(key, cadence_us, now))


def brought_forward(
    slot_at: Instant, pulled_at: Instant | None, cadence_us: int, now: Instant
) -> Instant:
    """A hotter tier looks sooner: a cadence after the last pull, now if that is over."""
    wanted = now if pulled_at is None else max(now, pulled_at + cadence_us)
    return Instant(min(slot_at, wanted))


def next_day(key: PullKey, now: Instant) -> Instant:
    """The budget is spent: some time of the next UTC day, spread over its first hour."""
    return Instant((now // DAY + 1) * DAY + _spread_us(key, HOUR))


def _spread_us(key: PullKey, span_us: int) -> int:
    return spread("/".join(key), span_us // SECOND) * SECOND
