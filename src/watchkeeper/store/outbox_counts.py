"""How many messages are where, and whose one is: for the clock, for people, for metrics."""

from __future__ import annotations

from typing import NamedTuple

from watchkeeper.core.sinks import UNHANDLED
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Session

COUNTED_MAX = 100_000
"""A count stops here, so that a backlog of millions costs no more than this."""

_OPEN = Statement(
    f"""select count(*) filter (where status = 'processing'), count(*) from (
        select status from outbox where done_at is null
        and (is_due or next_attempt_at <= {NOW_SQL}) limit {COUNTED_MAX}) o""",
    f"""select count(*) filter (where status = 'processing'), count(*) from (
        select status from outbox where done_at is null
        and (is_due or next_attempt_at <= ?) limit {COUNTED_MAX}) o""",
)
_WRITERS = Statement(
    """select count(*) from pg_locks where relation = 'outbox'::regclass and granted
        and database = (select oid from pg_database where datname = current_database())
        and mode in ('RowShareLock', 'RowExclusiveLock') and pid <> pg_backend_pid()""",
    "select 0",
)
_BY_TOPIC = same(
    "select namespace, topic, status, count(*) from (select namespace, topic,"
    f" case when status = 'pending' and last_error = '{UNHANDLED}' then 'unhandled'"
    f" else status end as status from outbox limit {COUNTED_MAX}) o"
    " group by namespace, topic, status order by 1, 2, 3"
)
_TENANT_OF = same(
    "select tenant_id from outbox where tenant_id in (select tenant_id from tenants)"
    " and id = %s union all select tenant_id from outbox_delivered"
    " where tenant_id in (select tenant_id from tenants) and id = %s"
)


class Open(NamedTuple):
    """Messages that a worker holds, and all that are due."""

    under_way: int
    due: int


def tenant_of(session: Session, message_id: str) -> str | None:
    """Whose message this is, delivered or not."""
    rows = session.rows(_TENANT_OF, (message_id, message_id))
    return rows[0][0] if rows else None


def open_messages(session: Session) -> Open:
    """What is due by now and has not come to its end."""
    parameters = (session.now,) if session.engine == "sqlite" else ()
    under_way, due = session.rows(_OPEN, parameters)[0]
    return Open(under_way, due)


def has_writers(session: Session) -> bool:
    """Whether a transaction elsewhere is claiming or writing messages, and has not ended.

    Its messages are passed over by other claims, and look as if nobody had claimed them. SQLite
    has one writer, and a claim waits for it.
    """
    return bool(session.rows(_WRITERS)[0][0])


def by_topic(session: Session) -> list[tuple[str, str, str, int]]:
    """Namespace, topic, status and how many, of what is not delivered.

    What waits for nobody is counted as `unhandled`, not as pending.
    """
    return [(row[0], row[1], row[2], row[3]) for row in session.rows(_BY_TOPIC)]
