"""The forms of the answers about looking: heat, pulls, budgets, connectors."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from watchkeeper.http.shapes import AccountOut, VerdictOut
from watchkeeper.http.shapes_act import PlanOut

Tier = Literal["HOT", "WARM", "COLD"]
Depth = Literal["SHALLOW", "DEEP"]


class FactorsOut(BaseModel):
    posture_score: float
    signal_recency: float
    signal_volume: float


class HeatOut(BaseModel):
    heat_score: float = Field(description="0 to 1: the factors, weighted.")
    heat_tier: Tier
    factors: FactorsOut
    entered_at: str = Field(description="Since when it has this tier.")
    computed_at: str
    updated_at: str | None = Field(description="When it was last written; null: not yet.")


class WarmAccountOut(AccountOut):
    heat: HeatOut


class NextPullOut(BaseModel):
    connector_id: str
    next_pull_at: str
    slot_at: str = Field(description="The slot of the cadence; a limit may have moved the pull.")
    tier: Tier
    depth: Depth
    pulled_at: str | None = Field(description="When it was scheduled by cadence last.")


class TierChangeOut(BaseModel):
    at: str = Field(description="When it was noticed.")
    entered_at: str
    tier: Tier
    was: Tier | None
    heat_score: float


class HeatDayOut(BaseModel):
    date: str
    heat_score: float
    heat_tier: Tier


class ShownAccountOut(WarmAccountOut):
    next_pulls: list[NextPullOut]
    tier_history: list[TierChangeOut] = Field(description="The newest first, at most 50.")
    heat_days: list[HeatDayOut] = Field(
        description="Where each day ended, the newest first, if policy keeps that."
    )
    plans: list[PlanOut] = Field(description="The newest first, at most 20.")


class ChangedAccountOut(ShownAccountOut):
    verdicts: list[VerdictOut] = Field(description="Of the triggers that the change was.")


class ScheduledPullOut(BaseModel):
    pull_job_id: str
    tenant_id: str
    account_id: str
    connector_id: str
    depth: Depth
    depth_units: int
    scheduled_at: str
    budget_remaining: int = Field(description="Units left today, after this pull.")
    correlation_id: str | None = None


class PullAnswerOut(BaseModel):
    scheduled: bool
    reason: str | None = Field(description="Why not. Stable codes.")
    explanation: str = Field(description="For people; the words may change.")
    job: ScheduledPullOut | None
    retry_at: str | None = None


class PullOut(BaseModel):
    pull_job_id: str
    tenant_id: str
    account_id: str
    connector_id: str
    depth: Depth
    depth_units: int
    origin: Literal["cadence", "signal", "manual"]
    state: Literal["REQUESTED", "RUNNING", "SUCCEEDED", "FAILED", "OUTCOME_UNKNOWN"]
    scheduled_at: str
    started_at: str | None
    ended_at: str | None
    expires_at: str = Field(description="Until then its id is taken.")
    signals: int | None = Field(description="How many it brought.")
    error: str | None
    message_id: str = Field(description="Its message in the outbox.")


class UnitsUsedOut(BaseModel):
    units_consumed: int
    pull_count: int
    remaining: int | None


class PullBudgetOut(UnitsUsedOut):
    tenant_id: str
    date_key: str = Field(description="The UTC day.")
    remaining: int | None = Field(description="Null: there is no budget, nothing is pulled.")
    max_pull_units_per_day: int | None
    max_per_connector_per_day: int | dict[str, int] | None
    connectors: dict[str, UnitsUsedOut]


class ConnectorOfTenantOut(BaseModel):
    tenant_id: str
    rate_per_second: float | None = Field(description="The tenant's own, beside the shared one.")
    burst: int
    breaker: Literal["closed", "open", "half_open"]
    failures: int = Field(description="In a row.")
    open_until_at: str | None


class ConnectorOut(BaseModel):
    connector_id: str
    rate_per_second: float | None
    burst: int
    max_concurrency: int | None
    depth_units: dict[str, int]
    has_cadence: bool = Field(description="Every account is pulled with it, by its tier.")
    held_until_at: str | None = Field(description="Its upstream asked for patience until then.")
    slots_in_use: int = Field(description="Counted where there is a max_concurrency.")
    tenant: ConnectorOfTenantOut | None = Field(description="Null: no tenant was named.")
