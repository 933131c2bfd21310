"""The charts of a report: every kind of count that it holds, over time."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.charts import Drawing, Part, stacked_bars, tone_of
from watchkeeper.core.reports import Report, Series
from watchkeeper.core.time import SECOND

_STEPS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True)
class ReportChart:
    """One kind of count: its series share their buckets and stand on each other."""

    of: str
    series: tuple[Series, ...]
    drawing: Drawing

    @property
    def heading(self) -> str:
        first = self.series[0]
        counted = self.of if first.unit == self.of else f"{self.of}: {first.unit}"
        return f"{counted} per {duration(first.bucket_seconds)}"


def duration(seconds: int) -> str:
    """1800 as `30 minutes`, 3600 as `hour`: as it is said after `per`."""
    for length, name in _STEPS:
        if seconds % length == 0 and seconds:
            count = seconds // length
            return name if count == 1 else f"{count} {name}s"
    return f"{seconds} seconds"


def charts(report: Report, *, width: float = 640, height: float = 150) -> tuple[ReportChart, ...]:
    """In the order in which the report has them."""
    grouped: dict[tuple[str, int, int, int], list[Series]] = {}
    for one in report.series:
        key = (one.of, one.starts_at, one.bucket_seconds, len(one.values))
        grouped.setdefault(key, []).append(one)
    return tuple(
        ReportChart(group[0].of, tuple(group), _drawn(group, width, height))
        for group in grouped.values()
    )


def _drawn(group: list[Series], width: float, height: float) -> Drawing:
    first = group[0]
    parts = [
        Part(one.label or one.of, one.values, tone_of(one.label or "", place))
        for place, one in enumerate(group)
    ]
    return stacked_bars(
        f"{first.of} over time",
        first.starts_at,
        first.bucket_seconds * SECOND,
        parts,
        unit=first.unit,
        width=width,
        height=height,
    )
