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
    heat_score: float = Field(
        description="Heat score from 0 to 1: the weighted sum of the factors."
    )
    heat_tier: Tier
    factors: FactorsOut
    entered_at: str = Field(description="Time at which the account entered the heat tier.")
    computed_at: str
    updated_at: str | None = Field(
        description="Time at which the heat was last stored; null: never."
    )


class WarmAccountOut(AccountOut):
    heat: HeatOut


class NextPullOut(BaseModel):
    connector_id: str
    next_pull_at: str
    slot_at: str = Field(description="Slot of the cadence; a limit may move the pull.")
    tier: Tier
    depth: Depth
    pulled_at: str | None = Field(description="Time at which the cadence last scheduled a pull.")


class TierChangeOut(BaseModel):
    at: str = Field(description="Time at which the change was computed.")
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
    tier_history: list[TierChangeOut] = Field(
        description="Heat tier changes, newest first, at most 50."
    )
    heat_days: list[HeatDayOut] = Field(
        description="Heat at the end of each day, newest first, if the policy keeps it."
    )
    plans: list[PlanOut] = Field(description="Plans of the account, newest first, at most 20.")


class ChangedAccountOut(ShownAccountOut):
    verdicts: list[VerdictOut] = Field(
        description="Verdicts on the triggers that the change fired."
    )


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
    reason: str | None = Field(description="Reason code of a refusal, stable; null: scheduled.")
    explanation: str = Field(description="Reason as text, for people; the text may change.")
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
    expires_at: str = Field(description="Time until which a pull of the same id is a duplicate.")
    signals: int | None = Field(description="Number of signals that the pull returned.")
    error: str | None
    message_id: str = Field(description="Id of the message in the outbox.")


class UnitsUsedOut(BaseModel):
    units_consumed: int
    pull_count: int
    remaining: int | None


class PullBudgetOut(UnitsUsedOut):
    tenant_id: str
    date_key: str = Field(description="UTC day.")
    remaining: int | None = Field(
        description="Units left on the day; null: no budget, so nothing is pulled."
    )
    max_pull_units_per_day: int | None
    max_per_connector_per_day: int | dict[str, int] | None
    connectors: dict[str, UnitsUsedOut]


class ConnectorOfTenantOut(BaseModel):
    tenant_id: str
    rate_per_second: float | None = Field(
        description="Pulls per second of the tenant, beside the shared rate."
    )
    burst: int
    breaker: Literal["closed", "open", "half_open"]
    failures: int = Field(description="Number of failures in a row.")
    open_until_at: str | None


class ConnectorOut(BaseModel):
    connector_id: str
    rate_per_second: float | None
    burst: int
    max_concurrency: int | None
    depth_units: dict[str, int]
    has_cadence: bool = Field(
        description="True: the connector pulls every account at the cadence of its heat tier."
    )
    held_until_at: str | None = Field(
        description="Time until which the other system asked to wait."
    )
    slots_in_use: int = Field(
        description="Number of pulls under way; counted if there is a max_concurrency."
    )
    tenant: ConnectorOfTenantOut | None = Field(
        description="Rate and breaker of the tenant; null: the request named no tenant."
    )
