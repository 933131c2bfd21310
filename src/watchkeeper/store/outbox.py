"""The outbox: the one way out of a transaction.

Whatever is to happen after a commit is a message written in the same transaction, due
now or later. Either both are there afterwards or neither is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from watchkeeper.core.ids import MessageId, TenantId, Token
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.errors import Invalid, Unavailable
from watchkeeper.ids import is_uuid, new_id
from watchkeeper.store.json import encode, loads
from watchkeeper.store.leases import Message
from watchkeeper.store.statement import Statement
from watchkeeper.store.transaction import Row, Session, Tx

NAMESPACE = "watchkeeper"
CHUNK = 250
"""Rows per statement: larger parameters cost the server more than the saved statements."""

SOON_US = 2 * SECOND
"""Workers are woken for what falls due before their next look, so that they can wait for it."""

KEY_TRIES_MAX = 3
KEY_LENGTH_MAX = 500

RECORD = "\x1e"  # stands in no JSON text, so that it can stand between two of them


class NewMessage(NamedTuple):
    """A message to be. Without a tenant it is the transaction's, without a time it is due now."""

    topic: str
    payload: str  # JSON text, kept as it is
    namespace: str = NAMESPACE
    tenant_id: TenantId | None = None
    due_at: Instant | None = None
    dedupe_key: str | None = None
    ordering_key: str | None = None
    id: MessageId | None = None


Key: TypeAlias = tuple[str, str, str, str]  # tenant, namespace, topic, dedupe key

