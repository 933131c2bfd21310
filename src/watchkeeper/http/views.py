"""How things look in answers: plain data, times in ISO 8601."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from watchkeeper.actions.views import DecisionView
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.run_state import RunState
from watchkeeper.core.time import to_iso
from watchkeeper.http.answers import iso
from watchkeeper.results import run_of, verdict_of
from watchkeeper.store.accounts import Account
from watchkeeper.store.api_keys import ApiKey
from watchkeeper.store.kill_switches import KillSwitch
from watchkeeper.store.outbox_desk import StoredMessage
from watchkeeper.store.schedules import Schedule
from watchkeeper.store.tenant_facts import TenantFacts
from watchkeeper.turn_results import Turn

_ONLY_SHOWN = ("event_status", "event_at")
_OF_DECISION = (
    "turn_id",
    "state",
    "effective_model",
    "reserved_credits_micro",
    "settlement_method",
    "charged_credits_micro",
    "event_id",
    *_ONLY_SHOWN,
)


def tenant(facts: TenantFacts) -> dict[str, Any]:
    return {
        "tenant_id": facts.tenant_id,
        "name": facts.name,
        "tier": facts.tier,
        "installed_at": iso(facts.installed_at),
        "created_at": to_iso(facts.created_at),
    }


def api_key(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "tenant_id": owner(key.tenant_id),
        "role": key.role,
        "expires_at": iso(key.expires_at),
        "revoked_at": iso(key.revoked_at),
        "created_at": to_iso(key.created_at),
        "created_by": key.created_by,
    }


def owner(tenant_id: TenantId) -> TenantId | None:
    """None: it belongs to no tenant and holds for all."""
    return None if tenant_id == SYSTEM else tenant_id


def account(found: Account) -> dict[str, Any]:
    return {
        "account_id": found.account_id,
        "posture": found.posture,
        "lifecycle_state": found.lifecycle_state,
        "attributes": orjson.Fragment(found.attributes),
        "version": found.version,
        "created_at": to_iso(found.created_at),
        "updated_at": to_iso(found.updated_at),
        "run_state": run_state(found.run_state),
    }


def run_state(state: RunState) -> dict[str, Any]:
    return {
        "last_allowed_at": iso(state.last_allowed_at),
        "triggers": {
            name: {
                "last_trigger_at": iso(trigger.last_trigger_at),
                "last_deferred_at": iso(trigger.last_deferred_at),
                "hour": trigger.hour,
                "run_count": trigger.run_count,
            }
            for name, trigger in sorted(state.triggers.items())
        },
        "pending": {
            name: {"due_at": to_iso(pending.due_at), "decision_id": pending.decision_id}
            for name, pending in sorted(state.pending.items())
        },
    }


def decision(view: DecisionView, tenant_id: TenantId) -> dict[str, Any]:
    event = view.decided.event
    return {
        **verdict_of(view.decided).to_json(),
        "tenant_id": tenant_id,
        "account_id": event.account_id,
        "trigger_type": event.trigger_type,
        "idempotency_key": event.idempotency_key,
        "correlation_id": event.correlation_id,
        "scheduled_at": iso(event.scheduled_at),
        "retry_of": event.retry_of,
        "run": _run(view),
    }


def _run(view: DecisionView) -> dict[str, Any] | None:
    run = run_of(view.decided, view.run)
    return None if run is None else run.to_json()


def shown_decision(
    view: DecisionView, tenant_id: TenantId, turns: Sequence[Turn]
) -> dict[str, Any]:
    """One decision with the turns that metered its run."""
    metered = [turn.to_json() for turn in turns]
    return {
        **decision(view, tenant_id),
        "turns": [{name: found[name] for name in _OF_DECISION} for found in metered],
    }


def turn(found: Turn, tenant_id: TenantId) -> dict[str, Any]:
    """A turn by itself; nobody has looked where its event is."""
    shown = shown_turn(found, tenant_id)
    return {name: value for name, value in shown.items() if name not in _ONLY_SHOWN}


def shown_turn(found: Turn, tenant_id: TenantId) -> dict[str, Any]:
    told = found.to_json()
    del told["existing"]
    return {"tenant_id": tenant_id, **told}


def schedule(found: Schedule) -> dict[str, Any]:
    return {
        "schedule_id": found.schedule_id,
        "account_id": found.account_id,
        "trigger_type": found.trigger_type,
        "cron": found.cron,
        "timezone": found.timezone,
        "catch_up": found.catch_up,
        "spread_seconds": found.spread_seconds,
        "next_fire_at": to_iso(found.next_fire_at),
        "updated_at": to_iso(found.updated_at),
    }


def kill_switch(switch: KillSwitch) -> dict[str, Any]:
    return {
        "tenant_id": owner(switch.tenant_id),
        "scope": switch.scope,
        "id": switch.id or None,
        "on": True,
        "reason": switch.reason,
        "set_by": switch.set_by,
        "set_at": to_iso(switch.set_at),
    }


def message(found: StoredMessage, *, unhandled: bool) -> dict[str, Any]:
    return {
        "id": found.id,
        "tenant_id": found.tenant_id,
        "namespace": found.namespace,
        "topic": found.topic,
        "status": found.status,
        "unhandled": unhandled,
        "attempts": found.attempts,
        "generation": found.generation,
        "dedupe_key": found.dedupe_key,
        "ordering_key": found.ordering_key,
        "next_attempt_at": to_iso(found.next_attempt_at),
        "locked_until": iso(found.locked_until),
        "last_error": found.last_error,
        "dead_reason": found.dead_reason,
        "created_at": to_iso(found.created_at),
        "done_at": iso(found.done_at),
        "payload": orjson.Fragment(found.payload),
    }


def rendered(found: Recorded) -> bytes:
    """An entry of any tenant, in one line."""
    return orjson.dumps({"tenant_id": found.tenant_id, **entry(found)})


def entry(found: Recorded) -> dict[str, Any]:
    it = found.entry
    return {
        "seq": found.seq,
        "entry_id": it.entry_id,
        "at": to_iso(it.at),
        "stage": it.stage,
        "kind": it.kind,
        "subject": it.subject,
        "correlation_id": it.correlation_id,
        "policy_version": it.policy_version,
        "trigger_type": it.trigger_type,
        "result": it.result,
        "reason": it.reason,
        "data": orjson.Fragment(it.data),
    }
