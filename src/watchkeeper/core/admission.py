"""Admission: may this trigger wake its agent, and if not now, when?

`decide` answers one event from what the account and its tenant remember, the rules
of the policy, and `now`. It changes nothing; `evolve` then writes the answer into
the state. Both are used by the live transaction, by the replay of a recorded
verdict and by a backtest, so that all three can only agree.

The checks stand in one table, in the order in which they are asked. The first that
objects gives the verdict; an explanation walks the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import TenantRules, TriggerRule
from watchkeeper.core.run_state import Pending, RunState, TenantRuns, TriggerState
from watchkeeper.core.spread import spread
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant, ceil_second

ENGINE = 1
"""Counts up when the same inputs may give another verdict; kept with every recorded one."""

SATURATED = 1.0


class Result(StrEnum):
    ALLOW = "ALLOW"
    DEFER = "DEFER"
    SKIP = "SKIP"


class Reason(StrEnum):
    UNKNOWN_TRIGGER_TYPE = "UNKNOWN_TRIGGER_TYPE"
    DUPLICATE_IDEMPOTENCY_KEY = "DUPLICATE_IDEMPOTENCY_KEY"
    KILL_SWITCH = "KILL_SWITCH"
    DEBOUNCED = "DEBOUNCED"
    COALESCED = "COALESCED"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    COOLDOWN = "COOLDOWN"
    ACCOUNT_HOURLY_CAP = "ACCOUNT_HOURLY_CAP"
    TENANT_HOURLY_CAP = "TENANT_HOURLY_CAP"
    MARGINAL_VALUE_LOW = "MARGINAL_VALUE_LOW"
    RETRY_EXHAUSTED = "RETRY_EXHAUSTED"


class Event(NamedTuple):
    """A trigger that asks for a run. With `retry_of` it is the one retry of a deferral."""

    account_id: AccountId
    trigger_type: str
    idempotency_key: str
    scheduled_at: Instant | None = None
    correlation_id: str | None = None
    saturation: float | None = None
    retry_of: DecisionId | None = None
    moved: bool = False  # this retry was already moved behind another one, and is not again
    signal_id: str | None = None
    original_key: str | None = None  # of a retry: the key of the event that was deferred
    slot_cooldown_us: int | None = None  # of a retry: the cooldown when its slot was reserved


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The decision that holds the event's key, and whether the event was the same then."""

    decision_id: DecisionId
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    result: Result
    reason: Reason | None = None
    defer_until: Instant | None = None  # a whole second, always later than `now`
    inner: Reason | None = None  # why a retry would have been deferred again
    duplicate: Duplicate | None = None

    def __post_init__(self) -> None:
        assert (self.result is Result.DEFER) == (self.defer_until is not None)


class Case:
    """Everything a verdict depends on. It is read, never changed."""

    __slots__ = (
        "duplicate",
        "event",
        "kill_switch",
        "now",
        "rule",
        "rules",
        "state",
        "tenant",
        "trigger",
    )

    def __init__(
        self,
        event: Event,
        state: RunState,
        tenant: TenantRuns,
        rules: TenantRules,
        now: Instant,  # a whole second, rounded up
        kill_switch: str | None = None,  # the scope of the switch that is on, if one is
        duplicate: Duplicate | None = None,
    ) -> None:
        self.event = event
        self.state = state
        self.tenant = tenant
        self.rules = rules
        self.now = now
        self.kill_switch = kill_switch
        self.duplicate = duplicate
        self.rule = rules.triggers.get(event.trigger_type, _NO_RULE)
        self.trigger = state.triggers.get(event.trigger_type, _NO_MEMORY)

    def under(self, rules: TenantRules) -> Case:
        """The same case, had it been ruled otherwise."""
        return Case(
            self.event, self.state, self.tenant, rules, self.now, self.kill_switch, self.duplicate
        )

    @property
    def hour(self) -> int:
        """The UTC hour of `now`; a clock that stepped back does not reopen an older one."""
        hour = self.now // HOUR
        return hour if hour > self.trigger.hour else self.trigger.hour

    @property
    def tenant_hour(self) -> int:
        hour = self.now // HOUR
        return hour if hour > self.tenant.hour else self.tenant.hour

    @property
    def day(self) -> int:
        day = self.now // DAY
        return day if day > self.tenant.day else self.tenant.day

    @property
    def fired_at(self) -> Instant:
        """When the event happened: a scheduled one at its scheduled instant, late or not."""
        scheduled_at = self.event.scheduled_at
        return self.now if scheduled_at is None else min(scheduled_at, self.now)

    @property
    def busy_until(self) -> Instant | None:
        """The account's last ALLOW, or the latest slot that a deferral holds, if later."""
        last = self.state.last_allowed_at
        if not self.state.pending:
            return last
        slots = self.state.slots(self.now, but=self.event.trigger_type)
        return max([*slots, *([] if last is None else [last])], default=None)