_INSERT = Statement(
    # What a row does not say is left out of the parameter: parsing it was the larger cost.
    f"""insert into outbox (id, tenant_id, namespace, topic, dedupe_key, ordering_key, payload,
        next_attempt_at, is_due, created_at, updated_at)
    select v.i, coalesce(v.a, p.a), coalesce(v.s, '{NAMESPACE}'), v.t, v.d, v.o, v.p::json,
        coalesce(v.n, p.n), coalesce(v.n <= p.n, true), p.n, p.n
    from (select %s::text, %s::bigint) p (a, n), rows from (
        jsonb_to_recordset(%s::jsonb) as
            (i uuid, a text, s text, t text, d text, o text, n bigint),
        string_to_table(%s, E'\\x1e')
    ) v (i, a, s, t, d, o, n, p)""",
    """insert into outbox (id, tenant_id, namespace, topic, dedupe_key, ordering_key, payload,
        next_attempt_at, is_due, created_at, updated_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
)

_RESERVE = Statement(
    # In order of the key, so that two batches that share keys wait and do not deadlock.
    """insert into dedupe_keys (tenant_id, namespace, topic, dedupe_key, message_id, created_at)
    select v.a, v.s, v.t, v.d, v.i, %s
    from jsonb_to_recordset(%s::jsonb) as v (a text, s text, t text, d text, i uuid)
    order by 1, 2, 3, 4
    on conflict do nothing returning tenant_id, namespace, topic, dedupe_key, message_id""",
    """insert into dedupe_keys (created_at, tenant_id, namespace, topic, dedupe_key, message_id)
    select ?, value ->> 'a', value ->> 's', value ->> 't', value ->> 'd', value ->> 'i'
    from json_each(?) where true
    on conflict do nothing returning tenant_id, namespace, topic, dedupe_key, message_id""",
)
_TAKE = Statement(
    """insert into dedupe_keys (tenant_id, namespace, topic, dedupe_key, message_id, created_at)
    select v.a, v.s, v.t, v.d, v.i, %s
    from jsonb_to_recordset(%s::jsonb) as v (a text, s text, t text, d text, i uuid)""",
    """insert into dedupe_keys (created_at, tenant_id, namespace, topic, dedupe_key, message_id)
    select ?, value ->> 'a', value ->> 's', value ->> 't', value ->> 'd', value ->> 'i'
    from json_each(?)""",
)
_TAKEN = Statement(
    """select k.tenant_id, k.namespace, k.topic, k.dedupe_key, k.message_id
    from jsonb_to_recordset(%s::jsonb) as v (a text, s text, t text, d text)
    join dedupe_keys k on (k.tenant_id, k.namespace, k.topic, k.dedupe_key) = (v.a, v.s, v.t, v.d)
    """,
    """select k.tenant_id, k.namespace, k.topic, k.dedupe_key, k.message_id
    from json_each(?) v join dedupe_keys k
        on k.tenant_id = v.value ->> 'a' and k.namespace = v.value ->> 's'
        and k.topic = v.value ->> 't' and k.dedupe_key = v.value ->> 'd'""",
)
_LOCK_ORDERING = Statement(
    """select pg_advisory_xact_lock(hashtextextended(k, 0))
    from (select distinct k from string_to_table(%s, E'\\x1e') k order by k) k""",
    "select ?",  # the write lock of the transaction is lock enough
)


def enqueue(session: Session, messages: Sequence[NewMessage]) -> list[MessageId]:
    """Write messages; their ids, in order.

    A dedupe key that is taken already, also by a message that was delivered since, writes
    nothing and answers with that message's id. Messages of one ordering key get places in
    the order in which their transactions commit.
    """
    whole = [completed(session, message) for message in messages]
    fresh, ids = _deduplicated(session, whole)
    _refuse_usage(fresh)
    lock_ordering(session, ordering_keys(fresh))
    _insert(session, fresh)
    return ids


def enqueue_usage(tx: Tx, messages: Sequence[NewMessage]) -> None:
    """Write the usage events of turns that end in this transaction; nothing is waited for.

    Nobody else may write one. A key that is taken aborts everything, here or at the commit.
    """
    whole = [completed(tx, message) for message in messages]
    tx.run(_TAKE, (tx.now, encode([_record(_key(m), _id(m)) for m in whole])))
    _insert(tx, whole)


def key_is_taken(error: BaseException) -> bool:
    """Whether it was a dedupe key that a transaction was refused for."""
    original = getattr(error, "orig", None) or error
    table = getattr(getattr(original, "diag", None), "table_name", None)
    return table == "dedupe_keys" or (
        isinstance(original, sqlite3.IntegrityError) and "dedupe_keys" in str(original)
    )


def enqueue_plain(tx: Tx, messages: Sequence[NewMessage]) -> None:
    """The same for messages that bring their ids and no other keys; nothing is waited for."""
    assert all(m.id and m.dedupe_key is None and m.ordering_key is None for m in messages)
    _insert(tx, messages)


_INSERT_CLAIMED = Statement(
    f"""insert into outbox (id, tenant_id, namespace, topic, payload, next_attempt_at, is_due,
        created_at, updated_at, status, attempts, locked_by, locked_until)
    select v.i, p.a, '{NAMESPACE}', p.t, v.p::json, p.n, true, p.n, p.n, 'processing', 1, p.k, p.u
    from (select %s::text, %s::text, %s::bigint, %s::uuid, %s::bigint) p (a, t, n, k, u),
        rows from (jsonb_to_recordset(%s::jsonb) as (i uuid), string_to_table(%s, E'\\x1e'))
        v (i, p)""",
    f"""insert into outbox (tenant_id, topic, next_attempt_at, locked_by, locked_until, id, payload,
        namespace, is_due, created_at, updated_at, status, attempts)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, '{NAMESPACE}', true, ?3, ?3, 'processing', 1)""",
)


def enqueue_claimed(
    tx: Tx, topic: str, token: Token, lease_us: int, messages: Sequence[NewMessage]
) -> list[Message]:
    """Write messages that whoever writes them delivers: they are under its lease from birth."""
    if not messages:
        return []
    common = (tx.tenant_id, topic, tx.now, token, tx.now + lease_us)
    if tx.engine == "sqlite":
        tx.run_many(_INSERT_CLAIMED, [(*common, m.id, m.payload) for m in messages])
    else:
        ids = encode([{"i": m.id} for m in messages])
        tx.run(_INSERT_CLAIMED, (*common, ids, joined([m.payload for m in messages])))
    return [
        Message(
            namespace=NAMESPACE,
            topic=topic,
            token=token,
            due_at=tx.now,
            seq=0,
            handle=0,  # unknown, and not needed: ends of such a topic are written by key
            id=_id(m),
            tenant_id=tx.tenant_id,
            payload=m.payload,
            attempt=1,
            generation=0,
            created_at=tx.now,
            dedupe_key=None,
            ordering_key=None,
            dead_reason=None,
        )
        for m in messages
    ]


def completed(session: Session, message: NewMessage) -> NewMessage:
    """Checked, with its tenant and its id; a tenant's transaction writes for that tenant only."""
    own = session.tenant_id if isinstance(session, Tx) else None
    tenant_id = message.tenant_id or own
    if tenant_id is None:
        raise Invalid.at("tenant_id", "a message of the system has to name its tenant")
    if own is not None and tenant_id != own:
        raise Invalid.at("tenant_id", f"this transaction writes for {own} only")
    check(message)
    check_usage_key(message, tenant_id)
    return message._replace(tenant_id=tenant_id, id=message.id or MessageId(new_id()))


def check_usage_key(message: NewMessage, tenant_id: TenantId) -> None:
    """A usage event is known by its tenant, its turn and its request."""
    if message.topic == USAGE_SNAPSHOT:
        parts = (message.dedupe_key or "").split("/")
        if len(parts) != 3 or parts[0] != tenant_id or not all(parts):
            raise Invalid.at("dedupe_key", f"a usage event of {tenant_id} needs its own turn's key")


def _refuse_usage(fresh: Sequence[NewMessage]) -> None:
    """An event that comes before the end of its turn would be one without a debit."""
    if any(message.topic == USAGE_SNAPSHOT for message in fresh):
        raise Invalid.at(
            "dedupe_key", "a usage event is written when its turn ends, by nobody else"
        )


