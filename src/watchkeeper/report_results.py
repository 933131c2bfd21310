"""Reports and milestones as Python programs, HTTP and the command line show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from watchkeeper.core.milestones import Milestone, MilestoneState
from watchkeeper.core.time import HOUR, Instant, to_datetime
from watchkeeper.store.milestones import Mark
from watchkeeper.store.reports import ReportFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSummary:
    """A report in a list, without its sections."""

    report_id: str
    trigger: str
    tenant_id: str
    generated_at: datetime
    window_since: datetime

    def to_json(self) -> dict[str, Any]:
        return {
            "report_id": self.report_id,
            "trigger": self.trigger,
            "tenant_id": self.tenant_id,
            "generated_at": _json(self.generated_at),
            "window": {"since": _json(self.window_since), "until": _json(self.generated_at)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneView:
    """Status of one milestone of a tenant. `outcome` is final; None: none yet."""

    tenant_id: str
    milestone: str
    after_hours: int | None  # None: policy names it no more
    due_at: datetime | None
    outcome: str | None
    report_id: str | None
    generated_at: datetime | None
    missed_at: datetime | None
    last_run_at: datetime | None
    attempts: int
    failure_count: int
    last_error: str | None
    last_error_at: datetime | None
    backoff_until: datetime | None

    def to_json(self) -> dict[str, Any]:
        return {name: _json(getattr(self, name)) for name in self.__slots__}


def summary_of(found: ReportFacts, tenant_id: str) -> ReportSummary:
    return ReportSummary(
        report_id=found.report_id,
        trigger=found.trigger,
        tenant_id=tenant_id,
        generated_at=to_datetime(found.generated_at),
        window_since=to_datetime(found.window_since),
    )


def milestone_view(
    tenant_id: str,
    name: str,
    installed_at: Instant | None,
    rule: Milestone | None,
    mark: Mark | None,
    state: MilestoneState | None,
) -> MilestoneView:
    known = state or MilestoneState(name)
    marked_at = None if mark is None else mark.marked_at
    is_made = mark is not None and mark.report_id is not None
    due_at = None
    if installed_at is not None and rule is not None:
        due_at = Instant(installed_at + rule.after_us)
    return MilestoneView(
        tenant_id=tenant_id,
        milestone=name,
        after_hours=None if rule is None else rule.after_us // HOUR,
        due_at=_moment(due_at),
        outcome=None if mark is None else mark.outcome.value,
        report_id=None if mark is None else mark.report_id,
        generated_at=_moment(marked_at) if is_made else None,
        missed_at=None if is_made else _moment(marked_at),
        last_run_at=_moment(known.last_run_at),
        attempts=known.attempts,
        failure_count=known.failures,
        last_error=known.last_error,
        last_error_at=_moment(known.last_error_at),
        backoff_until=_moment(known.backoff_until_at),
    )


def _moment(at: Instant | None) -> datetime | None:
    return None if at is None else to_datetime(at)


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value
