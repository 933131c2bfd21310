"""Actions, carried out: begun once, ended with what follows from it, in one transaction.

The intent says EXECUTING before anybody is called, so an attempt is made at most once in a
process; a receiver outside may be sent it again, under the same id. The outcome, the end of
the message and the next step of the plan are written together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from watchkeeper.actions.carry_on import action_of
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.settle_attempts import bury, settle_attempts
from watchkeeper.actions.write_outcomes import NotCalled, error_of, write_outcomes
from watchkeeper.core.delivery import Dead, DeadReason, Delivered, Reject
from watchkeeper.core.ids import IntentId, MessageId, TenantId
from watchkeeper.core.plans import Intent, IntentState, Reason
from watchkeeper.core.sinks import UNHANDLED, UNHANDLED_US
from watchkeeper.core.time import SECOND
from watchkeeper.handlers.registry import Ended, Follow, NotStarted, Parked, Registry
from watchkeeper.moves import steps
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.moves.plan_desk import killed_by
from watchkeeper.moves.steps import Ending
from watchkeeper.store import (
    intents,
    kill_switches,
    outbox_settle,
    tenants,
)
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message
from watchkeeper.store.transaction import Tx

M = TypeVar("M")
SUSPECT_US = SECOND
"""So long others wait that are suspected of killing the process, while one is tried."""


def start_actions(
    db: Database, messages: Sequence[Message], known: Container[str] | None
) -> Mapping[MessageId, Any]:
    """Mark intents EXECUTING and say what their handler is told, or that it is not called.

    Those of an action that is not `known` in this process wait, visibly; None is a receiver
    outside, which takes them all and may be sent one again. Of those whose last attempt fell
    silent one is begun with at a time: the one that kills its process must not take its
    neighbours with it again and again.
    """
    told: dict[MessageId, Any] = {}
    details = {m.id: loads(m.payload)["detail"] for m in messages}
    mine: list[Message] = []
    others: list[Message] = []
    has_suspect = False
    for m in messages:
        detail = details[m.id]
        is_suspect = known is not None and "is_suspect" in detail
        if known is not None and detail["action_type"] not in known:
            others.append(m)
        elif is_suspect and has_suspect:
            told[m.id] = Ended(m, None, Parked(SUSPECT_US))
        else:
            mine.append(m)
            has_suspect |= is_suspect
    for tenant_id, those in _by_tenant(mine, lambda m: m.tenant_id).items():
        with db.batch(tenant_id) as tx:
            waiting = tenants.send_lock(tx)
            ours = outbox_settle.still_ours(tx, those)
            told |= {m.id: Ended(m, None, NotStarted()) for m in those if m.id not in ours}
            alive = [m for m in those if m.id in ours]
            told |= _start(tx, alive, details, is_outside=known is None) if alive else {}
            tenants.locked(tx, waiting)
    for tenant_id, those in _by_tenant(others, lambda m: m.tenant_id).items():
        told |= _unknown(db, tenant_id, those, details)
    return told


def _unknown(
    db: Database, tenant_id: TenantId, messages: Sequence[Message], details: Mapping[MessageId, Any]
) -> dict[MessageId, Any]:
    """Nobody here carries these out: they wait for somebody who does, while they are wanted."""
    ids = {m.id: IntentId(details[m.id]["intent_id"]) for m in messages}
    with db.read(tenant_id) as tx:
        found = intents.read(tx, ids.values())
    told: dict[MessageId, Any] = {}
    for m in messages:
        intent = found.get(ids[m.id])
        is_wanted = intent is not None and intent.ended_at is None and intent.message_id == m.id
        if is_wanted:
            told[m.id] = Ended(m, None, Parked(UNHANDLED_US, UNHANDLED))
        else:
            told[m.id] = Ended(m, NotCalled(is_unknown=False), Delivered())
    return told


def _start(
    tx: Tx, messages: Sequence[Message], details: Mapping[MessageId, Any], *, is_outside: bool
) -> dict[MessageId, Any]:
    ids = {m.id: IntentId(details[m.id]["intent_id"]) for m in messages}
    begun = intents.execute(tx, ids)
    told: dict[MessageId, Any] = {m.id: action_of(details[m.id]) for m in messages if m.id in begun}
    others = [m for m in messages if m.id not in told]
    if others:
        found = intents.read(tx, [ids[m.id] for m in others])
        switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
        for m in others:
            killed = killed_by(switches, details[m.id]["action_type"])
            intent = found.get(ids[m.id])
            told[m.id] = _not_begun(m, intent, killed, is_outside) or action_of(details[m.id])
    return told


def _not_begun(
    message: Message, intent: Intent | None, killed: str | None, is_outside: bool
) -> Ended | None:
    """Why it is not to be called; None if it is, since it was not called before or may be again."""
    if intent is None or intent.is_late or intent.message_id != message.id:
        return Ended(message, NotCalled(is_unknown=False), Delivered())
    if killed is not None and intent.ended_at is None:
        return Ended(message, None, Parked(UNHANDLED_US, killed))
    if intent.state is not IntentState.EXECUTING:  # its plan is paused; to resume it asks again
        return Ended(message, NotCalled(is_unknown=False), Delivered())
    if is_outside or message.attempt == 1:  # to be sent again; or given back before it was called
        return None
    words = "whoever carried it out fell silent"
    return Ended(message, NotCalled(is_unknown=True), Reject(words))


def end_actions(
    carrier: Plans,
    registry: Registry,
    ended: Sequence[Ended],
    follow: Follow | None = None,
) -> set[MessageId]:
    """Write outcomes with the ends of their messages; the ids that were still held.

    With `follow`, what is known here and goes by itself is begun in the same transaction.
    """
    unknown, back, over = [], [], []
    for one in ended:
        if isinstance(one.argument, NotCalled) and one.argument.is_unknown:
            dead = Dead(DeadReason.OUTCOME_UNKNOWN, error_of(one) or "")
            unknown.append((one.message, dead))
        elif isinstance(one.result, NotStarted):
            back.append(one)
        else:
            over.append(one)
    held = bury(carrier.db, registry, unknown)
    if back:
        held |= settle_attempts(carrier.db, registry, back)
    for tenant_id, those in _by_tenant(over, lambda one: one.message.tenant_id).items():
        held |= write_outcomes(carrier, tenant_id, those, follow)
    return held


def hand_over_actions(carrier: Plans, registry: Registry, ended: Sequence[Ended]) -> set[MessageId]:
    """Write the ends of sends. An action that was delivered outside stays EXECUTING."""
    return settle_attempts(carrier.db, registry, ended)


def lose_actions(carrier: Plans, tx: Tx, lost: Sequence[Lost]) -> None:
    """The messages of these intents are dead or discarded: nobody knows how far they came."""
    tenant = tenants.lock(tx)
    desk = carrier.desk(tx, tenant)
    found = intents.read(tx, [_intent_id(one.payload) for one in lost])
    desk.load([intent.plan_id for intent in found.values()])
    for one in lost:
        intent = found.get(_intent_id(one.payload))
        if intent is None or intent.ended_at is not None or intent.message_id != one.id:
            continue
        case = desk.cases[intent.plan_id]
        words = one.error or str(one.reason)
        ending = Ending(False, words, Reason.OUTCOME_UNKNOWN)
        if steps.conclude(desk, case, case.intents[intent.intent_id], ending):
            steps.advance(desk, case)
    desk.write()


def _intent_id(payload: str) -> IntentId:
    return IntentId(loads(payload)["detail"]["intent_id"])


def _by_tenant(some: Iterable[M], of: Callable[[M], TenantId]) -> dict[TenantId, list[M]]:
    groups: dict[TenantId, list[M]] = defaultdict(list)
    for one in some:
        groups[of(one)].append(one)
    return groups
