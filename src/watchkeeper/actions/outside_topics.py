"""Our own topics where somebody outside takes them, and news that is written if anybody listens.

Nobody waits for a notification: it is enqueued only where a handler of this process or a
sink, of the tenant or of all, will take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.run_decisions import NotCalled, start_runs
from watchkeeper.actions.settle_attempts import bury, settle_attempts
from watchkeeper.core import envelope
from watchkeeper.core.delivery import Dead
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.redaction import redacted
from watchkeeper.handlers.registry import Ended, Registry
from watchkeeper.ids import new_id
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.store import outbox
from watchkeeper.store.database import Database
from watchkeeper.store.json import encode
from watchkeeper.store.outbox import NAMESPACE, NewMessage
from watchkeeper.store.sinks import SinkBook, in_force
from watchkeeper.store.transaction import Tx


def register_outside(registry: Registry, admission: Admission) -> None:
    db = admission.db
    registry.send(
        envelope.EVALUATION_REQUESTED,
        prepare=start_runs,
        finish=partial(hand_over_runs, registry),
    )
    registry.on_dead = partial(tell_of_dead, db.sinks, registry)

    def hears_deferred(tenant_id: TenantId) -> bool:
        return is_heard(in_force(db), registry, tenant_id, envelope.DEFERRED)

    admission.hears_deferred = hears_deferred


def is_heard(book: SinkBook, registry: Registry, tenant_id: TenantId, topic: str) -> bool:
    """Whether anybody listens to a notification of this tenant."""
    key = (NAMESPACE, topic)
    return key in registry or book.route(tenant_id, *key) is not None


def hand_over_runs(registry: Registry, db: Database, ended: Sequence[Ended]) -> set[MessageId]:
    """Write the ends of sends. A run that was delivered stays RUNNING.

    Whoever took it reports how it ended.
    """
    stopped, rest = [], []
    for one in ended:
        told = one.argument.told
        if isinstance(told, NotCalled):
            stopped.append((one.message, Dead(told.reason, told.error)))
        else:
            rest.append(one)
    held = bury(db, registry, stopped)
    return held | settle_attempts(db, registry, rest) if rest else held


def tell_of_dead(book: SinkBook, registry: Registry, tx: Tx, lost: Sequence[Lost]) -> None:
    """Enqueue the news, in the transaction of the deaths; of a dead piece of news none is made."""
    if not is_heard(book, registry, tx.tenant_id, envelope.MESSAGE_DEAD):
        return
    news = [
        NewMessage(envelope.MESSAGE_DEAD, encode(_news(tx, one)), id=MessageId(new_id()))
        for one in lost
        if (one.namespace, one.topic) != (NAMESPACE, envelope.MESSAGE_DEAD)
    ]
    outbox.enqueue_plain(tx, news)


def _news(tx: Tx, one: Lost) -> dict[str, object]:
    return envelope.message_dead(
        tx.tenant_id,
        one.id,
        namespace=one.namespace,
        topic=one.topic,
        attempts=one.attempts,
        reason=one.reason,
        error=None if one.error is None else redacted(one.error),
        now=tx.now,
    )
