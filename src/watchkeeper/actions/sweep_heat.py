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
from watchkeeper.store import heat_days, heats, ledger, next_pulls, slices, sweeps, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.slices import Slice
from watchkeeper.store.sweeps import Sweep
from watchkeeper.store.transaction import Row, Tx

SLICE = 10_000


def sweep_slice(db: Database, tenant_id: TenantId, payload: str, size: int = SLICE) -> int:
    """Sweep one slice and plan what follows; how many accounts changed.

    A message that comes twice, or late, finds that the sweep has moved on, and does nothing.
    """
    told = loads(payload)
    before = Sweep(Instant(told["round_at"]), str(told["after"]))

    def deed() -> int:
        with db.batch(tenant_id) as tx:
            rules = db.policies.exact(tx).rules
            part = slices.next_slice(tx, before.after_account, size)
            if part is None:
                _end_round(tx, before)
                return 0
            return _sweep(tx, rules, before, part)

    return db.retrying(deed)


def _sweep(tx: Tx, rules: TenantRules, before: Sweep, part: Slice) -> int:
    stale = heats.stale(tx, part, tx.now, rules.policy_version)
    counts = slices.send_counts(tx, part)  # counted while what is stale is judged
    cooled = _cooled(tx, rules, stale)
    gaps = slices.gaps(part, counts)
    new = _first(tx, rules, part) if gaps.in_heats else []
    tenant = tenants.lock(tx) if cooled or new or gaps.in_pulls else None
    after = before._replace(after_account=part.until)
    if not sweeps.move(tx, before, after):
        return 0
    heat.plan_sweep(tx, after)
    written = _written(tx, part, cooled, new)
    if rules.heat.rollup_days:
        _roll_up(tx, rules.heat.rollup_days, part)
    if tenant is None:
        return 0
    with tenants.saving_seq(tx, tenant):
        ledger.append(tx, tenant, heat.entries(tx, written, rules))
    heat.follow(tx, rules, written)
    if gaps.in_pulls:
        heat.place_missing(tx, rules, next_pulls.missing(tx, part))
    return len(written)


def _end_round(tx: Tx, before: Sweep) -> None:
    tenants.lock(tx)
    round_at = Instant(max(tx.now, before.round_at + heat.ROUND_US))
    after = Sweep(round_at, "", before.round_at)
    if sweeps.move(tx, before, after):
        heat.plan_sweep(tx, after)
        heat.mend_tick(tx)


def _cooled(tx: Tx, rules: TenantRules, stale: Sequence[Row]) -> list[Change]:
    by, now = rules.heat, tx.now
    return [
        heat.changed(old.account_id, old, rule.stand(old.state, by, now), rules)
        for old in map(heats.of_stale, stale)
    ]


def _first(tx: Tx, rules: TenantRules, part: Slice) -> list[Change]:
    """Accounts that have no heat yet get it."""
    found = []
    for account_id, posture in heats.missing(tx, part).items():
        state = rule.told_posture(heat.fresh(tx.now, posture), rules.heat, posture, tx.now)
        found.append(heat.changed(account_id, None, rule.standing(state, rules.heat), rules))
    return found


def _written(tx: Tx, part: Slice, cooled: Sequence[Change], new: Sequence[Change]) -> list[Change]:
    """Write what nobody has written since it was read."""
    done = heats.save_fenced(tx, part, [one.heat for one in cooled])
    done |= heats.add(tx, [one.heat for one in new])
    return [one for one in (*cooled, *new) if one.heat.account_id in done]


def _roll_up(tx: Tx, days: int, part: Slice) -> None:
    day = day_of(tx.now)
    heat_days.roll_up(tx, part, day, Instant((day + 1 + days) * DAY))


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
