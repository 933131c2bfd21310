"""Messages that nobody will deliver any more: they died, or somebody discarded them.

The end of the message, its line in the ledger and whatever hangs on it are one
transaction, so that nothing waits for a message that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from watchkeeper.core.delivery import Dead
from watchkeeper.core.ids import MessageId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.redaction import redacted
from watchkeeper.core.time import Instant
from watchkeeper.errors import NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, outbox_settle, tenants
from watchkeeper.store.json import dumps
from watchkeeper.store.leases import Message
from watchkeeper.store.outbox_settle import Nack
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

DISCARDED = "DISCARDED"


class Lost(NamedTuple):
    """A message that is gone, and why: a DeadReason, or DISCARDED."""

    id: MessageId
    namespace: str
    topic: str
    payload: str
    attempts: int
    reason: str
    error: str | None


OnLost: TypeAlias = Callable[[Tx, Sequence[Lost]], None]
Hooks: TypeAlias = Mapping[tuple[str, str], OnLost]


def bury(
    tx: Tx, dead: Sequence[tuple[Message, Dead]], hooks: Hooks, on_dead: OnLost | None = None
) -> set[MessageId]:
    """End messages of this tenant as dead; the ids of those that were still held.

    A death is recorded once, by the transaction that wrote it: one whose COMMIT was in doubt
    is found, and not told again. `on_dead` is told of all of them, beside whoever waits for
    messages of their topics.
    """
    tenant = locked(tx)
    ends = outbox_settle.nacked(tx, [Nack(message, how) for message, how in dead])
    lost = [_lost(message, how) for message, how in dead if message.id in ends.now]
    record(tx, tenant, Kind.MESSAGE_DEAD, lost, hooks)
    if on_dead is not None and lost:
        on_dead(tx, lost)
    return ends.held


def record(
    tx: Tx, tenant: LockedTenant, kind: Kind, lost: Sequence[Lost], hooks: Hooks, by: str = ""
) -> None:
    """Write the losses down, then tell whoever waits for these messages."""
    if not lost:
        return
    ledger.append(tx, tenant, [entry(tx.now, kind, one, by) for one in lost])
    tenants.save_seq(tx, tenant)
    for queue in sorted({(one.namespace, one.topic) for one in lost} & hooks.keys()):
        hooks[queue](tx, [one for one in lost if (one.namespace, one.topic) == queue])


def entry(at: Instant, kind: Kind, one: Lost, by: str = "") -> Entry:
    data = {
        "attempts": one.attempts,
        "by": by,
        "error": None if one.error is None else redacted(one.error),
        "message_id": one.id,
        "namespace": one.namespace,
        "topic": one.topic,
    }
    return Entry(
        entry_id=new_id(),
        at=at,
        stage=Stage.SETTLE,
        kind=kind,
        subject=one.id,
        reason=one.reason,
        data=dumps(data),
    )


def locked(tx: Tx) -> LockedTenant:
    """The tenant's row. A message may have come for a tenant that nobody has met yet."""
    try:
        return tenants.lock(tx)
    except NotFound:
        tenants.create(tx, name=None, tier=None, installed_at=None)
        return tenants.lock(tx)


def _lost(m: Message, how: Dead) -> Lost:
    return Lost(m.id, m.namespace, m.topic, m.payload, m.attempt, how.reason, how.error)
