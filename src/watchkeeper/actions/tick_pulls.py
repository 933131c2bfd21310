"""The tick: a tenant's due pulls are scheduled, the most urgent first, some at a time.

Limits are asked before anything is picked: of a connector that has room for three, three are
taken, and the others stay as they are until the limiter says.

When it comes next is a message, so any number of machines tick and tenants take turns. The
tenant remembers which tick is the next: one that comes twice, or for which an earlier one was
planned since, does nothing, so that there is never more than one row of ticks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from watchkeeper.actions.count_pulls import count_pulls
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.limits import Room
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.pulls import (
    Origin,
    PullKey,
    PullReason,
    cadence_slot,
    next_day,
    next_slot,
    pull_job_id,
)
from watchkeeper.core.time import MINUTE, SECOND, Instant
from watchkeeper.moves import heat, pull_gates, pulls
from watchkeeper.moves.pull_gates import KILLED_PAUSE_US, Seen
from watchkeeper.moves.pulls import Scheduled, Wanted
from watchkeeper.store import next_pulls, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.next_pulls import NextPull
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.timers import TICKS
from watchkeeper.store.transaction import Tx

GAP_US = SECOND
"""Between two ticks of a tenant that is not behind."""
LIMITED_GAP_US = SECOND // 10
"""Between two ticks of a tenant whose pulls wait for a limit."""
TOLD_US = MINUTE
"""How long all pulls of a connector have to wait before the ledger says so."""
ENDED_MAX = 5_000
"""Pulls of a connector without cadence that one tick ends."""


def tick_pulls(
    db: Database, tenant_id: TenantId, planned_at: Instant | None = None
) -> list[Scheduled]:
    """Schedule what is due, at most so many as policy says; plan the next tick.

    `planned_at` is for when the tick was planned; without one it comes out of turn.
    """

    def deed() -> list[Scheduled]:
        with db.batch(tenant_id) as tx:
            tenant = tenants.lock(tx)
            if planned_at is not None and TICKS.at(tx) != planned_at:
                return []
            rules = db.policies.exact(tx).rules
            return _tick(tx, tenant, rules)

    return db.retrying(deed)


def _tick(tx: Tx, tenant: LockedTenant, rules: TenantRules) -> list[Scheduled]:
    most = rules.pulls.per_tick_max
    names = [name for name, at in next_pulls.next_due(tx).items() if at <= tx.now]
    seen = pull_gates.see(tx, names)
    pulled = [name for name in names if _is_pulled(seen, name)]
    rooms = pull_gates.rooms(tx, rules, seen, pulled, most)
    found = next_pulls.due(tx, {name: _taken_of(rooms[name], tx.now) for name in pulled}, most)
    jobs = [_wanted(tx, rules, one) for one in found]
    answers = pulls.schedule(tx, tenant, rules, jobs, seen)
    tenants.save_seq(tx, tenant)
    next_pulls.save(
        tx,
        [_moved(tx, rules, pull, answer) for pull, answer in zip(found, answers, strict=True)],
    )
    for name in set(names) - set(pulled):
        next_pulls.remove(tx, name, ENDED_MAX)
    _plan(tx, _waits(rooms, found), is_behind=len(found) == most)
    tx.after_commit.append(partial(count_pulls, answers))
    return answers


def _taken_of(room: Room, now: Instant) -> int:
    """As many as may pass. Where none may, one is asked for all that wait behind it.

    Its refusal tells why and until when; who waits for less than a minute is not worth a line.
    """
    return room.count or int(room.retry_at - now >= TOLD_US)


def _is_pulled(seen: Seen, name: str) -> bool:
    """A connector may have lost its cadence: then its pulls end here."""
    found = seen.connectors.get(name)
    return found is not None and found.has_cadence


def _waits(rooms: Mapping[str, Room], found: Sequence[NextPull]) -> dict[str, Instant]:
    """Until when connectors have no room for more than was taken."""
    taken = Counter(pull.connector_id for pull in found)
    return {name: room.retry_at for name, room in rooms.items() if taken[name] >= room.count}


def _plan(tx: Tx, waits: Mapping[str, Instant], *, is_behind: bool) -> None:
    """The next tick: when something is due of a connector that has room by then."""
    if is_behind:
        heat.plan_tick(tx, tx.now)
        return
    due = next_pulls.next_due(tx)
    if not due:
        TICKS.forget(tx)
        return
    soonest = [
        max(waits[name], tx.now + LIMITED_GAP_US) if name in waits else max(at, tx.now + GAP_US)
        for name, at in due.items()
    ]
    heat.plan_tick(tx, Instant(min(soonest)))


def _wanted(tx: Tx, rules: TenantRules, pull: NextPull) -> Wanted:
    depth = rules.heat.tiers[pull.tier].depth
    key = PullKey(tx.tenant_id, pull.account_id, pull.connector_id)
    job_id = pull_job_id(key, depth, Origin.CADENCE, cadence_slot(pull.slot_at))
    account_id = AccountId(pull.account_id)
    return Wanted(job_id, account_id, pull.connector_id, depth, Origin.CADENCE, pull.tier)


def _moved(tx: Tx, rules: TenantRules, pull: NextPull, answer: Scheduled) -> NextPull:
    """When it is looked at next, by how it went."""
    now = tx.now
    cadence_us = rules.heat.tiers[pull.tier].cadence_us
    match answer.reason:
        case None | PullReason.DUPLICATE:
            slot_at = next_slot(pull.slot_at, cadence_us, now)
            pulled_at = now if answer.reason is None else pull.pulled_at
            return pull._replace(
                slot_at=slot_at,
                due_at=slot_at,
                overdue_at=Instant(slot_at + cadence_us),
                pulled_at=pulled_at,
            )
        case PullReason.NO_BUDGET | PullReason.BUDGET_EXCEEDED:
            # Its slot stays, so that what was refused for longer than its cadence goes first.
            key = PullKey(tx.tenant_id, pull.account_id, pull.connector_id)
            return pull._replace(due_at=next_day(key, now))
        case _:
            return pull._replace(due_at=answer.retry_at or Instant(now + KILLED_PAUSE_US))
