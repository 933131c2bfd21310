"""The cycle: plans that are due are activated and advanced, so many at a time, fairly.

When a tenant's next cycle comes is a message, so any number of machines run cycles and
tenants take turns. The tenant remembers which cycle is the next: one that comes twice, or for
which an earlier one was planned since, does nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from watchkeeper.actions.count_acts import count_cycle
from watchkeeper.actions.plans import Plans
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import MINUTE, Instant
from watchkeeper.moves import plans as moves
from watchkeeper.moves import steps
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.moves.plan_desk import Desk, plan_cycle
from watchkeeper.store import plans, tenants
from watchkeeper.store.transaction import Tx

COUNTS = ("activated", "steps_started", "completed", "expired", "paused")


def run_cycle(
    carrier: Plans, tenant_id: TenantId, planned_at: Instant | None = None
) -> Counter[str]:
    """One cycle of a tenant; how much of what it did.

    `planned_at` is for when the cycle was planned; without one it comes out of turn.
    """
    counts = Counter(dict.fromkeys(COUNTS, 0))
    first = _pass(carrier, tenant_id, planned_at, _activate)
    if first is None:
        return counts
    counts.update(first)
    counts.update(_pass(carrier, tenant_id, None, _advance, is_last=True) or {})
    count_cycle(counts)
    return counts


def run_cycles(carrier: Plans) -> Counter[str]:
    """One cycle of every tenant there is."""
    with carrier.db.read_system() as tx:
        known = tenants.all_ids(tx)
    counts = Counter(dict.fromkeys(COUNTS, 0))
    for tenant_id in known:
        counts.update(run_cycle(carrier, tenant_id))
    return counts


def _pass(
    carrier: Plans,
    tenant_id: TenantId,
    planned_at: Instant | None,
    part: Callable[[Desk, int], None],
    *,
    is_last: bool = False,
) -> Counter[str] | None:
    def deed() -> Counter[str] | None:
        with carrier.db.begin(tenant_id) as tx:
            tenant = tenants.lock(tx)
            if planned_at is not None and plans.cycle_at(tx) != planned_at:
                return None
            with tenants.saving_seq(tx, tenant):
                desk = carrier.desk(tx, tenant)
                part(desk, desk.rules.act.per_cycle_max)
                desk.write()
            if is_last:
                _plan(tx)
            return desk.counts

    return carrier.db.retrying(deed)


def _activate(desk: Desk, most: int) -> None:
    found = plans.due(desk.tx, is_new=True, limit=most)
    desk.load(found)
    moves.activate(desk, [desk.cases[plan_id] for plan_id in found])


def _advance(desk: Desk, most: int) -> None:
    found = plans.due(desk.tx, is_new=False, limit=most)
    desk.load(found)
    for plan_id in found:
        steps.advance(desk, desk.cases[plan_id])


def _plan(tx: Tx) -> None:
    """The next cycle, when the next plan is due; at once where more are than one cycle takes."""
    at = plans.next_due(tx)
    if at is None:
        plans.forget_cycle(tx)
    else:
        plan_cycle(tx, Instant(max(at, tx.now)))


def cycle_again(tx: Tx, _lost: Sequence[Lost]) -> None:
    """A cycle's message died or was discarded: another takes its place, a while later."""
    tenants.lock(tx)
    if plans.next_due(tx) is not None:
        plan_cycle(tx, Instant(tx.now + MINUTE))
