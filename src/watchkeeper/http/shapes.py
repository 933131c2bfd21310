"""The forms of the answers, as the API's description shows them."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    next_cursor: str | None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """`TenantPage` for tenants: the name that generated clients give to the class."""
        return f"{params[0].__name__.removesuffix('Out')}Page"


class VerdictOut(BaseModel):
    decision_id: str
    result: Literal["ALLOW", "DEFER", "SKIP"]
    reason: str | None = Field(description="Reason code, stable; null for ALLOW.")
    explanation: str = Field(description="Reason as text, for people; the text may change.")
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
    run: RunOut | None = Field(description="Run that the ALLOW caused.")


class DecisionTurnOut(BaseModel):
    turn_id: str
    state: Literal["running", "completed", "failed", "cancelled"]
    effective_model: str
    reserved_credits_micro: int
    settlement_method: Literal["actual", "estimated", "released"] | None
    charged_credits_micro: int | None
    event_id: str | None
    event_status: str | None
    event_at: str | None


class ShownDecisionOut(DecisionOut):
    turns: list[DecisionTurnOut] = Field(description="Turns that metered the run, newest first.")


class TurnOut(BaseModel):
    turn_id: str
    tenant_id: str
    request_id: str
    user_id: str | None
    decision_id: str | None = Field(description="Id of the decision whose run the turn meters.")
    state: Literal["running", "completed", "failed", "cancelled"]
    selected_model: str = Field(description="Model of the request.")
    effective_model: str = Field(description="The model to use: quota was reserved for it.")
    policy_version: int
    estimated_input_tokens: int
    max_output_tokens: int
    reserved_credits_micro: int
    reserved_at: str
    started_at: str | None
    progressed_at: str
    ended_at: str | None
    ended_by: str | None
    settlement_method: Literal["actual", "estimated", "released"] | None
    input_tokens: int | None
    output_tokens: int | None
    charged_credits_micro: int | None
    computed_credits_micro: int | None = Field(
        description="Micro-credits of the usage, before the cap."
    )
    overshoot_capped: bool | None
    event_id: str | None = Field(description="Id of the usage event in the outbox.")


class ReservedTurnOut(TurnOut):
    existing: bool = Field(description="True: the request id was known, and this is its turn.")


class ShownTurnOut(TurnOut):
    event_status: str | None = Field(
        description="State of the usage event: pending, processing, delivered, dead or discarded."
    )
    event_at: str | None


class SettlementOut(BaseModel):
    turn_id: str
    won: bool = Field(description="True if this call ended the turn.")
    state: Literal["running", "completed", "failed", "cancelled"]
    settlement_method: Literal["actual", "estimated", "released"] | None
    charged_credits_micro: int | None
    overshoot_capped: bool | None
    event_id: str | None


class QuotaBucketOut(BaseModel):
    user_id: str | None = Field(description="Id of the user; null: the bucket of the whole tenant.")
    period: Literal["daily", "monthly"]
    bucket: str = Field(
        description="Name of the bucket: `total`, or a model tier such as `tier:premium`."
    )
    starts_at: str
    next_reset_at: str = Field(description="Start of the next period, with nothing used.")
    limit: int | None = Field(description="Limit in micro-credits; null: unlimited.")
    spent: int
    reserved: int
    remaining: int | None
    turns_reserved: int
    turns_settled: int
    input_tokens: int
    output_tokens: int


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
    earliest_pass_at: str | None = Field(
        description="Time from which a new event of the account and type is allowed, if"
        " nothing else happens and waiting retries run when due. Null for an ALLOW, or never."
    )
    never_passes_because: str | None
    smallest_change: Any
    no_change_because: str | None
    agrees: bool = Field(description="True: replaying the record gives the recorded verdict.")
    run: RunOut | None = Field(description="Run that the ALLOW caused, as it is now.")


class TenantOut(BaseModel):
    tenant_id: str
    name: str | None
    tier: str | None
    installed_at: str | None
    created_at: str


class ApiKeyOut(BaseModel):
    key_id: str
    tenant_id: str | None = Field(description="Id of the tenant; null: all tenants.")
    role: str
    expires_at: str | None
    revoked_at: str | None
    created_at: str
    created_by: str


class NewApiKeyOut(ApiKeyOut):
    key: str | None = Field(description="API key, shown once; null in a repeated answer.")


class VersionOut(BaseModel):
    version: int
    hash: str


class AppliedOut(VersionOut):
    warnings: list[str] = Field(description="Tenants and tiers that do not match the document.")


class PolicyOut(VersionOut):
    document: str = Field(description="Policy document, as TOML.")


class AccountOut(BaseModel):
    account_id: str
    posture: str | None
    lifecycle_state: str | None
    attributes: dict[str, Any]
    version: int
    created_at: str
    updated_at: str
    run_state: dict[str, Any]


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


class SinkOut(BaseModel):
    name: str
    tenant_id: str | None = Field(description="Id of the tenant; null: all tenants.")
    namespace: str
    topic: str
    kind: Literal["webhook", "nats"]
    url: str = Field(description="URL to deliver to, without user, password and query.")
    old_secret_until: str | None = Field(
        description="Time until which the previous secret signs too."
    )
    set_by: str
    created_at: str
    updated_at: str


class SinkSetOut(SinkOut):
    secret: str | None = Field(
        description="Secret for signatures; shown once, if it was generated by this call."
    )
    warning: str | None = Field(
        description="Warning that the topic may be misspelled, with the nearest name."
    )


class KillSwitchOut(BaseModel):
    tenant_id: str | None = Field(description="Id of the tenant; null: all tenants.")
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


class CheckpointOut(BaseModel):
    tenant_id: str
    seq: int
    hash: str
    at: str
    form: int


class BreakOut(BaseModel):
    seq: int
    entry_id: str | None
    what: Literal["changed", "moved", "missing", "cut", "unlinked", "rewritten"]
    why: str = Field(description="Reason as text, for people; the text may change.")


class ChainOut(BaseModel):
    tenant_id: str
    clean: bool
    first_broken: BreakOut | None
    broken: list[BreakOut]
    after_seq: int = Field(description="Position before the first verified entry.")
    entries: int = Field(description="Number of verified entries.")
    sealed_seq: int
    sealed_hash: str = Field(
        description="Hash at `sealed_seq`; both are a checkpoint to store elsewhere."
    )
    unsealed: int = Field(description="Number of entries without a hash yet.")
    pruned_to: int
    checkpoint: CheckpointOut | None = Field(
        description="Checkpoint that the chain was compared with."
    )


class MessageOut(BaseModel):
    id: str
    tenant_id: str
    namespace: str
    topic: str
    status: Literal["pending", "processing", "delivered", "dead"]
    unhandled: bool = Field(description="True: no sink or handler takes the message.")
    attempts: int
    generation: int = Field(description="Number of times the message was redriven.")
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
    ran: dict[str, int] = Field(
        description="Number of due messages by result, such as delivered or dead."
    )
