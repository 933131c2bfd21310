"""Looking through a tenant's outbox: pages and counts that take as long however full it is.

Neither topic nor status stand in an index by message, and must not: claims would pay for it. So a
question that filters reads the newest SCANNED_MAX messages from a place on and says how far it
came; what is older is asked for by going on from there. The dead have an index of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from watchkeeper.core.ids import MessageId
from watchkeeper.core.sinks import UNHANDLED
from watchkeeper.core.time import Instant
from watchkeeper.store.outbox_desk import (
    DELIVERED_COLUMNS,
    LIVE_COLUMNS,
    Status,
    StoredMessage,
    stored,
)
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Session, Tx

SCANNED_MAX = 5_000
COUNTED_MAX = 5_000
NEXT_MAX = 20
NEXT_SCANNED_MAX = 1_000


class Wanted(NamedTuple):
    """`key`: its dedupe key or its ordering key, whole."""

    status: Status | None = None
    topic: str | None = None
    key: str | None = None


class Place(NamedTuple):
    """Where to go on: behind this message, among the dead behind this end."""

    id: MessageId
    done_at: Instant = Instant(0)


class Looked(NamedTuple):
    """`next`: there may be more behind it. `is_cut`: because enough was looked through."""

    messages: list[StoredMessage]
    next: Place | None
    is_cut: bool


class Count(NamedTuple):
    namespace: str
    topic: str
    state: str  # due, later, unhandled, processing, dead, delivered
    messages: int


class Counts(NamedTuple):
    """Of the newest COUNTED_MAX that are live, dead and delivered; which of these were more."""

    counts: list[Count]
    more_live: bool
    more_dead: bool
    more_delivered: bool


class Due(NamedTuple):
    """What happens next by itself, as often as it does at that instant."""

    at: Instant
    tenant_id: str
    topic: str
    messages: int


def look(tx: Tx, wanted: Wanted, *, behind: Place | None, limit: int) -> Looked:
    """Messages that match, the newest first; the dead by when they died."""
    if wanted.status is Status.DEAD:
        return _dead(tx, wanted, behind, limit)
    tables = []
    if wanted.status is not Status.DELIVERED:
        tables.append(("outbox", LIVE_COLUMNS))
    if wanted.status in (None, Status.DELIVERED):
        tables.append(("outbox_delivered", DELIVERED_COLUMNS))
    found: list[StoredMessage] = []
    floor: MessageId | None = None  # below this not every table was looked through
    for table, columns in tables:
        some, end = _scan(tx, table, columns, wanted, behind, limit)
        found += some
        if end is not None:
            floor = end if floor is None else max(floor, end)
    found = [one for one in found if floor is None or one.id >= floor]
    found.sort(key=lambda one: one.id, reverse=True)
    if len(found) >= limit:
        shown = found[:limit]
        return Looked(shown, Place(shown[-1].id), is_cut=False)
    return Looked(found, None if floor is None else Place(floor), is_cut=floor is not None)


def _scan(
    tx: Tx, table: str, columns: str, wanted: Wanted, behind: Place | None, limit: int
) -> tuple[list[StoredMessage], MessageId | None]:
    """What matches among the next SCANNED_MAX, and the last of those if there may be more."""
    clause, place = (" and id < %s", [behind.id]) if behind is not None else ("", [])
    newest = f"from {table} where tenant_id = %s{clause} order by id desc limit %s"
    where, parameters = _matching(wanted, has_status=table == "outbox")
    scanned = SCANNED_MAX if where else limit
    sql = same(f"select {columns} from (select * {newest}) x{where} order by id desc limit %s")
    given = [tx.tenant_id, *place]
    found = [stored(row) for row in tx.rows(sql, [*given, scanned, *parameters, limit])]
    if len(found) >= limit or not where:
        return found, None
    last = tx.rows(same(f"select id {newest} offset %s"), [*given, 1, SCANNED_MAX - 1])
    return found, MessageId(last[0][0]) if last else None


def _dead(tx: Tx, wanted: Wanted, behind: Place | None, limit: int) -> Looked:
    clause, place = "", []
    if behind is not None:
        clause = " and done_at <= %s and (done_at < %s or id < %s)"
        place = [behind.done_at, behind.done_at, behind.id]
    order = "order by done_at desc, id desc limit %s"
    newest = f"from outbox where tenant_id = %s and done_at is not null{clause} {order}"
    where, parameters = _matching(wanted, has_status=False)
    scanned = SCANNED_MAX if where else limit
    sql = same(f"select {LIVE_COLUMNS} from (select * {newest}) x{where} {order}")
    given = [tx.tenant_id, *place]
    found = [stored(row) for row in tx.rows(sql, [*given, scanned, *parameters, limit])]
    if len(found) >= limit:
        last = found[-1]
        return Looked(found, Place(last.id, Instant(last.done_at or 0)), is_cut=False)
    rows = (
        tx.rows(same(f"select id, done_at {newest} offset %s"), [*given, 1, SCANNED_MAX - 1])
        if where
        else []
    )
    end = Place(MessageId(rows[0][0]), Instant(rows[0][1])) if rows else None
    return Looked(found, end, is_cut=end is not None)


def _matching(wanted: Wanted, *, has_status: bool) -> tuple[str, list[object]]:
    clauses: list[str] = []
    parameters: list[object] = []
    if has_status and wanted.status is not None:
        clauses.append("status = %s")
        parameters.append(wanted.status.value)
    if wanted.topic is not None:
        clauses.append("topic = %s")
        parameters.append(wanted.topic)
    if wanted.key is not None:
        clauses.append("(dedupe_key = %s or ordering_key = %s)")
        parameters += [wanted.key, wanted.key]
    return (" where " + " and ".join(clauses) if clauses else ""), parameters


_STATE = (
    f"case when status = 'pending' and last_error = '{UNHANDLED}' then 'unhandled'"
    " when status = 'pending' and is_due then 'due' when status = 'pending' then 'later'"
    " else status end"
)
_LIVE = same(
    f"select namespace, topic, {_STATE}, count(*) from (select namespace, topic, status,"
    " last_error, is_due, done_at from outbox where tenant_id = %s order by id desc limit %s) x"
    " where done_at is null group by 1, 2, 3"
)
_DEAD = same(
    "select namespace, topic, 'dead', count(*) from (select namespace, topic from outbox"
    " where tenant_id = %s and done_at is not null order by done_at desc limit %s) x group by 1, 2"
)
_DELIVERED = same(
    "select namespace, topic, 'delivered', count(*) from (select namespace, topic"
    " from outbox_delivered where tenant_id = %s order by id desc limit %s) x group by 1, 2"
)
_MORE_LIVE = same("select 1 from outbox where tenant_id = %s order by id desc limit 1 offset %s")
_DIED_SINCE = same(
    "select namespace, topic, 'dead', count(*) from (select namespace, topic from outbox"
    " where tenant_id = %s and done_at > %s order by done_at desc limit %s) x group by 1, 2"
)
_DELIVERED_SINCE = same(
    "select namespace, topic, 'delivered', count(*) from (select namespace, topic, done_at, id"
    " from outbox_delivered where tenant_id = %s order by id desc limit %s) x"
    " where done_at > %s group by 1, 2"
)
_NEXT = same(
    "select next_attempt_at, tenant_id, topic, count(*) from (select next_attempt_at, tenant_id,"
    " topic from outbox where done_at is null and not is_due order by next_attempt_at"
    f" limit {NEXT_SCANNED_MAX}) x group by 1, 2, 3 order by 1, 2, 3 limit {NEXT_MAX}"
)


def count(tx: Tx) -> Counts:
    """How many messages of each topic are where."""
    asked = (tx.tenant_id, COUNTED_MAX)
    live, dead, delivered = (
        [Count(*row) for row in tx.rows(sql, asked)] for sql in (_LIVE, _DEAD, _DELIVERED)
    )
    return Counts(
        counts=sorted(live + dead + delivered),
        more_live=bool(tx.rows(_MORE_LIVE, asked)),
        more_dead=_sum(dead) >= COUNTED_MAX,
        more_delivered=_sum(delivered) >= COUNTED_MAX,
    )


def ended_since(tx: Tx, since: Instant) -> list[Count]:
    """What has come to its end after a moment, by topic, among the newest COUNTED_MAX."""
    delivered = tx.rows(_DELIVERED_SINCE, (tx.tenant_id, COUNTED_MAX, since))
    died = tx.rows(_DIED_SINCE, (tx.tenant_id, since, COUNTED_MAX))
    return sorted(Count(*row) for row in [*delivered, *died])


def next_due(session: Session) -> list[Due]:
    """The timers that come next, of all tenants."""
    return [Due(Instant(row[0]), *row[1:]) for row in session.rows(_NEXT)]


def _sum(counts: Sequence[Count]) -> int:
    return sum(one.messages for one in counts)
