"""API keys: whose they are and what they may do. Of the secret only its hash is here."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.core.ids import KeyId, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Row, Session, Tx

_COLUMNS = "key_id, tenant_id, role, secret_hash, expires_at, revoked_at, created_at, created_by"
_ADD = same(f"insert into api_keys ({_COLUMNS}) values (%s, %s, %s, %s, %s, %s, %s, %s)")
_FIND = same(f"select {_COLUMNS} from api_keys where key_id = %s")
_PAGE_ALL = same(f"select {_COLUMNS} from api_keys where key_id > %s order by key_id limit %s")
_PAGE = same(
    f"select {_COLUMNS} from api_keys where tenant_id = %s and key_id > %s order by key_id limit %s"
)
_REVOKE = same(
    "update api_keys set revoked_at = %s"
    " where tenant_id = %s and key_id = %s and revoked_at is null"
)
_LIVE = same("select count(*) from api_keys where tenant_id = %s and revoked_at is null")


@dataclass(frozen=True, slots=True)
class ApiKey:
    key_id: KeyId
    tenant_id: TenantId  # _system: for all tenants
    role: str
    secret_hash: str
    expires_at: Instant | None
    revoked_at: Instant | None
    created_at: Instant
    created_by: str


def add(tx: Tx, key: ApiKey) -> None:
    tx.run(
        _ADD,
        (
            key.key_id,
            key.tenant_id,
            key.role,
            key.secret_hash,
            key.expires_at,
            key.revoked_at,
            key.created_at,
            key.created_by,
        ),
    )


def find(session: Session, key_id: str) -> ApiKey | None:
    """The key of this id, as far as the transaction's tenant may see it."""
    rows = session.rows(_FIND, (key_id,))
    return _key(rows[0]) if rows else None


def page(session: Session, tenant_id: TenantId | None, after: str, limit: int) -> list[ApiKey]:
    """Keys of one tenant; of everyone for the system, without one."""
    if tenant_id is None:
        return [_key(row) for row in session.rows(_PAGE_ALL, (after, limit))]
    return [_key(row) for row in session.rows(_PAGE, (tenant_id, after, limit))]


def revoke(tx: Tx, key_id: str) -> bool:
    """It is refused from the commit on; False when it was revoked already."""
    return tx.changed(_REVOKE, (tx.now, tx.tenant_id, key_id)) == 1


def count_live(tx: Tx) -> int:
    return int(tx.rows(_LIVE, (tx.tenant_id,))[0][0])


def _key(row: Row) -> ApiKey:
    return ApiKey(*row)
