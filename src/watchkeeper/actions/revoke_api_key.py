"""A key is taken back; no request that begins later is accepted with it."""

from __future__ import annotations

from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.errors import NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import api_keys, ledger, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps


def revoke_api_key(
    db: Database, tenant_id: TenantId | None, key_id: str, *, revoked_by: str
) -> None:
    """Revoke a key of this tenant, or, without one, of anybody. Doing it twice is doing it."""
    with db.read(SYSTEM) as read:
        key = api_keys.find(read, key_id)
    if key is None or tenant_id not in (None, key.tenant_id):
        raise NotFound(f"there is no key {key_id}", key_id=key_id)
    owner = key.tenant_id

    def deed() -> None:
        with db.begin(owner) as tx:
            tenant = tenants.lock(tx)
            if not api_keys.revoke(tx, key_id):
                return
            entry = Entry(
                entry_id=new_id(),
                at=tx.now,
                stage=Stage.SYSTEM,
                kind=Kind.API_KEY_REVOKED,
                subject=key_id,
                data=dumps({"revoked_by": revoked_by}),
            )
            ledger.append_and_save(tx, tenant, [entry])

    db.retrying(deed)
