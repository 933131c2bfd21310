"""A tenant is made known: by a person, or by its first use where that is allowed."""

from __future__ import annotations

from watchkeeper.actions.answer_once import Once, change_once
from watchkeeper.actions.tenant_tiers import hold_tier
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.time import Instant
from watchkeeper.errors import Conflict
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
    may_exist: bool = True,
    once: Once | None = None,
) -> bool:
    """Make the tenant unless it exists; says whether this call made it.

    A tier that the policy does not have is refused. Raises Conflict for a tenant that may not
    exist, and does.
    """

    def deed(tx: Tx) -> bool:
        hold_tier(db, tx, tier)
        at = tx.now if installed_now and installed_at is None else installed_at
        is_new = make_tenant(db, tx, name=name, tier=tier, installed_at=at)
        if not is_new and not may_exist:
            raise Conflict(f"there is a tenant {tenant_id} already", tenant_id=tenant_id)
        return is_new

    return change_once(db, tenant_id, deed, once)


def make_tenant(
    db: Database,
    tx: Tx,
    *,
    name: str | None = None,
    tier: str | None = None,
    installed_at: Instant | None,
) -> bool:
    """Make the tenant of this transaction unless it exists; says whether it is new."""
    if not tenants.create(tx, name=name, tier=tier, installed_at=installed_at):
        return False
    ledger.record(tx, [_created(tx, name, tier, installed_at)])
    if connectors.with_cadence(tx):
        heat.start_sweeping(tx, tx.now)
    reporting.plan(tx, db.policies.exact(tx), installed_at, anew=True)
    return True


def _created(tx: Tx, name: str | None, tier: str | None, installed_at: Instant | None) -> Entry:
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.SYSTEM,
        kind=Kind.TENANT_CREATED,
        subject=tx.tenant_id,
        data=dumps({"installed_at": installed_at, "name": name, "tier": tier}),
    )
