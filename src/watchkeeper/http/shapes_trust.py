"""The forms of the answers that are about trying and proving."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from watchkeeper.http.shapes import CheckOut


class FlipOut(BaseModel):
    was: str = Field(description="The recorded verdict, such as DEFER COOLDOWN.")
    now: str = Field(description="Verdict under the new policy.")
    count: int


class ChangeOut(BaseModel):
    path: str
    before: int | str | None
    after: int | str | None


class AgainstOut(BaseModel):
    version: int
    hash: str


class PlanRunsOut(BaseModel):
    before: int
    after: int
    saved: int
    added: int


class PlanCreditsOut(BaseModel):
    saved: int = Field(description="Micro-credits charged for the runs that would not happen.")
    added: int = Field(
        description="Estimated micro-credits of added runs, at the tenant's mean charge."
    )
    metered_runs: int


class DelayOut(BaseModel):
    signals_before: int
    signals_after: int
    mean_seconds_before: float | None
    mean_seconds_after: float | None


class TenantPlanOut(BaseModel):
    tenant_id: str
    events: int
    flips: int
    retimed: int
    runs_before: int
    runs_after: int
    accounts_flipped: int


class InferredOut(BaseModel):
    seq: int
    at: str
    decision_id: str


class AccountPlanOut(BaseModel):
    tenant_id: str
    account_id: str
    flips: int
    runs: int = Field(description="Number of runs more than recorded; negative: fewer.")
    inferred_from: InferredOut = Field(
        description="First verdict that differs; later ones of the account are inferred."
    )


class PolicyPlanOut(BaseModel):
    flips: int
    retimed: int = Field(description="Number of deferrals that would move to another time.")
    events: int
    since: str
    until: str
    against: AgainstOut
    changes: list[ChangeOut]
    runs: PlanRunsOut
    credits_micro: PlanCreditsOut
    by_change: list[FlipOut]
    signal_delay: DelayOut
    hot_signal_delay: DelayOut
    tenants: list[TenantPlanOut]
    accounts_flipped: int
    accounts: list[AccountPlanOut]


class BundlePolicyOut(BaseModel):
    version: int
    hash: str
    text: str
    effective: str


class BundleOut(BaseModel):
    format: str
    format_version: int
    tenant_id: str
    decision_id: str
    seq: int
    entry: str = Field(description="Text of the ledger entry, byte for byte.")
    policy: BundlePolicyOut
    hash: str


class ProspectOut(BaseModel):
    trigger_type: str
    result: Literal["ALLOW", "DEFER", "SKIP"]
    reason: str | None
    explanation: str
    binding_check: str | None
    earliest_pass_at: str | None = Field(
        description="Time from which a new event of the account and type is allowed, if"
        " nothing else happens and waiting retries run when due. Null for an ALLOW, or never."
    )
    never_passes_because: str | None
    smallest_change: Any
    no_change_because: str | None


class WhyNotOut(BaseModel):
    tenant_id: str
    account_id: str
    at: str
    policy_version: int
    triggers: list[ProspectOut]


class ShadowOut(BaseModel):
    name: str
    hash: str
    author: str
    reason: str
    set_at: str


class ShadowTenantOut(BaseModel):
    tenant_id: str
    events: int
    flips: int


class ShadowFlipOut(BaseModel):
    tenant_id: str
    seq: int
    decision_id: str
    account_id: str
    was: str
    now: str


class DivergenceOut(BaseModel):
    events: int
    flips: int
    runs_before: int
    runs_after: int
    by_change: list[FlipOut]
    tenants: list[ShadowTenantOut]
    newest: list[ShadowFlipOut]


class ShownShadowOut(ShadowOut):
    document: str
    divergence: DivergenceOut


class RefusedOut(BaseModel):
    kind: Literal["pull", "turn"]
    id: str
    entry_id: str
    at: str
    reason: str


class RefusalOut(BaseModel):
    refused: RefusedOut
    checks: list[CheckOut]
    binding_check: str | None
    earliest_pass_at: str | None
    smallest_change: str | None
