"""The desk: looking at messages, sending dead ones on their way again, letting them go.

What is live and what was delivered lie in two tables; here they are one outbox. All
statements are of one tenant, in its transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.ids import is_uuid
from watchkeeper.store import outbox
from watchkeeper.store.json import encode
from watchkeeper.store.outbox import SOON_US, NewMessage
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Tx

PAGE_MAX = 200


class Status(StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    DELIVERED = "delivered"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message as it lies in the outbox, leased or not."""

    id: MessageId
    tenant_id: TenantId
    namespace: str
    topic: str
    dedupe_key: str | None
    ordering_key: str | None
    payload: str
    status: Status
    attempts: int
    generation: int
    next_attempt_at: Instant
    locked_until: Instant | None
    last_error: str | None
    dead_reason: str | None
    created_at: Instant
    done_at: Instant | None


class Filter(NamedTuple):
    status: Status | None = None
    namespace: str | None = None
    topic: str | None = None


LIVE_COLUMNS = (
    "id, tenant_id, namespace, topic, dedupe_key, ordering_key, payload, status, attempts,"
    " generation, next_attempt_at, locked_until, last_error, dead_reason, created_at, done_at"
)
DELIVERED_COLUMNS = (
    "id, tenant_id, namespace, topic, dedupe_key, ordering_key, payload, 'delivered', attempts,"
    " generation, next_attempt_at, null, last_error, null, created_at, done_at"
)


_ONE = same(
    f"select {LIVE_COLUMNS} from outbox where tenant_id = %s and id = %s"
    f" union all select {DELIVERED_COLUMNS} from outbox_delivered where tenant_id = %s and id = %s"
)


def get(tx: Tx, message_id: MessageId) -> StoredMessage | None:
    rows = tx.rows(_ONE, (tx.tenant_id, message_id) * 2) if is_uuid(message_id) else []
    return stored(rows[0]) if rows else None


def page(
    tx: Tx, wanted: Filter, *, before: MessageId | None = None, limit: int = PAGE_MAX
) -> list[StoredMessage]:
    """Messages that match, the newest first, before the last one of the page before.

    Ids are made in the order of time, and both tables are keyed by them.
    """
    limit = min(limit, PAGE_MAX)
    found: list[StoredMessage] = []
    if wanted.status is not Status.DELIVERED:
        found += _page_of(tx, "outbox", LIVE_COLUMNS, wanted, before, limit)
    if wanted.status in (None, Status.DELIVERED):
        found += _page_of(tx, "outbox_delivered", DELIVERED_COLUMNS, wanted, before, limit)
    found.sort(key=lambda message: message.id, reverse=True)
    return found[:limit]


def _page_of(
    tx: Tx, table: str, columns: str, wanted: Filter, before: MessageId | None, limit: int
) -> list[StoredMessage]:
    clauses, parameters = ["tenant_id = %s"], [str(tx.tenant_id)]
    if table == "outbox" and wanted.status is not None:
        clauses.append("status = %s")
        parameters.append(wanted.status)
    if wanted.status is Status.DEAD:
        clauses.append("done_at is not null")  # there is an index of these
    for name, value in (("namespace", wanted.namespace), ("topic", wanted.topic)):
        if value is not None:
            clauses.append(f"{name} = %s")
            parameters.append(value)
    if before is not None:
        clauses.append("id < %s")
        parameters.append(before)
    sql = f"select {columns} from {table} where {' and '.join(clauses)} order by id desc limit %s"
    return [stored(row) for row in tx.rows(same(sql), (*parameters, limit))]


_REDRIVE = Statement(
    """update outbox o set status = 'pending', attempts = 0, generation = o.generation + 1,
        next_attempt_at = v.n, is_due = v.n <= p.at, dead_reason = null, done_at = null,
        updated_at = p.at
    from (select %s::bigint) p (at), jsonb_to_recordset(%s::jsonb) as v (i uuid, n bigint)
    where o.tenant_id = %s and o.id = v.i and o.status = 'dead' returning o.id""",
    """update outbox set status = 'pending', attempts = 0, generation = generation + 1,
        next_attempt_at = v.value ->> 'n', is_due = v.value ->> 'n' <= ?1, dead_reason = null,
        done_at = null, updated_at = ?1
    from json_each(?2) v
    where tenant_id = ?3 and outbox.id = v.value ->> 'i' and status = 'dead' returning id""",
)
_WRITE_AGAIN = same(
    "insert into outbox (tenant_id, id, namespace, topic, dedupe_key, ordering_key, payload,"
    " generation, next_attempt_at, is_due, last_error, created_at, updated_at)"
    " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_REMOVE = same(
    "delete from outbox where tenant_id = %s and id = %s and status in ('dead', 'pending')"
    " returning id"
)
_FREE_KEY = same(
    "delete from dedupe_keys"
    " where tenant_id = %s and namespace = %s and topic = %s and dedupe_key = %s"
)
_REMOVE_DELIVERED = same(
    "delete from outbox_delivered where tenant_id = %s and id = %s returning id"
)


def redrive(tx: Tx, due: Sequence[tuple[MessageId, Instant]]) -> set[MessageId]:
    """Give dead messages all their attempts again, each from its moment on; which there were."""
    asked = encode([{"i": id, "n": at} for id, at in due])
    found = {row[0] for row in tx.rows(_REDRIVE, (tx.now, asked, tx.tenant_id))}
    if found and any(at <= tx.now + SOON_US for _, at in due):
        tx.has_news = True
    return found


def write_again(tx: Tx, message: StoredMessage, due_at: Instant) -> bool:
    """Send a dead or delivered message once more, behind all that have its ordering key.

    Its followers may be on their way already: the place that it had is gone.
    """
    remove = _REMOVE_DELIVERED if message.status is Status.DELIVERED else _REMOVE
    outbox.lock_ordering(tx, outbox.ordering_keys([_as_new(message)]))
    if not tx.rows(remove, (tx.tenant_id, message.id)):
        return False
    keys = (message.dedupe_key, message.ordering_key)
    told = (tx.tenant_id, message.id, message.namespace, message.topic, *keys, message.payload)
    when = (message.generation + 1, due_at, due_at <= tx.now)
    tx.run(_WRITE_AGAIN, (*told, *when, message.last_error, message.created_at, tx.now))
    tx.has_news = True
    return True


def discard(tx: Tx, message: StoredMessage) -> bool:
    """Remove a message if it is dead or pending; its dedupe key is free again."""
    if not tx.rows(_REMOVE, (tx.tenant_id, message.id)):
        return False
    tx.run(_FREE_KEY, (tx.tenant_id, message.namespace, message.topic, message.dedupe_key))
    return True


def _as_new(message: StoredMessage) -> NewMessage:
    return NewMessage(
        topic=message.topic,
        payload=message.payload,
        namespace=message.namespace,
        tenant_id=message.tenant_id,
        ordering_key=message.ordering_key,
    )


def stored(row: Row) -> StoredMessage:
    values = dict(zip(StoredMessage.__slots__, row, strict=True))
    return StoredMessage(**{**values, "status": Status(values["status"])})
