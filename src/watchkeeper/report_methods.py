"""The part of the door for Python programs that is about reports."""

from __future__ import annotations

from watchkeeper import inputs
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.generate_report import generate_report, heard_by
from watchkeeper.actions.locate_tenant import Thing, locate_tenant
from watchkeeper.actions.show_reports import list_milestones, list_reports, report_text, show_report
from watchkeeper.core.ids import TenantId
from watchkeeper.core.reports import Report
from watchkeeper.handlers.registry import Registry
from watchkeeper.report_results import MilestoneView, ReportSummary, summary_of
from watchkeeper.store.database import Database


class ReportMethods:
    """What `App` can do with reports and their milestones."""

    db: Database
    admission: Admission
    registry: Registry

    def generate_report(self, tenant_id: str) -> Report:
        """Generate and store a report on a tenant until now."""
        tenant = _tenant(tenant_id)
        hears = heard_by(self.db, self.registry)
        made = generate_report(self.db, tenant, hears=hears, makes_tenant=True)
        assert made is not None, "only a milestone has come to its end before"
        return made

    def reports(self, tenant_id: str, *, before: str = "", limit: int = 50) -> list[ReportSummary]:
        """List a tenant's reports, newest first; `before` is the id of the last one seen."""
        tenant = _tenant(tenant_id)
        found = list_reports(self.db, tenant, before, limit)
        return [summary_of(one, tenant) for one in found]

    def report(self, report_id: str, *, tenant_id: str | None = None) -> Report:
        """A report as it was stored."""
        return show_report(self.db, self._owner(report_id, tenant_id), report_id)

    def report_json(self, report_id: str, *, tenant_id: str | None = None) -> str:
        """A report as canonical JSON, byte for byte as it was stored."""
        return report_text(self.db, self._owner(report_id, tenant_id), report_id)

    def report_pdf(self, report_id: str, *, tenant_id: str | None = None) -> bytes:
        """A report as PDF: the same sections and numbers, with plots."""
        from watchkeeper.render_report import pdf

        return pdf(self.report(report_id, tenant_id=tenant_id))

    def milestones(self, tenant_id: str) -> list[MilestoneView]:
        """List the scheduled reports of a tenant."""
        return list_milestones(self.db, _tenant(tenant_id))

    def _owner(self, report_id: str, tenant_id: str | None) -> TenantId:
        return (
            locate_tenant(self.db, Thing.REPORT, report_id)
            if tenant_id is None
            else _tenant(tenant_id)
        )


def _tenant(tenant_id: str) -> TenantId:
    return TenantId(inputs.parse_tenant_id(tenant_id))
