"""Instants: whole microseconds since 1970 UTC.

Integers compare, subtract and store the same way on both databases and in the
gate, so that a question such as "two ALLOWs closer than a cooldown" is one SQL
expression everywhere. People see ISO 8601; the conversion happens at the edges.
"""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from typing import NewType

Instant = NewType("Instant", int)

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 3600 * SECOND
DAY = 86_400 * SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

EARLIEST = Instant(0)
LATEST = Instant(253_402_300_799 * SECOND)  # the last second of the year 9999


def seconds(count: float) -> int:
    """A duration in microseconds."""
    return round(count * SECOND)


def from_datetime(moment: datetime) -> Instant:
    assert moment.utcoffset() is not None, "a naive datetime names no instant"
    return Instant((moment - _EPOCH) // _MICROSECOND)


def to_datetime(at: Instant) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


@functools.lru_cache(maxsize=64)  # all the messages of a batch say the same moment
def to_iso(at: Instant) -> str:
    """ISO 8601 in UTC with a trailing Z; microseconds only when there are any."""
    return to_datetime(at).isoformat().replace("+00:00", "Z")


def from_iso(text: str) -> Instant:
    """Raises ValueError for anything but an ISO 8601 moment with an offset, 1970 to 9999."""
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() is None:
        raise ValueError("it has no offset from UTC")
    at = from_datetime(moment)
    if not EARLIEST <= at <= LATEST:
        raise ValueError("it lies outside the years 1970 to 9999")
    return at


def ceil_epoch(at: Instant) -> int:
    """Whole seconds, rounded up, so that a wait until then is never too short."""
    return -(-at // SECOND)


def ceil_second(at: int) -> Instant:
    return Instant(-(-at // SECOND) * SECOND)


def hour_of(at: Instant) -> int:
    """The number of the UTC hour since 1970."""
    return at // HOUR


def day_of(at: Instant) -> int:
    """The number of the UTC day since 1970."""
    return at // DAY
