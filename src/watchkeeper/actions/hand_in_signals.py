"""Signals handed in with the caller's own rows: a message now, admitted after the COMMIT.

Admission takes the tenant's lock, which nobody may hold for as long as a stranger's transaction is
open. So the signal is left as a message in that transaction, and a worker admits it, once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.ingest_signals import NewSignal, asked_by
from watchkeeper.core.delivery import AttemptResult, Delivered
from watchkeeper.core.envelope import SIGNAL_HANDED_IN, SOURCE
from watchkeeper.core.ids import AccountId, DecisionId, MessageId, SignalId, TenantId
from watchkeeper.core.time import Instant, from_iso, to_iso
from watchkeeper.ids import new_id, turned
from watchkeeper.moves.admission import Asked
from watchkeeper.store.enqueue_on import Theirs, enqueue_on
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.leases import Message
from watchkeeper.store.outbox import NewMessage
from watchkeeper.telemetry import traceparent


class HandedIn(NamedTuple):
    signal_id: SignalId
    message_id: MessageId


def hand_in_signals(
    connection: Theirs, tenant_id: TenantId, signals: Sequence[NewSignal]
) -> list[HandedIn]:
    """Leave signals in the caller's open transaction; nothing of them is left if it rolls back."""
    if not signals:
        return []
    parent = traceparent()
    ids = [one.signal_id or SignalId(new_id()) for one in signals]
    messages = [
        NewMessage(
            topic=SIGNAL_HANDED_IN,
            payload=dumps(_envelope(tenant_id, signal, id, parent)),
            tenant_id=tenant_id,
        )
        for signal, id in zip(signals, ids, strict=True)
    ]
    left = enqueue_on(connection, messages)
    return [HandedIn(*pair) for pair in zip(ids, left, strict=True)]


def admit_signals(admission: Admission, messages: Sequence[Message]) -> list[AttemptResult]:
    """Admit what was handed in, once, however often its message is delivered."""
    by_tenant: dict[TenantId, list[Asked]] = defaultdict(list)
    for message in messages:
        by_tenant[message.tenant_id].append(_asked(message))
    for tenant_id, asked in by_tenant.items():
        admission.admit_alone(tenant_id, asked, seen_before=True)
    return [Delivered()] * len(messages)


def _envelope(
    tenant_id: TenantId, signal: NewSignal, signal_id: SignalId, parent: str | None
) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "tenant_id": tenant_id,
        "account_id": signal.account_id,
        "type": signal.type,
        "signal_id": signal_id,
        "occurred_at": None if signal.occurred_at is None else to_iso(signal.occurred_at),
        "idempotency_key": signal.idempotency_key,
        "correlation_id": signal.correlation_id,
        "data": signal.data,
        "traceparent": parent,
    }
    told = {name: value for name, value in detail.items() if value is not None}
    return {"detail": told, "detail-type": "SIGNAL_HANDED_IN", "source": SOURCE}


def _asked(message: Message) -> Asked:
    """The decision's id follows from the message's: a second delivery finds the first verdict."""
    detail = loads(message.payload)["detail"]
    occurred_at = detail.get("occurred_at")
    signal = NewSignal(
        account_id=AccountId(detail["account_id"]),
        type=detail["type"],
        signal_id=SignalId(detail["signal_id"]),
        occurred_at=Instant(message.created_at) if occurred_at is None else from_iso(occurred_at),
        idempotency_key=detail.get("idempotency_key"),
        correlation_id=detail.get("correlation_id"),
        data=detail["data"],
    )
    asked = asked_by(signal, detail.get("traceparent"))
    return asked._replace(decision_id=DecisionId(turned(message.id)))
