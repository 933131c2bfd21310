"""Where a budget leads: what a period comes to at its pace so far, and when nothing is left.

A straight line, and said to be one: nobody knows the rest of the day.
"""

from __future__ import annotations

from typing import NamedTuple

from watchkeeper.core.time import MINUTE, Instant

PACE_MIN_US = 15 * MINUTE
"""A period that began later than this ago has no pace yet."""


class Projection(NamedTuple):
    """What will have been used when the period ends, and when the limit is reached before that."""

    at_end: int
    exhausted_at: Instant | None


def project(
    used: int, limit: int | None, *, since: Instant, now: Instant, until: Instant
) -> Projection | None:
    """None where there is no pace to go by: nothing was used, or the period has just begun."""
    elapsed, whole = now - since, until - since
    if used <= 0 or elapsed < PACE_MIN_US or now >= until:
        return None
    at_end = used * whole // elapsed
    if limit is None or at_end < limit:
        return Projection(at_end, None)
    reached = Instant(since + limit * elapsed // used)
    return Projection(at_end, max(reached, now))
