"""Accounts, looked at: how warm each is now, when it is pulled next, which tiers it had.

What is stored is where an account stood when it was last heard of or swept. What is shown is
where it stands now: the same rule carries it on, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.core import heat as rule
from watchkeeper.core.heat import Depth, Tier
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.ledger import Kind, Recorded
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.time import Instant
from watchkeeper.errors import NotFound
from watchkeeper.moves.heat import fresh
from watchkeeper.perceive_results import Heat, heat_of
from watchkeeper.store import accounts, heat_days, heats, ledger, next_pulls, plans
from watchkeeper.store.accounts import Account
from watchkeeper.store.database import Database
from watchkeeper.store.heat_days import HeatDay
from watchkeeper.store.next_pulls import NextPull
from watchkeeper.store.plans import Loaded
from watchkeeper.store.transaction import ReadTx

HISTORY_MAX = 50
PLANS_MAX = 20
SCANNED = 1000
SCANS_MAX = 20
"""Slices that one page of a tier looks through: where nobody sweeps, many have left it."""


@dataclass(frozen=True, slots=True)
class WarmAccount:
    account: Account
    heat: Heat


@dataclass(frozen=True, slots=True)
class AccountPage:
    """Accounts by name, and the last name that was looked at."""

    accounts: Sequence[WarmAccount]
    last: str | None
    is_cut: bool = False  # there may be more, though the page is not full


@dataclass(frozen=True, slots=True)
class ShownAccount:
    """One account: its next pulls, each with its depth, its latest changes of tier, its plans."""

    account: Account
    heat: Heat
    next_pulls: Sequence[tuple[NextPull, Depth]]
    tier_history: Sequence[Recorded]
    days: Sequence[HeatDay]
    plans: Sequence[Loaded]  # the newest first


def show_account(db: Database, tenant_id: TenantId, account_id: AccountId) -> ShownAccount:
    with db.read(tenant_id) as tx:
        account = accounts.get(tx, account_id)
        if account is None:
            raise NotFound(f"there is no account {account_id}", account_id=account_id)
        rules = db.policies.exact(tx).rules
        [warm] = warmed(tx, rules, [account])
        pulls = sorted(next_pulls.of_accounts(tx, [account_id]))
        wanted = {"kind": Kind.TIER_CHANGED.value, "subject": account_id}
        history = ledger.newest(tx, wanted, limit=HISTORY_MAX)
        days = heat_days.of_account(tx, account_id, HISTORY_MAX)
        own = plans.page(tx, {"account_id": account_id}, before=None, limit=PLANS_MAX)
    depths = [(pull, rules.heat.tiers[pull.tier].depth) for pull in pulls]
    return ShownAccount(account, warm.heat, depths, history, days, own)


def show_heat(db: Database, tenant_id: TenantId, account_id: AccountId) -> Heat:
    return show_account(db, tenant_id, account_id).heat


def list_accounts(
    db: Database, tenant_id: TenantId, after: str, limit: int, tier: Tier | None = None
) -> AccountPage:
    """A page of accounts by name; with a tier, those that are in it now."""
    with db.read(tenant_id) as tx:
        rules = db.policies.exact(tx).rules
        if tier is not None:
            return _in_tier(tx, rules, tier, after, limit)
        return _page(warmed(tx, rules, accounts.page(tx, after, limit)))


def _in_tier(tx: ReadTx, rules: TenantRules, tier: Tier, after: str, limit: int) -> AccountPage:
    found: list[WarmAccount] = []
    size = max(limit, SCANNED)
    for _ in range(SCANS_MAX):
        names = heats.maybe_in_tier(tx, tier, after, size, rules.policy_version)
        known = accounts.read(tx, names)
        some = warmed(tx, rules, [known[name] for name in names if name in known])
        found += [one for one in some if one.heat.heat_tier == tier.name]
        if len(names) < size or len(found) >= limit:
            return _page(found[:limit])
        after = names[-1]
    return AccountPage(found, after, is_cut=True)


def _page(found: Sequence[WarmAccount]) -> AccountPage:
    return AccountPage(found, found[-1].account.account_id if found else None)


def warmed(tx: ReadTx, rules: TenantRules, found: Sequence[Account]) -> list[WarmAccount]:
    stored = heats.read_dated(tx, [account.account_id for account in found])
    return [
        WarmAccount(account, _now(tx, rules, account, stored.get(account.account_id)))
        for account in found
    ]


def _now(
    tx: ReadTx, rules: TenantRules, account: Account, stored: tuple[heats.Heat, Instant] | None
) -> Heat:
    now = tx.now
    if stored is None:  # the sweep has not met it yet
        state = rule.told_posture(fresh(now), rules.heat, account.posture, now)
        return heat_of(state, rule.score(state, rules.heat, now), None)
    state = rule.advance(stored[0].state, rules.heat, now)
    return heat_of(state, rule.score(state, rules.heat, state.computed_at), stored[1])
