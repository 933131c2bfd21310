"""Messages that nobody takes are to be seen as such, wherever somebody looks."""

from __future__ import annotations

from watchkeeper.core.ids import TenantId
from watchkeeper.core.sinks import UNHANDLED, UNHANDLED_US
from watchkeeper.core.time import Instant
from watchkeeper.handlers.registry import Registry
from watchkeeper.moves.pulls import PULL_REQUESTED
from watchkeeper.store import outbox_park, outbox_upkeep
from watchkeeper.store.database import Database
from watchkeeper.store.outbox_desk import Status, StoredMessage
from watchkeeper.store.sinks import in_force


def is_unhandled(db: Database, registry: Registry | None, message: StoredMessage) -> bool:
    """Whether a message waits for nobody, as far as is known.

    `registry` has the handlers of this process, where it is the one that works. Elsewhere
    what workers have written on the message is all there is to go by.
    """
    if message.status is not Status.PENDING:
        return False
    if registry is None:
        return message.last_error == UNHANDLED
    key = (message.namespace, message.topic)
    if key in registry:  # of a pull, perhaps with other connectors only; then it was said so
        return message.topic == PULL_REQUESTED and message.last_error == UNHANDLED
    return has_nobody(db, registry, message.tenant_id, *key)


def has_nobody(
    db: Database, registry: Registry, tenant_id: TenantId, namespace: str, topic: str
) -> bool:
    """Whether neither a handler of this process nor a sink takes a tenant's messages of a topic."""
    key = (namespace, topic)
    return key not in registry and in_force(db).route(tenant_id, *key) is None


def mark_unhandled(db: Database, registry: Registry) -> int:
    """Write it on what has been due for a minute, and nobody here or elsewhere has taken.

    Another process may have a handler and be slow: a topic of which something is under way
    is left alone.
    """
    book = in_force(db)
    with db.read_system() as read:
        topics, now = outbox_upkeep.totals(read).topics, read.now
    before = Instant(now - UNHANDLED_US)
    count = 0
    for found in topics:
        key = (found.namespace, found.topic)
        is_neglected = found.oldest_due_at is not None and found.oldest_due_at < before
        if found.processing or not is_neglected or key in registry or book.of_topic(key):
            continue
        with db.begin_system() as tx:
            count += outbox_park.mark(tx, *key, before)
    return count
