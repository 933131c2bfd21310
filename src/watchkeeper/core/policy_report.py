"""What policy says of reports: when they come by themselves, and what a forecast needs."""

from __future__ import annotations

from collections.abc import Iterator

from watchkeeper.core.milestones import Milestone, ReportRules
from watchkeeper.core.policy_read import Document, limit, table, whole
from watchkeeper.core.time import HOUR, SECOND


def report_rules(merged: Document) -> ReportRules:
    reports = table(merged["reports"])
    return ReportRules(
        milestones=tuple(sorted(_milestones(reports))),
        tick_us=whole(reports, "tick_seconds") * SECOND,
        forecast_min_us=whole(reports, "forecast_min_hours") * HOUR,
        kept_days=whole(reports, "kept_days"),
    )


def _milestones(reports: Document) -> Iterator[Milestone]:
    for name, values in table(reports["milestones"]).items():
        hours = limit(table(values), "after_hours")
        if hours is not None:
            yield Milestone(hours * HOUR, name)


def report_mistakes(reports: Document) -> Iterator[tuple[tuple[str, ...], str]]:
    """Milestones of one age would share a window: no rule could say which is due."""
    seen: dict[int, str] = {}
    for name, values in table(reports["milestones"]).items():
        path = ("reports", "milestones", name, "after_hours")
        if "after_hours" not in table(values):
            yield path, "is required for a milestone of your own"
            continue
        hours = limit(table(values), "after_hours")
        if hours is not None and hours in seen:
            yield path, f"is the same as that of {seen[hours]}"
        elif hours is not None:
            seen[hours] = name
