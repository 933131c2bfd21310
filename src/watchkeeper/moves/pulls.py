"""Pulls are scheduled here, and nowhere else: batches, under the tenant's lock.

For each: limits that cost nothing to ask, then the id, then the budget, then the token of
the limiter, then the message. What is refused has taken nothing; all that is taken, is
taken in one transaction with the line in the ledger that says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from watchkeeper.core.envelope import SOURCE
from watchkeeper.core.heat import Depth, Tier
from watchkeeper.core.ids import AccountId, MessageId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.pulls import TOTAL, Budget, Consumed, Origin, PullReason, consume
from watchkeeper.core.time import EARLIEST, Instant, day_of, to_iso
from watchkeeper.ids import new_id
from watchkeeper.moves.pull_gates import Gates, Refusal, Seen, see, switch_on
from watchkeeper.store import connectors, ledger, outbox, pull_budgets, pulls
from watchkeeper.store.json import dumps, encode
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.pulls import Pull, PullState
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

PULL_REQUESTED = "pull.requested"


class Wanted(NamedTuple):
    """A pull that somebody wants."""

    pull_job_id: str
    account_id: AccountId
    connector_id: str
    depth: Depth
    origin: Origin
    tier: Tier | None = None
    correlation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The answer: scheduled, or why not and when to ask again."""

    job: Wanted
    reason: PullReason | None
    units: int
    remaining: int | None = None
    retry_at: Instant | None = None
    explanation: str = ""
    message_id: MessageId | None = None
    at: Instant = EARLIEST
    is_probe: bool = False  # it tries whether a connector that rests works again

    @property
    def is_scheduled(self) -> bool:
        return self.reason is None


def schedule(
    tx: Tx,
    tenant: LockedTenant,
    rules: TenantRules,
    jobs: Sequence[Wanted],
    seen: Seen | None = None,
) -> list[Scheduled]:
    """Answer every job, in order, each seeing what the ones before it took.

    The caller holds the tenant's lock and saves its row.
    """
    if not jobs:
        return []
    names = {job.connector_id for job in jobs}
    seen = seen or see(tx, names)
    taken = pulls.taken(tx, [job.pull_job_id for job in jobs])
    budget = pull_budgets.get(tx)
    locked = connectors.lock(tx, names)
    # From here on it is a moment after the wait: of the limits, of the day, of the ledger.
    slots = connectors.slots(tx, [name for name in locked if locked[name].max_concurrency])
    found = _Found(seen.switches, taken, budget, pull_budgets.consumed(tx, day_of(tx.now)))
    known = {name: locked.get(name) or seen.connectors.get(name) for name in names}
    gates = Gates(names, seen.states, known, slots, tx.now)
    desk = _Desk(tx, rules, found, gates)
    answers = [replace(desk.answer(job), at=tx.now) for job in jobs]
    desk.write(tenant, answers)
    return answers


class _Found(NamedTuple):
    """What pulls are judged by, besides their limits."""

    switches: Mapping[str, str]
    taken: set[str]
    budget: Budget | None
    consumed: dict[str, Consumed]


