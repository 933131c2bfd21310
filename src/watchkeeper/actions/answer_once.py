"""The first answer to a request is kept, so that sending it again does nothing again."""

from __future__ import annotations

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY, MINUTE, Instant
from watchkeeper.errors import Conflict, Invalid
from watchkeeper.store import http_replies
from watchkeeper.store.database import Database
from watchkeeper.store.http_replies import Name, Reply

KEPT_US = DAY
ABANDONED_US = 2 * MINUTE
"""A request that holds its key this long without an answer has died; the next one may try."""


class StillAnswering(Conflict):
    """The first request with this key has not been answered yet."""

    code = "idempotency_key_in_use"


class KeyReused(Invalid):
    """The key belongs to a request that was not the same."""

    code = "idempotency_key_reused"


def claim_reply(db: Database, tenant_id: TenantId, name: Name) -> Reply | None:
    """None: this request is the first, and owes an answer. Else the answer that was given."""

    def deed() -> Reply | None:
        with db.begin(tenant_id) as tx:
            if http_replies.claim(tx, name, Instant(tx.now + ABANDONED_US)):
                return None
            return http_replies.find(tx, name)

    found = db.retrying(deed)
    if found is not None and found.fingerprint != name.fingerprint:
        raise KeyReused("this Idempotency-Key was used for another request")
    if found is not None and found.status is None:
        raise StillAnswering("the first request with this Idempotency-Key is not answered yet")
    return found


def keep_reply(
    db: Database, tenant_id: TenantId, name: Name, *, status: int, headers: str, body: str
) -> None:
    def deed() -> None:
        with db.begin(tenant_id) as tx:
            until = Instant(tx.now + KEPT_US)
            http_replies.keep(tx, name, status=status, headers=headers, body=body, expires_at=until)

    db.retrying(deed)


def release_reply(db: Database, tenant_id: TenantId, name: Name) -> None:
    """The request was refused, so nothing happened: the key is free again."""

    def deed() -> None:
        with db.begin(tenant_id) as tx:
            http_replies.release(tx, name)

    db.retrying(deed)
