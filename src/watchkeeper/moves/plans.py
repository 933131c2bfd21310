"""What people and callers do with plans: make them, approve, pause, resume, abort, skip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from watchkeeper.core.explain_act import gate_record
from watchkeeper.core.ids import AccountId, PlanId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.plan_types import (
    GateFacts,
    Held,
    Obstacle,
    PlanType,
    check_steps,
    may_activate,
)
from watchkeeper.core.plans import (
    OVER,
    IntentState,
    Plan,
    PlanStatus,
    Step,
    StepStatus,
    resumed,
)
from watchkeeper.core.time import HOUR, Instant
from watchkeeper.errors import Conflict, Invalid, NotFound, Problem
from watchkeeper.ids import new_id
from watchkeeper.moves import steps as attempts
from watchkeeper.moves.plan_case import Case, only
from watchkeeper.moves.plan_desk import Desk
from watchkeeper.store import accounts, plans
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.plans import Loaded

FACTS_MAX = 100
HELD_SHARE = 8
HELD_US_MAX = HOUR
"""A plan that is held back is looked at again after an eighth of the time that it has waited."""


class NewPlan(NamedTuple):
    """A plan as somebody wants it. What is left out follows from its type."""

    account_id: AccountId
    plan_type: str
    steps: tuple[Step, ...]
    objective: str | None = None
    expires_at: Instant | None = None
    facts: str = "{}"
    constraints: str = "{}"
    correlation_id: str | None = None


def draft(desk: Desk, new: NewPlan, *, by: str, source: str) -> Case:
    """Write a new plan, as a draft. One that could not be carried out is refused."""
    kind = _checked(desk, new)
    plan = _plan(desk, new, kind, PlanId(new_id()), by=by, source=source)
    case = Case(Loaded(plan, new.steps, ()))
    desk.cases[plan.plan_id] = case
    accounts.ensure(desk.tx, plan.account_id)
    plans.insert(desk.tx, plan, new.steps)
    if plan.due_at is not None:
        desk.touch(case)
    desk.record(case, Kind.PLAN_CREATED, by=by, steps=_told(new.steps), objective=plan.objective)
    return case


def edit(desk: Desk, case: Case, new: NewPlan, *, by: str) -> None:
    """Write a draft anew, whole. Anything but a draft stays as it was approved."""
    only(case, PlanStatus.DRAFT)
    kind, before = _checked(desk, new), case.plan
    plan = _plan(desk, new, kind, before.plan_id, by=before.created_by, source=before.source)
    case.plan = plan._replace(
        created_at=before.created_at,
        correlation_id=new.correlation_id or before.correlation_id,
        version=before.version + 1,
    )
    case.steps = {step.step_id: step for step in new.steps}
    accounts.ensure(desk.tx, plan.account_id)
    plans.edit(desk.tx, case.plan, new.steps)
    if plan.due_at is not None:
        desk.touch(case)
    desk.record(case, Kind.PLAN_UPDATED, by=by, steps=_told(new.steps), objective=plan.objective)


def _checked(desk: Desk, new: NewPlan) -> PlanType:
    kind = desk.rules.act.types.get(new.plan_type)
    mistakes = check_steps(kind, new.plan_type, new.steps)
    if len(loads(new.facts)) > FACTS_MAX:
        problem = Problem("facts", f"a plan has at most {FACTS_MAX} facts")
        raise Invalid(str(problem), [problem])
    if new.expires_at is not None and new.expires_at <= desk.now:
        problem = Problem("expires_at", "it is over already")
        raise Invalid(str(problem), [problem])
    if mistakes or kind is None:
        problems = [Problem(*mistake) for mistake in mistakes]
        raise Invalid("; ".join(map(str, problems)), problems)
    return kind


def _plan(
    desk: Desk, new: NewPlan, kind: PlanType, plan_id: PlanId, *, by: str, source: str
) -> Plan:
    return Plan(
        plan_id=plan_id,
        account_id=new.account_id,
        plan_type=new.plan_type,
        objective=new.objective or kind.objective or new.plan_type,
        status=PlanStatus.DRAFT,
        facts=new.facts,
        constraints=new.constraints,
        source=source,
        correlation_id=new.correlation_id,
        created_at=desk.now,
        created_by=by,
        expires_at=new.expires_at or Instant(desk.now + kind.expiry_us),
        due_at=desk.now if kind.approved_by_policy else None,
    )


def _told(given: Sequence[Step]) -> list[dict[str, Any]]:
    return [
        {
            "action_type": step.action_type,
            "dependencies": step.dependencies,
            "sequence": step.sequence,
            "step_id": step.step_id,
        }
        for step in given
    ]


def approve(
    desk: Desk, case: Case, reason: str | None = None, *, by: str, is_person: bool = True
) -> None:
    """A person, or policy, says yes to a draft: it waits for the gate.

    A person may also say yes to what only policy has approved, where the gate asks for that.
    """
    is_first = case.plan.status is PlanStatus.APPROVED and not case.plan.approved_by_person
    if not (is_person and is_first):
        only(case, PlanStatus.DRAFT)
    _still_valid(desk, case)
    if case.plan.expires_at <= desk.now:
        raise Conflict("the plan has expired; give it another expires_at first")
    desk.put(
        case,
        status=PlanStatus.APPROVED,
        approved_at=desk.now,
        approved_by=by,
        approved_by_person=is_person,
        due_at=desk.now,
    )
    desk.record(case, Kind.PLAN_APPROVED, reason=reason, by=by, is_person=is_person)


def _still_valid(desk: Desk, case: Case) -> None:
    """Policy may have changed since the draft was written."""
    given = tuple(case.steps.values())
    mistakes = check_steps(desk.kind_of(case.plan), case.plan.plan_type, given)
    if mistakes:
        problems = [Problem(*mistake) for mistake in mistakes]
        raise Invalid("; ".join(map(str, problems)), problems)


def activate(desk: Desk, batch: Sequence[Case]) -> None:
    """Make active what may be; hold back the others, with the reason, until a later cycle."""
    if not batch:
        return
    asked = plans.send_active_of(desk.tx, map(_pair, batch))
    told = accounts.send_read(desk.tx, sorted({case.plan.account_id for case in batch}))
    active = plans.read_active_of(asked) | {
        _pair(case): case.plan.plan_id
        for case in desk.cases.values()
        if case.plan.status is PlanStatus.ACTIVE
    }
    known = accounts.found(told)
    for case in batch:
        account = known.get(case.plan.account_id)
        posture = None if account is None else account.posture
        if _activate(desk, case, active.get(_pair(case)), posture):
            active[_pair(case)] = case.plan.plan_id


def _pair(case: Case) -> tuple[str, str]:
    return case.plan.account_id, case.plan.plan_type


def _activate(desk: Desk, case: Case, conflict: PlanId | None, posture: str | None) -> bool:
    if case.plan.status is PlanStatus.DRAFT:
        kind = desk.kind_of(case.plan)
        is_ripe = case.plan.expires_at > desk.now and not check_steps(
            kind, case.plan.plan_type, tuple(case.steps.values())
        )
        if kind is None or not kind.approved_by_policy or not is_ripe:
            desk.put(case, due_at=None)
            return False
        approve(desk, case, by="policy", is_person=False)
    if case.plan.expires_at <= desk.now:
        attempts.end(desk, case, PlanStatus.EXPIRED, Kind.PLAN_EXPIRED)
        desk.counts["expired"] += 1
        return False
    of = GateFacts(
        facts=frozenset(case.facts()),
        posture=posture,
        conflict=conflict,
        approved_by=case.plan.approved_by,
        approved_by_person=case.plan.approved_by_person,
    )
    given = list(case.steps.values())
    gate = may_activate(desk.rules.act, case.plan.plan_type, given, desk.risks(), of)
    told = {**desk.ruled(), "gate": gate_record(given, desk.risks(), of)}
    if not gate.can_activate:
        _hold(desk, case, gate.obstacles, told)
        return False
    desk.put(
        case,
        status=PlanStatus.ACTIVE,
        activated_at=desk.now,
        reason=None,
        due_at=desk.now,
    )
    desk.record(case, Kind.PLAN_ACTIVATED, facts=sorted(of.facts), posture=posture, **told)
    desk.counts["activated"] += 1
    return True


def _hold(desk: Desk, case: Case, obstacles: Sequence[Obstacle], inputs: Mapping[str, Any]) -> None:
    """It is considered again in a later cycle; the ledger tells of it when the reason changes."""
    words = "; ".join(f"{one.reason}: {one.explanation}" for one in obstacles)
    if case.plan.reason != words:
        told = [{"explanation": one.explanation, "reason": one.reason} for one in obstacles]
        desk.record(case, Kind.PLAN_HELD, reason=obstacles[0].reason, obstacles=told, **inputs)
    desk.put(case, reason=words, due_at=min(_look_again_at(desk, case), case.plan.expires_at))
    desk.counts["held"] += 1


def _look_again_at(desk: Desk, case: Case) -> Instant:
    """What has waited for long is looked at less often; what would let it pass wakes it anyway."""
    waited = desk.now - (case.plan.approved_at or desk.now)
    wait = max(desk.rules.act.cycle_us, min(waited // HELD_SHARE, HELD_US_MAX))
    return Instant(desk.now + wait)


def pause(desk: Desk, case: Case, reason: str, *, by: str) -> None:
    only(case, PlanStatus.ACTIVE)
    attempts.pause(desk, case, reason, by=by)


def resume(desk: Desk, case: Case, reason: str | None, *, by: str) -> None:
    """Go on, with a fresh allowance of attempts, unless another plan took its place."""
    only(case, PlanStatus.PAUSED)
    other = plans.active_of(desk.tx, [_pair(case)]).get(_pair(case))
    if other is not None:
        raise Conflict(
            f"plan {other} of the same account and type is active: {Held.CONFLICT_ACTIVE_PLAN}",
            plan_id=other,
        )
    desk.put(case, status=PlanStatus.ACTIVE, reason=None)
    desk.record(case, Kind.PLAN_RESUMED, reason=reason, by=by)
    for step in list(case.steps.values()):
        if resumed(step) is not step:
            desk.put_step(case, resumed(step))
    waiting = case.under_way
    if waiting is not None and waiting.state is IntentState.PENDING_APPROVAL:
        deadline = Instant(desk.now + desk.rules.act.approval_us)
        desk.put_intent(case, waiting._replace(deadline_at=deadline))
    elif waiting is not None and waiting.state is IntentState.APPROVED:
        deadline = Instant(desk.now + desk.rules.act.outcome_timeout_us)
        # Its message may have come while the plan was paused.
        desk.request(case, waiting._replace(deadline_at=deadline, message_id=None))
    attempts.advance(desk, case)


def abort(desk: Desk, case: Case, reason: str | None, *, by: str) -> None:
    live = (PlanStatus.DRAFT, PlanStatus.APPROVED, PlanStatus.ACTIVE, PlanStatus.PAUSED)
    only(case, *live)
    attempts.end(desk, case, PlanStatus.ABORTED, Kind.PLAN_ABORTED, reason=reason, by=by)


def skip(desk: Desk, case: Case, step_id: str, reason: str, *, by: str) -> None:
    """Leave a step out, for a reason. What was under way for it is late from now on."""
    only(case, PlanStatus.APPROVED, PlanStatus.ACTIVE, PlanStatus.PAUSED)
    step = case.steps.get(step_id)
    if step is None:
        raise NotFound(f"the plan has no step {step_id}", step_id=step_id)
    if step.status in OVER:
        raise Conflict(f"the step is {step.status} already", status=step.status)
    for intent in list(case.intents.values()):
        if intent.step_id == step_id:
            attempts.let_go(desk, case, intent)
    skipped = step._replace(status=StepStatus.SKIPPED, reason=reason, retry_at=None)
    desk.put_step(case, skipped)
    desk.record(case, Kind.STEP_SKIPPED, step_id=step_id, reason=reason, by=by)
    if case.plan.status is PlanStatus.ACTIVE:
        attempts.advance(desk, case)


def tell(desk: Desk, case: Case, facts: Mapping[str, Any], *, by: str) -> None:
    """New facts, laid over what is known; they may meet the objective, or open the gate."""
    live = (PlanStatus.DRAFT, PlanStatus.APPROVED, PlanStatus.ACTIVE, PlanStatus.PAUSED)
    only(case, *live)
    merged = {**loads(case.plan.facts), **facts}
    if len(merged) > FACTS_MAX:
        problem = Problem("facts", f"a plan has at most {FACTS_MAX} facts")
        raise Invalid(str(problem), [problem])
    text = dumps(merged)
    plans.tell(desk.tx, case.plan.plan_id, text)
    case.plan = case.plan._replace(facts=text)
    desk.record(case, Kind.FACTS_TOLD, by=by, facts=dict(facts))
    if case.plan.status is PlanStatus.ACTIVE:
        attempts.advance(desk, case)
    if case.plan.status in (PlanStatus.APPROVED, PlanStatus.ACTIVE):
        desk.put(case, due_at=desk.now)  # this process may not know how to judge the objective
