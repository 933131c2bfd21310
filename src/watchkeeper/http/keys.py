"""Keys: from an Authorization header to its caller.

Unknown, revoked and expired keys get the same answer after the same work. Whether a key
has expired is judged by wall time, whatever the virtual clock shows.
"""

from __future__ import annotations

import hashlib
import hmac
import time

from watchkeeper.actions.create_api_key import hash_of, is_key_id, split_key
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.errors import Unauthorized
from watchkeeper.http.access import Caller
from watchkeeper.http.problems import Refused
from watchkeeper.store import api_keys
from watchkeeper.store.api_keys import ApiKey
from watchkeeper.store.database import Database

HEADER_LENGTH_MAX = 1024
IN_QUERY = frozenset(
    {"key", "api_key", "apikey", "api-key", "access_token", "token", "authorization", "bearer"}
)

_NOBODY = "0" * 64
_SCHEME = "bearer "


class Keyring:
    """Answers who a key speaks for, from the database at each request: revoking is at once."""

    def __init__(self, db: Database, admin_key: str | None) -> None:
        self._db = db
        self._admin = None if admin_key is None else _digest(admin_key)

    def caller(self, header: str | None) -> Caller:
        given = _bearer(header)
        if self._admin is not None and hmac.compare_digest(_digest(given), self._admin):
            return Caller("admin", "admin")
        parts = split_key(given)
        if parts is None:
            raise _refused()
        key_id, secret = parts
        stored = self._stored(key_id)
        expected = _NOBODY if stored is None else stored.secret_hash
        matches = hmac.compare_digest(hash_of(secret), expected)
        if stored is None or not matches or not _is_live(stored):
            raise _refused()
        return _caller(stored)

    def signing(self, name: str) -> tuple[Caller, bytes]:
        """Who a name in a session stands for, and what its sessions are signed with."""
        if name == "admin" and self._admin is not None:
            return Caller("admin", "admin"), self._admin
        prefix, _, key_id = name.partition(":")
        is_one = prefix == "key" and is_key_id(key_id)
        stored = self._stored(key_id) if is_one else None
        if stored is None or not _is_live(stored):
            raise _refused()
        own = bytes.fromhex(stored.secret_hash)
        return _caller(stored), hmac.digest(self._admin or b"-", own, "sha256")

    def _stored(self, key_id: str) -> ApiKey | None:
        with self._db.read(SYSTEM) as tx:
            return api_keys.find(tx, key_id)


def _is_live(key: ApiKey) -> bool:
    if key.revoked_at is not None:
        return False
    return key.expires_at is None or key.expires_at > _wall_now()


def _caller(key: ApiKey) -> Caller:
    tenant_id = None if key.tenant_id == SYSTEM else TenantId(key.tenant_id)
    return Caller(f"key:{key.key_id}", key.role, tenant_id)


def refuse_keys_in_query(names: list[str]) -> None:
    """An address is written into logs on its way; a key in it is a key lost."""
    if any(name.lower() in IN_QUERY for name in names):
        raise Refused(
            400, "key_in_query", "send the key in the Authorization header, not in the address"
        )


def _bearer(header: str | None) -> str:
    if header is None or len(header) > HEADER_LENGTH_MAX:
        raise _refused()
    if not header[: len(_SCHEME)].lower() == _SCHEME:
        raise _refused()
    return header[len(_SCHEME) :].strip()


def _refused() -> Unauthorized:
    return Unauthorized("send a valid key in the Authorization header, as a bearer token")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _wall_now() -> Instant:
    return Instant(time.time_ns() // 1000)
