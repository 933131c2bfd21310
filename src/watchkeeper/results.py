"""What callers and handlers get and give: small frozen classes, never None for a refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from watchkeeper.core.admission import Reason, Result
from watchkeeper.core.envelope import retry_after_seconds
from watchkeeper.core.explain import Check
from watchkeeper.core.phrases import phrase
from watchkeeper.core.time import Instant, ceil_epoch, from_datetime, to_datetime, to_iso
from watchkeeper.moves.admission import Decided
from watchkeeper.store.runs import RunStatus, StoredRun
from watchkeeper.store.tenant_facts import TenantFacts


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on one trigger. `allowed` is true for ALLOW."""

    decision_id: str
    result: Result
    reason: Reason | None
    explanation: str
    evaluated_at: datetime
    policy_version: int
    defer_until_epoch: int | None = None
    retry_after_seconds: int | None = None
    duplicate_of: str | None = None

    @property
    def allowed(self) -> bool:
        return self.result is Result.ALLOW

    def to_json(self) -> dict[str, Any]:
        """As the HTTP API gives it."""
        data: dict[str, Any] = {
            "decision_id": self.decision_id,
            "result": self.result,
            "reason": self.reason,
            "explanation": self.explanation,
            "evaluated_at": self.evaluated_at.isoformat().replace("+00:00", "Z"),
            "defer_until_epoch": self.defer_until_epoch,
            "retry_after_seconds": self.retry_after_seconds,
            "policy_version": self.policy_version,
        }
        if self.duplicate_of is not None:
            data["duplicate_of"] = self.duplicate_of
        return data


@dataclass(frozen=True, slots=True)
class ShownRun:
    """The run that an ALLOW caused: its state, its moments, and how it ended."""

    state: RunStatus
    started_at: datetime | None = None
    ended_at: datetime | None = None
    note: str | None = None
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As the HTTP API gives it."""
        return {
            "state": self.state,
            "started_at": _iso(self.started_at),
            "ended_at": _iso(self.ended_at),
            "note": self.note,
            "error": self.error,
        }


def run_of(decided: Decided, run: StoredRun | None) -> ShownRun | None:
    """None where nothing was allowed to run. An ALLOW whose run has not begun requested it."""
    if decided.verdict.result is not Result.ALLOW:
        return None
    if run is None:
        return ShownRun(RunStatus.REQUESTED)
    started_at, ended_at = _moment(run.started_at), _moment(run.ended_at)
    return ShownRun(run.state, started_at, ended_at, run.note, run.error)


def _moment(at: Instant | None) -> datetime | None:
    return None if at is None else to_datetime(at)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else to_iso(from_datetime(moment))


def verdict_of(decided: Decided) -> Verdict:
    verdict = decided.verdict
    until = verdict.defer_until
    return Verdict(
        decision_id=decided.decision_id,
        result=verdict.result,
        reason=verdict.reason,
        explanation=phrase(verdict, decided.switch, decided.switch_reason),
        evaluated_at=to_datetime(decided.now),
        policy_version=decided.policy_version,
        defer_until_epoch=None if until is None else ceil_epoch(until),
        retry_after_seconds=None if until is None else retry_after_seconds(until, decided.now),
        duplicate_of=None if verdict.duplicate is None else verdict.duplicate.decision_id,
    )


def check_json(check: Check) -> dict[str, Any]:
    """One line of an explanation."""
    return {
        "name": check.name,
        "compared": check.compared,
        "threshold": check.threshold,
        "source": check.source,
        "outcome": check.outcome,
        "compared_value": check.value,
        "threshold_value": check.limit,
    }


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant. Its tenant tier is one of the policy, or None."""

    tenant_id: str
    name: str | None
    tier: str | None
    installed_at: datetime | None
    created_at: datetime


def tenant_of(facts: TenantFacts) -> Tenant:
    since = facts.installed_at
    return Tenant(
        tenant_id=facts.tenant_id,
        name=facts.name,
        tier=facts.tier,
        installed_at=None if since is None else to_datetime(since),
        created_at=to_datetime(facts.created_at),
    )


@dataclass(frozen=True, slots=True)
class Receipt:
    """Answer to one signal."""

    signal_id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class PendingReceipt:
    """A signal that was written in your own transaction. It has no verdict yet.

    A worker decides on it after your COMMIT, by default within a second.
    """

    signal_id: str
    message_id: str


@dataclass(frozen=True, slots=True)
class SignalSeen:
    """A signal as the decision handler gets it."""

    signal_id: str
    type: str
    occurred_at: datetime
    correlation_id: str | None
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """Argument of a decision handler: one ALLOW, and the signals since the last run."""

    decision_id: str
    tenant_id: str
    account_id: str
    trigger_type: str
    evaluated_at: datetime
    idempotency_key: str
    correlation_id: str | None
    signals: tuple[SignalSeen, ...]
    more_signals: bool  # there were more than the policy lets a run be told; the newest are here
    traceparent: str | None = None  # the trace that asked for it (W3C Trace Context)
    turn_id: str | None = None  # where the run is metered
    effective_model: str | None = None  # the model that quota was reserved for: use this one


@dataclass(frozen=True, slots=True)
class Pull:
    """Argument of a connector: the account to pull, and the depth."""

    pull_job_id: str
    tenant_id: str
    account_id: str
    connector_id: str
    depth: str  # SHALLOW or DEEP
    depth_units: int
    scheduled_at: str
    budget_remaining: int | None
    correlation_id: str | None = None


@dataclass(frozen=True, slots=True)
class PullResult:
    """Result of a connector: signals, as `App.signal_many` takes them.

    A signal without an account is about the pulled account; a signal without an id gets
    an id from the pull, so that a repeat is recognised.
    """

    signals: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Result of a decision handler. The note is kept with the run.

    `usage` is `{"input_tokens": n, "output_tokens": n}`, as the provider counted it; what else
    stands in it is not kept.
    """

    note: str | None = None
    usage: Mapping[str, Any] | None = None
    plans: list[dict[str, Any]] = field(default_factory=list)
