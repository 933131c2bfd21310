"""A request with an Idempotency-Key changes something once, and its first answer is kept.

The key is written in the transaction of the change, so that there is never one without the
other. The answer is made and kept afterwards. Where that did not come to pass, a repeat finds
the key with a note of the change, does nothing, and is answered from what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY, Instant
from watchkeeper.errors import CommitUnknown, Conflict, Invalid, NotFound
from watchkeeper.store import http_replies
from watchkeeper.store.database import TRIES_MAX, Database
from watchkeeper.store.http_replies import Name, Reply
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.transaction import Tx

KEPT_US = DAY

T = TypeVar("T")


class KeyReused(Invalid):
    """The key belongs to a request that was not the same."""

    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__("this Idempotency-Key was used for another request")


class AlreadyDone(Exception):
    """The change of this key was committed before; this transaction changes nothing."""

    def __init__(self, note: Any) -> None:
        super().__init__("the change of this Idempotency-Key was made before")
        self.note = note


@dataclass(frozen=True, slots=True)
class Once:
    """A request under its key. `at`: when it came; its key is kept for a day from then."""

    name: Name
    at: Instant


def find_reply(db: Database, tenant_id: TenantId, name: Name) -> tuple[Once, Reply | None]:
    """The request under its key, and what is known of an earlier one."""
    with db.read(tenant_id) as tx:
        once, reply = Once(name, tx.now), http_replies.find(tx, name, tx.now)
    if reply is not None and reply.fingerprint != name.fingerprint:
        raise KeyReused
    return once, reply


def keep_reply(
    db: Database, tenant_id: TenantId, once: Once, *, status: int, headers: str, body: str
) -> None:
    def deed() -> None:
        with db.begin(tenant_id) as tx:
            until = Instant(tx.now + KEPT_US)
            http_replies.keep(
                tx, once.name, status=status, headers=headers, body=body, expires_at=until
            )

    db.retrying(deed)


def take(tx: Tx, once: Once | None, note: object = None, *, until: Instant | None = None) -> None:
    """Write the key into this transaction. Raises AlreadyDone with the note of the first one.

    `until` is when the key is free again, where a day from now is not long enough.
    """
    if once is None:
        return
    expires_at = Instant(once.at + KEPT_US) if until is None else until
    if http_replies.take(tx, once.name, dumps(note), now=once.at, expires_at=expires_at):
        return
    first = http_replies.find(tx, once.name, once.at)
    if first is None or first.fingerprint != once.name.fingerprint:
        raise KeyReused
    raise AlreadyDone(None if first.deed is None else loads(first.deed))


def remember(tx: Tx, once: Once | None, note: object) -> None:
    """Replace the note that a repeat is answered from."""
    if once is not None:
        http_replies.note(tx, once.name, dumps(note))


def change_once(
    db: Database,
    tenant_id: TenantId,
    deed: Callable[[Tx], T],
    once: Once | None,
    note: object = None,
) -> T:
    """The deed in one transaction of the tenant, together with the key of its request."""

    def transaction() -> T:
        with db.begin(tenant_id) as tx:
            take(tx, once, note)
            return deed(tx)

    return db.retrying(transaction) if once is None else until_known(db, transaction)


def until_known(db: Database, deed: Callable[[], T]) -> T:
    """Run a transaction that recognises its own work: again while its COMMIT is in doubt."""
    unknown: CommitUnknown | None = None
    for _ in range(TRIES_MAX):
        try:
            return db.retrying(deed)
        except CommitUnknown as error:
            unknown = error
        except (AlreadyDone, Conflict, Invalid, NotFound):
            raise
        except Exception as error:
            if unknown is None:
                raise
            raise unknown from error
    assert unknown is not None
    raise unknown
