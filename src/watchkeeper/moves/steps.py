"""Steps are started, answered and ended here, and nowhere else.

A plan that was touched goes on at once: what is over is ended, what can start is started,
in the same transaction as the outcome that made it possible.
"""

from __future__ import annotations

from typing import NamedTuple

from watchkeeper.core.approvals import Approval, Judged, Risk, Unanswered, judge
from watchkeeper.core.ids import IntentId, MessageId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.plans import (
    ENDED,
    LIVE,
    Change,
    Evaluated,
    Intent,
    IntentState,
    PlanStatus,
    Reason,
    Start,
    Step,
    StepStatus,
    Stuck,
    Wait,
    evaluate,
    next_step,
    retry_at,
)
from watchkeeper.core.redaction import redacted
from watchkeeper.core.time import Instant
from watchkeeper.failures import log_failure
from watchkeeper.ids import new_id
from watchkeeper.moves.plan_case import Case
from watchkeeper.moves.plan_desk import Desk

DETAIL_LENGTH_MAX = 10_000

_BORN = {
    Approval.AUTO_EXECUTE: IntentState.APPROVED,
    Approval.REQUIRE_APPROVAL: IntentState.PENDING_APPROVAL,
    Approval.BLOCK: IntentState.REJECTED,
}


def advance(desk: Desk, case: Case) -> None:
    """Bring a plan as far as it can go now, and say when to look at it again."""
    if case.plan.status in LIVE and _is_over(desk, case):
        return
    _time_out(desk, case)
    if case.plan.status is PlanStatus.ACTIVE:
        _go_on(desk, case)
    else:
        desk.put(case, due_at=_wake_at(desk, case))


def _is_over(desk: Desk, case: Case) -> bool:
    """End a plan that has expired or reached its goal. Only an active one completes."""
    plan = case.plan
    is_active = plan.status is PlanStatus.ACTIVE
    found = evaluate(
        list(case.steps.values()),
        plan.expires_at,
        desk.now,
        is_objective_met=is_active and _is_objective_met(desk, case),
    )
    match found:
        case Evaluated(change=Change.EXPIRE):
            end(desk, case, PlanStatus.EXPIRED, Kind.PLAN_EXPIRED)
            desk.counts["expired"] += 1
            return True
        case Evaluated(change=Change.COMPLETE, reason=reason) if is_active:
            assert reason is not None
            end(desk, case, PlanStatus.COMPLETED, Kind.PLAN_COMPLETED, completion_reason=reason)
            desk.counts["completed"] += 1
            return True
    return False


def _is_objective_met(desk: Desk, case: Case) -> bool:
    """Ask the predicate of the plan's type. One that fails is no reason to stop or to end."""
    predicate = desk.objectives.get(case.plan.plan_type)
    if predicate is None:
        return False
    try:
        return bool(predicate(case.facts()))
    except BaseException as error:
        facts = {"tenant_id": desk.tx.tenant_id, "plan_id": case.plan.plan_id}
        log_failure(error, "objective", facts)
        return False


def end(
    desk: Desk,
    case: Case,
    status: PlanStatus,
    kind: Kind,
    *,
    reason: str | None = None,
    completion_reason: str | None = None,
    by: str | None = None,
) -> None:
    """End a plan: intents that nobody has begun with are cancelled, others are late from now."""
    for intent in list(case.intents.values()):
        let_go(desk, case, intent)
    desk.put(
        case,
        status=status,
        ended_at=desk.now,
        reason=reason,
        completion_reason=completion_reason,
    )
    desk.put(case, due_at=_wake_at(desk, case))
    desk.record(case, kind, reason=completion_reason or reason, by=by)


def let_go(desk: Desk, case: Case, intent: Intent) -> None:
    match intent.state:
        case IntentState.PENDING_APPROVAL | IntentState.APPROVED:
            cancelled = intent._replace(state=IntentState.CANCELLED, ended_at=desk.now)
            desk.put_intent(case, cancelled)
        case IntentState.EXECUTING:
            desk.put_intent(case, intent._replace(is_late=True))
        case _:
            pass


def pause(desk: Desk, case: Case, reason: str, *, by: str | None = None) -> None:
    desk.put(case, status=PlanStatus.PAUSED, reason=reason)
    desk.put(case, due_at=_wake_at(desk, case))
    desk.record(case, Kind.PLAN_PAUSED, reason=reason, by=by)
    desk.counts["paused"] += 1


def _go_on(desk: Desk, case: Case) -> None:
    kind = desk.kind_of(case.plan)
    found = next_step(
        list(case.steps.values()),
        desk.now,
        attempts_max=1 if kind is None else kind.attempts_max,
        skipped_counts=kind is None or kind.skipped_counts,
    )
    match found:
        case Start(step=step, attempt=attempt):
            _start(desk, case, step, attempt)
        case Stuck(step=step, reason=reason):
            stuck = step._replace(reason=reason)
            if step.status is StepStatus.FAILED:
                desk.put_step(case, stuck)
                desk.record(case, Kind.STEP_FAILED, step_id=step.step_id, reason=reason)
            pause(desk, case, reason)
        case Wait(until=until):
            at = _wake_at(desk, case)
            desk.put(case, due_at=at if until is None or at is None else min(until, at))