class _Desk:
    """Jobs that are judged one after the other and written together."""

    def __init__(self, tx: Tx, rules: TenantRules, found: _Found, gates: Gates) -> None:
        self.tx = tx
        self.rules = rules
        self.found = found
        self.gates = gates
        self.added: dict[str, Consumed] = defaultdict(Consumed)
        self.expires_at = Instant(tx.now + rules.idempotency_ttl_us)

    def answer(self, job: Wanted) -> Scheduled:
        name, consumed = job.connector_id, self.found.consumed
        shared = self.gates.connectors[name]
        units = shared.deep_units if job.depth is Depth.DEEP else shared.shallow_units
        refused = self._killed(job) or self.gates.refuse(name)
        if refused is not None:
            reason, retry_at, words = refused
            return Scheduled(job, reason, units, None, retry_at, words)
        if job.pull_job_id in self.found.taken:
            words = "a pull of this id was scheduled before"
            return Scheduled(job, PullReason.DUPLICATE, units, explanation=words)
        used, total = consumed.get(name, Consumed()), consumed.get(TOTAL, Consumed())
        allowance = consume(self.found.budget, name, used, total, units)
        if allowance.refused is not None:
            words = f"{units} units are needed, {allowance.remaining} remain today"
            return Scheduled(job, allowance.refused, units, allowance.remaining, explanation=words)
        is_probe = self._take(job, units)
        return Scheduled(
            job,
            None,
            units,
            allowance.remaining,
            message_id=MessageId(new_id()),
            is_probe=is_probe,
        )

    def _killed(self, job: Wanted) -> Refusal | None:
        switch = switch_on(self.found.switches, job.connector_id)
        if switch is None:
            return None
        words = f"kill switch {switch} is on: {self.found.switches[switch]}"
        return PullReason.KILL_SWITCH, None, words

    def _take(self, job: Wanted, units: int) -> bool:
        """Take the id, the units, then what the limits give; whether it is a probe."""
        consumed = self.found.consumed
        self.found.taken.add(job.pull_job_id)
        for key in (job.connector_id, TOTAL):
            used, added = consumed.get(key, Consumed()), self.added[key]
            consumed[key] = Consumed(used.units + units, used.pulls + 1)
            self.added[key] = Consumed(added.units + units, added.pulls + 1)
        return self.gates.take(job.connector_id, self.rules.pulls.breaker)

    def write(self, tenant: LockedTenant, answers: Iterable[Scheduled]) -> None:
        tx, now = self.tx, self.tx.now
        given = list(answers)
        made = [one for one in given if one.is_scheduled]
        pulls.insert(tx, [_pull(one, now, self.expires_at) for one in made])
        pull_budgets.add(tx, day_of(now), self.added)
        outbox.enqueue_plain(tx, [self._message(one) for one in made])
        ledger.append(tx, tenant, [self._entry(one) for one in given])
        for one in made:
            if self.gates.connectors[one.job.connector_id].max_concurrency is not None:
                until = Instant(self.gates.now + self.rules.pulls.lease_us)
                assert one.message_id is not None
                connectors.take_slot(tx, one.job.connector_id, one.message_id, until)
        self.gates.save(tx)

    def _message(self, one: Scheduled) -> NewMessage:
        job = one.job
        detail: dict[str, Any] = {
            "account_id": job.account_id,
            "budget_remaining": one.remaining,
            "connector_id": job.connector_id,
            "depth": job.depth.name,
            "depth_units": one.units,
            "origin": job.origin,
            "pull_job_id": job.pull_job_id,
            "scheduled_at": to_iso(self.tx.now),
            "tenant_id": self.tx.tenant_id,
        }
        if job.correlation_id is not None:
            detail["correlation_id"] = job.correlation_id
        if one.is_probe:
            detail["is_probe"] = True
        payload = {"detail": detail, "detail-type": "PULL_REQUESTED", "source": SOURCE}
        return NewMessage(PULL_REQUESTED, encode(payload), id=one.message_id)

    def _entry(self, one: Scheduled) -> Entry:
        job = one.job
        data = {
            "connector_id": job.connector_id,
            "depth": job.depth.name,
            "expires_at": self.expires_at if one.is_scheduled else None,
            "explanation": one.explanation,
            "message_id": one.message_id,
            "origin": job.origin,
            "pull_job_id": job.pull_job_id,
            "remaining": one.remaining,
            "retry_at": one.retry_at,
            "tier": None if job.tier is None else job.tier.name,
            "units": one.units,
        }
        return Entry(
            entry_id=new_id(),
            at=self.tx.now,
            stage=Stage.PERCEIVE,
            kind=Kind.PULL_DECIDED,
            subject=job.account_id,
            data=dumps({name: value for name, value in data.items() if value not in (None, "")}),
            policy_version=self.rules.policy_version,
            correlation_id=job.correlation_id,
            result="SCHEDULED" if one.is_scheduled else "REFUSED",
            reason=one.reason,
        )


def _pull(one: Scheduled, now: Instant, expires_at: Instant) -> Pull:
    assert one.message_id is not None
    return Pull(
        pull_job_id=one.job.pull_job_id,
        message_id=one.message_id,
        account_id=one.job.account_id,
        connector_id=one.job.connector_id,
        depth=one.job.depth,
        units=one.units,
        origin=one.job.origin,
        state=PullState.REQUESTED,
        scheduled_at=now,
        expires_at=expires_at,
    )
