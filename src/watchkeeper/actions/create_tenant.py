"""A tenant is made known: by a person, or by its first use where that is allowed."""

from __future__ import annotations

from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.time import Instant
from watchkeeper.ids import new_id
from watchkeeper.moves import heat, reporting
from watchkeeper.store import connectors, ledger, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.transaction import Tx


def create_tenant(
    db: Database,
    tenant_id: TenantId,
    *,
    name: str | None = None,
    tier: str | None = None,
    installed_at: Instant | None = None,
    installed_now: bool = True,
) -> bool:
    """Make the tenant unless it exists; says whether this call made it."""

    def deed() -> bool:
        with db.begin(tenant_id) as tx:
            at = tx.now if installed_now and installed_at is None else installed_at
            if not tenants.create(tx, name=name, tier=tier, installed_at=at):
                return False
            ledger.record(tx, [_created(tx, name, tier, at)])
            if connectors.with_cadence(tx):
                heat.start_sweeping(tx, tx.now)
            reporting.plan(tx, db.policies.exact(tx), at, anew=True)
            return True

    return db.retrying(deed)


def _created(tx: Tx, name: str | None, tier: str | None, installed_at: Instant | None) -> Entry:
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.SYSTEM,
        kind=Kind.TENANT_CREATED,
        subject=tx.tenant_id,
        data=dumps({"installed_at": installed_at, "name": name, "tier": tier}),
    )
