"""Plans: what they are, which way each status may go, and what a plan does next.

The three tables below are the machines. Nothing else changes a status, the database
refuses what they do not name, and the diagrams in the documentation are drawn from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from watchkeeper.core.ids import AccountId, IntentId, MessageId, PlanId
from watchkeeper.core.time import DAY, MINUTE, Instant


class PlanStatus(StrEnum):
    DRAFT = "DRAFT"
    APPROVED = "APPROVED"
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    ABORTED = "ABORTED"
    EXPIRED = "EXPIRED"


class StepStatus(StrEnum):
    PENDING = "PENDING"
    PENDING_APPROVAL = "PENDING_APPROVAL"
    AUTO_EXECUTED = "AUTO_EXECUTED"
    DONE = "DONE"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"


class IntentState(StrEnum):
    PENDING_APPROVAL = "PENDING_APPROVAL"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    EXECUTING = "EXECUTING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


P, S, I = PlanStatus, StepStatus, IntentState  # noqa: E741

PLAN_MOVES: Mapping[PlanStatus, frozenset[PlanStatus]] = {
    P.DRAFT: frozenset({P.APPROVED, P.ABORTED}),
    P.APPROVED: frozenset({P.ACTIVE, P.ABORTED, P.EXPIRED}),
    P.ACTIVE: frozenset({P.PAUSED, P.COMPLETED, P.ABORTED, P.EXPIRED}),
    P.PAUSED: frozenset({P.ACTIVE, P.ABORTED, P.EXPIRED}),
    P.COMPLETED: frozenset(),
    P.ABORTED: frozenset(),
    P.EXPIRED: frozenset(),
}
STEP_MOVES: Mapping[StepStatus, frozenset[StepStatus]] = {
    S.PENDING: frozenset({S.PENDING_APPROVAL, S.AUTO_EXECUTED, S.FAILED, S.SKIPPED}),
    S.PENDING_APPROVAL: frozenset({S.DONE, S.FAILED, S.SKIPPED}),
    S.AUTO_EXECUTED: frozenset({S.DONE, S.FAILED, S.SKIPPED}),
    S.FAILED: frozenset({S.PENDING_APPROVAL, S.AUTO_EXECUTED, S.SKIPPED}),  # by a new attempt
    S.DONE: frozenset(),
    S.SKIPPED: frozenset(),
}
INTENT_MOVES: Mapping[IntentState, frozenset[IntentState]] = {
    I.PENDING_APPROVAL: frozenset({I.APPROVED, I.REJECTED, I.CANCELLED}),
    I.APPROVED: frozenset({I.EXECUTING, I.FAILED, I.CANCELLED}),
    I.EXECUTING: frozenset({I.SUCCEEDED, I.FAILED}),
    I.REJECTED: frozenset(),
    I.SUCCEEDED: frozenset(),
    I.FAILED: frozenset(),
    I.CANCELLED: frozenset(),
}
OPEN = frozenset({I.PENDING_APPROVAL, I.APPROVED, I.EXECUTING})
"""An intent in one of these is an attempt under way: a step has one at most."""
OVER = frozenset({S.DONE, S.SKIPPED})
LIVE = frozenset({P.APPROVED, P.ACTIVE, P.PAUSED})
"""A plan in one of these expires when its time has come."""
ENDED = frozenset(status for status, ways in PLAN_MOVES.items() if not ways)

_IN_FLIGHT = frozenset({S.PENDING_APPROVAL, S.AUTO_EXECUTED})


class AttemptStatus(StrEnum):
    """How an attempt stands: its intent's state, in fewer words."""

    STARTED = "STARTED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


def attempt_status(state: IntentState) -> AttemptStatus:
    match state:
        case I.PENDING_APPROVAL | I.APPROVED | I.EXECUTING:
            return AttemptStatus.STARTED
        case I.SUCCEEDED:
            return AttemptStatus.SUCCEEDED
        case I.FAILED | I.REJECTED:
            return AttemptStatus.FAILED
        case I.CANCELLED:
            return AttemptStatus.SKIPPED


class Step(NamedTuple):
    """One thing to be done. `attempts` is the counter that every attempt takes its number from."""

    step_id: str
    action_type: str
    position: int  # in the list that the plan was made of
    sequence: int
    dependencies: tuple[str, ...] = ()
    data: str = "{}"  # for the handler; JSON text
    status: StepStatus = S.PENDING
    attempts: int = 0
    spared: int = 0  # attempts before the last resume, which no longer count against the limit
    retry_at: Instant | None = None
    reason: str | None = None


