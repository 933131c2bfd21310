"""The outbox as it is looked through by people: bounded questions, whatever lies in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from watchkeeper.actions.unhandled import has_nobody
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.handlers.registry import Registry
from watchkeeper.store import ledger, outbox_look
from watchkeeper.store.database import Database
from watchkeeper.store.outbox_look import COUNTED_MAX, SCANNED_MAX, Counts, Looked, Place, Wanted

__all__ = [
    "COUNTED_MAX",
    "SCANNED_MAX",
    "Place",
    "TopicCounts",
    "Wanted",
    "count_outbox",
    "look_through",
    "message_history",
]

HISTORY_MAX = 100


@dataclass(slots=True)
class TopicCounts:
    """How many messages of one topic are where. `is_unhandled`: nobody takes them here."""

    namespace: str
    topic: str
    by_state: dict[str, int] = field(default_factory=dict)
    is_unhandled: bool = False


def look_through(
    db: Database, tenant_id: TenantId, wanted: Wanted, *, behind: Place | None, limit: int
) -> Looked:
    with db.read(tenant_id) as tx:
        return outbox_look.look(tx, wanted, behind=behind, limit=limit)


def count_outbox(
    db: Database, registry: Registry | None, tenant_id: TenantId
) -> tuple[list[TopicCounts], Counts]:
    """By topic. `registry` has the handlers of this process, where it is the one that works."""
    with db.read(tenant_id) as tx:
        found = outbox_look.count(tx)
    return list(_by_topic(db, registry, tenant_id, found)), found


def message_history(db: Database, tenant_id: TenantId, message_id: MessageId) -> list[Recorded]:
    """What the ledger says of a message, the newest first."""
    with db.read(tenant_id) as tx:
        return ledger.newest(tx, {"subject": message_id}, limit=HISTORY_MAX)


def _by_topic(
    db: Database, registry: Registry | None, tenant_id: TenantId, found: Counts
) -> Iterator[TopicCounts]:
    topics: dict[tuple[str, str], TopicCounts] = {}
    for one in found.counts:
        key = (one.namespace, one.topic)
        topics.setdefault(key, TopicCounts(*key)).by_state[one.state] = one.messages
    for key, topic in sorted(topics.items()):
        waits = topic.by_state.get("due", 0) + topic.by_state.get("unhandled", 0)
        nobody = registry is not None and has_nobody(db, registry, tenant_id, *key)
        topic.is_unhandled = bool(waits) and (nobody or "unhandled" in topic.by_state)
        yield topic
