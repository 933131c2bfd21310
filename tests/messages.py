"""What tests of the outbox have in common: a rule, a registry, messages, and a look at the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.databases import Place
from watchkeeper.actions.deliver_messages import exchange
from watchkeeper.core.delivery import DeliveryRule
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.policy import delivery_for
from watchkeeper.core.policy_parse import shipped_policy
from watchkeeper.core.time import Instant
from watchkeeper.handlers.registry import Registry
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.outbox import NewMessage, enqueue

TOPIC = "letters"
SHIPPED = delivery_for(shipped_policy(), TOPIC)


def rule(**changes: Any) -> DeliveryRule:
    return replace(SHIPPED, **changes)


def registry(**changes: Any) -> Registry:
    return Registry(lambda _topic: rule(**changes))


def letter(tenant_id: str = "acme", topic: str = TOPIC, **more: Any) -> NewMessage:
    return NewMessage(topic=topic, payload="{}", tenant_id=TenantId(tenant_id), **more)


def put(db: Database, *messages: NewMessage) -> list[MessageId]:
    with db.begin_system() as tx:
        return enqueue(tx, messages)


def claim(db: Database, limit: int = 10, topic: str = TOPIC, **changes: Any) -> list[Message]:
    """One claim, with the leases of a worker that does nothing else."""
    queue = queue_for("watchkeeper", topic, rule(**changes), limit)
    return exchange(db, [], [queue]).claimed


@dataclass(frozen=True)
class Stored:
    id: str
    tenant_id: str
    status: str
    attempts: int
    generation: int
    next_attempt_at: Instant
    locked_by: str | None
    locked_until: Instant | None
    last_error: str | None
    dead_reason: str | None


COLUMNS = (
    "id, tenant_id, status, attempts, generation, next_attempt_at, locked_by, locked_until,"
    " last_error, dead_reason"
)


def live(place: Place) -> dict[str, Stored]:
    """What lies in the outbox and was not delivered, by id."""
    rows = place.execute(f"select {COLUMNS} from outbox")
    stored = [
        Stored(str(row[0]), *row[1:6], None if row[6] is None else str(row[6]), *row[7:])
        for row in rows
    ]
    return {one.id: one for one in stored}


def one(place: Place, message_id: str) -> Stored:
    return live(place)[message_id]


def delivered(place: Place) -> list[str]:
    """Ids in the order in which they were delivered, as far as the clock can tell."""
    return [
        str(row[0]) for row in place.execute("select id from outbox_delivered order by done_at")
    ]


def ids(messages: Sequence[Message]) -> list[MessageId]:
    return [message.id for message in messages]
