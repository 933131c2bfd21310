"""Expired keys, replies, roll-ups, pulls and reports are removed, tenant by tenant, in slices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from watchkeeper.core.ids import TenantId
from watchkeeper.core.policy import pulls_kept_days
from watchkeeper.core.time import DAY, Instant
from watchkeeper.store import expiry, heat_days, pulls, reports, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.transaction import Tx


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
    removed += _forget_all(db, tenant_id, heat_days.forget, heat_days.FORGOTTEN_MAX)
    removed += _forget_all(db, tenant_id, partial(_forget_reports, db), reports.FORGOTTEN_MAX)
    return removed + _forget_all(db, tenant_id, partial(_forget_pulls, db), pulls.FORGOTTEN_MAX)


def _forget_pulls(db: Database, tx: Tx) -> int:
    days = pulls_kept_days(db.policies.current(tx))
    return pulls.forget(tx, Instant(tx.now - days * DAY))


def _forget_reports(db: Database, tx: Tx) -> int:
    """Reports that somebody asked for, beyond what policy keeps; those of milestones stay."""
    kept_days = db.policies.exact(tx).rules.reports.kept_days
    return reports.forget(tx, Instant(tx.now - kept_days * DAY))


def _forget_all(db: Database, tenant_id: TenantId, forget: Callable[[Tx], int], most: int) -> int:
    removed = 0
    while True:
        with db.begin(tenant_id) as tx:
            count = forget(tx)
        removed += count
        if count < most:
            return removed
