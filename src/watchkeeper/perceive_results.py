"""What callers get of looking: the same in Python, over HTTP and on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from watchkeeper.core import limits
from watchkeeper.core.envelope import retry_after_seconds
from watchkeeper.core.heat import ONE, Depth, HeatState, Score
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.limits import BreakerState
from watchkeeper.core.pulls import EVERY, Budget, Consumed, PullReason
from watchkeeper.core.time import DAY, Instant, to_datetime, to_iso
from watchkeeper.moves.pulls import Scheduled
from watchkeeper.store.connectors import Connector, ConnectorState
from watchkeeper.store.heat_days import HeatDay
from watchkeeper.store.json import loads
from watchkeeper.store.next_pulls import NextPull
from watchkeeper.store.pulls import Pull

MILLI = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """Heat of an account at `computed_at`: scores from 0 to 1, and its heat tier."""

    heat_score: float
    heat_tier: str  # HOT, WARM or COLD
    posture_score: float
    signal_recency: float
    signal_volume: float
    entered_at: datetime  # since when it has this tier
    computed_at: datetime
    updated_at: datetime | None  # when it was last written down; None: not yet

    def to_json(self) -> dict[str, Any]:
        return {
            "heat_score": self.heat_score,
            "heat_tier": self.heat_tier,
            "factors": {
                "posture_score": self.posture_score,
                "signal_recency": self.signal_recency,
                "signal_volume": self.signal_volume,
            },
            "entered_at": _json(self.entered_at),
            "computed_at": _json(self.computed_at),
            "updated_at": _json(self.updated_at),
        }


def heat_of(state: HeatState, score: Score, updated_at: Instant | None) -> Heat:
    return Heat(
        heat_score=score.heat / ONE,
        heat_tier=state.tier.name,
        posture_score=score.posture / ONE,
        signal_recency=score.recency / ONE,
        signal_volume=score.volume / ONE,
        entered_at=to_datetime(state.entered_at),
        computed_at=to_datetime(state.computed_at),
        updated_at=_moment(updated_at),
    )


def next_pull_json(pull: NextPull, depth: Depth) -> dict[str, Any]:
    return {
        "connector_id": pull.connector_id,
        "next_pull_at": to_iso(pull.due_at),
        "slot_at": to_iso(pull.slot_at),
        "tier": pull.tier.name,
        "depth": depth.name,
        "pulled_at": _json(_moment(pull.pulled_at)),
    }


def heat_day_json(found: HeatDay) -> dict[str, Any]:
    return {
        "date": to_iso(Instant(found.day * DAY))[:10],
        "heat_score": found.heat_micro / ONE,
        "heat_tier": found.tier.name,
    }


def tier_change_json(found: Recorded) -> dict[str, Any]:
    """A line of the ledger that tells of another tier."""
    data = loads(found.entry.data)
    return {
        "at": to_iso(found.entry.at),
        "entered_at": to_iso(data["entered_at"]),
        "tier": found.entry.result,
        "was": data["was"],
        "heat_score": data["heat_micro"] / ONE,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledPull:
    """A pull that was scheduled. `budget_remaining` is what is left after it."""

    pull_job_id: str
    tenant_id: str
    account_id: str
    connector_id: str
    depth: str
    depth_units: int
    scheduled_at: datetime
    budget_remaining: int
    correlation_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        told = {name: _json(getattr(self, name)) for name in self.__slots__}
        if self.correlation_id is None:
            del told["correlation_id"]
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class PullAnswer:
    """Answer to a pull: scheduled, or the reason and, if known, the time to retry."""

    scheduled: bool
    reason: PullReason | None
    explanation: str
    job: ScheduledPull | None
    retry_at: datetime | None = None
    retry_after_seconds: int | None = None

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "scheduled": self.scheduled,
            "reason": self.reason,
            "explanation": self.explanation,
            "job": None if self.job is None else self.job.to_json(),
        }
        if self.retry_at is not None:
            told["retry_at"] = _json(self.retry_at)
        return told


def pull_answer_of(answer: Scheduled, tenant_id: str) -> PullAnswer:
    until = answer.retry_at
    return PullAnswer(
        scheduled=answer.is_scheduled,
        reason=answer.reason,
        explanation=answer.explanation or "it is on its way to the connector",
        job=_scheduled(answer, tenant_id) if answer.is_scheduled else None,
        retry_at=_moment(until),
        retry_after_seconds=None if until is None else retry_after_seconds(until, answer.at),
    )


def _scheduled(answer: Scheduled, tenant_id: str) -> ScheduledPull:
    job = answer.job
    assert answer.remaining is not None
    return ScheduledPull(
        pull_job_id=job.pull_job_id,
        tenant_id=tenant_id,
        account_id=job.account_id,
        connector_id=job.connector_id,
        depth=job.depth.name,
        depth_units=answer.units,
        scheduled_at=to_datetime(answer.at),
        budget_remaining=answer.remaining,
        correlation_id=job.correlation_id,
    )


@dataclass(frozen=True, slots=True)
class UnitsUsed:
    """What was pulled on a day; `remaining` is None where there is no budget."""

    units_consumed: int
    pull_count: int
    remaining: int | None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class PullBudget:
    """Pulls of a tenant on one UTC day, in all and by connector, with their limits."""

    date_key: str
    units_consumed: int
    pull_count: int
    remaining: int | None  # None: there is no budget, so nothing may be pulled
    max_pull_units_per_day: int | None
    max_per_connector_per_day: int | dict[str, int] | None
    connectors: dict[str, UnitsUsed] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in self.__slots__}
        return {**told, "connectors": {n: used.to_json() for n, used in self.connectors.items()}}


def pull_budget_of(
    day: int,
    budget: Budget | None,
    total: Consumed,
    left: int | None,
    connectors: Mapping[str, tuple[Consumed, int | None]],
) -> PullBudget:
    return PullBudget(
        date_key=to_datetime(Instant(day * DAY)).date().isoformat(),
        units_consumed=total.units,
        pull_count=total.pulls,
        remaining=left,
        max_pull_units_per_day=None if budget is None else budget.total,
        max_per_connector_per_day=None if budget is None else _caps(budget),
        connectors={
            name: UnitsUsed(used.units, used.pulls, left)
            for name, (used, left) in connectors.items()
        },
    )


def _caps(budget: Budget) -> int | dict[str, int] | None:
    """As it was asked for: one number for every connector, or by connector."""
    if set(budget.connectors) == {EVERY}:
        return budget.connectors[EVERY]
    return dict(budget.connectors) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorOfTenant:
    """A connector as one tenant has it: a rate of its own, and how it has done lately."""

    tenant_id: str
    rate_per_second: float | None
    burst: int
    breaker: BreakerState
    failures: int  # in a row
    open_until_at: datetime | None

    def to_json(self) -> dict[str, Any]:
        return {name: _json(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSeen:
    """A connector as all tenants share it; a limit of None is none."""

    connector_id: str
    rate_per_second: float | None
    burst: int
    max_concurrency: int | None
    depth_units: dict[str, int]
    has_cadence: bool  # every account is pulled with it by its tier
    held_until_at: datetime | None  # its upstream asked for patience
    slots_in_use: int
    tenant: ConnectorOfTenant | None = None

    def to_json(self) -> dict[str, Any]:
        told = {name: _json(getattr(self, name)) for name in self.__slots__}
        return {**told, "tenant": None if self.tenant is None else self.tenant.to_json()}


def connector_of(
    shared: Connector, slots: int, now: Instant, tenant: ConnectorOfTenant | None
) -> ConnectorSeen:
    held = shared.held_until_at
    return ConnectorSeen(
        connector_id=shared.connector_id,
        rate_per_second=_rate(shared.milli_per_second),
        burst=shared.burst,
        max_concurrency=shared.max_concurrency,
        depth_units={"SHALLOW": shared.shallow_units, "DEEP": shared.deep_units},
        has_cadence=shared.has_cadence,
        held_until_at=None if held is None or held <= now else to_datetime(held),
        slots_in_use=slots,
        tenant=tenant,
    )


def connector_of_tenant(tenant_id: str, own: ConnectorState, now: Instant) -> ConnectorOfTenant:
    return ConnectorOfTenant(
        tenant_id=tenant_id,
        rate_per_second=_rate(own.milli_per_second),
        burst=own.burst,
        breaker=limits.state_of(own.breaker, now),
        failures=own.breaker.failures,
        open_until_at=_moment(own.breaker.open_until_at),
    )


def pull_json(pull: Pull, tenant_id: str) -> dict[str, Any]:
    """A pull that was scheduled, and how it went."""
    times = ("scheduled_at", "started_at", "ended_at", "expires_at")
    return {
        "pull_job_id": pull.pull_job_id,
        "tenant_id": tenant_id,
        "account_id": pull.account_id,
        "connector_id": pull.connector_id,
        "depth": pull.depth.name,
        "depth_units": pull.units,
        "origin": pull.origin,
        "state": str(pull.state),
        **{name: _json(_moment(getattr(pull, name))) for name in times},
        "signals": pull.signals,
        "error": pull.error,
        "message_id": pull.message_id,
    }


def _rate(milli: int | None) -> float | None:
    return None if milli is None else milli / MILLI


def _moment(at: Instant | None) -> datetime | None:
    return None if at is None else to_datetime(at)


def _json(value: object) -> object:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
