"""The plain interface for workers of your own: claim, then ack, nack or renew by token.

The token names the tenant too, so that a message is found without looking through all
of them; treat it as one word.
"""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper import ids
from watchkeeper.actions.deliver_messages import exchange, learn_rules
from watchkeeper.actions.settle_attempts import Draw, bury_exhausted, settle_attempts
from watchkeeper.core import delivery
from watchkeeper.core.ids import MessageId, TenantId, Token
from watchkeeper.errors import LeaseLost
from watchkeeper.handlers.registry import DELIVERED, Ended, NotStarted, Registry
from watchkeeper.store import outbox_settle
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.outbox_claim import lock_slots

LIMIT_MAX = 1_000


def claim(
    db: Database, registry: Registry, namespace: str, topic: str, limit: int
) -> Sequence[tuple[Message, Token]]:
    """Lease up to `limit` messages that are due, each with the token that ends the lease."""
    learn_rules(db)
    queue = queue_for(namespace, topic, registry.rule_for(topic), min(limit, LIMIT_MAX))
    claimed = exchange(db, [], [queue]).claimed
    bury_exhausted(db, registry, claimed)
    return [(m, _token(m)) for m in claimed if m.dead_reason is None]


def ack(db: Database, registry: Registry, message_id: MessageId, token: Token) -> None:
    """Delivered. Raises LeaseLost, and changes nothing, when somebody else holds it."""
    _settle(db, registry, Ended(_held(db, message_id, token), None, DELIVERED))


def nack(
    db: Database,
    registry: Registry,
    message_id: MessageId,
    token: Token,
    error: str,
    *,
    after_seconds: float | None = None,
    is_hopeless: bool = False,
    draw: Draw = ids.draw,
) -> None:
    """Failed: later again, or dead when hopeless or out of attempts. Raises LeaseLost."""
    result = delivery.Reject(error) if is_hopeless else delivery.Retry(error, after_seconds)
    _settle(db, registry, Ended(_held(db, message_id, token), None, result), draw)


def release(db: Database, registry: Registry, message_id: MessageId, token: Token) -> None:
    """Not begun: give the message and its attempt back. Raises LeaseLost."""
    _settle(db, registry, Ended(_held(db, message_id, token), None, NotStarted()))


def renew(db: Database, registry: Registry, message_id: MessageId, token: Token) -> None:
    """Hold it for another lease from now. Raises LeaseLost."""
    message = _held(db, message_id, token)
    rule = registry.rule_for(message.topic)
    with db.begin_system() as tx:
        lock_slots(tx, [queue_for(message.namespace, message.topic, rule, 0)])
        renewed, _ = outbox_settle.renew(tx, [(message, rule.lease_us)])
    if message_id not in renewed:
        raise LeaseLost(message_id)


def _settle(db: Database, registry: Registry, ended: Ended, draw: Draw = ids.draw) -> None:
    if not settle_attempts(db, registry, [ended], draw):
        raise LeaseLost(ended.message.id)


def _held(db: Database, message_id: MessageId, token: Token) -> Message:
    tenant_id, _, secret = token.rpartition(".")
    with db.begin_system() as tx:
        message = outbox_settle.find_held(tx, TenantId(tenant_id), message_id, Token(secret))
    if message is None:
        raise LeaseLost(message_id)
    return message


def _token(message: Message) -> Token:
    return Token(f"{message.tenant_id}.{message.token}")
