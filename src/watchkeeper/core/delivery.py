"""What becomes of a message after one attempt to deliver it.

The random draw of the jitter is an argument, like `now`: the same attempt settled
with the same draw ends the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from watchkeeper.core.time import DAY, SECOND, Instant

RETRY_AFTER_MAX_US = DAY
"""A receiver may ask for patience, not for ever: its answers are not trusted."""

ERROR_LENGTH_MAX = 2_000
_DOUBLINGS_MAX = 40  # the smallest base doubled this often is beyond every maximum


class Guarantee(StrEnum):
    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class Order(StrEnum):
    NONE = "none"
    PER_KEY = "per_key"  # messages of one ordering key go one at a time, in commit order


class OnDead(StrEnum):
    CONTINUE = "continue"
    BLOCK = "block"  # a dead head holds its ordering key back until somebody acts


class DeadReason(StrEnum):
    REJECTED = "REJECTED"
    ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"  # its worker fell silent on the last attempt
    KILL_SWITCH = "KILL_SWITCH"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"  # of a metered run; to be redriven when there is room


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRule:
    """How messages of one topic are delivered. Durations are in microseconds."""

    guarantee: Guarantee
    max_attempts: int
    lease_us: int
    backoff_base_us: int
    backoff_max_us: int
    concurrency: int  # in one process
    concurrency_total: int | None  # over all processes; None is unlimited
    order: Order
    on_dead: OnDead
    endpoint_concurrency: int = 4  # sends at once from one process to one endpoint
    timeout_us: int | None  # None: a handler may run for as long as its lease is renewed


@dataclass(frozen=True, slots=True)
class Delivered:
    pass


@dataclass(frozen=True, slots=True)
class Retry:
    error: str
    after_seconds: float | None = None  # the receiver's own wish (Retry-After)


@dataclass(frozen=True, slots=True)
class Reject:
    """The handler understood and said no: trying again cannot help."""

    error: str


AttemptResult: TypeAlias = Delivered | Retry | Reject


@dataclass(frozen=True, slots=True)
class Done:
    pass


@dataclass(frozen=True, slots=True)
class RetryAt:
    at: Instant  # always later than the `now` it was settled at
    error: str


@dataclass(frozen=True, slots=True)
class Dead:
    reason: DeadReason
    error: str


Settlement: TypeAlias = Done | RetryAt | Dead


def settle(
    attempt: int, result: AttemptResult, rule: DeliveryRule, now: Instant, draw: float
) -> Settlement:
    """Answer one ended attempt, counted from 1. Never grants more than `max_attempts`."""
    assert attempt >= 1
    match result:
        case Delivered():
            return Done()
        case Reject(error=error):
            return Dead(DeadReason.REJECTED, bounded(error))
        case Retry(error=error) if attempt >= rule.max_attempts:
            return Dead(DeadReason.ATTEMPTS_EXHAUSTED, bounded(error))
        case Retry(error=error, after_seconds=after_seconds):
            delay = retry_after_us(after_seconds) + backoff_us(attempt, rule, draw)
            return RetryAt(Instant(now + delay), bounded(error))


def settle_expired(attempt: int, rule: DeliveryRule) -> Dead | None:
    """A lease ran out without a word: None is claimable again, Dead is to be buried.

    The attempt was counted when it was claimed, so a message that kills its worker
    each time comes to an end like any other.
    """
    if attempt < rule.max_attempts:
        return None
    return Dead(DeadReason.OUTCOME_UNKNOWN, "the lease ended before an outcome was reported")


def backoff_us(attempt: int, rule: DeliveryRule, draw: float) -> int:
    """Full jitter: anywhere between now and a ceiling that doubles per attempt, up to the maximum.

    `draw` is uniform in [0, 1). At least one microsecond, so that time always moves.
    """
    assert attempt >= 1
    assert 0.0 <= draw <= 1.0
    doubled = rule.backoff_base_us << min(attempt - 1, _DOUBLINGS_MAX)
    return max(1, int(min(doubled, rule.backoff_max_us) * draw))


def retry_after_us(after_seconds: float | None) -> int:
    """The receiver's wish as a floor under the backoff; nonsense (negative, NaN) is no wish."""
    if after_seconds is None or not after_seconds > 0:
        return 0
    return int(min(after_seconds * SECOND, RETRY_AFTER_MAX_US))


def bounded(error: str) -> str:
    return error if len(error) <= ERROR_LENGTH_MAX else error[: ERROR_LENGTH_MAX - 1] + "…"
