"""Pulls are scheduled here, and nowhere else: batches, under the tenant's lock.

For each: limits that cost nothing to ask, then the id, then the budget, then the token of
the limiter, then the message. What is refused has taken nothing; all that is taken, is
taken in one transaction with the line in the ledger that says so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from watchkeeper.core import limits
from watchkeeper.core.envelope import SOURCE
from watchkeeper.core.heat import Depth, Tier
from watchkeeper.core.ids import AccountId, MessageId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.limits import BreakerRule
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.pulls import TOTAL, Budget, Consumed, Origin, PullReason, consume
from watchkeeper.core.time import EARLIEST, SECOND, Instant, day_of, to_iso
from watchkeeper.ids import new_id
from watchkeeper.store import connectors, kill_switches, ledger, outbox, pull_budgets, pulls
from watchkeeper.store.connectors import Connector, ConnectorState
from watchkeeper.store.json import dumps, encode
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.pulls import Pull, PullState
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

PULL_REQUESTED = "pull.requested"
FULL_PAUSE_US = SECOND
"""When to ask again for a slot: pulls under way end sooner than their leases do."""


Refusal: TypeAlias = tuple[PullReason, Instant | None, str]
"""Why, when to ask again, and in words."""


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

    @property
    def is_scheduled(self) -> bool:
        return self.reason is None


def schedule(
    tx: Tx, tenant: LockedTenant, rules: TenantRules, jobs: Sequence[Wanted]
) -> list[Scheduled]:
    """Answer every job, in order, each seeing what the ones before it took.

    The caller holds the tenant's lock and saves its row.
    """
    if not jobs:
        return []
    names = {job.connector_id for job in jobs}
    switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
    taken = pulls.taken(tx, [job.pull_job_id for job in jobs])
    budget = pull_budgets.get(tx)
    states, known = connectors.states(tx, names), connectors.read(tx, names)
    locked = connectors.lock(tx, names)
    # From here on it is a moment after the wait: of the limits, of the day, of the ledger.
    slots = connectors.slots(tx, [name for name in locked if locked[name].max_concurrency])
    found = _Found(switches, taken, budget, pull_budgets.consumed(tx, day_of(tx.now)))
    desk = _Desk(tx, rules, found, _Limits(states, {**known, **locked}, slots, tx.now))
    answers = [replace(desk.answer(job), at=tx.now) for job in jobs]
    desk.write(tenant, answers)
    return answers


class _Found(NamedTuple):
    """What pulls are judged by, besides their limits."""

    switches: Mapping[str, str]
    taken: set[str]
    budget: Budget | None
    consumed: dict[str, Consumed]


class _Limits:
    """The limits of some connectors at one moment, and what is taken of them."""

    def __init__(
        self,
        states: dict[str, ConnectorState],
        shared: dict[str, Connector],
        slots: Mapping[str, int],
        now: Instant,
    ) -> None:
        self.now = now  # after the wait for the limiter, so that nobody schedules by an old time
        self.states = states
        self.shared = shared
        self.in_use = dict(slots)
        self.changed_states: dict[str, ConnectorState] = {}
        self.changed_shared: dict[str, Connector] = {}
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._follow_clock()

    def own(self, name: str) -> ConnectorState:
        return self.states.get(name) or ConnectorState(name)

    def of_all(self, name: str) -> Connector:
        return self.shared.get(name) or Connector(name)

    def refuse(self, name: str) -> Refusal | None:
        """What can be asked without taking anything."""
        own, shared, now = self.own(name), self.of_all(name), self.now
        open_until = limits.may_pull(own.breaker, now)
        if open_until is not None:
            words = f"it failed {own.breaker.failures} times in a row"
            return PullReason.CIRCUIT_OPEN, open_until, words
        held = _held_until(shared, now)
        if held is not None:
            return PullReason.RATE_LIMIT, held, "its upstream asked for patience"
        for limiter, whose in ((own, "the tenant's"), (shared, "its")):
            if limiter.rate is not None:
                tokens = limits.take(limiter.rate, limiter.scheduled_at, now, 1)
                if not tokens.granted:
                    before = self._waits(name, whose)
                    retry_at = Instant(tokens.retry_at + before * limiter.rate.interval_us)
                    return PullReason.RATE_LIMIT, retry_at, f"{whose} rate is used up"
        most = shared.max_concurrency
        if most is not None and self.in_use.get(name, 0) >= most:
            retry_at = Instant(now + FULL_PAUSE_US * (1 + self._waits(name, "slot") // most))
            return PullReason.RATE_LIMIT, retry_at, f"{most} of its pulls are under way"
        return None

    def take(self, name: str, breaker: BreakerRule) -> None:
        """The tokens, the probe and the slot."""
        own, shared, now = self.own(name), self.of_all(name), self.now
        if own.rate is not None:
            tokens = limits.take(own.rate, own.scheduled_at, now, 1)
            own = own._replace(scheduled_at=tokens.next_at)
        self._put_own(own._replace(breaker=limits.probing(own.breaker, breaker, now)))
        if shared.rate is not None:
            tokens = limits.take(shared.rate, shared.scheduled_at, now, 1)
            shared = shared._replace(scheduled_at=tokens.next_at)
        if shared.held_until_at is not None:
            shared = _probed(shared, now)
        self._put_shared(shared)
        self.in_use[name] = self.in_use.get(name, 0) + 1

    def _waits(self, name: str, what: str) -> int:
        """How many were refused before it: they are not all to come back at once."""
        self._waiting[name, what] += 1
        return self._waiting[name, what] - 1

    def _follow_clock(self) -> None:
        """Where the clock has stepped back, schedules step back with it."""
        for own in list(self.states.values()):
            if own.rate is not None:
                at = limits.possible(own.rate, own.scheduled_at, self.now)
                self._put_own(own._replace(scheduled_at=at))
        for shared in list(self.shared.values()):
            if shared.rate is not None:
                at = limits.possible(shared.rate, shared.scheduled_at, self.now)
                self._put_shared(shared._replace(scheduled_at=at))

    def _put_own(self, own: ConnectorState) -> None:
        if own != self.own(own.connector_id):
            self.states[own.connector_id] = self.changed_states[own.connector_id] = own

    def _put_shared(self, shared: Connector) -> None:
        if shared != self.of_all(shared.connector_id):
            self.shared[shared.connector_id] = self.changed_shared[shared.connector_id] = shared


class _Desk:
    """Jobs that are judged one after the other and written together."""

    def __init__(self, tx: Tx, rules: TenantRules, found: _Found, at_limits: _Limits) -> None:
        self.tx = tx
        self.rules = rules
        self.found = found
        self.limits = at_limits
        self.added: dict[str, Consumed] = defaultdict(Consumed)
        self.expires_at = Instant(tx.now + rules.idempotency_ttl_us)

    def answer(self, job: Wanted) -> Scheduled:
        name, consumed = job.connector_id, self.found.consumed
        shared = self.limits.of_all(name)
        units = shared.deep_units if job.depth is Depth.DEEP else shared.shallow_units
        refused = self._killed(job) or self.limits.refuse(name)
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
        self._take(job, units)
        message_id = MessageId(new_id())
        return Scheduled(job, None, units, allowance.remaining, message_id=message_id)

    def _killed(self, job: Wanted) -> Refusal | None:
        for switch in ("all", "tenant", f"connector:{job.connector_id}"):
            if switch in self.found.switches:
                words = f"kill switch {switch} is on: {self.found.switches[switch]}"
                return PullReason.KILL_SWITCH, None, words
        return None

    def _take(self, job: Wanted, units: int) -> None:
        """The id, the units, then what the limits give."""
        consumed = self.found.consumed
        self.found.taken.add(job.pull_job_id)
        for key in (job.connector_id, TOTAL):
            used, added = consumed.get(key, Consumed()), self.added[key]
            consumed[key] = Consumed(used.units + units, used.pulls + 1)
            self.added[key] = Consumed(added.units + units, added.pulls + 1)
        self.limits.take(job.connector_id, self.rules.pulls.breaker)

    def write(self, tenant: LockedTenant, answers: Iterable[Scheduled]) -> None:
        tx, now = self.tx, self.tx.now
        given = list(answers)
        made = [one for one in given if one.is_scheduled]
        pulls.insert(tx, [_pull(one, now, self.expires_at) for one in made])
        pull_budgets.add(tx, day_of(now), self.added)
        connectors.put_states(tx, list(self.limits.changed_states.values()))
        outbox.enqueue_plain(tx, [self._message(one) for one in made])
        ledger.append(tx, tenant, [self._entry(one) for one in given])
        for one in made:
            if self.limits.of_all(one.job.connector_id).max_concurrency is not None:
                until = Instant(self.limits.now + self.rules.pulls.lease_us)
                assert one.message_id is not None
                connectors.take_slot(tx, one.job.connector_id, one.message_id, until)
        for changed in sorted(self.limits.changed_shared.values()):
            connectors.save_state(tx, changed)

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


def _held_until(shared: Connector, now: Instant) -> Instant | None:
    """While upstream asks for patience, one pull may see whether it still means it."""
    held = shared.held_until_at
    if held is None or now >= held:
        return None
    return held if shared.probe_at is None or now < shared.probe_at else None


def _probed(shared: Connector, now: Instant) -> Connector:
    assert shared.held_until_at is not None
    if now >= shared.held_until_at:
        return shared._replace(held_until_at=None, probe_at=None)
    return shared._replace(probe_at=None)


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
