"""Why a verdict is what it is: the checks it went through, and what each compared.

The trail walks the gate's own table, so it cannot tell another story than the gate. A
check is described beside what it compared, in numbers and in words; thresholds say who
set them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from watchkeeper.core.admission import (
    CHECKS,
    SATURATED,
    Case,
    Result,
    Verdict,
    decide,
)
from watchkeeper.core.earliest_pass import Passing, earliest_pass
from watchkeeper.core.policy import path_part
from watchkeeper.core.smallest_change import smallest_change
from watchkeeper.core.time import SECOND, Instant, to_iso

Raw: TypeAlias = int | float | str | None


class Outcome(StrEnum):
    PASSED = "passed"
    BOUND = "bound"  # this check gave the verdict
    NOT_REACHED = "not_reached"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class Told:
    """What a check looked at. Raw values are microseconds, counts, names."""

    compared: str
    value: Raw = None
    threshold: str | None = None
    limit: Raw = None
    path: str | None = None  # where in the policy the threshold stands
    applies: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the trail."""

    name: str
    outcome: Outcome
    compared: str | None = None
    value: Raw = None
    threshold: str | None = None
    limit: Raw = None
    source: str | None = None  # default, policy, tier:NAME or tenant:ID


@dataclass(frozen=True, slots=True)
class Trail:
    """Every check in order, the one that gave the verdict, and what would have changed it."""

    verdict: Verdict
    checks: tuple[Check, ...]
    binding_check: str | None
    earliest_pass_at: Instant | None  # see core/earliest_pass.py; None for an ALLOW
    smallest_change: str | None  # the lines of policy under which it had been an ALLOW
    never_passes_because: str | None = None  # why a refused event has no such moment
    no_change_because: str | None = None  # why no lines of policy had been enough


def trail(
    case: Case, held_since: Instant | None = None, switches: Mapping[str, str] | None = None
) -> Trail:
    """Decide the case again, keeping what each check saw.

    `held_since` is when the decision was given that holds the event's key, if one does;
    `switches` are the kill switches in force, where they are known.
    """
    checks: list[Check] = []
    binding: str | None = None
    for name, check in CHECKS:
        if binding is not None:
            checks.append(Check(name, Outcome.NOT_REACHED))
            continue
        told = _TOLD[name](case)
        if check(case) is not None:
            binding, outcome = name, Outcome.BOUND
        else:
            outcome = Outcome.PASSED if told.applies else Outcome.NOT_APPLICABLE
        source = None if told.path is None else case.rules.source_of(told.path)
        checks.append(
            Check(name, outcome, told.compared, told.value, told.threshold, told.limit, source)
        )
    verdict = decide(case)
    is_allowed = verdict.result is Result.ALLOW
    passing = Passing(None) if is_allowed else earliest_pass(case, switches)
    change = smallest_change(case, held_since)
    return Trail(
        verdict,
        tuple(checks),
        binding,
        passing.at,
        "\n".join(map(str, change.lines)) or None,
        passing.never_because,
        change.none_because,
    )


def _busy_since(case: Case) -> Instant | None:
    retry = case.event.retry_of is not None
    return case.state.last_allowed_at if retry else case.busy_until


# -- what each check compared ---------------------------------------------------------


def _known(case: Case) -> Told:
    return Told(case.event.trigger_type, case.event.trigger_type, "in the trigger registry")


def _idempotency(case: Case) -> Told:
    key = case.event.idempotency_key
    held = case.duplicate
    said = "is free" if held is None else f"is held by {held.decision_id}"
    ttl = case.rules.idempotency_ttl_us
    return Told(f"key {said}", key, _seconds(ttl), ttl, "idempotency_ttl_seconds")


def _kill_switch(case: Case) -> Told:
    scope = case.kill_switch
    return Told("none is on" if scope is None else f"{scope} is on", scope)


def _debounce(case: Case) -> Told:
    if case.event.retry_of is not None:
        return _retry()
    limit = case.rule.debounce_us
    path = _path(case, "debounce_seconds")
    last = case.trigger.last_trigger_at
    if last is None:
        return Told("no event of this type before", None, _seconds(limit), limit, path)
    apart = abs(case.fired_at - last)
    said = f"{_seconds(apart)} from the last one at {to_iso(last)}"
    return Told(said, apart, _seconds(limit), limit, path)


def _coalescing(case: Case) -> Told:
    if case.event.retry_of is not None:
        return _retry()
    pending = case.state.pending.get(case.event.trigger_type)
    if pending is None:
        return Told("no retry of this type waits")
    over = "" if pending.holds(case.now) else ", which is over"
    return Told(f"a retry waits for {to_iso(pending.due_at)}{over}", pending.due_at)


def _run_budget(case: Case) -> Told:
    runs = case.tenant.runs_in_day(case.day)
    return _counted(
        f"{runs} runs of the tenant in this UTC day",
        runs,
        case.rules.run_budget_per_day,
        "run_budget_per_day",
    )


def _cooldown(case: Case) -> Told:
    limit = case.rule.cooldown_us
    path = _path(case, "cooldown_seconds")
    since = _busy_since(case)
    if since is None:
        return Told("no run of the account before", None, _seconds(limit), limit, path)
    what = "the last run" if since == case.state.last_allowed_at else "the last reserved slot"
    said = f"{_seconds(case.now - since)} from {what} at {to_iso(since)}"
    return Told(said, case.now - since, _seconds(limit), limit, path)


def _account_cap(case: Case) -> Told:
    runs = case.trigger.runs_in(case.hour)
    said = f"{runs} runs of the account in this UTC hour"
    return _counted(said, runs, case.rule.account_cap, _path(case, "max_per_account_per_hour"))


def _tenant_cap(case: Case) -> Told:
    runs = case.tenant.runs_in_hour(case.tenant_hour, case.event.trigger_type)
    said = f"{runs} runs of the tenant in this UTC hour"
    return _counted(said, runs, case.rule.tenant_cap, _path(case, "max_per_tenant_per_hour"))


def _saturation(case: Case) -> Told:
    score = case.event.saturation
    if score is None:
        return Told(
            "no score was given", threshold=f"{SATURATED:g}", limit=SATURATED, applies=False
        )
    return Told(f"{score:g}", score, f"{SATURATED:g}", SATURATED)


_TOLD: Mapping[str, Callable[[Case], Told]] = {
    "known_trigger_type": _known,
    "idempotency": _idempotency,
    "kill_switch": _kill_switch,
    "debounce": _debounce,
    "coalescing": _coalescing,
    "run_budget": _run_budget,
    "cooldown": _cooldown,
    "account_hourly_cap": _account_cap,
    "tenant_hourly_cap": _tenant_cap,
    "saturation": _saturation,
}


def _retry() -> Told:
    return Told("the retry of a deferral", applies=False)


def _counted(said: str, runs: int, cap: int | None, path: str) -> Told:
    if cap is None:
        return Told(said, runs, "unlimited", None, path, applies=False)
    return Told(said, runs, str(cap), cap, path)


def _path(case: Case, key: str) -> str:
    return f"triggers.{path_part(case.event.trigger_type)}.{key}"


def _seconds(us: int) -> str:
    return f"{us / SECOND:.6f}".rstrip("0").rstrip(".") + " s"
