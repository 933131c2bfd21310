"""The cycle: plans that are due are activated and advanced, so many at a time, fairly.

When a tenant's next cycle comes is a message, so any number of machines run cycles and
tenants take turns. The tenant remembers which cycle is the next: one that comes twice, or for
which an earlier one was planned since, does nothing.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from watchkeeper.actions.carry_on import SLICE, hand_on, remember, room_left
from watchkeeper.actions.count_acts import count_cycle
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.settle_attempts import settle_attempts
from watchkeeper.core.delivery import Delivered
from watchkeeper.core.ids import MessageId, PlanId, TenantId
from watchkeeper.core.plans import PlanStatus
from watchkeeper.core.time import MINUTE, Instant
from watchkeeper.handlers.registry import Ended, Follow, Registry
from watchkeeper.moves import plans as moves
from watchkeeper.moves import steps
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.moves.plan_case import Begun, Case
from watchkeeper.moves.plan_desk import Desk, plan_cycle
from watchkeeper.store import plan_ends, plans, tenants
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message
from watchkeeper.store.plans import Loaded
from watchkeeper.store.timers import CYCLES
from watchkeeper.store.transaction import Tx

_log = logging.getLogger("watchkeeper.plans")

COUNTS = ("activated", "steps_started", "completed", "expired", "paused")
LOOKS = 10
"""So many times as many plans as may be touched are looked at, where most have nothing to do."""


def run_cycle(
    carrier: Plans, tenant_id: TenantId, planned_at: Instant | None = None
) -> Counter[str]:
    """One cycle of a tenant; how much of what it did.

    `planned_at` is for when the cycle was planned. Without one it comes out of turn, and looks
    at plans that wait for the next cycle too.
    """
    carrier.look()
    return _cycle(carrier, tenant_id, planned_at, None, None).counts


def end_cycles(
    carrier: Plans, registry: Registry, ended: Sequence[Ended], follow: Follow | None = None
) -> set[MessageId]:
    """Run the cycles that these messages are for, each in one transaction with its message's end.

    With `follow`, actions that are known here and go by themselves are begun in it too.
    """
    carrier.look()
    back = [one for one in ended if not isinstance(one.result, Delivered)]
    held = settle_attempts(carrier.db, registry, back) if back else set()
    for one in ended:
        if isinstance(one.result, Delivered):
            m = one.message
            planned_at = Instant(loads(m.payload)["due_at"])
            if _cycle(carrier, m.tenant_id, planned_at, m, follow).is_held:
                held.add(m.id)
    return held


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


class _Done(NamedTuple):
    """What became of one cycle."""

    is_held: bool  # its message, until it was ended
    counts: Counter[str]
    begun: Sequence[Begun] = ()


def _cycle(
    carrier: Plans,
    tenant_id: TenantId,
    planned_at: Instant | None,
    message: Message | None,
    follow: Follow | None,
) -> _Done:
    left = room_left(follow)
    when_sent = None if follow is None else follow.when_sent

    def deed() -> _Done:
        counts = Counter(dict.fromkeys(COUNTS, 0))
        with carrier.db.batch(tenant_id, when_sent=when_sent) as tx:
            waiting = tenants.send_lock_and_time(tx)
            asked = plan_ends.send(tx, [] if message is None else [message])
            tenant, at = tenants.locked(tx, waiting), carrier.recall.clock()
            found = plan_ends.read(tx, asked)
            is_held = message is None or bool(found.held)
            desk = carrier.desk(tx, tenant, found.context, follow=left)
            if not is_held or planned_at not in (None, desk.context.cycle_at):
                return _Done(is_held, counts)
            _carry(desk, planned_at)
        counts.update(desk.counts)
        count_cycle(counts)
        remember(carrier, desk, found, at)
        return _Done(is_held, counts, desk.begun)

    done = carrier.db.retrying(deed)
    hand_on(follow, done.begun)
    return done


def _carry(desk: Desk, planned_at: Instant | None) -> None:
    """Activate so many plans and advance as many, then those that have become active."""
    most = desk.rules.act.per_cycle_max
    ahead_us = desk.rules.act.cycle_us if planned_at is None else 0
    until = Instant(desk.now + ahead_us)
    new, moving = plans.load_due(desk.tx, until, most)
    desk.take({found.plan.plan_id: found for found in (*new, *moving)})
    others, loaded = plans.send_next_due(desk.tx, desk.cases), len(desk.cases)
    gated, _ = _consider(desk, most, until, new, _activate, is_new=True)
    _, left = _consider(desk, most, until, moving, _advance, is_new=False)
    for place, case in enumerate(gated, 1):
        if left > 0 and case.plan.status is PlanStatus.ACTIVE:
            left -= _advance(desk, [case])
        if place % SLICE == 0:
            desk.send()
    if len(desk.cases) > loaded:
        others = plans.send_next_due(desk.tx, desk.cases)
    desk.write_cycle(planned_at, plans.read_next_due(others))


def _activate(desk: Desk, batch: Sequence[Case]) -> int:
    before = desk.deeds
    moves.activate(desk, batch)
    return desk.deeds - before


def _advance(desk: Desk, batch: Sequence[Case]) -> int:
    deeds = 0
    for case in batch:
        before = len(desk.entries)
        steps.advance(desk, case)
        deeds += len(desk.entries) > before
    return deeds


def _consider(
    desk: Desk,
    most: int,
    until: Instant,
    first: Sequence[Loaded],
    deed: Callable[[Desk, Sequence[Case]], int],
    *,
    is_new: bool,
) -> tuple[list[Case], int]:
    """Those that have waited longest. One that had nothing to do takes nobody's place.

    Those that were looked at, and how many more deeds there is room for.
    """
    seen: list[Case] = []
    batch, left = [one.plan.plan_id for one in first], most
    waiting: list[PlanId] | None = None if len(first) == most else []
    while batch and left > 0:
        cases = [desk.cases[plan_id] for plan_id in batch]
        left -= deed(desk, cases)
        seen += cases
        if waiting is None and left > 0:
            due = plans.due(desk.tx, until, is_new=is_new, limit=most * LOOKS)
            waiting = [plan_id for plan_id in due if plan_id not in desk.cases]
        batch, waiting = (waiting or [])[:left], (waiting or [])[left:]
        if batch:
            desk.load(batch)
    return seen, left


def cycle_again(tx: Tx, lost: Sequence[Lost]) -> None:
    """A cycle's message died or was discarded: another takes its place, a while later."""
    tenants.lock(tx)
    gone = {loads(one.payload)["due_at"] for one in lost}
    if CYCLES.at(tx) in gone and plans.next_due(tx) is not None:
        plan_cycle(tx, Instant(tx.now + MINUTE))
