"""What a simulation found: load by the hour, budgets burning down, who was kept waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from watchkeeper.core.admission import Reason, Result
from watchkeeper.core.replay_tally import label
from watchkeeper.core.time import HOUR, SECOND, Instant, to_iso
from watchkeeper.moves.admission import Decided

QUOTA = "QUOTA_EXCEEDED"
"""What kept an account waiting that was allowed to run, and had no credits left for it."""

ECHOES = (Reason.DUPLICATE_IDEMPOTENCY_KEY, Reason.DEBOUNCED, Reason.UNKNOWN_TRIGGER_TYPE)
"""Events that are no news: a repeat, one of a flurry, a word that policy does not know."""


@dataclass(slots=True)
class Hour:
    """One hour of the simulation."""

    at: Instant
    events: int = 0
    retries: int = 0
    allowed: int = 0
    deferred: int = 0
    skipped: int = 0
    runs: int = 0
    pulls: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "at": to_iso(self.at),
            "events": self.events,
            "retries": self.retries,
            "allowed": self.allowed,
            "deferred": self.deferred,
            "skipped": self.skipped,
            "runs": self.runs,
            "pulls": self.pulls,
        }


@dataclass(slots=True)
class BurnDown:
    """One budget of one tenant: what was used of it by the end of each hour."""

    tenant_id: str
    budget: str
    unit: str
    limit: int | None
    points: list[tuple[Instant, int]] = field(default_factory=list)

    @property
    def peak(self) -> int:
        return max((used for _, used in self.points), default=0)

    @property
    def exhausted_at(self) -> Instant | None:
        """The end of the first hour that left nothing of it."""
        if self.limit is None:
            return None
        return next((at for at, used in self.points if used >= self.limit), None)

    def to_json(self) -> dict[str, Any]:
        at = self.exhausted_at
        return {
            "tenant_id": self.tenant_id,
            "budget": self.budget,
            "unit": self.unit,
            "limit": self.limit,
            "peak": self.peak,
            "exhausted_at": None if at is None else to_iso(at),
            "used": [used for _, used in self.points],
        }


@dataclass(frozen=True, slots=True)
class Starved:
    """An account that had news and no run for longer than was asked for."""

    tenant_id: str
    account_id: str
    since: Instant  # when the news came
    at: Instant  # when it had waited too long
    until: Instant | None  # when it ran; None: not within the simulation
    kept_by: str  # the last verdict before

    def to_json(self) -> dict[str, Any]:
        return {
            "tenant_id": self.tenant_id,
            "account_id": self.account_id,
            "since": to_iso(self.since),
            "at": to_iso(self.at),
            "until": None if self.until is None else to_iso(self.until),
            "kept_by": self.kept_by,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What would happen, had this come in under this policy."""

    source: str  # synthetic or recorded
    seed: int | None
    since: Instant
    until: Instant
    step_us: int
    policy_from: str  # given, in force or shipped
    policy_hash: str
    tenants: tuple[str, ...]
    accounts: int
    verdicts: dict[str, int]
    hours: tuple[Hour, ...]
    budgets: tuple[BurnDown, ...]
    starved_after_us: int
    starved: tuple[Starved, ...]  # the first first

    def total(self, name: str) -> int:
        """Over all hours: events, retries, allowed, deferred, skipped, runs, pulls."""
        return sum(getattr(hour, name) for hour in self.hours)

    @property
    def first_starved(self) -> Starved | None:
        return self.starved[0] if self.starved else None

    def to_json(self) -> dict[str, Any]:
        """The same bytes for the same arrivals and the same policy."""
        first = self.first_starved
        names = ("events", "retries", "allowed", "deferred", "skipped", "runs", "pulls")
        return {
            "source": self.source,
            "seed": self.seed,
            "since": to_iso(self.since),
            "until": to_iso(self.until),
            "step_seconds": self.step_us // SECOND,
            "policy": {"from": self.policy_from, "hash": self.policy_hash},
            "tenants": list(self.tenants),
            "accounts": self.accounts,
            "totals": {name: self.total(name) for name in names},
            "verdicts": self.verdicts,
            "starved_after_seconds": self.starved_after_us // SECOND,
            "starved_accounts": len({(one.tenant_id, one.account_id) for one in self.starved}),
            "starved_by": dict(sorted(Counter(one.kept_by for one in self.starved).items())),
            "first_starved": None if first is None else first.to_json(),
            "budgets": [one.to_json() for one in self.budgets],
            "hours": [one.to_json() for one in self.hours],
        }


class _Wait(NamedTuple):
    """An account that has news: since when, by which verdict, and whether its run is to come."""

    since: Instant
    kept_by: str = ""
    is_allowed: bool = False


class Tally:
    """Counts while a simulation goes on."""

    def __init__(self, since: Instant, until: Instant, starved_after_us: int) -> None:
        self._first = since // HOUR
        last = (until - 1) // HOUR
        self.hours = [Hour(Instant(n * HOUR)) for n in range(self._first, last + 1)]
        self.verdicts: Counter[str] = Counter()
        self._after_us = starved_after_us
        self._waiting: dict[tuple[str, str], _Wait] = {}
        self._starved: list[Starved] = []

    def hour(self, now: Instant) -> Hour:
        return self.hours[now // HOUR - self._first]

    def decided(self, tenant_id: str, answers: Sequence[Decided]) -> None:
        for one in answers:
            result, reason = one.verdict.result, one.verdict.reason
            said = label("ALLOW" if reason is None else reason)
            self.verdicts[said] += 1
            hour = self.hour(one.now)
            hour.retries += one.event.retry_of is not None
            hour.allowed += result is Result.ALLOW
            hour.deferred += result is Result.DEFER
            hour.skipped += result is Result.SKIP
            if reason in ECHOES:
                continue
            who = (tenant_id, one.event.account_id)
            was = self._waiting.get(who, _Wait(one.now))
            if result is not Result.ALLOW:
                self._waiting[who] = _Wait(was.since, said)
            elif was.is_allowed:  # and did not run, all the same
                self._waiting[who] = _Wait(was.since, QUOTA, True)
            else:
                self._waiting[who] = was._replace(is_allowed=True)

    def ran(self, tenant_id: str, account_id: str, now: Instant) -> None:
        """An account was looked at: whatever it waited with has been seen."""
        self.hour(now).runs += 1
        wait = self._waiting.pop((tenant_id, account_id), _Wait(now))
        self._judge(tenant_id, account_id, wait, now, now)

    def starved(self, until: Instant) -> tuple[Starved, ...]:
        """Everybody who waited too long, also those who still wait; the first first."""
        for (tenant_id, account_id), wait in self._waiting.items():
            kept = wait._replace(kept_by=QUOTA) if wait.is_allowed else wait
            self._judge(tenant_id, account_id, kept, until, None)
        self._waiting.clear()
        return tuple(sorted(self._starved, key=lambda one: (one.at, one.tenant_id, one.account_id)))

    def _judge(
        self, tenant_id: str, account_id: str, wait: _Wait, now: Instant, ran_at: Instant | None
    ) -> None:
        since, kept_by, _ = wait
        if now - since > self._after_us:
            at = Instant(since + self._after_us)
            self._starved.append(Starved(tenant_id, account_id, since, at, ran_at, kept_by))
