"""A tenant is told something new: its name, its tier, when it was installed."""

from __future__ import annotations

from collections.abc import Mapping

from watchkeeper.actions.first_use import make_if_new
from watchkeeper.actions.tenant_tiers import hold_tier
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.errors import NotFound
from watchkeeper.ids import new_id
from watchkeeper.moves import reporting
from watchkeeper.store import ledger, tenant_facts, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.tenant_facts import TenantFacts

FIELDS = ("installed_at", "name", "tier")


def change_tenant(
    db: Database,
    tenant_id: TenantId,
    changes: Mapping[str, str | int | None],
    *,
    makes_tenant: bool = False,
) -> TenantFacts:
    """Write what is named, leave the rest. A change that changes nothing is not recorded.

    A tier that the policy does not have is refused.
    """
    assert set(changes) <= set(FIELDS)
    tier = changes.get("tier")
    assert tier is None or isinstance(tier, str)

    def deed() -> TenantFacts:
        with db.begin(tenant_id) as tx:
            hold_tier(db, tx, tier)
            make_if_new(db, tx, makes_tenant=makes_tenant)
            tenant = tenants.lock(tx)
            old = tenant_facts.get(tx)
            if old is None:
                raise NotFound(f"there is no tenant {tenant_id}", tenant_id=tenant_id)
            was = {name: getattr(old, name) for name in FIELDS}
            new = {**was, **changes}
            if new == was:
                return old
            tenant_facts.put(tx, **new)
            changed = {name: [was[name], new[name]] for name in FIELDS if was[name] != new[name]}
            entry = Entry(
                entry_id=new_id(),
                at=tx.now,
                stage=Stage.SYSTEM,
                kind=Kind.TENANT_CHANGED,
                subject=tenant_id,
                data=dumps({"changed": changed}),
            )
            ledger.append_and_save(tx, tenant, [entry])
            if "installed_at" in changed:
                guess = db.policies.exact(tx)
                reporting.plan(tx, guess, tenant_facts.installed_at(tx), anew=False)
            changed_facts = tenant_facts.get(tx)
            assert changed_facts is not None
            return changed_facts

    return db.retrying(deed)
