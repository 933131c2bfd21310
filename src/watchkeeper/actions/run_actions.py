"""Actions, carried out: begun once, ended with what follows from it, in one transaction.

The intent says EXECUTING before anybody is called, so an attempt is made at most once in a
process; a receiver outside may be sent it again, under the same id. The outcome, the end of
the message and the next step of the plan are written together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from watchkeeper.act_results import Action, Outcome
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.settle_attempts import bury, settle_attempts
from watchkeeper.core.delivery import Dead, DeadReason, Delivered, Reject, Retry
from watchkeeper.core.ids import IntentId, MessageId, PlanId, TenantId
from watchkeeper.core.plans import Intent, IntentState, Reason
from watchkeeper.core.sinks import UNHANDLED, UNHANDLED_US
from watchkeeper.core.time import SECOND
from watchkeeper.handlers.registry import Ended, Follow, NotStarted, Parked, Registry
from watchkeeper.moves import steps
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.moves.plan_desk import Begun, Desk, killed_by
from watchkeeper.moves.steps import Ending
from watchkeeper.store import (
    intents,
    kill_switches,
    outbox_settle,
    plan_ends,
    tenants,
)
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message
from watchkeeper.store.transaction import Tx

M = TypeVar("M")
SLICE = 25
"""So many outcomes are judged before the first of them are written, while more are judged."""
SUSPECT_US = SECOND
"""So long others wait that are suspected of killing the process, while one is tried."""


@dataclass(frozen=True, slots=True)
class NotCalled:
    """Nobody is called: it was begun before and never ended, or it is no longer wanted."""

    is_unknown: bool


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
    told: dict[MessageId, Any] = {m.id: _action(details[m.id]) for m in messages if m.id in begun}
    others = [m for m in messages if m.id not in told]
    if others:
        found = intents.read(tx, [ids[m.id] for m in others])
        switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
        for m in others:
            killed = killed_by(switches, details[m.id]["action_type"])
            intent = found.get(ids[m.id])
            told[m.id] = _not_begun(m, intent, killed, is_outside) or _action(details[m.id])
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


def _action(detail: Mapping[str, Any]) -> Action:
    return Action(
        intent_id=detail["intent_id"],
        tenant_id=detail["tenant_id"],
        account_id=detail["account_id"],
        action_type=detail["action_type"],
        plan_id=detail["plan_id"],
        plan_type=detail["plan_type"],
        step_id=detail["step_id"],
        attempt=detail["attempt"],
        idempotency_key=detail["idempotency_key"],
        objective=detail["objective"],
        data=detail["data"],
        correlation_id=detail.get("correlation_id"),
    )


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
            dead = Dead(DeadReason.OUTCOME_UNKNOWN, _error(one) or "")
            unknown.append((one.message, dead))
        elif isinstance(one.result, NotStarted):
            back.append(one)
        else:
            over.append(one)
    held = bury(carrier.db, registry, unknown)
    if back:
        held |= settle_attempts(carrier.db, registry, back)
    for tenant_id, those in _by_tenant(over, lambda one: one.message.tenant_id).items():
        held |= _conclude(carrier, tenant_id, those, follow)
    return held


def _conclude(
    carrier: Plans,
    tenant_id: TenantId,
    ended: Sequence[Ended],
    follow: Follow | None,
) -> set[MessageId]:
    left = room_left(follow)
    messages = [one.message for one in ended]
    names = [_names(one) for one in ended]

    def deed() -> tuple[set[MessageId], Sequence[Begun]]:
        recalled = carrier.recall.take([m.id for m in messages])
        known = {one.plan_id for one in recalled}
        with carrier.db.batch(tenant_id) as tx:
            waiting = tenants.send_lock_and_time(tx)
            others = [plan_id for plan_id, _ in names if plan_id not in known]
            asked = plan_ends.send(tx, messages, others, list(recalled))
            tenant = tenants.locked(tx, waiting)
            found = plan_ends.read(tx, asked)
            held = found.held
            desk = carrier.desk(tx, tenant, found.context, follow=left, row=found.row)
            desk.take(found.plans)
            desk.cases.update(
                {
                    one.plan_id: case
                    for one, case in recalled.items()
                    if one.plan_id in found.unchanged
                }
            )
            if changed := known - found.unchanged:
                desk.load(changed)
            endings = {
                intent_id: ending
                for one, (_, intent_id) in zip(ended, names, strict=True)
                if one.message.id in held and (ending := _ending(one)) is not None
            }
            _write_outcomes(desk, endings)
        return held, desk.begun

    held, begun = carrier.db.retrying(deed)
    hand_on(carrier, follow, begun)
    return held


def room_left(follow: Follow | None) -> Follow | None:
    """The same, for the next of several transactions."""
    return None if follow is None else replace(follow, room=follow.room - len(follow.begun))


def hand_on(carrier: Plans, follow: Follow | None, begun: Sequence[Begun]) -> None:
    """These were committed as begun: their handlers are to be called."""
    if follow is not None:
        follow.begun += [(one.message, _action(one.detail)) for one in begun]
        carrier.recall.keep(begun)


def _write_outcomes(desk: Desk, endings: Mapping[IntentId, Ending]) -> None:
    known = {id: (case, one) for case in desk.cases.values() for id, one in case.intents.items()}
    missing = [id for id in endings if id not in known]
    late = intents.read(desk.tx, missing) if missing else {}
    for place, (intent_id, ending) in enumerate(endings.items(), 1):
        if intent_id in known:
            case, intent = known[intent_id]
        elif intent_id in late and late[intent_id].plan_id in desk.cases:
            intent = late[intent_id]
            case = desk.cases[intent.plan_id]
        else:
            continue
        if steps.is_told(intent, ending):  # a COMMIT that was in doubt
            continue
        if steps.conclude(desk, case, intent, ending):
            steps.advance(desk, case)
        if place % SLICE == 0:
            desk.send()
    desk.write()


def _ending(one: Ended) -> Ending | None:
    """How the attempt went; None where nobody was called, or says so later."""
    if isinstance(one.argument, NotCalled):
        return None
    match one.result, one.value:
        case Delivered(), Outcome(succeeded=None):
            return None
        case Delivered(), Outcome(succeeded=bool(succeeded), detail=detail):
            return Ending(succeeded, None if detail is None else str(detail))
        case Delivered(), None:
            return Ending(True)
        case Delivered(), value:
            return Ending(False, f"the handler returned {type(value).__name__}, not an Outcome")
        case _:
            return Ending(False, _error(one))


def _error(one: Ended) -> str | None:
    return one.result.error if isinstance(one.result, Retry | Reject) else None


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


def _names(one: Ended) -> tuple[PlanId, IntentId]:
    """Of the plan and the intent that a message is about."""
    if isinstance(one.argument, Action):
        return PlanId(one.argument.plan_id), IntentId(one.argument.intent_id)
    detail = loads(one.message.payload)["detail"]
    return PlanId(detail["plan_id"]), IntentId(detail["intent_id"])


def _by_tenant(some: Iterable[M], of: Callable[[M], TenantId]) -> dict[TenantId, list[M]]:
    groups: dict[TenantId, list[M]] = defaultdict(list)
    for one in some:
        groups[of(one)].append(one)
    return groups
