"""What a person can do about a plan now. The tables say what is allowed; this says what helps."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from watchkeeper.core.plans import ENDED, Intent, IntentState, Plan, PlanStatus, Step


class Deed(StrEnum):
    APPROVE = "approve"
    EDIT = "edit"
    RESUME = "resume"
    PAUSE = "pause"
    SKIP = "skip"
    TELL = "tell"
    ABORT = "abort"
    APPROVE_INTENT = "approve_intent"
    REJECT_INTENT = "reject_intent"
    REPORT_OUTCOME = "report_outcome"


class Choice(NamedTuple):
    """One thing to do, to what, and what comes of it."""

    deed: Deed
    id: str  # of the plan, or of the intent
    words: str
    step_id: str | None = None


def choices(plan: Plan, step: Step | None, intent: Intent | None) -> tuple[Choice, ...]:
    """What helps most comes first; nothing for a plan that has ended."""
    if plan.status in ENDED:
        return ()
    return tuple(_choices(plan, step, intent))


def _choices(plan: Plan, step: Step | None, intent: Intent | None) -> Iterator[Choice]:
    own = plan.plan_id
    if plan.status is PlanStatus.ACTIVE and intent is not None:
        yield from _answers(intent)
    match plan.status:
        case PlanStatus.DRAFT:
            yield Choice(Deed.APPROVE, own, "it is activated as soon as its gate allows it")
            yield Choice(Deed.EDIT, own, "write it anew")
        case PlanStatus.APPROVED:
            if not plan.approved_by_person:
                yield Choice(Deed.APPROVE, own, "a person's yes, where its type needs one")
            yield Choice(Deed.TELL, own, "a fact that its type requires may open the gate")
        case PlanStatus.PAUSED:
            yield Choice(Deed.RESUME, own, "it goes on, with a fresh allowance of attempts")
        case PlanStatus.ACTIVE:
            yield Choice(Deed.PAUSE, own, "nothing is started until somebody resumes it")
        case _:
            pass
    if step is not None and plan.status is not PlanStatus.DRAFT:
        yield Choice(Deed.SKIP, own, f"go on without step {step.step_id}", step.step_id)
    yield Choice(Deed.ABORT, own, "end it for good")


def _answers(intent: Intent) -> Iterator[Choice]:
    match intent.state:
        case IntentState.PENDING_APPROVAL:
            yield Choice(Deed.APPROVE_INTENT, intent.intent_id, "it is carried out")
            yield Choice(Deed.REJECT_INTENT, intent.intent_id, "the step fails, the plan pauses")
        case IntentState.EXECUTING:
            yield Choice(Deed.REPORT_OUTCOME, intent.intent_id, "say how it went")
        case _:
            pass
