"""Expired keys, replies, roll-ups and old reports are removed, tenant by tenant, in slices."""

from __future__ import annotations

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY, Instant
from watchkeeper.store import expiry, heat_days, reports, tenants
from watchkeeper.store.database import Database


def forget_expired(db: Database) -> int:
    """One pass over all tenants; how much was removed. Each slice is a transaction."""
    with db.read_system() as tx:
        tenant_ids = tenants.all_ids(tx)
    return sum(_forget_for(db, tenant_id) for tenant_id in tenant_ids)


def _forget_for(db: Database, tenant_id: TenantId) -> int:
    removed = 0
    after: str | None = ""
    while after is not None:
        with db.begin(tenant_id) as tx:
            count, after = expiry.forget_keys(tx, after)
            removed += count
    with db.begin(tenant_id) as tx:
        removed += expiry.forget_replies(tx)
    return removed + _forget_days(db, tenant_id) + _forget_reports(db, tenant_id)


def _forget_days(db: Database, tenant_id: TenantId) -> int:
    removed = 0
    while True:
        with db.begin(tenant_id) as tx:
            count = heat_days.forget(tx)
        removed += count
        if count < heat_days.FORGOTTEN_MAX:
            return removed


def _forget_reports(db: Database, tenant_id: TenantId) -> int:
    """Reports that somebody asked for, beyond what policy keeps; those of milestones stay."""
    removed = 0
    while True:
        with db.begin(tenant_id) as tx:
            kept_days = db.policies.exact(tx).rules.reports.kept_days
            count = reports.forget(tx, Instant(tx.now - kept_days * DAY))
        removed += count
        if count < reports.FORGOTTEN_MAX:
            return removed
