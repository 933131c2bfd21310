"""What a glance at one tenant is made of: counts that stop, each a look at an index.

How many accounts are in each tier is exact and cheap up to TIERS_COUNTED_MAX accounts. Beyond
that it takes a scan of an index, which is for whoever has the time.
"""

from __future__ import annotations

from watchkeeper.core.heat import TIERS, Tier
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

COUNTED_MAX = 10_000
TIERS_COUNTED_MAX = 20_000
RUNS_LOOKED_AT = 1_000
"""The newest runs, among which those under way are looked for."""

_PLANS = same(
    "select count(*) from (select 1 from plans where tenant_id = %s and status = %s"
    f" limit {COUNTED_MAX}) x"
)
_INTENTS = same(
    "select count(*) from (select 1 from intents where tenant_id = %s and state = %s"
    f" limit {COUNTED_MAX}) x"
)
_RUNS = same(
    "select count(*) from (select state from runs where tenant_id = %s"
    f" order by decision_id desc limit {RUNS_LOOKED_AT}) x where state = 'RUNNING'"
)
_TIER = same(
    "select count(*) from (select 1 from heats where tenant_id = %s and tier = %s limit %s) x"
)
_TIERS = same("select tier, count(*) from heats where tenant_id = %s group by tier")


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
    counted = {row[0]: int(row[1]) for row in tx.rows(_TIERS, (tx.tenant_id,))}
    return {tier: counted.get(int(tier), 0) for tier in TIERS}
