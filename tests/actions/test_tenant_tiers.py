"""A tenant's tier is one that the policy in force has, at every commit."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.consumers import wait_until_blocked
from tests.databases import Place
from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.change_tenant import change_tenant
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.overview import show_overview
from watchkeeper.actions.population import Populations
from watchkeeper.actions.tenant_tiers import policy_warnings
from watchkeeper.actions.verify import TIERED, verify
from watchkeeper.actions.views import view_policy, view_tenant
from watchkeeper.core.ids import TenantId
from watchkeeper.errors import Conflict, Invalid
from watchkeeper.store import tenants
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("D-09")

ACME, BOLT = TenantId("acme"), TenantId("bolt")


def put_in_force(db: Database, text: str) -> None:
    apply_policy(db, text, author="ann", reason="test")


def lost(db: Database) -> list[tuple[object, object]]:
    [finding] = [one for one in verify(db) if one.invariant == TIERED]
    return [(row["tenant_id"], row["tier"]) for row in finding.rows]


def test_where_the_policy_has_no_tiers_that_is_said(db: Database) -> None:
    with pytest.raises(Invalid, match=r"no tier gold: it has no \[tiers\] at all"):
        create_tenant(db, ACME, tier="gold")
    create_tenant(db, ACME)
    with pytest.raises(Invalid, match="no tier gold"):
        change_tenant(db, ACME, {"tier": "gold"})
    assert view_tenant(db, ACME).tier is None


def test_long_lists_of_tiers_are_cut(db: Database) -> None:
    put_in_force(db, "".join(f"[tiers.t{n:02}]\n" for n in range(12)))
    with pytest.raises(Invalid, match=r"its tiers are t00, .*, t09 and 2 more"):
        create_tenant(db, ACME, tier="gold")


def test_a_policy_keeps_the_tiers_that_tenants_have(db: Database) -> None:
    put_in_force(db, "[tiers.gold]\n[tiers.free]\n[tiers.old]\n")
    create_tenant(db, ACME, tier="gold")
    create_tenant(db, BOLT, tier="gold")
    with pytest.raises(Conflict, match="drops the tier gold, which 2 tenants have: keep it"):
        put_in_force(db, "[tiers.free]\n")
    assert view_policy(db, None).version == 1
    put_in_force(db, "[tiers.gold]\n")
    change_tenant(db, ACME, {"tier": None})
    change_tenant(db, BOLT, {"tier": None})
    put_in_force(db, "run_budget_per_day = 5\n")
    assert view_policy(db, None).version == 3


def test_a_tier_that_was_lost_before_is_told_everywhere(db: Database, place: Place) -> None:
    put_in_force(db, "[tiers.gold]\n")
    create_tenant(db, ACME, tier="gold")
    assert lost(db) == []
    place.execute("update tenants set tier = 'fre' where tenant_id = 'acme'")
    assert lost(db) == [("acme", "fre")]
    assert policy_warnings(db, view_policy(db, None)) == [
        "1 tenant has the tier fre, which this policy does not have"
    ]
    needs = show_overview(db, Populations(db), ACME).needs
    assert needs[0].title == "The tenant tier fre is not in the policy"
    put_in_force(db, "")
    change_tenant(db, ACME, {"name": "Acme"})
    change_tenant(db, ACME, {"tier": None})
    assert lost(db) == []


def test_names_in_the_policy_that_nobody_bears_are_warned_of(db: Database) -> None:
    put_in_force(db, "[tenants.acme]\nrun_budget_per_day = 1\n[tenants.acem]\n")
    create_tenant(db, ACME)
    warned = policy_warnings(db, view_policy(db, None))
    assert warned == ["tenants.acem: there is no tenant of this name"]


@pytest.mark.parametrize("engine", [pytest.param("postgresql", marks=pytest.mark.postgresql)])
def test_a_policy_waits_for_whoever_gives_out_its_tier(
    db: Database, place: Place, engine: str
) -> None:
    """Whoever waits for the tenant's row has seen the tier, and nobody drops it meanwhile."""
    put_in_force(db, "[tiers.gold]\n")
    create_tenant(db, ACME)
    with ThreadPoolExecutor(2) as threads:
        with db.begin(ACME) as tx:
            tenants.lock(tx)
            given = threads.submit(change_tenant, db, ACME, {"tier": "gold"})
            wait_until_blocked(place)
            dropped = threads.submit(put_in_force, db, "")
            wait_until_blocked(place, 2)
        assert given.result(30).tier == "gold"
        with pytest.raises(Conflict):
            dropped.result(30)
    assert lost(db) == []