def _start(desk: Desk, case: Case, step: Step, attempt: int) -> None:
    """Take the attempt's number, decide who has to say yes, and ask; all in one transaction."""
    killed = desk.killed(step.action_type)
    if killed is not None:
        later = Instant(desk.now + desk.rules.act.cycle_us)
        desk.put(case, due_at=min(later, case.plan.expires_at))
        return
    risk = desk.risks().get(step.action_type, Risk.HIGH)
    used = desk.used_today() if desk.rules.act.autonomy.auto_per_day_max is not None else 0
    judged = judge(risk, desk.rules.act.autonomy, used_today=used)
    intent = _intent(desk, case, step, attempt, judged)
    desk.add_intent(case, intent)
    desk.record(
        case,
        Kind.STEP_STARTED,
        step_id=step.step_id,
        attempt=attempt,
        action_type=step.action_type,
        approval=judged.approval,
        approval_reason=judged.reason,
        clause=judged.clause,
        intent_id=intent.intent_id,
        risk=risk.name.lower(),
        used_today=used,
        **desk.ruled(),
    )
    desk.counts["steps_started"] += 1
    desk.approvals[judged.approval] += 1
    is_suspect = step.reason == Reason.OUTCOME_UNKNOWN  # told to whoever carries it out
    reason = step.reason if is_suspect else None
    is_auto = judged.approval is Approval.AUTO_EXECUTE
    status = StepStatus.AUTO_EXECUTED if is_auto else StepStatus.PENDING_APPROVAL
    started = step._replace(status=status, attempts=attempt, retry_at=None, reason=reason)
    match judged.approval:
        case Approval.AUTO_EXECUTE:
            desk.put_step(case, started)
            desk.spend_autonomy()
            desk.request(case, intent)
        case Approval.REQUIRE_APPROVAL:
            desk.put_step(case, started)
        case Approval.BLOCK:
            _fail(desk, case, started, Reason.BLOCKED, attempt=attempt, detail=judged.explanation)
            pause(desk, case, f"{Reason.BLOCKED}: {judged.explanation}")
            return
    desk.wake(case, _wake_at(desk, case))


def _intent(desk: Desk, case: Case, step: Step, attempt: int, judged: Judged) -> Intent:
    act, now = desk.rules.act, desk.now
    is_auto = judged.approval is Approval.AUTO_EXECUTE
    is_blocked = judged.approval is Approval.BLOCK
    is_begun = is_auto and desk.begins(step.action_type)
    return Intent(
        intent_id=IntentId(new_id()),
        plan_id=case.plan.plan_id,
        step_id=step.step_id,
        attempt=attempt,
        account_id=case.plan.account_id,
        action_type=step.action_type,
        state=IntentState.EXECUTING if is_begun else _BORN[judged.approval],
        created_at=now,
        deadline_at=Instant(now + (act.outcome_timeout_us if is_auto else act.approval_us)),
        approval=judged.approval,
        reason=judged.reason,
        clause=judged.clause,
        explanation=judged.explanation,
        decided_at=now if is_auto or is_blocked else None,
        decided_by="policy" if is_auto or is_blocked else None,
        executing_at=now if is_begun else None,
        ended_at=now if is_blocked else None,
        message_id=MessageId(new_id()) if is_auto else None,
    )


def _fail(
    desk: Desk,
    case: Case,
    step: Step,
    reason: str,
    *,
    attempt: int,
    detail: str | None = None,
    is_retried: bool = False,
) -> None:
    again = retry_at(step, desk.now) if is_retried else None
    failed = step._replace(status=StepStatus.FAILED, reason=reason, retry_at=again)
    desk.put_step(case, failed)
    desk.record(
        case,
        Kind.STEP_FAILED,
        step_id=step.step_id,
        attempt=attempt,
        reason=reason,
        detail=detail,
    )


def approve(desk: Desk, case: Case, intent: Intent, reason: str | None = None, *, by: str) -> None:
    """A person says yes: it is carried out. The caller has seen that both wait for that."""
    deadline = Instant(desk.now + desk.rules.act.outcome_timeout_us)
    yes = intent._replace(
        state=IntentState.APPROVED, decided_at=desk.now, decided_by=by, deadline_at=deadline
    )
    desk.put_intent(case, yes)
    desk.record(
        case,
        Kind.INTENT_APPROVED,
        step_id=intent.step_id,
        attempt=intent.attempt,
        reason=reason,
        by=by,
        intent_id=intent.intent_id,
    )
    desk.request(case, yes)
    desk.put(case, due_at=_wake_at(desk, case))


