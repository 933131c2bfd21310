"""The forms of the answers, as the API's description shows them."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    next_cursor: str | None


class VerdictOut(BaseModel):
    decision_id: str
    result: Literal["ALLOW", "DEFER", "SKIP"]
    reason: str | None = Field(description="Null for ALLOW. Stable codes.")
    explanation: str = Field(description="For people; the words may change.")
    evaluated_at: str
    defer_until_epoch: int | None
    retry_after_seconds: int | None
    policy_version: int
    duplicate_of: str | None = None


class VerdictsOut(BaseModel):
    verdicts: list[VerdictOut]


class ReceiptOut(BaseModel):
    signal_id: str
    verdict: VerdictOut


class ReceiptsOut(BaseModel):
    signals: list[ReceiptOut]


class RunOut(BaseModel):
    state: Literal["REQUESTED", "RUNNING", "SUCCEEDED", "FAILED", "OUTCOME_UNKNOWN"]
    started_at: str | None
    ended_at: str | None
    note: str | None
    error: str | None


class DecisionOut(VerdictOut):
    tenant_id: str
    account_id: str
    trigger_type: str
    idempotency_key: str
    correlation_id: str | None
    scheduled_at: str | None
    retry_of: str | None
    run: RunOut | None = Field(description="What its ALLOW caused.")


class CheckOut(BaseModel):
    name: str
    compared: Any
    threshold: Any
    source: str | None
    outcome: str


class ExplainOut(BaseModel):
    verdict: VerdictOut
    checks: list[CheckOut]
    binding_check: str | None
    earliest_pass_at: str | None
    smallest_change: Any
    agrees: bool = Field(description="The record decides to the recorded verdict again.")


class TenantOut(BaseModel):
    tenant_id: str
    name: str | None
    tier: str | None
    installed_at: str | None
    created_at: str


class ApiKeyOut(BaseModel):
    key_id: str
    tenant_id: str | None = Field(description="Null: for all tenants.")
    role: str
    expires_at: str | None
    revoked_at: str | None
    created_at: str
    created_by: str


class NewApiKeyOut(ApiKeyOut):
    key: str | None = Field(description="Shown once. Null when the answer is repeated.")


class AppliedOut(BaseModel):
    version: int
    hash: str


class PolicyOut(AppliedOut):
    document: str = Field(description="TOML.")


class AccountOut(BaseModel):
    account_id: str
    posture: str | None
    lifecycle_state: str | None
    attributes: dict[str, Any]
    version: int
    created_at: str
    updated_at: str
    run_state: dict[str, Any]


class ChangedAccountOut(AccountOut):
    verdicts: list[VerdictOut] = Field(description="Of the triggers that the change was.")


class ScheduleOut(BaseModel):
    schedule_id: str
    account_id: str | None
    trigger_type: str
    cron: str
    timezone: str
    catch_up: str
    spread_seconds: int | None
    next_fire_at: str
    updated_at: str


class KillSwitchOut(BaseModel):
    tenant_id: str | None = Field(description="Null: for all tenants.")
    scope: str
    id: str | None
    on: bool
    reason: str


class KillSwitchInForceOut(KillSwitchOut):
    set_by: str
    set_at: str


class EntryOut(BaseModel):
    seq: int
    entry_id: str
    at: str
    stage: str
    kind: str
    subject: str
    correlation_id: str | None
    policy_version: int
    trigger_type: str | None
    result: str | None
    reason: str | None
    data: dict[str, Any]


class MessageOut(BaseModel):
    id: str
    tenant_id: str
    namespace: str
    topic: str
    status: Literal["pending", "processing", "delivered", "dead"]
    attempts: int
    generation: int = Field(description="How often it was redriven.")
    dedupe_key: str | None
    ordering_key: str | None
    next_attempt_at: str
    locked_until: str | None
    last_error: str | None
    dead_reason: str | None
    created_at: str
    done_at: str | None
    payload: Any


class RedrivenOut(BaseModel):
    redriven: int


class ClockOut(BaseModel):
    now: str
    virtual: bool


class AdvancedOut(BaseModel):
    now: str
    steps: int
    ran: dict[str, int] = Field(description="What was done on the way: delivered, dead …")
