"""What a report is made of: the tenant, the window, and what was counted in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from watchkeeper.core.reports import SERIES_POINTS_MAX, Window
from watchkeeper.core.time import HOUR, Instant, hour_of

WIDTHS_HOURS = (1, 2, 3, 6, 12, 24, 7 * 24, 30 * 24, 365 * 24, 3650 * 24)
"""How wide a bucket may be: the narrowest that keeps a series short enough."""

SIGNAL = "signal"
"""The name under which verdicts on signals are counted; others have none."""


class Tally(NamedTuple):
    """Entries of the ledger that are alike, in one bucket of time.

    `name` is a connector or a topic, where entries of the kind have one, or SIGNAL; `amount` is
    the sum of what they moved: units of pulls, signals that pulls brought, micro-credits.
    """

    bucket: int
    kind: str
    result: str
    reason: str
    name: str
    entries: int
    amount: int


class Delivered(NamedTuple):
    """Messages of a topic that were delivered in the window."""

    namespace: str
    topic: str
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that a report says, before it is put into words."""

    report_id: str
    trigger: str
    tenant_id: str
    tenant_name: str | None
    installed_at: Instant | None
    window: Window
    window_from: str
    last_seq: int
    policy_version: int
    forecast_min_us: int
    connectors: tuple[str, ...]  # that are known, pulled or not
    tallies: tuple[Tally, ...]
    delivered: tuple[Delivered, ...]


def bucket_hours(window: Window) -> int:
    """How wide the buckets of a window are."""
    for width in WIDTHS_HOURS:
        if bucket_of(window.until, width) - bucket_of(window.since, width) < SERIES_POINTS_MAX:
            return width
    raise AssertionError("no window is longer than time itself")


def bucket_of(at: Instant, width_hours: int) -> int:
    return hour_of(at) // width_hours


def starts_at(bucket: int, width_hours: int) -> Instant:
    return Instant(bucket * width_hours * HOUR)