_NO_RULE = TriggerRule(0, 0)  # of an unknown type: no check but the first looks at it
_NO_MEMORY = TriggerState()  # of a type that the account has not met; never written to
ALLOW = Verdict(Result.ALLOW)
UNKNOWN = Verdict(Result.SKIP, Reason.UNKNOWN_TRIGGER_TYPE)
_KILLED = Verdict(Result.SKIP, Reason.KILL_SWITCH)
_DEBOUNCED = Verdict(Result.SKIP, Reason.DEBOUNCED)
_COALESCED = Verdict(Result.SKIP, Reason.COALESCED)
_NO_BUDGET = Verdict(Result.SKIP, Reason.BUDGET_EXHAUSTED)
_SATURATED = Verdict(Result.SKIP, Reason.MARGINAL_VALUE_LOW)


def decide(case: Case) -> Verdict:
    """Answer one event. A DEFER always names a whole second later than `now`."""
    for check in _IN_ORDER:
        verdict = check(case)
        if verdict is not None:
            return verdict
    return ALLOW


def _unknown(case: Case) -> Verdict | None:
    return None if case.event.trigger_type in case.rules.triggers else UNKNOWN


def _duplicate(case: Case) -> Verdict | None:
    if case.duplicate is None:
        return None
    return Verdict(Result.SKIP, Reason.DUPLICATE_IDEMPOTENCY_KEY, duplicate=case.duplicate)


def _killed(case: Case) -> Verdict | None:
    return None if case.kill_switch is None else _KILLED


def _debounced(case: Case) -> Verdict | None:
    if case.event.retry_of is not None:
        return None
    last = case.trigger.last_trigger_at
    if last is None or abs(case.fired_at - last) >= case.rule.debounce_us:
        return None
    return _DEBOUNCED


def _coalesced(case: Case) -> Verdict | None:
    if case.event.retry_of is not None:
        return None
    pending = case.state.pending.get(case.event.trigger_type)
    return _COALESCED if pending is not None and pending.holds(case.now) else None


def _budget(case: Case) -> Verdict | None:
    budget = case.rules.run_budget_per_day
    if budget is None or case.tenant.runs_in_day(case.day) < budget:
        return None
    return _NO_BUDGET


def _cooldown(case: Case) -> Verdict | None:
    """A fresh event queues behind reserved slots; a retry owns its slot and looks back only."""
    retry = case.event.retry_of is not None
    since = case.state.last_allowed_at if retry else case.busy_until
    if since is None or case.now >= since + case.rule.cooldown_us:
        return None
    if not retry:
        return _defer(case, Reason.COOLDOWN, since + case.rule.cooldown_us)
    if not case.event.moved and (case.state.last_run_was_retry or _was_on_time(case, since)):
        # It is early only because another retry of this account ran late, or because the
        # cooldown has grown since: once, it may queue behind the last run instead of losing
        # its own to somebody else's delay or to another policy.
        return Verdict(Result.DEFER, Reason.COOLDOWN, _behind(case, since))
    return _exhausted(Reason.COOLDOWN)


def _was_on_time(case: Case, since: Instant) -> bool:
    """Whether a retry is on time by the cooldown under which its slot was reserved."""
    reserved = case.event.slot_cooldown_us
    return reserved is not None and case.now >= since + reserved


