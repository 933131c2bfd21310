"""A kill switch is thrown or released; every later verdict and handler call sees it."""

from __future__ import annotations

from watchkeeper.actions.answer_once import Once, change_once
from watchkeeper.actions.first_use import make_if_new
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.errors import Invalid
from watchkeeper.ids import new_id
from watchkeeper.store import kill_switches, ledger, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.transaction import Tx

WHOLE = ("all", "tenant")
SCOPES = ("all", "tenant", "connector", "trigger", "tier", "action")


def set_kill_switch(
    db: Database,
    tenant_id: TenantId,
    scope: str,
    target: str | None,
    *,
    on: bool,
    reason: str,
    set_by: str,
    makes_tenant: bool = False,
    once: Once | None = None,
) -> None:
    """Throw or release one. `all` belongs to the system, the others to a tenant or to all."""
    if scope not in SCOPES:
        raise Invalid.at("scope", f"must be one of {', '.join(SCOPES)}")
    if (scope in WHOLE) != (target is None):
        raise Invalid.at("id", "must be absent" if scope in WHOLE else "is required")
    if scope == "tenant" and tenant_id == SYSTEM:
        raise Invalid.at("tenant_id", "is required: the switch for every tenant is of scope all")
    if scope == "all":
        tenant_id = SYSTEM

    def deed(tx: Tx) -> None:
        if tenant_id == SYSTEM:
            tenants.create(tx, name=None, tier=None, installed_at=None)
        make_if_new(db, tx, makes_tenant=makes_tenant)
        tenant = tenants.lock(tx)
        if on:
            kill_switches.turn_on(tx, scope, target or "", reason=reason, set_by=set_by)
        else:
            kill_switches.turn_off(tx, scope, target or "")
        data = {"id": target, "on": on, "reason": reason, "scope": scope, "set_by": set_by}
        entry = Entry(
            entry_id=new_id(),
            at=tx.now,
            stage=Stage.SYSTEM,
            kind=Kind.KILL_SWITCH_SET,
            subject=f"{scope}:{target}" if target else scope,
            data=dumps(data),
        )
        ledger.append_and_save(tx, tenant, [entry])

    change_once(db, tenant_id, deed, once)
