"""The smallest change of policy under which a refused event had been allowed.

Each check that objects is met by the least that its threshold must give way, until none
objects; what no document can change (a kill switch, a slot that is reserved, a saturated
account) ends the search. The change stands where the threshold was set: in the document,
in the tier's part of it or in the tenant's, since a wider line would not reach.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from watchkeeper.core.admission import CHECKS, Case
from watchkeeper.core.policy import TenantRules, TriggerRule, path_part
from watchkeeper.core.time import SECOND, Instant, to_iso

LINES_MAX = 2 * len(CHECKS)


class Line(NamedTuple):
    """One value of a document."""

    path: str
    value: int

    def __str__(self) -> str:
        return f"{self.path} = {self.value}"


class Change(NamedTuple):
    """The lines to write, or why no document helps. Both are absent for an ALLOW."""

    lines: tuple[Line, ...] = ()
    none_because: str | None = None


def smallest_change(case: Case, held_since: Instant | None = None) -> Change:
    """The least that the policy must give way for the event to be allowed.

    `held_since` is when the decision was given that holds the event's key, if one does.
    """
    is_known = case.event.trigger_type in case.rules.triggers
    lines: dict[str, Line] = {}
    for _ in range(LINES_MAX):
        binding = next((name for name, check in CHECKS if check(case) is not None), None)
        if binding is None:
            return Change(tuple(lines.values()))
        found = _MET[binding](case, held_since) if binding in _MET else None
        if found is None:
            why = _unmet(case, binding, is_next=bool(lines))
            return Change((), why if is_known else _without_type(case, why))
        case, met = found
        lines |= {line.path: line for line in met}
    raise AssertionError("a check objects to what it was given")


def _unmet(case: Case, binding: str, *, is_next: bool) -> str:
    """Why the search ended at this check, and whether others were met before it."""
    said = _UNMET[binding](case)
    return f"the {binding.replace('_', ' ')} would bind next: {said}" if is_next else said


def _without_type(case: Case, why: str) -> str:
    return f"the policy has no trigger type {case.event.trigger_type}; if it had, {why}"


Met = tuple[Case, list[Line]]


def _registered(case: Case, _: Instant | None) -> Met | None:
    name = case.event.trigger_type
    triggers = {**case.rules.triggers, name: TriggerRule(0, 0)}
    base = f"triggers.{path_part(name)}"
    lines = [Line(f"{base}.{key}_seconds", 0) for key in ("debounce", "cooldown")]
    return case.under(replace(case.rules, triggers=triggers)), lines


def _held_shorter(case: Case, held_since: Instant | None) -> Met | None:
    """A second less than it was held: keys are held to the microsecond, verdicts are not."""
    if held_since is None or case.event.retry_of is not None:
        return None
    whole = (case.now - held_since) // SECOND - 1
    if not 1 <= whole < case.rules.idempotency_ttl_us // SECOND:
        return None
    rules = replace(case.rules, idempotency_ttl_us=whole * SECOND)
    free = Case(case.event, case.state, case.tenant, rules, case.now, case.kill_switch)
    return free, [_line(case, "idempotency_ttl_seconds", whole)]


def _debounced_less(case: Case, _: Instant | None) -> Met | None:
    last = case.trigger.last_trigger_at
    assert last is not None
    whole = abs(case.fired_at - last) // SECOND
    rule = replace(case.rule, debounce_us=whole * SECOND)
    return _with_rule(case, rule, "debounce_seconds", whole)


def _cooled_less(case: Case, _: Instant | None) -> Met | None:
    since = case.busy_until if case.event.retry_of is None else case.state.last_allowed_at
    assert since is not None
    if since > case.now:
        return None  # a slot is reserved: even without a cooldown it comes first
    whole = (case.now - since) // SECOND
    rule = replace(case.rule, cooldown_us=whole * SECOND)
    return _with_rule(case, rule, "cooldown_seconds", whole)


def _account_cap_more(case: Case, _: Instant | None) -> Met | None:
    cap = case.trigger.runs_in(case.hour) + 1
    rule = replace(case.rule, account_cap=cap)
    return _with_rule(case, rule, "max_per_account_per_hour", cap)


def _tenant_cap_more(case: Case, _: Instant | None) -> Met | None:
    cap = case.tenant.runs_in_hour(case.tenant_hour, case.event.trigger_type) + 1
    rule = replace(case.rule, tenant_cap=cap)
    return _with_rule(case, rule, "max_per_tenant_per_hour", cap)


def _budget_more(case: Case, _: Instant | None) -> Met | None:
    budget = case.tenant.runs_in_day(case.day) + 1
    rules = replace(case.rules, run_budget_per_day=budget)
    return case.under(rules), [_line(case, "run_budget_per_day", budget)]


_MET: Mapping[str, Callable[[Case, Instant | None], Met | None]] = {
    "known_trigger_type": _registered,
    "idempotency": _held_shorter,
    "debounce": _debounced_less,
    "run_budget": _budget_more,
    "cooldown": _cooled_less,
    "account_hourly_cap": _account_cap_more,
    "tenant_hourly_cap": _tenant_cap_more,
}


def _slot_comes_first(case: Case) -> str:
    slot = case.busy_until
    assert slot is not None
    return f"a run is reserved for {to_iso(slot)} and comes first, whatever the cooldown"


_UNMET: Mapping[str, Callable[[Case], str]] = {
    "idempotency": lambda _: "a repeat has the answer of the decision that holds its key",
    "kill_switch": lambda case: f"the kill switch {case.kill_switch} is not part of the policy",
    "coalescing": lambda case: (
        "a retry of this type waits for "
        + to_iso(case.state.pending[case.event.trigger_type].due_at)
    ),
    "cooldown": _slot_comes_first,
    "saturation": lambda _: "the event's own saturation score is 1 or more",
}


def _with_rule(case: Case, rule: TriggerRule, key: str, value: int) -> Met:
    name = case.event.trigger_type
    rules: TenantRules = replace(case.rules, triggers={**case.rules.triggers, name: rule})
    return case.under(rules), [_line(case, f"triggers.{path_part(name)}.{key}", value)]


def _line(case: Case, path: str, value: int) -> Line:
    """The value, where the one that it takes the place of was set."""
    section, _, owner = case.rules.source_of(path).partition(":")
    if section in ("tier", "tenant"):
        return Line(f"{section}s.{path_part(owner)}.{path}", value)
    return Line(path, value)
