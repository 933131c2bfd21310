"""Accounts by the beginning of their names and by tier, each as it stands now.

No more than a bounded number of names is looked at for a page: one that holds less than it could
says where to go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.actions.show_heat import WarmAccount, warmed
from watchkeeper.core.heat import Tier
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.time import Instant
from watchkeeper.store import accounts, heats, next_pulls, timelines
from watchkeeper.store.database import Database
from watchkeeper.store.transaction import ReadTx

SCANNED = 200
SCANS_MAX = 5
VERDICT_AMONG = 20
"""Entries of an account among which its last verdict is looked for."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One account in a list: how warm it is, what was decided last, when it is pulled next."""

    account: WarmAccount
    last_verdict: Recorded | None
    next_pull_at: Instant | None


@dataclass(frozen=True, slots=True)
class FoundAccounts:
    """Accounts by name; after which name to go on, if there may be more."""

    accounts: Sequence[Listed]
    next_after: str | None


def search_accounts(
    db: Database,
    tenant_id: TenantId,
    *,
    prefix: str,
    tier: Tier | None,
    after: str,
    limit: int,
) -> FoundAccounts:
    """Those whose names begin so, and that are in this tier now.

    An account that another policy has made hotter is found there once the sweep has met it.
    """
    with db.read(tenant_id) as tx:
        rules = db.policies.exact(tx).rules
        found, older = _walk(tx, rules, prefix, tier, after, limit)
        return FoundAccounts(_listed(tx, found), older)


def _walk(
    tx: ReadTx, rules: TenantRules, prefix: str, tier: Tier | None, after: str, limit: int
) -> tuple[list[WarmAccount], str | None]:
    found = [] if after or not prefix else _in_tier(tx, rules, [AccountId(prefix)], tier)
    place = after or prefix
    for _ in range(SCANS_MAX):
        names = _names(tx, tier, place)
        # Whatever order the database has, names that begin alike stand together in it.
        alike = [name for name in names if name.startswith(prefix)]
        found += _in_tier(tx, rules, alike, tier)
        if len(found) > limit:
            return found[:limit], found[limit - 1].account.account_id
        if len(names) < SCANNED or not alike:
            return found, None
        place = names[-1]
    return found, place


def _names(tx: ReadTx, tier: Tier | None, after: str) -> list[AccountId]:
    if tier is None or tier is Tier.COLD:  # of which some have no heat yet
        return accounts.ids_after(tx, after, SCANNED)
    return heats.written_in_tier(tx, tier, after, SCANNED)


def _in_tier(
    tx: ReadTx, rules: TenantRules, names: Sequence[AccountId], tier: Tier | None
) -> list[WarmAccount]:
    known = accounts.read(tx, names) if names else {}
    some = warmed(tx, rules, [known[name] for name in names if name in known])
    return [one for one in some if tier is None or one.heat.heat_tier == tier.name]


def _listed(tx: ReadTx, found: Sequence[WarmAccount]) -> list[Listed]:
    names = [one.account.account_id for one in found]
    if not names:
        return []
    verdicts = timelines.last_verdicts(tx, names, VERDICT_AMONG)
    due: dict[str, Instant] = {}
    for pull in next_pulls.of_accounts(tx, names):
        due[pull.account_id] = min(pull.due_at, due.get(pull.account_id, pull.due_at))
    return [Listed(one, verdicts.get(n), due.get(n)) for one, n in zip(found, names, strict=True)]
