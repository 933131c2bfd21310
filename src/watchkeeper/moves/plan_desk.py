"""Plans on the desk: read under the tenant's lock, changed one after the other, written together.

The caller holds the tenant's lock. However many plans there are, writing
them costs the same few statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from watchkeeper.core.approvals import Risk
from watchkeeper.core.envelope import PLAN_CHANGED, SOURCE
from watchkeeper.core.ids import MessageId, PlanId, Token
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.plan_types import PlanType
from watchkeeper.core.plans import Intent, IntentState, Plan, PlanStatus, Reason, Step
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.time import Instant, day_of, to_iso
from watchkeeper.ids import new_id
from watchkeeper.moves.plan_case import Begun, Case
from watchkeeper.store import intents, ledger, outbox, plans, tenants
from watchkeeper.store.json import dumps, encode, loads
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.plan_context import PlanContext
from watchkeeper.store.plans import Loaded
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.timers import CYCLES
from watchkeeper.store.transaction import Tx

ACTION_REQUESTED = "action.requested"
CYCLE = "plan.cycle"

Objectives: TypeAlias = Mapping[str, Callable[[Mapping[str, Any]], bool]]
"""By plan type: whether the facts of a plan say that its objective is met."""


class Follow(Protocol):
    """Under which lease, and how many, actions may be begun with by whoever makes them possible."""

    token: Token
    lease_us: int
    room: int


class Desk:
    """What is changed here is committed together, or not at all."""

    def __init__(
        self,
        tx: Tx,
        tenant: LockedTenant,
        rules: TenantRules,
        context: PlanContext,
        *,
        follow: Follow | None = None,
        follows: Container[str] = (),
        objectives: Objectives | None = None,
        hears_changes: bool = False,
        mark: str | None = None,
    ) -> None:
        self.tx = tx
        self.now: Instant = tx.now
        self.tenant = tenant
        self.rules = rules
        self.context = context
        self.follow = follow
        self.follows = follows
        self.objectives = objectives or {}
        self.hears_changes = hears_changes
        self._mark = mark  # the id of the first line in the ledger, by which a deed finds itself
        self.cases: dict[PlanId, Case] = {}
        self.counts: Counter[str] = Counter()
        self.approvals: Counter[str] = Counter()  # that the attempts need which were started
        self._steps: dict[tuple[PlanId, str], Step] = {}
        self._new_intents: dict[str, Intent] = {}
        self._intents: dict[str, Intent] = {}
        self._entries: list[Entry] = []
        self._entries_sent = 0
        self._changed: dict[PlanId, Case] = {}
        self._touched: dict[PlanId, Case] = {}
        self._passed: list[Plan] = []
        self._messages: list[NewMessage] = []
        self._claimed: list[tuple[NewMessage, dict[str, Any], Case]] = []
        self._freed: set[tuple[str, str]] = set()
        self._auto = 0
        self._next_cycle: Instant | None = None
        self._is_over = False  # no cycle is planned any more
        self._risks: Mapping[str, Risk] | None = None
        self._ruled: dict[str, Any] | None = None
        self.begun: list[Begun] = []  # after `write`

    @property
    def entries(self) -> Sequence[Entry]:
        """What is written down, so far."""
        return self._entries

    # -- what is known ------------------------------------------------------------------

    @property
    def deeds(self) -> int:
        """How many plans were changed in a way that the ledger tells of, held ones aside."""
        told = [one for one in self._entries if one.kind is not Kind.PLAN_HELD]
        return len({one.subject for one in told})

    def load(self, plan_ids: Iterable[str]) -> None:
        self.take(plans.load(self.tx, plan_ids))

    def take(self, found: Mapping[PlanId, Loaded]) -> None:
        self.cases.update({plan_id: Case(one) for plan_id, one in found.items()})

    def lay(self, cases: Iterable[Case]) -> None:
        """Plans that are known to be so."""
        self.cases.update({case.plan.plan_id: case for case in cases})

    def kind_of(self, plan: Plan) -> PlanType | None:
        return self.rules.act.types.get(plan.plan_type)

    def risks(self) -> Mapping[str, Risk]:
        """Policy before what programs said; what neither knows is of high risk."""
        if self._risks is None:
            self._risks = {**self.context.risks, **self.rules.act.risks}
        return self._risks

    def ruled(self) -> dict[str, Any]:
        """Which rules a decision followed, for its line in the ledger."""
        if self._ruled is None:
            policy = {"hash": self.rules.policy_hash, "version": self.rules.policy_version}
            self._ruled = {"policy": policy, "tier": self.tenant.tier}
        return self._ruled

    def killed(self, action_type: str) -> str | None:
        """Why nothing of this type may be done now, in words."""
        return killed_by(self.context.switches, action_type)

    @property
    def context_after(self) -> PlanContext:
        """What the next will be judged by, as far as it was up to this one."""
        at = self._next_cycle or (None if self._is_over else self.context.cycle_at)
        return self.context._replace(cycle_at=at, used_today=self.used_today())

    def used_today(self) -> int:
        return self.context.used_today + self._auto

    # -- what changes -------------------------------------------------------------------

    def put(self, case: Case, **changes: Any) -> None:
        """Change a plan. A change of its status is news; one that ends it makes room."""
        before, case.plan = case.plan, case.plan._replace(**changes)
        self.touch(case)
        if before.status is not case.plan.status:
            if case.is_moved:
                self._passed.append(before)
            case.is_moved = True
            if before.status is PlanStatus.ACTIVE and self.context.has_waiting:
                self._freed.add((before.account_id, before.plan_type))
            if self.hears_changes:
                self._messages.append(self._news(case.plan, before.status))

    def touch(self, case: Case) -> None:
        """Write the plan's row, and have its time be heeded when the next cycle is planned."""
        self._changed[case.plan.plan_id] = self._touched[case.plan.plan_id] = case

    def wake(self, case: Case, at: Instant | None) -> None:
        """Have a cycle look at a plan then, or earlier: one that finds nothing to do asks again.

        So a time that is yet to come stays where the new one is later. A plan whose steps follow
        one another is not written for each of them.
        """
        stands = case.plan.due_at
        if stands is None or at is None or not self.now < stands <= at:
            self.put(case, due_at=at)

    def put_step(self, case: Case, step: Step) -> None:
        case.steps[step.step_id] = step
        self._steps[case.plan.plan_id, step.step_id] = step

    def put_intent(self, case: Case, intent: Intent) -> None:
        case.intents[intent.intent_id] = intent
        born = self._new_intents if intent.intent_id in self._new_intents else self._intents
        born[intent.intent_id] = intent

    def add_intent(self, case: Case, intent: Intent) -> None:
        case.intents[intent.intent_id] = intent
        self._new_intents[intent.intent_id] = intent

    def spend_autonomy(self) -> None:
        self._auto += 1

    def begins(self, action_type: str) -> bool:
        """Whether the next action of this type is carried out here, at once."""
        if self.follow is None or action_type not in self.follows:
            return False
        return len(self.begun) + len(self._claimed) < self.follow.room

    def request(self, case: Case, intent: Intent) -> None:
        """Ask for an action to be carried out, by a message that the intent names, or a new one.

        One that is born as executing is for whoever holds this desk.
        """
        detail = {
            "account_id": intent.account_id,
            "action_type": intent.action_type,
            "attempt": intent.attempt,
            "data": loads(case.steps[intent.step_id].data),
            "idempotency_key": intent.key,
            "intent_id": intent.intent_id,
            "objective": case.plan.objective,
            "plan_id": intent.plan_id,
            "plan_type": case.plan.plan_type,
            "source": "plan",
            "step_id": intent.step_id,
            "tenant_id": self.tx.tenant_id,
        }
        if case.plan.correlation_id is not None:
            detail["correlation_id"] = case.plan.correlation_id
        if case.steps[intent.step_id].reason == Reason.OUTCOME_UNKNOWN:
            detail["is_suspect"] = True  # it may be what killed the process of its last attempt
        payload = {"detail": detail, "detail-type": "ACTION_REQUESTED", "source": SOURCE}
        if intent.message_id is None:
            intent = intent._replace(message_id=MessageId(new_id()))
        message = NewMessage(ACTION_REQUESTED, encode(payload), id=intent.message_id)
        if intent.state is IntentState.EXECUTING:
            self._claimed.append((message, detail, case))
        else:
            self._messages.append(message)
        self.put_intent(case, intent)

    def record(
        self,
        case: Case,
        kind: Kind,
        *,
        step_id: str | None = None,
        attempt: int | None = None,
        reason: str | None = None,
        **data: object,
    ) -> None:
        """A line in the plan's ledger."""
        plan = case.plan
        told = {name: value for name, value in data.items() if value is not None}
        told["account_id"] = plan.account_id
        told["plan_id"] = plan.plan_id
        told["plan_type"] = plan.plan_type
        if step_id is not None:
            told["step_id"] = step_id
        if attempt is not None:
            told["attempt"] = attempt
        self._entries.append(
            Entry(
                entry_id=new_id() if self._mark is None or self._entries else self._mark,
                at=self.now,
                stage=Stage.ACT,
                kind=kind,
                subject=plan.plan_id,
                data=dumps(told),
                policy_version=self.rules.policy_version,
                correlation_id=plan.correlation_id,
                result=plan.status,
                reason=reason,
            )
        )

    # -- the end ------------------------------------------------------------------------

    def write(self) -> None:
        """Write all of it, and plan the cycle that the first of these plans needs."""
        at = self._first([case.plan.due_at for case in self._touched.values()])
        planned = self.context.cycle_at
        if at is not None and (planned is None or planned > at):
            self._next_cycle = at
        self._send(is_last=True)

    def send(self) -> None:
        """Write what was decided so far, where the database works while more is being decided."""
        if self.tx.works_ahead:
            self._send(is_last=False)

    def write_cycle(self, planned_at: Instant | None, others_at: Instant | None) -> None:
        """The same at the end of a cycle, which plans the next one: when the next plan is due.

        It comes at once where more are due than one cycle takes. One that is planned already has
        its message, unless this is the cycle that it was for.
        """
        at = self._first([others_at, *(case.plan.due_at for case in self.cases.values())])
        if at is None:
            CYCLES.forget(self.tx)
            self._is_over = True
        elif (at := Instant(max(at, self.now))) == planned_at or at != self.context.cycle_at:
            self._next_cycle = at
        self._send(is_last=True)

    def _first(self, due: Iterable[Instant | None]) -> Instant | None:
        """The first of these times; now, where a plan ended that others may have waited for."""
        times = [at for at in due if at is not None]
        if self._freed:
            times.append(self.now)
        return min(times, default=None)

    def _send(self, *, is_last: bool) -> None:
        tx = self.tx
        for passed in self._passed:  # each status is reached by a way that the tables name
            plans.save(tx, [passed])
        entries = self._entries[self._entries_sent :]
        touched = {plan_id for plan_id, _ in self._steps}  # the others may change once more
        changed = [case for id, case in self._changed.items() if is_last or id in touched]
        with tx.together():  # none of them is about the rows of another
            plans.save_steps(tx, [(plan_id, step) for (plan_id, _), step in self._steps.items()])
            intents.save(tx, list(self._intents.values()))
            plans.save(tx, [case.plan for case in changed])
            if is_last and self._auto:
                intents.use(tx, day_of(self.now), self._auto)
            if is_last and self._next_cycle is not None:
                self._messages.append(_cycle(tx, self._next_cycle))
            outbox.enqueue_plain(tx, self._messages)
            ledger.append(tx, self.tenant, entries)
            if is_last and self._entries:
                tenants.save_seq(tx, self.tenant)
            self._send_claimed()
            intents.insert(tx, list(self._new_intents.values()))
        if is_last and self._freed:
            plans.wake(tx, self._freed)
        for case in changed:
            case.is_written, case.is_moved = True, False
            del self._changed[case.plan.plan_id]
        self._entries_sent = len(self._entries)
        for sent in (self._steps, self._intents, self._new_intents):
            sent.clear()
        self._passed.clear()
        self._messages.clear()

    def _send_claimed(self) -> None:
        if self.follow is None or not self._claimed:
            return
        lease = (self.follow.token, self.follow.lease_us)
        new = [message for message, _, _ in self._claimed]
        claimed = outbox.enqueue_claimed(self.tx, ACTION_REQUESTED, *lease, new)
        those = zip(claimed, self._claimed, strict=True)
        self.begun += [Begun(message, detail, case) for message, (_, detail, case) in those]
        self._claimed.clear()

    def _news(self, plan: Plan, before: PlanStatus) -> NewMessage:
        detail = {
            "account_id": plan.account_id,
            "at": to_iso(self.now),
            "before": before,
            "completion_reason": plan.completion_reason,
            "plan_id": plan.plan_id,
            "plan_type": plan.plan_type,
            "reason": plan.reason,
            "status": plan.status,
            "tenant_id": self.tx.tenant_id,
        }
        payload = {"detail": detail, "detail-type": "PLAN_CHANGED", "source": SOURCE}
        return NewMessage(PLAN_CHANGED, encode(payload), id=MessageId(new_id()))


def plan_cycle(tx: Tx, at: Instant) -> None:
    """Have the tenant's next cycle come then."""
    outbox.enqueue_plain(tx, [_cycle(tx, at)])


def _cycle(tx: Tx, at: Instant) -> NewMessage:
    due_at, id = None if at <= tx.now else at, MessageId(new_id())
    CYCLES.set(tx, at, id)
    return NewMessage(CYCLE, encode({"due_at": at}), due_at=due_at, id=id)


def killed_by(switches: Mapping[str, str], action_type: str) -> str | None:
    for switch in ("all", "tenant", f"action:{action_type}"):
        if switch in switches:
            return f"kill switch {switch} is on: {switches[switch]}"
    return None
