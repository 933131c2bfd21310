"""Expired idempotency keys and stored replies are removed, tenant by tenant, in slices."""

from __future__ import annotations

from watchkeeper.core.ids import TenantId
from watchkeeper.store import expiry, tenants
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
        return removed + expiry.forget_replies(tx)
