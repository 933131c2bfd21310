"""The earliest pass: from which second on an event of this kind would be allowed.

A refused event asks for a moment, and the check that objected knows only its own. So the
gate decides again at the moment that each objecting check names, until none objects.

The moment holds for a fresh event of the same account and type, with a key of its own, the
same saturation score and no `scheduled_at`, that comes instead of the refused one, if nothing
else happens. Retries that wait are no news: each is decided when it is due, one that is late
in the next second. Before the last of them no event passes, because they hold their slots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from watchkeeper.core.admission import (
    CHECKS,
    Case,
    Event,
    Reason,
    decide,
    evolve,
    switch_for,
)
from watchkeeper.core.run_state import Pending, RunState, TenantRuns
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant, ceil_second

CANDIDATES_MAX = 16
"""Each check that time satisfies objects at most once, so a handful is enough."""


class Passing(NamedTuple):
    """The first second at which the event is allowed, or why no second is."""

    at: Instant | None
    never_because: str | None = None


def earliest_pass(case: Case, switches: Mapping[str, str] | None = None) -> Passing:
    """The first whole second after the case's own at which it is allowed.

    `switches` are the kill switches in force, by scope, where they are known: retries of other
    types meet theirs. The case itself is left as it is.
    """
    state, tenant = _copied(case)
    at = _let_retries_pass(case, state, tenant, switches or {})
    fresh = case.event._replace(scheduled_at=None, retry_of=None, moved=False)
    for _ in range(CANDIDATES_MAX):
        then = Case(fresh, state, tenant, case.rules, at, case.kill_switch, case.duplicate)
        binding = next((name for name, check in CHECKS if check(then) is not None), None)
        if binding is None:
            return Passing(at)
        later = _NEXT[binding](then) if binding in _NEXT else None
        if later is None:
            return Passing(None, _NEVER[binding](then))
        assert later > at, f"{binding} names no later moment"
        at = later
    raise AssertionError("the checks object in turns")


def _copied(case: Case) -> tuple[RunState, TenantRuns]:
    state, tenant = case.state.copy(), case.tenant.copy()
    if case.event.retry_of is not None:
        state.end_pending(case.event.trigger_type, case.event.retry_of)
    return state, tenant


def _let_retries_pass(
    case: Case, state: RunState, tenant: TenantRuns, switches: Mapping[str, str]
) -> Instant:
    """Decide the retries that wait, in the order in which they are due; when the last came.

    Of one moment the older deferral comes first, as in the outbox: ids sort by their time.
    """
    at = Instant(ceil_second(case.now) + SECOND)
    state.pending = {name: one for name, one in state.pending.items() if one.holds(case.now)}
    moved: set[str] = set()
    for _ in range(2 * len(state.pending)):  # each is moved once at most
        if not state.pending:
            break
        name, pending = min(
            state.pending.items(), key=lambda one: (one[1].due_at, one[1].decision_id)
        )
        at = max(at, pending.due_at)
        event = _retry(case, name, pending, moved)
        waiting = Case(event, state, tenant, case.rules, at, switch_for(switches, name))
        verdict = decide(waiting)
        evolve(waiting, verdict, pending.decision_id, 0)
        if verdict.reason is Reason.COOLDOWN:
            moved.add(name)
    return at


def _retry(case: Case, name: str, pending: Pending, moved: set[str]) -> Event:
    """The retry as it will come. Whether it was moved before, the account does not remember.

    On time it is early only if the cooldown has grown; a late one may have been overtaken.
    """
    is_late = pending.due_at <= case.now
    return Event(
        case.event.account_id,
        name,
        "",
        retry_of=pending.decision_id,
        moved=name in moved,
        slot_cooldown_us=None if is_late else 0,
    )


# -- when a check stops objecting, if only time passes -------------------------------------


def _debounce_ends(case: Case) -> Instant | None:
    last = case.trigger.last_trigger_at
    assert last is not None
    return ceil_second(last + case.rule.debounce_us)


def _cooldown_ends(case: Case) -> Instant | None:
    since = case.busy_until
    assert since is not None
    return ceil_second(since + case.rule.cooldown_us)


def _day_ends(case: Case) -> Instant | None:
    return Instant((case.day + 1) * DAY) if case.rules.run_budget_per_day else None


def _hour_ends(case: Case) -> Instant | None:
    return Instant((case.hour + 1) * HOUR) if case.rule.account_cap else None


def _tenant_hour_ends(case: Case) -> Instant | None:
    return Instant((case.tenant_hour + 1) * HOUR) if case.rule.tenant_cap else None


_NEXT: Mapping[str, Callable[[Case], Instant | None]] = {
    "debounce": _debounce_ends,
    "run_budget": _day_ends,
    "cooldown": _cooldown_ends,
    "account_hourly_cap": _hour_ends,
    "tenant_hourly_cap": _tenant_hour_ends,
}

_NEVER: Mapping[str, Callable[[Case], str]] = {
    "known_trigger_type": lambda _: "the policy has no trigger of this type",
    "idempotency": lambda _: "a repeat has the answer of the decision that holds its key",
    "kill_switch": lambda case: f"the kill switch {case.kill_switch} is on",
    "run_budget": lambda _: "run_budget_per_day is 0",
    "account_hourly_cap": lambda _: "max_per_account_per_hour is 0",
    "tenant_hourly_cap": lambda _: "max_per_tenant_per_hour is 0",
    "saturation": lambda _: "the event's own saturation score is 1 or more",
}