def _behind(case: Case, ran_at: Instant) -> Instant:
    """The first whole second that is free behind a run, and not close to a reserved slot.

    Slots further on do not count: each retry can be moved on by the one before it, while one
    that waited for all of them would have nothing left when the last of them ran late.
    """
    cooldown = case.rule.cooldown_us
    until = ceil_second(ran_at + cooldown)
    for slot in sorted(case.state.slots(case.now, but=case.event.trigger_type)):
        if slot - cooldown // 2 < until < slot + cooldown:
            until = ceil_second(slot + cooldown)
    return until


def _account_cap(case: Case) -> Verdict | None:
    cap = case.rule.account_cap
    if cap is None or case.trigger.runs_in(case.hour) < cap:
        return None
    return _defer(case, Reason.ACCOUNT_HOURLY_CAP, next_free_hour(case, case.hour))


def _tenant_cap(case: Case) -> Verdict | None:
    cap = case.rule.tenant_cap
    hour = case.tenant_hour
    if cap is None or case.tenant.runs_in_hour(hour, case.event.trigger_type) < cap:
        return None
    return _defer(case, Reason.TENANT_HOURLY_CAP, next_free_hour(case, hour))


def _saturation(case: Case) -> Verdict | None:
    saturation = case.event.saturation
    return _SATURATED if saturation is not None and saturation >= SATURATED else None


CHECKS: tuple[tuple[str, Callable[[Case], Verdict | None]], ...] = (
    ("known_trigger_type", _unknown),
    ("idempotency", _duplicate),
    ("kill_switch", _killed),
    ("debounce", _debounced),
    ("coalescing", _coalesced),
    ("run_budget", _budget),
    ("cooldown", _cooldown),
    ("account_hourly_cap", _account_cap),
    ("tenant_hourly_cap", _tenant_cap),
    ("saturation", _saturation),
)
_IN_ORDER = tuple(check for _, check in CHECKS)


def _defer(case: Case, reason: Reason, until: int) -> Verdict:
    if case.event.retry_of is not None:
        return _exhausted(reason)
    return Verdict(Result.DEFER, reason, ceil_second(until))


def _exhausted(inner: Reason) -> Verdict:
    return Verdict(Result.SKIP, Reason.RETRY_EXHAUSTED, inner=inner)


def next_free_hour(case: Case, hour: int) -> int:
    """The start of the next hour, later for some accounts, so that no second holds the herd."""
    return (hour + 1) * HOUR + spread(case.event.account_id, case.rules.spread_seconds) * SECOND


def evolve(case: Case, verdict: Verdict, decision_id: DecisionId, seq: int) -> None:
    """Write the verdict into the state that it was decided from.

    `seq` is the verdict's place in the ledger: a run is told of everything after the
    place of the ALLOW before it.
    """
    event, state, now = case.event, case.state, case.now
    if verdict.duplicate is not None:
        return  # also a retry that is delivered twice: the first delivery has ended its wait
    if event.retry_of is not None:
        state.end_pending(event.trigger_type, event.retry_of)
    if verdict.result is Result.SKIP:
        return
    trigger = case.trigger
    if trigger is _NO_MEMORY:
        trigger = state.triggers[event.trigger_type] = TriggerState()
    if event.retry_of is None:
        trigger.last_trigger_at = max(trigger.last_trigger_at or case.fired_at, case.fired_at)
    if verdict.defer_until is not None:
        trigger.last_deferred_at = now
        owner = decision_id if event.retry_of is None else event.retry_of
        state.pending[event.trigger_type] = Pending(verdict.defer_until, owner)
        return
    hour, tenant_hour, day = case.hour, case.tenant_hour, case.day
    trigger.run_count = trigger.runs_in(hour) + 1
    trigger.hour = hour
    state.last_allowed_at = now
    state.last_allowed_seq = seq
    state.last_run_was_retry = event.retry_of is not None
    case.tenant.count(tenant_hour, day, event.trigger_type)


def switch_for(switches: Mapping[str, str], trigger_type: str) -> str | None:
    """The scope of the widest kill switch that stands in the way of this trigger."""
    for scope in ("all", "tenant", f"trigger:{trigger_type}"):
        if scope in switches:
            return scope
    return None
