"""A verdict with everything it was decided from, as plain data, and back again.

What the ledger keeps of a verdict is enough to decide it again: the event, the slice
of state that was read, the moment, and which policy ruled. `recompute` does that by
the same function that decided it first.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.core.admission import (
    ENGINE,
    Case,
    Duplicate,
    Event,
    Reason,
    Result,
    Verdict,
    decide,
)
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.run_state import RunState, TenantRuns, TriggerState, decode_pending
from watchkeeper.core.time import Instant


def record(case: Case, verdict: Verdict, tier: str | None) -> dict[str, Any]:
    """Plain data, keys in order. Must be called before the verdict evolves the state."""
    event, state, tenant = case.event, case.state, case.tenant
    trigger = state.triggers.get(event.trigger_type)
    data: dict[str, Any] = {"engine": ENGINE, "event": _event(event)}
    if case.kill_switch is not None:
        data["kill_switch"] = case.kill_switch
    data["now"] = case.now
    data["policy"] = {"hash": case.rules.policy_hash, "version": case.rules.policy_version}
    data["state"] = {
        "last_allowed_at": state.last_allowed_at,
        "last_run_was_retry": state.last_run_was_retry,
        "pending": {name: [p.due_at, p.decision_id] for name, p in state.pending.items()},
        "trigger": None
        if trigger is None
        else [trigger.last_trigger_at, trigger.last_deferred_at, trigger.hour, trigger.run_count],
    }
    data["tenant"] = {
        "day": tenant.day,
        "day_runs": tenant.day_runs,
        "hour": tenant.hour,
        "hour_runs": tenant.hour_runs.get(event.trigger_type, 0),
        "tier": tier,
    }
    data["verdict"] = _verdict(verdict)
    return data


def _event(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = {"account_id": event.account_id}
    if event.correlation_id is not None:
        data["correlation_id"] = event.correlation_id
    data["idempotency_key"] = event.idempotency_key
    if event.moved:
        data["moved"] = True
    if event.retry_of is not None:
        data["retry_of"] = event.retry_of
    if event.saturation is not None:
        data["saturation"] = event.saturation
    if event.scheduled_at is not None:
        data["scheduled_at"] = event.scheduled_at
    if event.signal_id is not None:
        data["signal_id"] = event.signal_id
    if event.slot_cooldown_us is not None:
        data["slot_cooldown_us"] = event.slot_cooldown_us
    data["trigger_type"] = event.trigger_type
    return data


def _verdict(verdict: Verdict) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if verdict.defer_until is not None:
        data["defer_until"] = verdict.defer_until
    if verdict.duplicate is not None:
        data["differs"] = verdict.duplicate.differs
        data["duplicate_of"] = verdict.duplicate.decision_id
    if verdict.inner is not None:
        data["inner"] = verdict.inner
    if verdict.reason is not None:
        data["reason"] = verdict.reason
    data["result"] = verdict.result
    return data


def read_event(data: dict[str, Any]) -> Event:
    raw = data["event"]
    return Event(
        account_id=AccountId(raw["account_id"]),
        trigger_type=raw["trigger_type"],
        idempotency_key=raw["idempotency_key"],
        scheduled_at=raw.get("scheduled_at"),
        correlation_id=raw.get("correlation_id"),
        saturation=raw.get("saturation"),
        retry_of=raw.get("retry_of"),
        moved=raw.get("moved", False),
        signal_id=raw.get("signal_id"),
        slot_cooldown_us=raw.get("slot_cooldown_us"),
    )


def read_verdict(data: dict[str, Any]) -> Verdict:
    raw = data["verdict"]
    return Verdict(
        result=Result(raw["result"]),
        reason=Reason(raw["reason"]) if "reason" in raw else None,
        defer_until=raw.get("defer_until"),
        inner=Reason(raw["inner"]) if "inner" in raw else None,
        duplicate=_read_duplicate(raw),
    )


def read_state(data: dict[str, Any]) -> RunState:
    """What the account remembered then, as far as it was looked at."""
    raw, trigger = data["state"], data["state"]["trigger"]
    name = data["event"]["trigger_type"]
    return RunState(
        last_allowed_at=raw["last_allowed_at"],
        last_run_was_retry=raw["last_run_was_retry"],
        triggers={} if trigger is None else {name: TriggerState(*trigger)},
        pending=decode_pending(raw["pending"]),
    )


def read_case(data: dict[str, Any], rules: TenantRules) -> Case:
    """The case as it stood then, under the rules that are given."""
    event, tenant = read_event(data), data["tenant"]
    return Case(
        event=event,
        state=read_state(data),
        tenant=TenantRuns(
            tenant["hour"],
            {event.trigger_type: tenant["hour_runs"]},
            tenant["day"],
            tenant["day_runs"],
        ),
        rules=rules,
        now=Instant(data["now"]),
        kill_switch=data.get("kill_switch"),
        duplicate=_read_duplicate(data["verdict"]),
    )


def recompute(data: dict[str, Any], rules: TenantRules) -> Verdict:
    """Decide a recorded case again. Under its own policy this gives the recorded verdict."""
    return decide(read_case(data, rules))


def _read_duplicate(raw: dict[str, Any]) -> Duplicate | None:
    if "duplicate_of" not in raw:
        return None
    return Duplicate(DecisionId(raw["duplicate_of"]), raw["differs"])
