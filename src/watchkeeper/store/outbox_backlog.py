"""What one tenant has in its outbox: how much waits, how old the oldest is, what is dead.

Counts stop at COUNTED_MAX, so that a backlog of millions costs no more to look at. The index of
what is due begins with the topic: which topics there are is asked across all tenants, without
looking at anybody's messages, and then each is looked at for the one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from watchkeeper.core.sinks import UNHANDLED, UNHANDLED_US
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Session, Tx

COUNTED_MAX = 10_000
"""Messages that are counted over all topics; beyond it is more."""
LOOKED_AT_MIN = 100
"""Of each topic this many are looked at in any case."""
TOPICS_MAX = 200

_NEXT_TOPIC = same(
    "select namespace, topic from outbox where done_at is null and is_due"
    " and (namespace, topic) > (%s, %s) order by namespace, topic limit 1"
)
_SORT = (
    f"case when status = 'processing' then 'processing' when last_error = '{UNHANDLED}'"
    " then 'unhandled' else 'waiting' end"
)
_DUE = same(
    f"select sort, count(*), min(next_attempt_at) from (select {_SORT} as sort, next_attempt_at"
    " from outbox where namespace = %s and topic = %s and tenant_id = %s and done_at is null"
    " and is_due order by next_attempt_at, seq limit %s) x group by sort"
)
# Timers whose time has come and that no worker has noticed; and what nobody takes, put aside.
_ASIDE = same(
    "select namespace, topic, sort, count(*), min(next_attempt_at) from ("
    f" select namespace, topic, {_SORT} as sort, next_attempt_at from outbox"
    " where tenant_id = %s and done_at is null and not is_due and next_attempt_at <= %s"
    f" order by next_attempt_at limit {COUNTED_MAX}) x"
    " where sort = 'unhandled' or next_attempt_at <= %s group by 1, 2, 3"
)
_DEAD = same(
    "select count(*) from (select 1 from outbox where tenant_id = %s and done_at is not null"
    f" order by done_at limit {COUNTED_MAX}) x"
)


class Queue(NamedTuple):
    """Messages of one topic that should be on their way."""

    namespace: str
    topic: str
    waiting: int = 0  # due, and nobody holds them
    processing: int = 0
    unhandled: int = 0  # due, and nobody takes them
    oldest_due_at: Instant | None = None  # of those that wait for somebody who takes them


@dataclass(frozen=True, slots=True)
class Backlog:
    queues: tuple[Queue, ...]
    dead: int
    is_capped: bool  # there is more than was counted

    @property
    def waiting(self) -> int:
        return sum(one.waiting for one in self.queues)

    @property
    def processing(self) -> int:
        return sum(one.processing for one in self.queues)

    @property
    def oldest_due_at(self) -> Instant | None:
        found = [one.oldest_due_at for one in self.queues if one.oldest_due_at is not None]
        return min(found, default=None)

    @property
    def unhandled(self) -> list[Queue]:
        return [one for one in self.queues if one.unhandled]


def due_topics(session: Session) -> list[tuple[str, str]]:
    """The topics of which something is due, of whichever tenant: a look at the index for each."""
    found: list[tuple[str, str]] = []
    place = ("", "")
    while len(found) < TOPICS_MAX:
        rows = session.rows(_NEXT_TOPIC, place)
        if not rows:
            break
        place = (rows[0][0], rows[0][1])
        found.append(place)
    return found


def backlog(tx: Tx, topics: Iterable[tuple[str, str]]) -> Backlog:
    """What the tenant has due in these topics, the oldest first, and all that it has dead."""
    queues: dict[tuple[str, str], Queue] = {}
    left, is_capped = COUNTED_MAX, False
    for namespace, topic in topics:
        most = max(left, LOOKED_AT_MIN)
        rows = tx.rows(_DUE, (namespace, topic, tx.tenant_id, most))
        counted = sum(row[1] for row in rows)
        is_capped = is_capped or counted >= most
        left -= counted
        for row in rows:
            _add(queues, namespace, topic, *row)
    for row in tx.rows(_ASIDE, (tx.tenant_id, tx.now + 2 * UNHANDLED_US, tx.now)):
        _add(queues, *row)
    [(dead,)] = tx.rows(_DEAD, (tx.tenant_id,))
    return Backlog(tuple(queues[key] for key in sorted(queues)), int(dead), is_capped)


def _add(
    queues: dict[tuple[str, str], Queue],
    namespace: str,
    topic: str,
    sort: str,
    count: int,
    oldest: int,
) -> None:
    queue = queues.get((namespace, topic)) or Queue(namespace, topic)
    counted = {sort: getattr(queue, sort) + int(count)}
    if sort == "waiting":
        known = queue.oldest_due_at
        counted["oldest_due_at"] = Instant(oldest if known is None else min(known, oldest))
    queues[namespace, topic] = queue._replace(**counted)
