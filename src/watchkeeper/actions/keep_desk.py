"""The dead-letter desk: what an operator may do with a message, each time on the record.

A redriven message keeps its id, so that its receiver can tell a repeat. Only the dead are
redriven; a delivered message is sent again only by force, a message under way never.
"""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.actions.answer_once import AlreadyDone, Once, change_once, remember, take
from watchkeeper.core.delivery import OnDead
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.handlers.registry import Registry
from watchkeeper.moves import lose_messages
from watchkeeper.moves.lose_messages import DISCARDED, Lost
from watchkeeper.store import ledger, outbox_desk, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.outbox_desk import Filter, Status, StoredMessage
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

REDRIVEN = "REDRIVEN"
REDRIVEN_MAX = 10_000
"""Messages that one call by filter sets on their way."""
SLICE = 200
PER_SECOND = 10
"""How many of them become due in a second, so that the receiver is not buried too."""


def show_message(db: Database, tenant_id: TenantId, message_id: MessageId) -> StoredMessage:
    with db.read(tenant_id) as tx:
        return _found(tx, message_id)


def redrive_message(
    db: Database,
    registry: Registry,
    tenant_id: TenantId,
    message_id: MessageId,
    *,
    force: bool = False,
    by: str = "",
    once: Once | None = None,
) -> StoredMessage:
    """Give one message all its attempts again."""

    def deed(tx: Tx) -> StoredMessage:
        tenant = lose_messages.locked(tx)
        message = _found(tx, message_id)
        if message.status is not Status.DEAD and not (force and message.status is Status.DELIVERED):
            raise Conflict(
                f"the message is {message.status}: it cannot be redriven",
                status=message.status,
            )
        _redrive(tx, registry, [message], [tx.now])
        _record(tx, tenant, [message], by)
        return _found(tx, message_id)

    try:
        return change_once(db, tenant_id, deed, once)
    except AlreadyDone:
        return show_message(db, tenant_id, message_id)


def redrive_messages(
    db: Database,
    registry: Registry,
    tenant_id: TenantId,
    wanted: Filter,
    *,
    by: str = "",
    per_second: int = PER_SECOND,
    once: Once | None = None,
) -> int:
    """Redrive the dead that match, the newest first, a few each second; how many there were.

    Each slice is a transaction. A repeat of a request that was cut off between two of them
    redrives nothing, and gets the number that the first one came to.
    """
    dead = wanted._replace(status=Status.DEAD)
    count = 0
    try:
        while count < REDRIVEN_MAX:
            moved = _redrive_slice(db, registry, tenant_id, dead, by, count, per_second, once)
            count += moved
            if moved < SLICE:
                break
    except AlreadyDone as done:
        return int(done.note)
    return count


def discard_message(
    db: Database,
    registry: Registry,
    tenant_id: TenantId,
    message_id: MessageId,
    *,
    by: str = "",
    once: Once | None = None,
) -> None:
    """Let a dead or pending message go for good; whoever waits for it is told."""

    def deed(tx: Tx) -> None:
        tenant = lose_messages.locked(tx)
        message = _found(tx, message_id)
        if not outbox_desk.discard(tx, message):
            raise Conflict(
                f"the message is {message.status}: it cannot be discarded",
                status=message.status,
            )
        lost = [_lost(message, DISCARDED)]
        lose_messages.record(tx, tenant, Kind.MESSAGE_DISCARDED, lost, registry.on_lost, by)

    change_once(db, tenant_id, deed, once)


def _redrive_slice(
    db: Database,
    registry: Registry,
    tenant_id: TenantId,
    wanted: Filter,
    by: str,
    done: int,
    per_second: int,
    once: Once | None,
) -> int:
    def deed() -> int:
        with db.begin(tenant_id) as tx:
            tenant = lose_messages.locked(tx)
            if done == 0:
                take(tx, once)
            messages = outbox_desk.page(tx, wanted, limit=SLICE)
            step = SECOND // max(1, per_second)
            due = [Instant(tx.now + (done + n) * step) for n in range(len(messages))]
            _redrive(tx, registry, messages, due)
            _record(tx, tenant, messages, by)
            remember(tx, once, done + len(messages))
            return len(messages)

    return db.retrying(deed)


def _redrive(
    tx: Tx, registry: Registry, messages: Sequence[StoredMessage], due: Sequence[Instant]
) -> None:
    """The tenant's row is locked, and a dead message changes at the desk only."""
    in_place = []
    for message, at in zip(messages, due, strict=True):
        blocks = registry.rule_for(message.topic).on_dead is OnDead.BLOCK
        if message.status is Status.DEAD and (message.ordering_key is None or blocks):
            in_place.append((message.id, at))
        else:
            assert outbox_desk.write_again(tx, message, at)
    if in_place:
        found = outbox_desk.redrive(tx, in_place)
        assert len(found) == len(in_place)


def _record(tx: Tx, tenant: LockedTenant, messages: Sequence[StoredMessage], by: str) -> None:
    if not messages:
        return
    entries = [
        lose_messages.entry(tx.now, Kind.MESSAGE_REDRIVEN, _lost(message, REDRIVEN), by)
        for message in messages
    ]
    ledger.append(tx, tenant, entries)
    tenants.save_seq(tx, tenant)


def _found(tx: Tx, message_id: MessageId) -> StoredMessage:
    message = outbox_desk.get(tx, message_id)
    if message is None:
        raise NotFound(f"there is no message {message_id}", message_id=message_id)
    return message


def _lost(m: StoredMessage, reason: str) -> Lost:
    return Lost(m.id, m.namespace, m.topic, m.payload, m.attempts, reason, m.last_error)