def check(message: NewMessage) -> None:
    """Refuse what one of the databases would refuse, or could not index."""
    for place in ("namespace", "topic", "dedupe_key", "ordering_key"):
        text = getattr(message, place)
        if text is not None and not (0 < len(text) <= KEY_LENGTH_MAX and text.isprintable()):
            raise Invalid.at(place, f"it must be 1 to {KEY_LENGTH_MAX} printable characters")
    if message.id is not None and not (is_uuid(message.id) and message.id[14] == "7"):
        raise Invalid.at("id", "it must be a UUID of version 7: retention goes by its time")
    try:
        loads(message.payload)
    except ValueError:
        raise Invalid.at("payload", "it is not JSON") from None


def ordering_keys(messages: Iterable[NewMessage]) -> list[str]:
    """What is locked while messages of an ordering key are written, sorted."""
    return sorted(
        {
            encode([m.tenant_id, m.namespace, m.topic, m.ordering_key])
            for m in messages
            if m.ordering_key is not None
        }
    )


def lock_ordering(session: Session, keys: Sequence[str]) -> None:
    """One writer at a time for each ordering key, until the commit: so places are commits."""
    if keys:
        session.run(_LOCK_ORDERING, (RECORD.join(keys),))


def _deduplicated(
    session: Session, messages: list[NewMessage]
) -> tuple[list[NewMessage], list[MessageId]]:
    """The messages that are new, and the id that stands for each of those asked for."""
    wanted = {_key(m): m.id for m in reversed(messages) if m.dedupe_key is not None}
    if not wanted:
        return messages, [_id(m) for m in messages]
    taken = _taken(session, {key: str(id) for key, id in wanted.items()})
    ids = [MessageId(taken[_key(m)]) if m.dedupe_key is not None else _id(m) for m in messages]
    fresh = [m for m, id in zip(messages, ids, strict=True) if m.id == id]
    return fresh, ids


def _taken(session: Session, wanted: dict[Key, str]) -> dict[Key, str]:
    """Reserve the keys; the id that each of them stands for now.

    A key that is taken may be swept away before it is read: then it is free, and asked for
    again.
    """
    found: dict[Key, str] = {}
    for _ in range(KEY_TRIES_MAX):
        missing = [_record(key, id) for key, id in wanted.items() if key not in found]
        if not missing:
            return found
        reserved = session.rows(_RESERVE, (session.now, encode(missing)))
        found.update(map(_taken_by, reserved))
        if len(found) < len(wanted):
            found.update(map(_taken_by, session.rows(_TAKEN, (encode(missing),))))
    raise Unavailable("dedupe keys were swept while they were asked for")


def _taken_by(row: Row) -> tuple[Key, str]:
    return (row[0], row[1], row[2], row[3]), str(row[4])


def _insert(session: Session, messages: Sequence[NewMessage]) -> None:
    now = session.now
    assert now > 0, "the transaction does not know the time yet"
    if not messages:
        return
    if session.engine == "sqlite":
        own = session.tenant_id if isinstance(session, Tx) else None
        session.run_many(_INSERT, [_row(now, own, m) for m in messages])
    else:
        tenant_id = session.tenant_id if isinstance(session, Tx) else None
        for chunk in _chunks(messages):
            narrow = encode([_narrow(m) for m in chunk])
            session.run(_INSERT, (tenant_id, now, narrow, joined([m.payload for m in chunk])))
    if any(m.due_at is None or m.due_at <= now + SOON_US for m in messages):
        session.has_news = True


def joined(payloads: Sequence[str]) -> str:
    """Documents as one parameter, one record each."""
    text = RECORD.join(payloads)
    if text.count(RECORD) != len(payloads) - 1:
        raise Invalid.at("payload", "it is not JSON")
    return text


def _narrow(m: NewMessage) -> dict[str, object]:
    row: dict[str, object] = {"i": m.id, "t": m.topic}
    if m.due_at is not None:
        row["n"] = m.due_at
    if m.namespace != NAMESPACE:
        row["s"] = m.namespace
    if m.tenant_id is not None:
        row["a"] = m.tenant_id
    if m.dedupe_key is not None:
        row["d"] = m.dedupe_key
    if m.ordering_key is not None:
        row["o"] = m.ordering_key
    return row


def _row(now: Instant, own: TenantId | None, m: NewMessage) -> Row:
    topic, payload, namespace, tenant_id, due_at, dedupe_key, ordering_key, id = m
    told = (id, tenant_id or own, namespace, topic, dedupe_key, ordering_key, payload)
    if due_at is None:
        return (*told, now, True, now, now)
    return (*told, due_at, due_at <= now, now, now)


def _record(key: Key, id: str) -> dict[str, str]:
    return dict(zip("astd", key, strict=True), i=id)


def _key(m: NewMessage) -> Key:
    assert m.tenant_id is not None
    assert m.dedupe_key is not None
    return (m.tenant_id, m.namespace, m.topic, m.dedupe_key)


def _id(m: NewMessage) -> MessageId:
    assert m.id is not None
    return m.id


def _chunks(messages: Sequence[NewMessage]) -> Iterator[Sequence[NewMessage]]:
    for start in range(0, len(messages), CHUNK):
        yield messages[start : start + CHUNK]
