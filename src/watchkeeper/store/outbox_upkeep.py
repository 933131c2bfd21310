"""Keeping the outbox small, and saying how full it is.

Delivered messages leave after their retention, a few at a time, and their dedupe keys
with them; a usage event leaves on its turn that it was delivered, and when, and all of them
leave how many they were. The dead stay until somebody has dealt with them.
"""

from __future__ import annotations

from typing import NamedTuple

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.store import tallies, turns
from watchkeeper.store.json import encode
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Session

SWEPT_MAX = 1_000
"""Messages that one statement removes."""
COUNTED_MAX = 10_000
"""A count stops here: what is more is many."""
TOPICS_MAX = 1_000

_NEXT_TENANT = same(
    "select tenant_id from outbox_delivered where tenant_id > %s order by tenant_id, id limit 1"
)
# The bound on the id (which begins with the time it was made) keeps the scan off what is young.
_SWEEP = Statement(
    f"""with old as materialized (
        select ctid from outbox_delivered where tenant_id = %s and id < %s and done_at < %s
        order by tenant_id, id limit {SWEPT_MAX}),
    gone as (delete from outbox_delivered d using old where d.ctid = old.ctid
        returning d.tenant_id, d.namespace, d.topic, d.dedupe_key, d.id, d.done_at),
    {turns.NOTE_SWEPT},
    {tallies.COUNT_SWEPT},
    keys as (delete from dedupe_keys k using gone g
        where k.tenant_id = g.tenant_id and k.namespace = g.namespace and k.topic = g.topic
        and k.dedupe_key = g.dedupe_key and k.message_id = g.id)
    select count(*) from gone""",
    "",
)
_OLD = same(
    "select namespace, topic, dedupe_key, id, done_at from outbox_delivered"
    f" where tenant_id = %s and id < %s and done_at < %s order by id limit {SWEPT_MAX}"
)
_REMOVE = Statement(
    "",
    """delete from outbox_delivered where tenant_id = ?
    and id in (select value ->> 3 from json_each(?))""",
)
_REMOVE_KEYS = Statement(
    "",
    """delete from dedupe_keys where rowid in (
    select k.rowid from json_each(?2) v join dedupe_keys k on k.tenant_id = ?1
    and k.namespace = v.value ->> 0 and k.topic = v.value ->> 1
    and k.dedupe_key = v.value ->> 2 and k.message_id = v.value ->> 3)""",
)


class Fullness(NamedTuple):
    """How many messages of a topic there are, each count up to COUNTED_MAX."""

    namespace: str
    topic: str
    pending: int  # due and not under lease
    processing: int
    oldest_due_at: Instant | None


class Totals(NamedTuple):
    topics: list[Fullness]
    timers: int
    dead: int


_NEXT_TOPIC = same(
    "select namespace, topic from outbox where done_at is null and is_due"
    " and (namespace, topic) > (%s, %s) order by namespace, topic limit 1"
)
_OF_TOPIC = same(
    "select status, count(*), min(next_attempt_at) from (select status, next_attempt_at"
    " from outbox where namespace = %s and topic = %s and done_at is null and is_due"
    f" limit {COUNTED_MAX}) x group by status"
)
_TIMERS = same(
    "select count(*) from (select 1 from outbox where done_at is null and not is_due"
    f" limit {COUNTED_MAX}) x"
)
_DEAD = same(
    f"select count(*) from (select 1 from outbox where done_at is not null limit {COUNTED_MAX}) x"
)


def next_tenant(session: Session, after: TenantId) -> TenantId | None:
    """Who has delivered messages, one after the other."""
    rows = session.rows(_NEXT_TENANT, (after,))
    return TenantId(rows[0][0]) if rows else None


def sweep(session: Session, tenant_id: TenantId, before: Instant) -> int:
    """Remove some messages that were delivered before; how many. Less than the most is all."""
    asked = (tenant_id, _first_id_of(before), before)
    if session.engine == "postgresql":
        [(count,)] = session.rows(_SWEEP, asked)
        return int(count)
    old = session.rows(_OLD, asked)
    if old:
        named = (tenant_id, encode([list(row) for row in old]))
        session.run(_REMOVE, named)
        session.run(_REMOVE_KEYS, named)
        turns.note_swept(session, tenant_id, [row[1:] for row in old])
        tallies.count_swept(session, tenant_id, old)
    return len(old)


def totals(session: Session) -> Totals:
    """The same work however many messages there are."""
    topics: list[Fullness] = []
    place = ("", "")
    for _ in range(TOPICS_MAX):
        rows = session.rows(_NEXT_TOPIC, place)
        if not rows:
            break
        place = (rows[0][0], rows[0][1])
        found = {status: (count, at) for status, count, at in session.rows(_OF_TOPIC, place)}
        pending, oldest = found.get("pending", (0, None))
        processing, _ = found.get("processing", (0, None))
        topics.append(Fullness(*place, pending, processing, oldest))
    [(timers,)] = session.rows(_TIMERS)
    [(dead,)] = session.rows(_DEAD)
    return Totals(topics, timers, dead)


def _first_id_of(at: Instant) -> str:
    """The smallest id that could have been made at a moment."""
    text = f"{at // 1000:012x}"
    return f"{text[:8]}-{text[8:]}-7000-8000-000000000000"
