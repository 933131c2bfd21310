"""How many messages are where, and whose one is: for the clock, for people, for metrics."""

from __future__ import annotations

from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Session

COUNTED_MAX = 100_000
"""A count stops here, so that a backlog of millions costs no more than this."""

_UNDER_WAY = Statement(
    "select count(*) from outbox where done_at is null and is_due and status = 'processing'",
    "select count(*) from outbox where done_at is null and is_due and status = 'processing'",
)
_BY_TOPIC = same(
    "select namespace, topic, status, count(*) from (select namespace, topic, status from outbox"
    f" limit {COUNTED_MAX}) o group by namespace, topic, status order by 1, 2, 3"
)


_TENANT_OF = same(
    "select tenant_id from outbox where tenant_id in (select tenant_id from tenants)"
    " and id = %s union all select tenant_id from outbox_delivered"
    " where tenant_id in (select tenant_id from tenants) and id = %s"
)


def tenant_of(session: Session, message_id: str) -> str | None:
    """Whose message this is, delivered or not."""
    rows = session.rows(_TENANT_OF, (message_id, message_id))
    return rows[0][0] if rows else None


def under_way(session: Session) -> int:
    """Messages that some worker holds."""
    return int(session.rows(_UNDER_WAY)[0][0])


def by_topic(session: Session) -> list[tuple[str, str, str, int]]:
    """Namespace, topic, status and how many, of what is not delivered."""
    return [(row[0], row[1], row[2], row[3]) for row in session.rows(_BY_TOPIC)]
