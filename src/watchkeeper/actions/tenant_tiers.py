"""Tenant tiers: each is one that the policy in force has, so that no tenant is without limits.

A tier the policy does not have would mean the shipped defaults, which set no run budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watchkeeper.core.policy import Policy, tenants_named, tiers_of
from watchkeeper.errors import Conflict, Invalid
from watchkeeper.store import tenant_facts, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.transaction import Session, Tx

NAMES_SHOWN_MAX = 10


def require_tier(policy: Policy, tier: str | None) -> None:
    """Refuse a tenant tier that the policy does not have, naming those it has."""
    known = tiers_of(policy)
    if tier is None or tier in known:
        return
    there_are = f"its tiers are {_listed(known)}" if known else "it has no [tiers] at all"
    raise Invalid.at("tier", f"the policy has no tier {tier}: {there_are}")


def hold_tier(db: Database, tx: Tx, tier: str | None) -> None:
    """Refuse an unknown tier; keep the policy from dropping a known one until the commit."""
    if tier is not None:
        tenants.hold_tiers(tx)
        require_tier(db.policies.current(tx), tier)


def refuse_dropped(tx: Tx, current: Policy, new: Policy) -> None:
    """Refuse a policy that drops a tier which tenants have: they would have no limits."""
    if _dropped(current, new):
        tenants.close_tiers(tx)
        why = _why_refused(tx, current, new)
        if why is not None:
            raise Conflict(why)


def why_refused(db: Database, new: Policy) -> str | None:
    """Why `apply` would refuse a policy now: it drops a tier which tenants have."""
    with db.read_system() as tx:
        return _why_refused(tx, db.policies.current(tx), new)


def _why_refused(session: Session, current: Policy, new: Policy) -> str | None:
    dropped = _dropped(current, new)
    used = {tier: n for tier, n in tenant_facts.by_tier(session).items() if tier in dropped}
    if not used:
        return None
    return (
        f"the new policy drops {_used(used)}: keep it, or give those tenants another tier"
        " first (`watchkeeper tenants set TENANT --tier TIER`)"
    )


def _dropped(current: Policy, new: Policy) -> list[str]:
    return [tier for tier in tiers_of(current) if tier not in tiers_of(new)]


def policy_warnings(db: Database, policy: Policy) -> list[str]:
    """Where a policy and the tenants do not meet: names that it has and nobody bears."""
    named = tenants_named(policy)
    with db.read_system() as tx:
        known = tenant_facts.known(tx, named)
        used = tenant_facts.by_tier(tx)
    warnings = [
        f"tenants.{name}: there is no tenant of this name" for name in named if name not in known
    ]
    return warnings + [
        f"{_tenants(count)} the tier {tier}, which this policy does not have"
        for tier, count in used.items()
        if tier not in tiers_of(policy)
    ]


def _used(used: Mapping[str, int]) -> str:
    return " and ".join(f"the tier {tier}, which {_tenants(used[tier])}" for tier in used)


def _tenants(count: int) -> str:
    return "1 tenant has" if count == 1 else f"{count} tenants have"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN_MAX
    shown = ", ".join(names[:NAMES_SHOWN_MAX])
    return f"{shown} and {more} more" if more > 0 else shown
