"""Whose is it? For keys of all tenants, which may name one object without its tenant."""

from __future__ import annotations

from watchkeeper.core.ids import TenantId
from watchkeeper.errors import NotFound
from watchkeeper.ids import is_uuid
from watchkeeper.store import ledger, outbox_counts
from watchkeeper.store.database import Database


def tenant_of_decision(db: Database, decision_id: str) -> TenantId:
    found = None
    if is_uuid(decision_id):
        with db.read_system() as tx:
            found = ledger.tenant_of(tx, decision_id)
    if found is None:
        raise NotFound(f"there is no decision {decision_id}", decision_id=decision_id)
    return TenantId(found)


def tenant_of_message(db: Database, message_id: str) -> TenantId:
    found = None
    if is_uuid(message_id):
        with db.read_system() as tx:
            found = outbox_counts.tenant_of(tx, message_id)
    if found is None:
        raise NotFound(f"there is no message {message_id}", message_id=message_id)
    return TenantId(found)