def reject(desk: Desk, case: Case, intent: Intent, reason: str, *, by: str, why: str) -> None:
    """Nobody will carry it out: the step has failed, and the plan waits for a person."""
    no = intent._replace(
        state=IntentState.REJECTED,
        decided_at=desk.now,
        decided_by=by,
        ended_at=desk.now,
        detail=why,
    )
    desk.put_intent(case, no)
    desk.record(
        case,
        Kind.INTENT_REJECTED,
        step_id=intent.step_id,
        attempt=intent.attempt,
        reason=reason,
        by=by,
        intent_id=intent.intent_id,
        why=why,
    )
    _fail(desk, case, case.steps[intent.step_id], reason, attempt=intent.attempt, detail=why)
    if case.plan.status is PlanStatus.ACTIVE:
        pause(desk, case, f"{reason}: {why}" if why else reason)


class Ending(NamedTuple):
    """How an attempt ended, as its handler or somebody later says."""

    succeeded: bool
    detail: str | None = None
    reason: str = Reason.ACTION_FAILED


def is_told(intent: Intent, ending: Ending) -> bool:
    """Whether this very outcome stands there: who tells it again, or in doubt, changes nothing."""
    state = IntentState.SUCCEEDED if ending.succeeded else IntentState.FAILED
    return intent.state is state and intent.reason != Reason.OUTCOME_UNKNOWN


def conclude(desk: Desk, case: Case, intent: Intent, ending: Ending) -> bool:
    """Write an outcome. False: it came late, is recorded as such, and changes nothing else."""
    detail = None if ending.detail is None else redacted(ending.detail)[:DETAIL_LENGTH_MAX]
    is_late = intent.is_late or intent.ended_at is not None
    if intent.ended_at is None:
        state = IntentState.SUCCEEDED if ending.succeeded else IntentState.FAILED
        is_unknown = ending.reason == Reason.OUTCOME_UNKNOWN and not ending.succeeded
        reason = Reason.OUTCOME_UNKNOWN if is_unknown else intent.reason
        done = intent._replace(state=state, ended_at=desk.now, detail=detail, reason=reason)
        desk.put_intent(case, done)
    if is_late:
        desk.record(
            case,
            Kind.OUTCOME_LATE,
            step_id=intent.step_id,
            attempt=intent.attempt,
            reason=None if ending.succeeded else ending.reason,
            detail=detail,
            intent_id=intent.intent_id,
            succeeded=ending.succeeded,
        )
        if case.plan.status in ENDED:
            desk.put(case, due_at=_wake_at(desk, case))
        return False
    step = case.steps[intent.step_id]
    if ending.succeeded:
        desk.put_step(case, step._replace(status=StepStatus.DONE, reason=None, retry_at=None))
        desk.record(
            case,
            Kind.STEP_COMPLETED,
            step_id=step.step_id,
            attempt=intent.attempt,
            detail=detail,
        )
    else:
        number = intent.attempt
        _fail(desk, case, step, ending.reason, attempt=number, detail=detail, is_retried=True)
    return True


def _time_out(desk: Desk, case: Case) -> None:
    """What was waited for too long: an approval that nobody gave, an outcome that never came."""
    for intent in list(case.intents.values()):
        if not _is_awaited(case, intent) or _deadline(desk, intent) > desk.now:
            continue
        if intent.state is IntentState.PENDING_APPROVAL:
            _unanswered(desk, case, intent)
        else:
            words = "no outcome was reported in time"
            conclude(desk, case, intent, Ending(False, words, Reason.OUTCOME_UNKNOWN))


def _unanswered(desk: Desk, case: Case, intent: Intent) -> None:
    words = "nobody answered in time"
    if desk.rules.act.autonomy.unanswered is Unanswered.REJECT:
        reject(desk, case, intent, Reason.UNANSWERED, by="policy", why=words)
    elif case.plan.status is PlanStatus.ACTIVE:
        pause(desk, case, f"{Reason.UNANSWERED}: {words}")


def _deadline(desk: Desk, intent: Intent) -> Instant:
    """Of the approval; or of the outcome, from when it was begun with."""
    if intent.executing_at is None:
        return intent.deadline_at
    return Instant(intent.executing_at + desk.rules.act.outcome_timeout_us)


def _wake_at(desk: Desk, case: Case) -> Instant | None:
    """When something has to happen by itself, if nothing else does."""
    plan = case.plan
    times = [plan.expires_at] if plan.status in LIVE else []
    awaited = [one for one in case.intents.values() if _is_awaited(case, one)]
    times += [_deadline(desk, intent) for intent in awaited]
    return min(times) if times else None


def _is_awaited(case: Case, intent: Intent) -> bool:
    """Whether its time runs: while the plan is paused, only that of what was begun with."""
    if intent.ended_at is not None:
        return False
    return case.plan.status is not PlanStatus.PAUSED or intent.state is IntentState.EXECUTING
