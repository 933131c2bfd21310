"""The forms of the answers about acting: plans, their steps and ledgers, intents."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from watchkeeper.http.shapes import CheckOut
from watchkeeper.input_types import IntentStatus, PlanStatus

StepStatus = Literal["PENDING", "PENDING_APPROVAL", "AUTO_EXECUTED", "DONE", "SKIPPED", "FAILED"]


class StepOut(BaseModel):
    step_id: str
    action_type: str
    status: StepStatus
    sequence: int
    dependencies: list[str]
    attempts: int = Field(description="Number of attempts that were started.")
    retry_at: str | None = Field(description="Time of the automatic retry of a failed step.")
    reason: str | None
    data: dict[str, Any]


class IntentOut(BaseModel):
    intent_id: str
    tenant_id: str
    plan_id: str
    step_id: str
    attempt: int
    account_id: str
    action_type: str
    status: IntentStatus
    attempt_status: Literal["STARTED", "SUCCEEDED", "FAILED", "SKIPPED"]
    approval: Literal["AUTO_EXECUTE", "REQUIRE_APPROVAL", "BLOCK"] = Field(
        description="Approval that the policy asked for when the attempt started."
    )
    reason: str | None = Field(description="Reason of the approval decision, or `outcome_unknown`.")
    clause: str | None = Field(description="Line of policy that decided.")
    explanation: str | None = Field(description="Reason as text, for people; the text may change.")
    created_at: str
    deadline_at: str = Field(
        description="Deadline of the approval; after the approval, of the outcome."
    )
    decided_at: str | None
    decided_by: str | None
    executing_at: str | None
    ended_at: str | None
    detail: str | None
    is_late: bool = Field(
        description="True: the plan went on without this attempt, and an outcome does not count."
    )


class ReportedOut(IntentOut):
    counted: bool = Field(
        description="True: the plan used the outcome. False: it was late and only recorded."
    )


class PlanOut(BaseModel):
    plan_id: str
    tenant_id: str
    account_id: str
    plan_type: str
    objective: str
    status: PlanStatus
    reason: str | None = Field(description="Reason why the plan is held back, paused or aborted.")
    completion_reason: Literal["objective_met", "all_steps_done"] | None
    steps: list[StepOut]
    intents: list[IntentOut] = Field(
        description="Intents of the plan: all of them; in a list only those under way."
    )
    facts: dict[str, Any]
    constraints: dict[str, Any]
    source: str = Field(description="Origin of the plan: `caller`, `proposer` or `decision`.")
    correlation_id: str | None
    version: int = Field(description="Version of the draft, one higher after each change.")
    created_at: str
    created_by: str
    approved_at: str | None
    approved_by: str | None
    activated_at: str | None
    expires_at: str
    ended_at: str | None
    next_at: str | None = Field(description="Time of the next automatic step.")


class ProposedOut(PlanOut):
    dropped: list[dict[str, str]] = Field(
        description="Proposed steps that were dropped: `place` and `message` of each."
    )


class PlanEntryOut(BaseModel):
    seq: int
    at: str
    kind: str
    status: str | None = Field(description="Status of the plan after the entry.")
    reason: str | None
    step_id: str | None
    attempt: int | None
    data: dict[str, Any]


class ChoiceOut(BaseModel):
    deed: str
    call: str = Field(description="HTTP request that carries out the choice.")
    words: str


class WhyOut(BaseModel):
    plan_id: str
    tenant_id: str
    account_id: str
    plan_type: str
    status: PlanStatus
    reason: str | None
    waits_for: str = Field(description="Cause of the wait as text; the text may change.")
    until: str | None = Field(description="Time of the next automatic step.")
    expires_at: str
    next_step: StepOut | None
    intent: IntentOut | None = Field(description="Intent under way.")
    steps: list[StepOut]
    recent: list[PlanEntryOut] = Field(
        description="Newest ledger entries of the plan, oldest first."
    )
    can: list[ChoiceOut] = Field(description="Choices that a person has now, most useful first.")


class ActExplainedOut(BaseModel):
    kind: Literal["plan", "intent"]
    id: str
    plan_id: str
    result: str = Field(
        description="Result: ACTIVATED or HELD for a plan, the approval for an intent."
    )
    reason: str | None
    explanation: str = Field(description="Reason as text, for people; the text may change.")
    clause: str | None = Field(description="Line of policy that decided.")
    at: str
    entry_id: str | None = Field(
        description="Id of the ledger entry; null: not decided yet, evaluated now."
    )
    policy_version: int


class ActExplainOut(BaseModel):
    explained: ActExplainedOut
    checks: list[CheckOut]
    binding_check: str | None
    earliest_pass_at: str | None
    smallest_change: str | None
    agrees: bool = Field(description="True: replaying the record gives the recorded result.")
