"""Reports, looked at: as they were stored, never counted anew."""

from __future__ import annotations

from watchkeeper.core.ids import TenantId
from watchkeeper.core.report_json import from_json
from watchkeeper.core.reports import Report
from watchkeeper.errors import NotFound
from watchkeeper.ids import is_uuid
from watchkeeper.report_results import MilestoneView, milestone_view
from watchkeeper.store import milestones, reports, tenant_facts
from watchkeeper.store.database import Database
from watchkeeper.store.reports import ReportFacts


def report_text(db: Database, tenant_id: TenantId, report_id: str) -> str:
    """The document of a report, byte for byte."""
    found = None
    if is_uuid(report_id):
        with db.read(tenant_id) as tx:
            found = reports.get_text(tx, report_id)
    if found is None:
        raise NotFound(f"there is no report {report_id}", report_id=report_id)
    return found


def show_report(db: Database, tenant_id: TenantId, report_id: str) -> Report:
    return from_json(report_text(db, tenant_id, report_id))


def list_reports(
    db: Database, tenant_id: TenantId, before: str = "", limit: int = 50
) -> list[ReportFacts]:
    """The newest first."""
    with db.read(tenant_id) as tx:
        return reports.page(tx, before, limit)


def list_milestones(db: Database, tenant_id: TenantId) -> list[MilestoneView]:
    """Every milestone that policy names, or that something came of, by name."""
    with db.read(tenant_id) as tx:
        facts = tenant_facts.get(tx)
        if facts is None:
            raise NotFound(f"there is no tenant {tenant_id}", tenant_id=tenant_id)
        rules = {one.name: one for one in db.policies.exact(tx).rules.reports.milestones}
        marks, states = milestones.marks(tx), milestones.states(tx)
    names = sorted(rules.keys() | marks.keys() | states.keys())
    return [
        milestone_view(
            tenant_id, name, facts.installed_at, rules.get(name), marks.get(name), states.get(name)
        )
        for name in names
    ]


def count_backoffs(db: Database) -> dict[str, int]:
    """How many tenants are left alone for now, by milestone."""
    with db.read_system() as tx:
        return milestones.backing_off(tx)
