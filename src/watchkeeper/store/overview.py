"""What a glance at one tenant is made of: counts that stop, each a look at an index.

How many accounts are in each tier is exact and cheap up to TIERS_COUNTED_MAX accounts. Beyond
that it takes a scan of an index, which is for whoever has the time.
"""

from __future__ import annotations

from watchkeeper.core.heat import TIERS, Tier
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

COUNTED_MAX = 10_000
TIERS_COUNTED_MAX = 20_000
ACCOUNTS_MAX = 2**31
"""More than a tenant can have."""
RUNS_LOOKED_AT = 1_000
"""The newest runs, among which those under way are looked for."""

# The order leaves the planner no way but the index, however many rows it expects to find.
_PLANS = same(
    "select count(*) from (select 1 from plans where tenant_id = %s and status = %s"
    f" order by plan_id limit {COUNTED_MAX}) x"
)
_INTENTS = same(
    "select count(*) from (select 1 from intents where tenant_id = %s and state = %s"
    f" order by intent_id limit {COUNTED_MAX}) x"
)
_RUNS = same(
    "select count(*) from (select state from runs where tenant_id = %s"
    f" order by decision_id desc limit {RUNS_LOOKED_AT}) x where state = 'RUNNING'"
)
_TIER = same(
    "select count(*) from (select 1 from heats where tenant_id = %s and tier = %s"
    " order by account_id limit %s) x"
)
_OPEN_BREAKERS = same(
    "select connector_id, failures, open_until_at from connector_states"
    " where tenant_id = %s and open_until_at > %s order by connector_id limit %s"
)
# Those that are registered or limited for all, and those the tenant has to do with.
_CONNECTORS = same(
    "select connector_id from (select connector_id from connectors where connector_id > %s"
    " union select connector_id from connector_states where tenant_id = %s and connector_id > %s) x"
    " order by connector_id limit %s"
)


def plans_in(tx: Tx, status: str) -> int:
    [(count,)] = tx.rows(_PLANS, (tx.tenant_id, status))
    return int(count)


def intents_in(tx: Tx, state: str) -> int:
    [(count,)] = tx.rows(_INTENTS, (tx.tenant_id, state))
    return int(count)


def runs_under_way(tx: Tx) -> int:
    """Of the newest RUNS_LOOKED_AT."""
    [(count,)] = tx.rows(_RUNS, (tx.tenant_id,))
    return int(count)


def open_breakers(tx: Tx, limit: int) -> list[tuple[str, int, Instant]]:
    """Connectors that rest for the tenant: how often each failed in a row, and until when."""
    rows = tx.rows(_OPEN_BREAKERS, (tx.tenant_id, tx.now, limit))
    return [(row[0], int(row[1]), Instant(row[2])) for row in rows]


def connector_names(tx: Tx, after: str, limit: int) -> list[str]:
    """Every connector that is known to all or to the tenant, by name."""
    return [row[0] for row in tx.rows(_CONNECTORS, (after, tx.tenant_id, after, limit))]


def tiers_up_to(tx: Tx, most: int = TIERS_COUNTED_MAX) -> dict[Tier, int]:
    """Accounts in each tier, the hottest first; those left out are more than so many in all."""
    found: dict[Tier, int] = {}
    for tier in sorted(TIERS, reverse=True):
        [(count,)] = tx.rows(_TIER, (tx.tenant_id, int(tier), most + 1))
        found[tier] = int(count)
        most -= found[tier]
        if most < 0:
            break
    return found


def tiers(tx: Tx) -> dict[Tier, int]:
    """The same, all of them: the longer, the more accounts there are."""
    found = {}
    for tier in TIERS:
        [(count,)] = tx.rows(_TIER, (tx.tenant_id, int(tier), ACCOUNTS_MAX))
        found[tier] = int(count)
    return found
