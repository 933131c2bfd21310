"""The forms of the answers about reports and milestones.

A report is answered as it was stored; these describe it, and a test holds them to the document.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class WindowOut(BaseModel):
    since: str
    until: str


class CountOut(BaseModel):
    value: int
    how: str = Field(description="Method of counting.")
    window: WindowOut
    unit: str


class LineOut(BaseModel):
    label: str = Field(description="Result, state or kind that is counted.")
    count: CountOut
    detail: str | None = Field(description="Reason; null: none.")
    name: str | None = Field(description="Name from outside, such as a topic.")


class HeaderOut(BaseModel):
    report_id: str
    trigger: str
    tenant_id: str
    tenant_name: str | None
    installed_at: str | None
    generated_at: str
    window: WindowOut
    window_from: str
    entries: CountOut
    last_entry: CountOut
    policy_version: int


class ConnectorCountsOut(BaseModel):
    connector_id: str
    pulls: CountOut
    units: CountOut
    signals: CountOut


class CollectedOut(BaseModel):
    signals: CountOut
    pulls: CountOut
    units: CountOut
    connectors: list[ConnectorCountsOut]


class CoverageOut(BaseModel):
    connector_id: str
    state: Literal["AVAILABLE", "PARTIAL", "MISSING", "NOT_PERMITTED"]
    reason: str
    pulls: list[LineOut]


class ObservationsOut(BaseModel):
    decisions: list[LineOut]
    runs: list[LineOut]
    plans: list[LineOut]
    steps: list[LineOut]
    turns: list[LineOut]
    credits_settled: CountOut
    events_delivered: list[LineOut]
    events_dead: list[LineOut]


class EstimateOut(BaseModel):
    of: str
    value: int
    unit: str
    basis: CountOut
    horizon: WindowOut


class ForecastOut(BaseModel):
    is_estimate: str
    method: str
    estimates: list[EstimateOut]


class NotEnoughOut(BaseModel):
    statement: str
    observed: CountOut
    needed: CountOut


class SeriesOut(BaseModel):
    of: str
    label: str | None
    unit: str
    how: str
    window: WindowOut
    starts_at: str
    bucket_seconds: int
    values: list[int]


class ReportOut(BaseModel):
    report_id: str
    trigger: str = Field(
        description="Origin of the report: MANUAL, or a milestone such as AUTO_12H."
    )
    tenant_id: str
    generated_at: str
    header: HeaderOut
    collected: CollectedOut
    coverage: list[CoverageOut]
    observations: ObservationsOut
    forecast: ForecastOut | NotEnoughOut
    series: list[SeriesOut]
    format: int


class ReportSummaryOut(BaseModel):
    report_id: str
    trigger: str
    tenant_id: str
    generated_at: str
    window: WindowOut


class MilestoneOut(BaseModel):
    tenant_id: str
    milestone: str
    after_hours: int | None = Field(
        description="Hours after installation; null: the policy no longer has the milestone."
    )
    due_at: str | None
    outcome: Literal["GENERATED", "MISSED"] | None = Field(
        description="Final outcome; null: none yet."
    )
    report_id: str | None
    generated_at: str | None
    missed_at: str | None
    last_run_at: str | None
    attempts: int
    failure_count: int
    last_error: str | None
    last_error_at: str | None
    backoff_until: str | None