class Intent(NamedTuple):
    """What one attempt asks to be done. There is one for each attempt of a step."""

    intent_id: IntentId
    plan_id: PlanId
    step_id: str
    attempt: int
    account_id: AccountId
    action_type: str
    state: IntentState
    created_at: Instant
    deadline_at: Instant
    approval: str  # an Approval, as policy decided
    reason: str | None = None
    clause: str | None = None
    explanation: str | None = None
    decided_at: Instant | None = None
    decided_by: str | None = None
    executing_at: Instant | None = None
    ended_at: Instant | None = None
    detail: str | None = None
    is_late: bool = False  # its plan or step went on without it: whatever comes changes nothing
    message_id: MessageId | None = None  # that asks for it: no other message begins with it

    @property
    def key(self) -> str:
        """The same for every attempt of a step, so that a handler can tell a repeat."""
        return f"{self.plan_id}/{self.step_id}"


class Plan(NamedTuple):
    plan_id: PlanId
    account_id: AccountId
    plan_type: str
    objective: str
    status: PlanStatus
    facts: str  # JSON text, and so are constraints
    constraints: str
    source: str
    correlation_id: str | None
    created_at: Instant
    created_by: str
    expires_at: Instant
    approved_at: Instant | None = None
    approved_by: str | None = None
    approved_by_person: bool = False
    activated_at: Instant | None = None
    ended_at: Instant | None = None
    completion_reason: str | None = None
    reason: str | None = None
    due_at: Instant | None = None
    version: int = 1


class Reason(StrEnum):
    """Why a step failed or a plan stopped, where the product itself says so."""

    RETRY_LIMIT = "retry_limit_exceeded"
    OUTCOME_UNKNOWN = "outcome_unknown"
    BLOCKED = "blocked"
    REJECTED = "rejected"
    UNANSWERED = "approval_unanswered"
    DEPENDENCY_SKIPPED = "dependency_skipped"
    ACTION_FAILED = "action_failed"


class CompletionReason(StrEnum):
    OBJECTIVE_MET = "objective_met"
    ALL_STEPS_DONE = "all_steps_done"


class Change(StrEnum):
    EXPIRE = "EXPIRE"
    COMPLETE = "COMPLETE"
    NO_CHANGE = "NO_CHANGE"


class Evaluated(NamedTuple):
    change: Change
    reason: CompletionReason | None = None


NO_CHANGE = Evaluated(Change.NO_CHANGE)
EXPIRE = Evaluated(Change.EXPIRE)


def evaluate(
    steps: Sequence[Step], expires_at: Instant, now: Instant, *, is_objective_met: bool
) -> Evaluated:
    """Whether a plan is over. All that decides about the end of a plan is here."""
    if now >= expires_at:
        return EXPIRE
    if all(step.status in OVER for step in steps):
        return Evaluated(Change.COMPLETE, CompletionReason.ALL_STEPS_DONE)
    if is_objective_met:
        return Evaluated(Change.COMPLETE, CompletionReason.OBJECTIVE_MET)
    return NO_CHANGE


class Start(NamedTuple):
    """This step is next; its attempt has this number."""

    step: Step
    attempt: int


class Wait(NamedTuple):
    """Nothing to start before this; without a time, something under way has to end first."""

    until: Instant | None


class Stuck(NamedTuple):
    """This step cannot go on by itself: the plan pauses, for this reason."""

    step: Step
    reason: Reason


Next: TypeAlias = Start | Wait | Stuck


def next_step(
    steps: Sequence[Step], now: Instant, *, attempts_max: int, skipped_counts: bool
) -> Next:
    """What a plan that is under way does next: one step at a time, the lowest sequence first."""
    left = [step for step in steps if step.status not in OVER]
    if not left or any(step.status in _IN_FLIGHT for step in left):
        return Wait(None)
    step = min(left, key=order_of)
    skipped = {other.step_id for other in steps if other.status is S.SKIPPED}
    if not skipped_counts and not skipped.isdisjoint(step.dependencies):
        return Stuck(step, Reason.DEPENDENCY_SKIPPED)
    if step.status is S.FAILED:
        if step.attempts - step.spared >= attempts_max:
            return Stuck(step, Reason.RETRY_LIMIT)
        if step.retry_at is not None and step.retry_at > now:
            return Wait(step.retry_at)
    return Start(step, step.attempts + 1)


def order_of(step: Step) -> tuple[int, int]:
    return step.sequence, step.position


BACKOFF_US = MINUTE
BACKOFF_MAX_US = DAY
_DOUBLINGS_MAX = 20


def retry_at(step: Step, ended_at: Instant) -> Instant:
    """When a step that failed is eligible again: a minute later, doubling with each failure."""
    failures = max(1, step.attempts - step.spared)
    wait = BACKOFF_US * 2 ** min(failures - 1, _DOUBLINGS_MAX)
    return Instant(ended_at + min(wait, BACKOFF_MAX_US))


def resumed(step: Step) -> Step:
    """A person resumes the plan: a step that failed has a fresh allowance, from now."""
    if step.status is not S.FAILED:
        return step
    return step._replace(spared=step.attempts, retry_at=None)
