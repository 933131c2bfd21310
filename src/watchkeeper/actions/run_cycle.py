"""The cycle: plans that are due are activated and advanced, so many at a time, fairly.

When a tenant's next cycle comes is a message, so any number of machines run cycles and
tenants take turns. The tenant remembers which cycle is the next: one that comes twice, or for
which an earlier one was planned since, does nothing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from watchkeeper.actions.count_acts import count_cycle
from watchkeeper.actions.plans import Plans
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import MINUTE, Instant
from watchkeeper.moves import plans as moves
from watchkeeper.moves import steps
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.moves.plan_desk import Case, Desk, plan_cycle
from watchkeeper.store import plans, tenants
from watchkeeper.store.json import loads
from watchkeeper.store.transaction import Tx

_log = logging.getLogger("watchkeeper.plans")

COUNTS = ("activated", "steps_started", "completed", "expired", "paused")
LOOKS = 10
"""So many times as many plans as may be touched are looked at, where most have nothing to do."""


def run_cycle(
    carrier: Plans, tenant_id: TenantId, planned_at: Instant | None = None
) -> Counter[str]:
    """One cycle of a tenant; how much of what it did.

    `planned_at` is for when the cycle was planned; without one it comes out of turn.
    """
    counts = Counter(dict.fromkeys(COUNTS, 0))
    carrier.look()
    first = _pass(carrier, tenant_id, planned_at, _activate)
    if first is None:
        return counts
    counts.update(first)
    counts.update(_pass(carrier, tenant_id, None, _advance, then=partial(_plan, planned_at)) or {})
    count_cycle(counts)
    return counts


def run_cycles(carrier: Plans) -> Counter[str]:
    """One cycle of every tenant there is."""
    with carrier.db.read_system() as tx:
        known = tenants.all_ids(tx)
    counts = Counter(dict.fromkeys(COUNTS, 0))
    for tenant_id in known:
        try:
            counts.update(run_cycle(carrier, tenant_id))
        except Exception:  # one tenant's trouble is no other's
            _log.exception("the cycle of tenant %s failed", tenant_id)
    return counts


def _pass(
    carrier: Plans,
    tenant_id: TenantId,
    planned_at: Instant | None,
    part: Callable[[Desk, int], None],
    *,
    then: Callable[[Tx], None] | None = None,
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
            if then is not None:
                then(tx)
            return desk.counts

    return carrier.db.retrying(deed)


def _activate(desk: Desk, most: int) -> None:
    _consider(desk, most, is_new=True, deed=moves.activate)


def _advance(desk: Desk, most: int) -> None:
    def deed(desk: Desk, batch: Sequence[Case]) -> None:
        for case in batch:
            steps.advance(desk, case)

    _consider(desk, most, is_new=False, deed=deed)


def _consider(
    desk: Desk, most: int, *, is_new: bool, deed: Callable[[Desk, Sequence[Case]], None]
) -> None:
    """Those that have waited longest. One that had nothing to do takes nobody's place."""
    waiting = plans.due(desk.tx, is_new=is_new, limit=most * LOOKS)
    while waiting and most > 0:
        batch, waiting = waiting[:most], waiting[most:]
        desk.load(batch)
        before = desk.deeds
        deed(desk, [desk.cases[plan_id] for plan_id in batch])
        most -= desk.deeds - before


def _plan(planned_at: Instant | None, tx: Tx) -> None:
    """The next cycle, when the next plan is due; at once where more are than one cycle takes.

    One that is planned already has its message, unless this is the cycle that it was for.
    """
    due_at = plans.next_due(tx)
    if due_at is None:
        plans.forget_cycle(tx)
        return
    at = Instant(max(due_at, tx.now))
    if at == planned_at or at != plans.cycle_at(tx):
        plan_cycle(tx, at)


def cycle_again(tx: Tx, lost: Sequence[Lost]) -> None:
    """A cycle's message died or was discarded: another takes its place, a while later."""
    tenants.lock(tx)
    gone = {loads(one.payload)["due_at"] for one in lost}
    if plans.cycle_at(tx) in gone and plans.next_due(tx) is not None:
        plan_cycle(tx, Instant(tx.now + MINUTE))
