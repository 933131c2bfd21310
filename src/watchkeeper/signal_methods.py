"""The part of the door for Python programs that takes signals in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, overload

from watchkeeper import inputs
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.hand_in_signals import hand_in_signals
from watchkeeper.actions.ingest_signals import ingest_signals
from watchkeeper.core.ids import TenantId
from watchkeeper.results import PendingReceipt, Receipt, verdict_of
from watchkeeper.store.database import Database
from watchkeeper.store.enqueue_on import Theirs


class SignalMethods:
    """How `App` takes signals in, by itself or in a transaction of the caller's own."""

    db: Database
    admission: Admission

    @overload
    def signal(
        self,
        tenant_id: str,
        account_id: str,
        type: str,
        *,
        signal_id: str | None = None,
        occurred_at: datetime | str | None = None,
        idempotency_key: str | None = None,
        correlation_id: str | None = None,
        data: Mapping[str, Any] | None = None,
        connection: None = None,
    ) -> Receipt: ...

    @overload
    def signal(
        self,
        tenant_id: str,
        account_id: str,
        type: str,
        *,
        signal_id: str | None = None,
        occurred_at: datetime | str | None = None,
        idempotency_key: str | None = None,
        correlation_id: str | None = None,
        data: Mapping[str, Any] | None = None,
        connection: Theirs,
    ) -> PendingReceipt: ...

    def signal(
        self,
        tenant_id: str,
        account_id: str,
        type: str,
        *,
        signal_id: str | None = None,
        occurred_at: datetime | str | None = None,
        idempotency_key: str | None = None,
        correlation_id: str | None = None,
        data: Mapping[str, Any] | None = None,
        connection: Theirs = None,
    ) -> Receipt | PendingReceipt:
        """Hand in a piece of news about an account: it is kept, and may wake the agent.

        With a `connection` of yours, as for `enqueue`, the signal is committed with your rows and
        judged by a worker after that: the answer is a `PendingReceipt`, without a verdict.
        """
        moment = occurred_at.isoformat() if isinstance(occurred_at, datetime) else occurred_at
        given = {
            "account_id": account_id,
            "type": type,
            "signal_id": signal_id,
            "occurred_at": moment,
            "idempotency_key": idempotency_key,
            "correlation_id": correlation_id,
            "data": None if data is None else dict(data),
        }
        signal = {name: value for name, value in given.items() if value is not None}
        if connection is None:
            return self.signal_many(tenant_id, [signal])[0]
        return self.signal_many(tenant_id, [signal], connection=connection)[0]

    @overload
    def signal_many(
        self, tenant_id: str, signals: Sequence[Mapping[str, object]], *, connection: None = None
    ) -> list[Receipt]: ...

    @overload
    def signal_many(
        self, tenant_id: str, signals: Sequence[Mapping[str, object]], *, connection: Theirs
    ) -> list[PendingReceipt]: ...

    def signal_many(
        self,
        tenant_id: str,
        signals: Sequence[Mapping[str, object]],
        *,
        connection: Theirs = None,
    ) -> list[Receipt] | list[PendingReceipt]:
        """Store many signals, in order. With a `connection`, in your own transaction."""
        tenant = TenantId(inputs.parse_tenant_id(tenant_id))
        new = inputs.parse_signals(signals)
        if connection is not None:
            self.db.check_open()
            left = hand_in_signals(connection, tenant, new)
            return [PendingReceipt(*one) for one in left]
        received = ingest_signals(self.admission, tenant, new)
        return [Receipt(signal_id, verdict_of(decided)) for signal_id, decided in received]
