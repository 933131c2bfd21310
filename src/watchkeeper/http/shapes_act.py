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
    attempts: int = Field(description="How many were started.")
    retry_at: str | None = Field(description="When a failed one is tried again by itself.")
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
        description="Decision of the policy when the action was asked for."
    )
    reason: str | None = Field(description="Why policy decided so; or `outcome_unknown`.")
    clause: str | None = Field(description="The line of policy that said so.")
    explanation: str | None = Field(description="For people; the words may change.")
    created_at: str
    deadline_at: str = Field(description="Of the approval; once it is given, of the outcome.")
    decided_at: str | None
    decided_by: str | None
    executing_at: str | None
    ended_at: str | None
    detail: str | None
    is_late: bool = Field(description="Its plan went on without it: no outcome counts any more.")


class ReportedOut(IntentOut):
    counted: bool = Field(description="False: it came late, is recorded, and changed nothing.")


class PlanOut(BaseModel):
    plan_id: str
    tenant_id: str
    account_id: str
    plan_type: str
    objective: str
    status: PlanStatus
    reason: str | None = Field(description="Why it is held back, paused or aborted.")
    completion_reason: Literal["objective_met", "all_steps_done"] | None
    steps: list[StepOut]
    intents: list[IntentOut] = Field(
        description="Of one plan: every attempt. In a list: those under way."
    )
    facts: dict[str, Any]
    constraints: dict[str, Any]
    source: str = Field(description="Origin of the plan: `caller`, `proposer` or `decision`.")
    correlation_id: str | None
    version: int = Field(description="Grows each time the draft is written anew.")
    created_at: str
    created_by: str
    approved_at: str | None
    approved_by: str | None
    activated_at: str | None
    expires_at: str
    ended_at: str | None
    next_at: str | None = Field(description="When something happens by itself.")


class ProposedOut(PlanOut):
    dropped: list[dict[str, str]] = Field(
        description="Suggested steps that are not allowed: `place` and `message`."
    )


class PlanEntryOut(BaseModel):
    seq: int
    at: str
    kind: str
    status: str | None = Field(description="Of the plan, afterwards.")
    reason: str | None
    step_id: str | None
    attempt: int | None
    data: dict[str, Any]


class ChoiceOut(BaseModel):
    deed: str
    call: str = Field(description="The request that does it.")
    words: str


class WhyOut(BaseModel):
    plan_id: str
    tenant_id: str
    account_id: str
    plan_type: str
    status: PlanStatus
    reason: str | None
    waits_for: str = Field(description="In words; they may change.")
    until: str | None = Field(description="When something happens by itself.")
    expires_at: str
    next_step: StepOut | None
    intent: IntentOut | None = Field(description="The attempt under way.")
    steps: list[StepOut]
    recent: list[PlanEntryOut] = Field(description="The last lines of its ledger, oldest first.")
    can: list[ChoiceOut] = Field(description="Choices of a person now, the most helpful first.")


class ActExplainedOut(BaseModel):
    kind: Literal["plan", "intent"]
    id: str
    plan_id: str
    result: str = Field(description="ACTIVATED or HELD of a plan, the approval of an intent.")
    reason: str | None
    explanation: str = Field(description="In words; they may change.")
    clause: str | None = Field(description="The line of policy that bound.")
    at: str
    entry_id: str | None = Field(description="Null: as it would be decided now.")
    policy_version: int


class ActExplainOut(BaseModel):
    explained: ActExplainedOut
    checks: list[CheckOut]
    binding_check: str | None
    earliest_pass_at: str | None
    smallest_change: str | None
    agrees: bool = Field(description="The record decides to what was recorded again.")
