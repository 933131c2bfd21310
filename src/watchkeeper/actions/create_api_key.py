"""A key is made. Its secret is shown once and kept nowhere; its hash is."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass

from watchkeeper.actions.answer_once import AlreadyDone, Once, change_once
from watchkeeper.actions.first_use import make_if_new
from watchkeeper.core.ids import SYSTEM, KeyId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.time import Instant
from watchkeeper.errors import Conflict
from watchkeeper.ids import new_id
from watchkeeper.store import api_keys, ledger, tenants
from watchkeeper.store.api_keys import ApiKey
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.transaction import Tx

LIVE_KEYS_MAX = 1000
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID = re.compile(r"[0-9A-Za-z]{16}")
_KEY = re.compile(r"wk_([0-9A-Za-z]{16})_([0-9A-Za-z]{43})")


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """The one moment at which the whole key is known."""

    stored: ApiKey
    key: str

    def __repr__(self) -> str:
        return f"NewApiKey({self.stored.key_id})"


def create_api_key(
    db: Database,
    tenant_id: TenantId | None,
    role: str,
    *,
    expires_at: Instant | None = None,
    created_by: str,
    makes_tenant: bool = False,
    once: Once | None = None,
) -> NewApiKey:
    """Make a key for a tenant, or for all of them. From the commit on it is accepted.

    A repeat of the same request raises AlreadyDone with the id of the key that was made.
    """
    owner = SYSTEM if tenant_id is None else tenant_id
    key_id, secret = KeyId(_text(16)), _text(43)

    def deed(tx: Tx) -> ApiKey:
        if owner == SYSTEM:
            tenants.create(tx, name=None, tier=None, installed_at=None)
        make_if_new(db, tx, makes_tenant=makes_tenant)
        tenant = tenants.lock(tx)
        if api_keys.count_live(tx) >= LIVE_KEYS_MAX:
            raise Conflict(f"there are {LIVE_KEYS_MAX} keys already: revoke some")
        stored = ApiKey(key_id, owner, role, hash_of(secret), expires_at, None, tx.now, created_by)
        api_keys.add(tx, stored)
        ledger.append_and_save(tx, tenant, [_created(tx, stored)])
        return stored

    try:
        stored = change_once(db, owner, deed, once, key_id)
    except AlreadyDone as done:
        if done.note != key_id:
            raise
        stored = stored_key(db, key_id)
    return NewApiKey(stored, f"wk_{key_id}_{secret}")


def stored_key(db: Database, key_id: str) -> ApiKey:
    with db.read(SYSTEM) as tx:
        stored = api_keys.find(tx, key_id)
    assert stored is not None, "keys are revoked, never removed"
    return stored


def _created(tx: Tx, key: ApiKey) -> Entry:
    data = {"created_by": key.created_by, "expires_at": key.expires_at, "role": key.role}
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.SYSTEM,
        kind=Kind.API_KEY_CREATED,
        subject=key.key_id,
        data=dumps(data),
    )


def split_key(text: str) -> tuple[str, str] | None:
    """The id and the secret of a key that has the form of one."""
    found = _KEY.fullmatch(text)
    return None if found is None else (found[1], found[2])


def is_key_id(text: str) -> bool:
    """Whether it can be the id of a key: what comes from outside is not asked of a database."""
    return _ID.fullmatch(text) is not None


def hash_of(secret: str) -> str:
    """256 random bits need no slow hash: nobody can try them all."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _text(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
