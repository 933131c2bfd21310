"""A report: what Watchkeeper did for one tenant, as a document of counted facts.

No number stands alone. A `Count` says how it was counted and over which window, a `Series` does
so for all its points, an `Estimate` says that it is one and by which method; there is no other
way to put a number into a report. What a tenant named (connectors, trigger types, topics,
itself) stands in fields of its own, so that it is quoted and never taken for our words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from watchkeeper.core.time import Instant

FORMAT = 1
SERIES_POINTS_MAX = 200
"""Points of one series: beyond this the buckets grow."""

MANUAL = "MANUAL"
"""The trigger of a report that somebody asked for; others are the names of milestones."""


@dataclass(frozen=True, slots=True)
class Window:
    """From `since` to `until`, both included."""

    since: Instant
    until: Instant

    @property
    def length_us(self) -> int:
        return max(0, self.until - self.since)


@dataclass(frozen=True, slots=True)
class Count:
    """A number, how it was counted, and over which window."""

    value: int
    how: str
    window: Window
    unit: str = "entries"


@dataclass(frozen=True, slots=True)
class Line:
    """One count of a breakdown.

    `label` is a word of ours, such as a result or a state; `detail` refines it (a reason);
    `name` is what somebody else called it: it is shown in quotes.
    """

    label: str
    count: Count
    detail: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Header:
    report_id: str
    trigger: str  # MANUAL, or the milestone: AUTO_12H, AUTO_24H
    tenant_id: str
    tenant_name: str | None  # as the tenant is called, quoted
    installed_at: Instant | None
    generated_at: Instant
    window: Window
    window_from: str  # what the window begins with, in words
    entries: Count  # of the ledger: all that the numbers of this report were counted in
    last_entry: Count  # the place of the newest of them
    policy_version: int


@dataclass(frozen=True, slots=True)
class ConnectorCounts:
    connector_id: str
    pulls: Count
    units: Count
    signals: Count


@dataclass(frozen=True, slots=True)
class Collected:
    """Section A: what came in."""

    signals: Count
    pulls: Count
    units: Count
    connectors: tuple[ConnectorCounts, ...]


class CoverageState(StrEnum):
    AVAILABLE = "AVAILABLE"
    PARTIAL = "PARTIAL"
    MISSING = "MISSING"
    NOT_PERMITTED = "NOT_PERMITTED"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Section B, one connector: whether it could be looked through, and why or why not."""

    connector_id: str
    state: CoverageState
    reason: str
    pulls: tuple[Line, ...]  # how its pulls were answered and how they ended


@dataclass(frozen=True, slots=True)
class Observations:
    """Section C: raw counts."""

    decisions: tuple[Line, ...]  # label: result, detail: reason, name: trigger type
    runs: tuple[Line, ...]  # label: how they ended
    plans: tuple[Line, ...]  # label: PLAN_CREATED …
    steps: tuple[Line, ...]  # label: STEP_STARTED …
    turns: tuple[Line, ...]  # label: reserved, refused, and how they were settled
    credits_settled: Count  # micro-credits
    events_delivered: tuple[Line, ...]  # label: delivered, name: topic
    events_dead: tuple[Line, ...]  # label: why, name: topic


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a horizon would see if it went on as in the window. Not a count."""

    of: str
    value: int
    unit: str
    basis: Count
    horizon: Window


@dataclass(frozen=True, slots=True)
class Forecast:
    """Section D, where there was window enough."""

    is_estimate: str  # says so, in words
    method: str
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class NotEnough:
    """Section D, where there was not."""

    statement: str  # "not enough observation"
    observed: Count
    needed: Count


Outlook: TypeAlias = Forecast | NotEnough


@dataclass(frozen=True, slots=True)
class Series:
    """Counts over time. Bucket i begins at `starts_at + i * bucket_seconds`.

    The first and the last bucket are cut by the window. `values` are dense: none is left out.
    """

    of: str  # signals, pulls, units, decisions, runs, credits …
    label: str | None  # a result or a state, where the series is one part of its kind
    unit: str
    how: str
    window: Window
    starts_at: Instant
    bucket_seconds: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Report:
    header: Header
    collected: Collected
    coverage: tuple[Coverage, ...]
    observations: Observations
    forecast: Outlook
    series: tuple[Series, ...]
    format: int = FORMAT
