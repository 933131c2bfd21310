"""Signals came in: each is stored, and asks for a run of its account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.answer_once import Once
from watchkeeper.core.admission import Event
from watchkeeper.core.ids import AccountId, DecisionId, SignalId, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.ids import new_id
from watchkeeper.moves.admission import Asked, Decided
from watchkeeper.store.signals import Signal
from watchkeeper.telemetry import traceparent

SIGNAL_ARRIVED = "SIGNAL_ARRIVED"


@dataclass(frozen=True, slots=True)
class NewSignal:
    """A signal as its sender gives it. `data` is JSON text; a missing id is made for it."""

    account_id: AccountId
    type: str
    signal_id: SignalId | None = None
    occurred_at: Instant | None = None
    idempotency_key: str | None = None
    correlation_id: str | None = None
    data: str = "{}"


def ingest_signals(
    admission: Admission,
    tenant_id: TenantId,
    signals: Sequence[NewSignal],
    *,
    may_pull: bool = True,
    once: Once | None = None,
) -> list[tuple[SignalId, Decided]]:
    """Store each signal unless it is a repeat, and answer its SIGNAL_ARRIVED, in order.

    What a pull on a signal brought `may_pull` no further: it would go on without end.
    """
    parent = traceparent()
    asked = [asked_by(signal, parent)._replace(may_pull=may_pull) for signal in signals]
    decided = admission.admit(tenant_id, asked, once)
    return [(SignalId(answer.event.signal_id or ""), answer) for answer in decided]


def asked_by(new: NewSignal, parent: str | None) -> Asked:
    """The event of a signal, under a new id; `parent` is the trace that it came with."""
    signal_id = new.signal_id or SignalId(new_id())
    event = Event(
        account_id=new.account_id,
        trigger_type=SIGNAL_ARRIVED,
        idempotency_key=new.idempotency_key or signal_id,
        correlation_id=new.correlation_id,
        signal_id=signal_id,
    )
    signal = Signal(
        signal_id=signal_id,
        account_id=new.account_id,
        type=new.type,
        occurred_at=new.occurred_at,
        correlation_id=new.correlation_id,
        data=new.data,
    )
    return Asked(DecisionId(new_id()), event, signal, parent)
