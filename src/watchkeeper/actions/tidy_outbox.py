"""Upkeep of the outbox: what was delivered long ago leaves, and its room is used again."""

from __future__ import annotations

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY, Instant
from watchkeeper.store import outbox_upkeep
from watchkeeper.store.database import Database
from watchkeeper.store.notices import Line

ROUNDS_MAX = 10_000
TENANTS_MAX = 1_000_000


def sweep_delivered(db: Database, retention_days: int) -> int:
    """Remove delivered messages beyond their retention, in small transactions; how many."""
    removed = 0
    after = TenantId("")
    for _ in range(TENANTS_MAX):
        with db.read_system() as tx:
            before = Instant(tx.now - retention_days * DAY)
            tenant_id = outbox_upkeep.next_tenant(tx, after)
        if tenant_id is None:
            break
        removed += _sweep_for(db, tenant_id, before)
        after = tenant_id
    return removed


def _sweep_for(db: Database, tenant_id: TenantId, before: Instant) -> int:
    removed = 0

    def deed() -> int:
        with db.begin_system() as tx:
            return outbox_upkeep.sweep(tx, tenant_id, before)

    for _ in range(ROUNDS_MAX):
        count = db.retrying(deed)
        removed += count
        if count < outbox_upkeep.SWEPT_MAX:
            break
    return removed


def vacuum_outbox(db: Database) -> None:
    """On PostgreSQL, where rows come and go faster than autovacuum looks."""
    if db.engine == "postgresql":
        with Line(db) as line:
            line.vacuum("outbox")
