"""What a claim asks for, and what it hands out."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import NamedTuple, TypeAlias

from watchkeeper.core.delivery import DeadReason, DeliveryRule, OnDead, Order
from watchkeeper.core.ids import MessageId, TenantId, Token
from watchkeeper.core.time import Instant


class Queue(NamedTuple):
    """A topic to claim from, and under which terms."""

    namespace: str
    topic: str
    limit: int
    lease_us: int
    max_attempts: int
    is_ordered: bool = False
    dead_heads_block: bool = False
    total: int | None = None  # leases that may live at once, over all processes
    takes_suspects: bool = True  # one message that may be what ends its workers


class Message(NamedTuple):
    """A message under lease."""

    namespace: str
    topic: str
    token: Token
    due_at: Instant
    seq: int  # its number in the outbox
    handle: str | int  # where the row lies; a hint that is checked
    id: MessageId
    tenant_id: TenantId
    payload: str
    attempt: int
    generation: int
    created_at: Instant
    dedupe_key: str | None
    ordering_key: str | None
    dead_reason: DeadReason | None  # it has no attempt left: it is to be buried, not delivered


Turns: TypeAlias = MutableMapping[tuple[str, str], str]
"""By namespace and topic, the tenant that was served last. A hint: nothing depends on it."""


def queue_for(
    namespace: str, topic: str, rule: DeliveryRule, limit: int, *, takes_suspects: bool = True
) -> Queue:
    return Queue(
        namespace,
        topic,
        limit,
        rule.lease_us,
        rule.max_attempts,
        rule.order is Order.PER_KEY,
        rule.on_dead is OnDead.BLOCK,
        rule.concurrency_total,
        takes_suspects,
    )
