"""Ending attempts: delivered, later again, dead, or given back.

What is delivered, retried or given back is written for all tenants at once; a death is
written for its tenant, with its line in the ledger.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from watchkeeper import ids
from watchkeeper.core.delivery import (
    Dead,
    DeadReason,
    Delivered,
    RetryAt,
    Settlement,
    settle,
)
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.handlers.registry import Ended, NotStarted, Parked, Registry
from watchkeeper.moves import lose_messages
from watchkeeper.store import outbox_park, outbox_settle
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.store.outbox_park import Park
from watchkeeper.store.outbox_settle import Nack
from watchkeeper.telemetry import count_deliveries

SILENCE = "the lease ended before an outcome was reported"

Draw = Callable[[], float]

_log = logging.getLogger("watchkeeper.dispatch")


def settle_attempts(
    db: Database, registry: Registry, ended: Sequence[Ended], draw: Draw = ids.draw
) -> set[MessageId]:
    """Write the ends; the ids of those that were still held.

    It may be called again for what it did not finish: an end is written once.
    """
    failed = [one for one in ended if not isinstance(one.result, Delivered | NotStarted)]
    now = _now(db) if failed else Instant(0)
    settled = [(one.message, _settled(registry, one, now, draw())) for one in failed]
    dead = [(m, how) for m, how in settled if isinstance(how, Dead)]
    later = [Nack(m, how) for m, how in settled if isinstance(how, RetryAt)]

    parks = [
        Park(one.message, one.result.wait_us, one.result.why)
        for one in ended
        if isinstance(one.result, Parked)
    ]

    def deed() -> set[MessageId]:
        with db.begin_system() as tx:
            return (
                outbox_settle.ack(tx, _with(ended, Delivered))
                | outbox_settle.nack(tx, later)
                | outbox_settle.release(tx, _with(ended, NotStarted))
                | outbox_park.park(tx, parks)
            )

    held = db.retrying(deed) if len(dead) < len(ended) else set()
    return held | bury(db, registry, dead)


def _settled(registry: Registry, one: Ended, now: Instant, draw: float) -> Settlement:
    assert not isinstance(one.result, NotStarted)
    rule = registry.rule_for(one.message.topic)
    return settle(one.message.attempt, one.result, rule, now, draw)


def _now(db: Database) -> Instant:
    with db.read_system() as tx:
        return tx.now


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
            return lose_messages.bury(tx, dead, registry.on_lost, registry.on_dead)

    return db.retrying(deed)


def bury_exhausted(db: Database, registry: Registry, messages: Sequence[Message]) -> Counter[str]:
    """Bury what was claimed without an attempt left; how many of each fate."""
    dead = [(m, _fate(m.dead_reason)) for m in messages if m.dead_reason is not None]
    held = _bury_each(db, registry, dead)
    kinds = [(m.topic, "buried" if m.id in held else "fenced") for m, _ in dead]
    count_deliveries(Counter(kinds))
    return Counter(kind for _, kind in kinds)


def _bury_each(
    db: Database, registry: Registry, dead: Sequence[tuple[Message, Dead]]
) -> set[MessageId]:
    """One that cannot be buried is left to its lease, and keeps none of the others."""
    try:
        return bury(db, registry, dead)
    except Exception as error:
        if db.is_in_trouble(error):
            raise
        if len(dead) > 1:
            return {id for one in dead for id in _bury_each(db, registry, [one])}
        _log.exception("message %s could not be buried", dead[0][0].id)
        return set()


def _fate(reason: DeadReason) -> Dead:
    return Dead(reason, SILENCE if reason is DeadReason.OUTCOME_UNKNOWN else "")


def _with(ended: Sequence[Ended], kind: type[Delivered | NotStarted]) -> list[Message]:
    return [one.message for one in ended if type(one.result) is kind]
