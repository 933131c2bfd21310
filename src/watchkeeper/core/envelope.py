"""The envelopes in which decisions travel: readable as an EventBridge event.

`source`, `detail-type` and `detail` are what programs outside rely on; fields may be
added to a detail, none is renamed.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.core.admission import Event
from watchkeeper.core.canonical import sha256_hex
from watchkeeper.core.ids import AccountId, DecisionId, MessageId, TenantId
from watchkeeper.core.time import SECOND, Instant, ceil_epoch, from_iso, to_iso

EVALUATION_REQUESTED = "decision.evaluation_requested"
RETRY = "decision.retry"
DEFERRED = "decision.deferred"
SCHEDULED = "decision.scheduled"
SIGNAL_HANDED_IN = "signal.handed_in"
SCHEDULE_DUE = "schedule.due"
SCHEDULE_SLICE = "schedule.slice"
MESSAGE_DEAD = "message.dead"
REPORT_GENERATED = "report.generated"
PLAN_CHANGED = "plan.changed"

SOURCE = "watchkeeper"


def evaluation_requested(
    tenant_id: TenantId,
    decision_id: DecisionId,
    event: Event,
    *,
    now: Instant,
    signals_after: int,
    signals_until: int,
    source: str = SOURCE,
) -> dict[str, Any]:
    """What an ALLOW causes. The two places in the ledger bound the signals the run is told."""
    return {
        "detail": {
            **_common(tenant_id, event),
            "decision_id": decision_id,
            "evaluated_at": to_iso(now),
            "idempotency_key": event.idempotency_key,
            "signals_after": signals_after,
            "signals_until": signals_until,
        },
        "detail-type": "DECISION_EVALUATION_REQUESTED",
        "source": source,
    }


def run_decision(tenant_id: TenantId, event: Event, *, source: str = SOURCE) -> dict[str, Any]:
    """An event on its way to admission."""
    detail = {**_common(tenant_id, event), "idempotency_key": event.idempotency_key}
    if event.saturation is not None:
        detail["action_saturation_score"] = event.saturation
    if event.scheduled_at is not None:
        detail["scheduled_at"] = to_iso(event.scheduled_at)
    return {"detail": detail, "detail-type": "RUN_DECISION", "source": source}


def retry(
    tenant_id: TenantId,
    deferral: DecisionId,
    event: Event,
    *,
    due_at: Instant,
    moved: bool,
    cooldown_us: int,
    source: str = SOURCE,
) -> dict[str, Any]:
    """The one retry of a deferral: a RUN_DECISION whose key follows from the deferral's."""
    envelope = run_decision(tenant_id, event, source=source)
    envelope["detail"].update(
        due_at=to_iso(due_at),
        idempotency_key=retry_key(tenant_id, deferral, moved=moved),
        moved=moved,
        original_idempotency_key=event.original_key or event.idempotency_key,
        retry_of=deferral,
        slot_cooldown_seconds=cooldown_us // SECOND,
    )
    return envelope


def deferred(
    tenant_id: TenantId, event: Event, *, until: Instant, now: Instant, source: str = SOURCE
) -> dict[str, Any]:
    return {
        "detail": {
            **_common(tenant_id, event),
            "defer_until_epoch": ceil_epoch(until),
            "original_idempotency_key": event.original_key or event.idempotency_key,
            "retry_after_seconds": retry_after_seconds(until, now),
        },
        "detail-type": "RUN_DECISION_DEFERRED",
        "source": source,
    }


def message_dead(
    tenant_id: TenantId,
    message_id: MessageId,
    *,
    namespace: str,
    topic: str,
    attempts: int,
    reason: str,
    error: str | None,
    now: Instant,
    source: str = SOURCE,
) -> dict[str, Any]:
    """A message came to its end undelivered. Its payload stays at the desk."""
    return {
        "detail": {
            "attempts": attempts,
            "dead_at": to_iso(now),
            "error": error,
            "message_id": message_id,
            "namespace": namespace,
            "reason": reason,
            "tenant_id": tenant_id,
            "topic": topic,
        },
        "detail-type": "MESSAGE_DEAD",
        "source": source,
    }


def report_generated(
    tenant_id: TenantId,
    report_id: str,
    *,
    trigger: str,
    since: Instant,
    until: Instant,
    source: str = SOURCE,
) -> dict[str, Any]:
    """A report was made and is stored; it is fetched by its id."""
    return {
        "detail": {
            "generated_at": to_iso(until),
            "report_id": report_id,
            "tenant_id": tenant_id,
            "trigger": trigger,
            "window": {"since": to_iso(since), "until": to_iso(until)},
        },
        "detail-type": "REPORT_GENERATED",
        "source": source,
    }


def retry_after_seconds(until: Instant, now: Instant) -> int:
    return -(-(until - now) // SECOND)


def retry_key(tenant_id: TenantId, deferral: DecisionId, *, moved: bool) -> str:
    return "retry:" + sha256_hex(["retry", tenant_id, deferral, moved])


def read_run_decision(detail: dict[str, Any]) -> Event:
    """The event of a RUN_DECISION, fresh or the retry of a deferral."""
    scheduled_at, retry_of = detail.get("scheduled_at"), detail.get("retry_of")
    cooldown = detail.get("slot_cooldown_seconds")
    return Event(
        account_id=AccountId(detail["account_id"]),
        trigger_type=detail["trigger_type"],
        idempotency_key=detail["idempotency_key"],
        scheduled_at=None if scheduled_at is None else from_iso(scheduled_at),
        correlation_id=detail.get("correlation_id"),
        saturation=detail.get("action_saturation_score"),
        retry_of=None if retry_of is None else DecisionId(retry_of),
        moved=detail.get("moved", False),
        original_key=detail.get("original_idempotency_key"),
        slot_cooldown_us=None if cooldown is None else cooldown * SECOND,
    )


def _common(tenant_id: TenantId, event: Event) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "account_id": event.account_id,
        "tenant_id": tenant_id,
        "trigger_type": event.trigger_type,
    }
    if event.correlation_id is not None:
        detail["correlation_id"] = event.correlation_id
    return detail
