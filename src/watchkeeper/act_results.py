"""What action handlers and callers get and give: actions, outcomes, plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from watchkeeper.core.ledger import Recorded
from watchkeeper.core.plans import AttemptStatus, attempt_status
from watchkeeper.core.plans import Intent as StoredIntent
from watchkeeper.core.plans import Plan as StoredPlan
from watchkeeper.core.plans import Step as StoredStep
from watchkeeper.core.time import Instant, to_datetime, to_iso
from watchkeeper.store.json import loads


@dataclass(frozen=True, slots=True)
class Action:
    """Argument of an action handler: one attempt of one step.

    `idempotency_key` is the same for every attempt of the step: give it to whoever you call.
    """

    intent_id: str
    tenant_id: str
    account_id: str
    action_type: str
    plan_id: str
    plan_type: str
    step_id: str
    attempt: int
    idempotency_key: str
    objective: str
    data: Mapping[str, Any] = field(default_factory=dict)
    correlation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of an action. `later`: it will be reported, by the intent's id."""

    succeeded: bool | None
    detail: str | None = None

    @classmethod
    def success(cls, detail: str | None = None) -> Outcome:
        return cls(True, detail)

    @classmethod
    def failure(cls, detail: str | None = None) -> Outcome:
        return cls(False, detail)

    @classmethod
    def later(cls) -> Outcome:
        return cls(None)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposal of a proposer. It becomes a draft plan without the steps that the type forbids.

    A step is `{"action_type": …, "step_id"?, "sequence"?, "dependencies"?, "data"?}`.
    """

    steps: Sequence[Mapping[str, Any]]
    objective: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """Argument of a proposer."""

    tenant_id: str
    account_id: str
    plan_type: str
    allowed_actions: tuple[str, ...]
    objective: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a plan, and its state."""

    step_id: str
    action_type: str
    status: str
    sequence: int
    dependencies: tuple[str, ...]
    attempts: int
    retry_at: datetime | None
    reason: str | None
    data: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {
            "step_id": self.step_id,
            "action_type": self.action_type,
            "status": self.status,
            "sequence": self.sequence,
            "dependencies": list(self.dependencies),
            "attempts": self.attempts,
            "retry_at": _json(self.retry_at),
            "reason": self.reason,
            "data": dict(self.data),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Request for one action of a plan, and its state."""

    intent_id: str
    tenant_id: str
    plan_id: str
    step_id: str
    attempt: int
    account_id: str
    action_type: str
    status: str
    attempt_status: AttemptStatus
    approval: str
    reason: str | None
    clause: str | None
    explanation: str | None
    created_at: datetime
    deadline_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    executing_at: datetime | None
    ended_at: datetime | None
    detail: str | None
    is_late: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "intent_id": self.intent_id,
            "tenant_id": self.tenant_id,
            "plan_id": self.plan_id,
            "step_id": self.step_id,
            "attempt": self.attempt,
            "account_id": self.account_id,
            "action_type": self.action_type,
            "status": self.status,
            "attempt_status": self.attempt_status,
            "approval": self.approval,
            "reason": self.reason,
            "clause": self.clause,
            "explanation": self.explanation,
            "created_at": _json(self.created_at),
            "deadline_at": _json(self.deadline_at),
            "decided_at": _json(self.decided_at),
            "decided_by": self.decided_by,
            "executing_at": _json(self.executing_at),
            "ended_at": _json(self.ended_at),
            "detail": self.detail,
            "is_late": self.is_late,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan, its steps and its state."""

    plan_id: str
    tenant_id: str
    account_id: str
    plan_type: str
    objective: str
    status: str
    reason: str | None
    completion_reason: str | None
    steps: tuple[Step, ...]
    intents: tuple[Intent, ...]  # of one that is shown: every attempt; of a list: those under way
    facts: Mapping[str, Any]
    constraints: Mapping[str, Any]
    source: str
    correlation_id: str | None
    version: int
    created_at: datetime
    created_by: str
    approved_at: datetime | None
    approved_by: str | None
    activated_at: datetime | None
    expires_at: datetime
    ended_at: datetime | None
    next_at: datetime | None  # when something happens by itself

    def to_json(self) -> dict[str, Any]:
        return {
            "plan_id": self.plan_id,
            "tenant_id": self.tenant_id,
            "account_id": self.account_id,
            "plan_type": self.plan_type,
            "objective": self.objective,
            "status": self.status,
            "reason": self.reason,
            "completion_reason": self.completion_reason,
            "steps": [step.to_json() for step in self.steps],
            "intents": [intent.to_json() for intent in self.intents],
            "facts": dict(self.facts),
            "constraints": dict(self.constraints),
            "source": self.source,
            "correlation_id": self.correlation_id,
            "version": self.version,
            "created_at": _json(self.created_at),
            "created_by": self.created_by,
            "approved_at": _json(self.approved_at),
            "approved_by": self.approved_by,
            "activated_at": _json(self.activated_at),
            "expires_at": _json(self.expires_at),
            "ended_at": _json(self.ended_at),
            "next_at": _json(self.next_at),
        }


def step_of(step: StoredStep) -> Step:
    return Step(
        step_id=step.step_id,
        action_type=step.action_type,
        status=step.status,
        sequence=step.sequence,
        dependencies=step.dependencies,
        attempts=step.attempts,
        retry_at=_moment(step.retry_at),
        reason=step.reason,
        data=loads(step.data),
    )


def intent_of(intent: StoredIntent, tenant_id: str) -> Intent:
    return Intent(
        intent_id=intent.intent_id,
        tenant_id=tenant_id,
        plan_id=intent.plan_id,
        step_id=intent.step_id,
        attempt=intent.attempt,
        account_id=intent.account_id,
        action_type=intent.action_type,
        status=intent.state,
        attempt_status=attempt_status(intent.state),
        approval=intent.approval,
        reason=intent.reason,
        clause=intent.clause,
        explanation=intent.explanation,
        created_at=to_datetime(intent.created_at),
        deadline_at=to_datetime(intent.deadline_at),
        decided_at=_moment(intent.decided_at),
        decided_by=intent.decided_by,
        executing_at=_moment(intent.executing_at),
        ended_at=_moment(intent.ended_at),
        detail=intent.detail,
        is_late=intent.is_late,
    )


def plan_of(
    plan: StoredPlan,
    steps: Sequence[StoredStep],
    intents: Sequence[StoredIntent],
    tenant_id: str,
) -> Plan:
    return Plan(
        plan_id=plan.plan_id,
        tenant_id=tenant_id,
        account_id=plan.account_id,
        plan_type=plan.plan_type,
        objective=plan.objective,
        status=plan.status,
        reason=plan.reason,
        completion_reason=plan.completion_reason,
        steps=tuple(step_of(step) for step in steps),
        intents=tuple(intent_of(intent, tenant_id) for intent in intents),
        facts=loads(plan.facts),
        constraints=loads(plan.constraints),
        source=plan.source,
        correlation_id=plan.correlation_id,
        version=plan.version,
        created_at=to_datetime(plan.created_at),
        created_by=plan.created_by,
        approved_at=_moment(plan.approved_at),
        approved_by=plan.approved_by,
        activated_at=_moment(plan.activated_at),
        expires_at=to_datetime(plan.expires_at),
        ended_at=_moment(plan.ended_at),
        next_at=_moment(plan.due_at),
    )


def plan_entry_json(found: Recorded) -> dict[str, Any]:
    """A line of a plan's ledger."""
    entry = found.entry
    data = loads(entry.data)
    return {
        "seq": found.seq,
        "at": to_iso(entry.at),
        "kind": entry.kind,
        "status": entry.result,
        "reason": entry.reason,
        "step_id": data.get("step_id"),
        "attempt": data.get("attempt"),
        "data": data,
    }


def _moment(at: Instant | None) -> datetime | None:
    return None if at is None else to_datetime(at)


def _json(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
