"""Outcomes of actions, written with the ends of their messages and with what follows from them.

Where this process knows how the plans stand it does not wait to read them: it decides, says what it
took to be so, and is refused where something is not. Then, and where it does not know, it reads
under the tenant's lock.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from watchkeeper.act_results import Action, Outcome
from watchkeeper.actions.carry_on import SLICE, hand_on, remember, room_left
from watchkeeper.actions.plans import Plans
from watchkeeper.core.delivery import Delivered, Reject, Retry
from watchkeeper.core.ids import IntentId, MessageId, PlanId, TenantId
from watchkeeper.handlers.registry import Ended, Follow
from watchkeeper.moves import steps
from watchkeeper.moves.plan_case import Case
from watchkeeper.moves.plan_desk import Desk
from watchkeeper.moves.steps import Ending
from watchkeeper.store import intents, plan_ends, tenants
from watchkeeper.store.json import loads
from watchkeeper.store.plan_ends import Guess, Known
from watchkeeper.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class NotCalled:
    """Nobody is called: it was begun before and never ended, or it is no longer wanted."""

    is_unknown: bool


def write_outcomes(
    carrier: Plans, tenant_id: TenantId, ended: Sequence[Ended], follow: Follow | None
) -> set[MessageId]:
    """Write them in one transaction; the messages that were still held."""
    outcomes = _Outcomes(carrier, tenant_id, ended, room_left(follow))
    held, desk = carrier.db.retrying(outcomes.write)
    hand_on(follow, desk.begun)
    return held


class _Outcomes:
    """Attempts of one tenant that have ended."""

    def __init__(
        self, carrier: Plans, tenant_id: TenantId, ended: Sequence[Ended], follow: Follow | None
    ) -> None:
        self.carrier = carrier
        self.tenant_id = tenant_id
        self.ended = ended
        self.follow = follow
        self.messages = [one.message for one in ended]
        self.names = [_names(one) for one in ended]

    def write(self) -> tuple[set[MessageId], Desk]:
        """Once: what is recalled is forgotten, so that whoever was refused reads."""
        recall = self.carrier.recall
        recalled = recall.take([m.id for m in self.messages])
        guess = recall.guess(self.tenant_id) if len(recalled) == len(self.messages) else None
        return self._read(recalled) if guess is None else self._guess(recalled, guess)

    def _read(self, recalled: Mapping[Known, Case]) -> tuple[set[MessageId], Desk]:
        carrier, known = self.carrier, {one.plan_id for one in recalled}
        with self._batch() as tx:
            waiting = tenants.send_lock_and_time(tx)
            others = [plan_id for plan_id, _ in self.names if plan_id not in known]
            asked = plan_ends.send(tx, self.messages, others, list(recalled))
            tenant, at = tenants.locked(tx, waiting), carrier.recall.clock()
            found = plan_ends.read(tx, asked)
            desk = carrier.desk(tx, tenant, found.context, follow=self.follow)
            desk.take(found.plans)
            same = [case for one, case in recalled.items() if one.message_id in found.unchanged]
            desk.lay(same)
            if changed := known - desk.cases.keys():
                desk.load(changed)
            self._judge(desk, found.held)
        remember(carrier, desk, found, at)
        return found.held, desk

    def _guess(self, recalled: Mapping[Known, Case], guess: Guess) -> tuple[set[MessageId], Desk]:
        carrier, held = self.carrier, {m.id for m in self.messages}
        with self._batch() as tx:
            tenants.send_lock(tx)
            asked = plan_ends.send_expecting(tx, self.messages, list(recalled), guess)
            tx.now = guess.now
            tenant = tenants.UnreadTenant(guess.tier)
            desk = carrier.desk(tx, tenant, guess.context, follow=self.follow)
            desk.lay(recalled.values())
            self._judge(desk, held)
        remember(carrier, desk, plan_ends.read_expected(asked), guess.at)
        return held, desk

    def _batch(self) -> AbstractContextManager[Tx]:
        when_sent = None if self.follow is None else self.follow.when_sent
        return self.carrier.db.batch(self.tenant_id, when_sent=when_sent)

    def _judge(self, desk: Desk, held: Container[MessageId]) -> None:
        endings = {
            intent_id: ending
            for one, (_, intent_id) in zip(self.ended, self.names, strict=True)
            if one.message.id in held and (ending := _ending(one)) is not None
        }
        _judge(desk, endings)


def _judge(desk: Desk, endings: Mapping[IntentId, Ending]) -> None:
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
            return Ending(False, error_of(one))


def error_of(one: Ended) -> str | None:
    return one.result.error if isinstance(one.result, Retry | Reject) else None


def _names(one: Ended) -> tuple[PlanId, IntentId]:
    """Of the plan and the intent that a message is about."""
    if isinstance(one.argument, Action):
        return PlanId(one.argument.plan_id), IntentId(one.argument.intent_id)
    detail = loads(one.message.payload)["detail"]
    return PlanId(detail["plan_id"]), IntentId(detail["intent_id"])
