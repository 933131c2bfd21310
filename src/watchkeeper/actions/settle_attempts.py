"""Ending attempts: delivered, later again, dead, or given back.

What is delivered, retried or given back is written for all tenants at once; a death is
written for its tenant, with its line in the ledger.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from watchkeeper.core.delivery import Dead, DeadReason, Delivered, RetryAt, settle
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.handlers.registry import Ended, NotStarted, Registry
from watchkeeper.moves import lose_messages
from watchkeeper.store import outbox_settle
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.store.outbox_settle import Nack

SILENCE = "the lease ended before an outcome was reported"

Draw = Callable[[], float]


def settle_attempts(
    db: Database, registry: Registry, ended: Sequence[Ended], draw: Draw = random.random
) -> set[MessageId]:
    """Write the ends; the ids of those that were still held."""
    dead: list[tuple[Message, Dead]] = []

    def deed() -> set[MessageId]:
        dead.clear()
        with db.begin_system() as tx:
            nacks = []
            for one in ended:
                if isinstance(one.result, Delivered | NotStarted):
                    continue
                m = one.message
                rule = registry.rule_for(m.topic)
                match settle(m.attempt, one.result, rule, tx.now, draw()):
                    case RetryAt() as later:
                        nacks.append(Nack(m, later))
                    case Dead() as end:
                        dead.append((m, end))
                    case _:
                        raise AssertionError("only a delivered message is done")
            return (
                outbox_settle.ack(tx, _with(ended, Delivered))
                | outbox_settle.nack(tx, nacks)
                | outbox_settle.release(tx, _with(ended, NotStarted))
            )

    return db.retrying(deed) | bury(db, registry, dead)


def bury(db: Database, registry: Registry, dead: Sequence[tuple[Message, Dead]]) -> set[MessageId]:
    """End messages as dead, each tenant's in a transaction of its own; those still held."""
    by_tenant: dict[TenantId, list[tuple[Message, Dead]]] = defaultdict(list)
    for message, how in dead:
        by_tenant[message.tenant_id].append((message, how))
    held: set[MessageId] = set()
    for tenant_id, those in by_tenant.items():
        held |= _bury_for(db, registry, tenant_id, those)
    return held


def _bury_for(
    db: Database,
    registry: Registry,
    tenant_id: TenantId,
    dead: Sequence[tuple[Message, Dead]],
) -> set[MessageId]:
    def deed() -> set[MessageId]:
        with db.begin(tenant_id) as tx:
            return lose_messages.bury(tx, dead, registry.on_lost)

    return db.retrying(deed)


def bury_exhausted(db: Database, registry: Registry, messages: Sequence[Message]) -> Counter[str]:
    """Bury what was claimed without an attempt left; how many of each fate."""
    dead = [(m, _fate(m.dead_reason)) for m in messages if m.dead_reason is not None]
    held = bury(db, registry, dead)
    return Counter(buried=len(held), fenced=len(dead) - len(held))


def _fate(reason: DeadReason) -> Dead:
    return Dead(reason, SILENCE if reason is DeadReason.OUTCOME_UNKNOWN else "")


def _with(ended: Sequence[Ended], kind: type[Delivered | NotStarted]) -> list[Message]:
    return [one.message for one in ended if isinstance(one.result, kind)]
