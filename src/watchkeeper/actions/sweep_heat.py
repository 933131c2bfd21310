"""The sweep: accounts that heard nothing cool down, slice by slice, round after round.

Nothing is locked while a slice is read and judged; what a newer signal has written since is
left alone. The next slice, and the next round, are messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from watchkeeper.core import heat as rule
from watchkeeper.core.ids import TenantId
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.time import DAY, Instant, day_of
from watchkeeper.moves import heat
from watchkeeper.moves.heat import Change
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.store import heat_days, heats, ledger, next_pulls, sweeps, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.sweeps import Sweep
from watchkeeper.store.transaction import Tx

SLICE = 10_000


def sweep_slice(db: Database, tenant_id: TenantId, payload: str, size: int = SLICE) -> int:
    """Sweep one slice and plan what follows; how many accounts changed.

    A message that comes twice, or late, finds that the sweep has moved on, and does nothing.
    """
    told = loads(payload)
    before = Sweep(Instant(told["round_at"]), str(told["after"]))

    def deed() -> int:
        with db.begin(tenant_id) as tx:
            rules = db.policies.exact(tx).rules
            until = heats.slice_end(tx, before.after_account, size)
            changes = [] if until is None else _changes(tx, rules, before.after_account, until)
            bare = [] if until is None else next_pulls.missing(tx, before.after_account, until)
            tenant = tenants.lock(tx) if changes or bare or until is None else None
            after = _next(tx, before, until)
            if not sweeps.move(tx, before, after):
                return 0
            heat.plan_sweep(tx, after)
            written = _written(tx, changes)
            if until is not None and rules.heat.rollup_days:
                _roll_up(tx, rules.heat.rollup_days, before.after_account, until)
            if tenant is None:
                return 0
            ledger.append(tx, tenant, heat.entries(tx, written, rules))
            tenants.save_seq(tx, tenant)
            heat.follow(tx, rules, written)
            if until is None:
                heat.mend_tick(tx)
            elif bare:
                heat.place_missing(tx, rules, next_pulls.missing(tx, before.after_account, until))
            return len(written)

    return db.retrying(deed)


def _changes(tx: Tx, rules: TenantRules, after: str, until: str) -> list[Change]:
    now, version = tx.now, rules.policy_version
    found = []
    for old in heats.stale(tx, after, until, now, version):
        state = rule.advance(old.state, rules.heat, now)
        found.append(heat.changed(old.account_id, old, state, rules))
    for account_id, posture in heats.missing(tx, after, until):
        state = rule.told_posture(heat.fresh(now, posture), rules.heat, posture, now)
        found.append(heat.changed(account_id, None, state, rules))
    return found


def _written(tx: Tx, changes: Sequence[Change]) -> list[Change]:
    """Write what nobody has written since it was read."""
    new = heats.add(tx, [one.heat for one in changes if one.was is None])
    done = heats.save_fenced(tx, [one.heat for one in changes if one.was is not None])
    written = new | done
    return [one for one in changes if one.heat.account_id in written]


def _roll_up(tx: Tx, days: int, after: str, until: str) -> None:
    day = day_of(tx.now)
    heat_days.roll_up(tx, after, until, day, Instant((day + 1 + days) * DAY))


def _next(tx: Tx, before: Sweep, until: str | None) -> Sweep:
    if until is not None:
        return before._replace(after_account=until)
    return Sweep(Instant(max(tx.now, before.round_at + heat.ROUND_US)), "", before.round_at)


def sweep_again(tx: Tx, _lost: Sequence[Lost]) -> None:
    """The message of a sweep is dead or discarded: another round begins all the same."""
    before = sweeps.get(tx)
    if before is not None:
        after = Sweep(Instant(tx.now + heat.ROUND_US), "", before.finished_at)
        if sweeps.move(tx, before, after):
            heat.plan_sweep(tx, after)


def sweep_now(db: Database) -> None:
    """Begin a round for every tenant at once: something new concerns all accounts."""
    with db.read_system() as tx:
        everybody = tenants.all_ids(tx)
    for tenant_id in everybody:
        db.retrying(partial(_begin_round, db, tenant_id))


def _begin_round(db: Database, tenant_id: TenantId) -> None:
    with db.begin(tenant_id) as tx:
        tenants.lock(tx)
        before = sweeps.get(tx)
        after = Sweep(tx.now, "", None if before is None else before.finished_at)
        if before is None:
            heat.start_sweeping(tx, tx.now)
        elif sweeps.move(tx, before, after):
            heat.plan_sweep(tx, after)
