"""The parts of a delivery that every way of running handlers shares.

Claim and ack are one exchange with the database; `prepare` and `finish` of a topic are
called for batches; whatever goes wrong in them is an answer for their messages and
never the end of the worker.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.actions.settle_attempts import settle_attempts
from watchkeeper.core.delivery import AttemptResult, Delivered, Reject, Retry
from watchkeeper.core.ids import SYSTEM, MessageId
from watchkeeper.core.time import Instant
from watchkeeper.handlers.attempts import result_of
from watchkeeper.handlers.registry import (
    Ended,
    Follow,
    NotStarted,
    Parked,
    Registry,
    Topic,
)
from watchkeeper.store import outbox_claim, outbox_settle
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, Queue
from watchkeeper.telemetry import count_deliveries

_log = logging.getLogger("watchkeeper.dispatch")


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What one exchange brought."""

    are_acked: bool  # all that were delivered; if not, each is to be asked for by its key
    claimed: list[Message]
    has_more: bool  # more may be due than was asked for
    due_at: Instant | None  # the next timer
    now: Instant


def learn_rules(db: Database) -> None:
    """Before a claim: follow the delivery rules of the policy in force, read at most once a second.

    By older ones a worker would try again what the policy lets be tried once.
    """
    if not db.policies.is_fresh():
        with db.read(SYSTEM) as tx:
            db.policies.current(tx)


def exchange(
    db: Database,
    delivered: Sequence[Message],
    queues: Sequence[Queue],
    when_sent: Callable[[], None] | None = None,
) -> Exchanged:
    """Ack what was delivered and claim what is due, in one transaction and one wait for it.

    `when_sent` is called while the database works. If the COMMIT is in doubt, the acks are
    asked for again and the claims are given up: their leases end by themselves.
    """
    with db.batch_system(when_sent=when_sent) as tx:
        acks = outbox_settle.send_ack(tx, delivered)
        timers = outbox_claim.send_timers_due(tx)
        asked = outbox_claim.send_claim(tx, queues, db.turns)
        due = outbox_claim.send_next_due(tx)
    claimed = outbox_claim.read_claimed(asked, db.turns)
    due_at, now = outbox_claim.read_next_due(due)
    has_more = timers.rowcount == outbox_claim.TIMERS_MAX or _is_full(queues, claimed)
    are_acked = outbox_settle.are_acked(acks)
    count_messages(claimed, "claimed")
    if are_acked:
        count_messages(delivered, "delivered")
    return Exchanged(are_acked, claimed, has_more, due_at, now)


def count_messages(messages: Sequence[Message], outcome: str) -> None:
    """Count messages of any topics that all came to this."""
    if messages:
        count_deliveries(Counter([(m.topic, outcome) for m in messages]))


def _is_full(queues: Sequence[Queue], claimed: Sequence[Message]) -> bool:
    if len(claimed) < min((queue.limit for queue in queues), default=1):
        return False
    if len(queues) == 1:
        return True
    counts = Counter([(m.namespace, m.topic) for m in claimed])
    return any(counts[q.namespace, q.topic] >= q.limit for q in queues)


def prepared(
    db: Database, topic: Topic, messages: Sequence[Message]
) -> tuple[list[tuple[Message, Any]], list[Ended]]:
    """What is to be called with what, and what has ended before it was called."""
    if topic.prepare is None:
        return list(zip(messages, messages, strict=True)), []
    try:
        made = topic.prepare(db, messages)
    except Exception as error:
        if len(messages) == 1:
            return [], [_unprepared(db, messages[0], error)]
        parts = [prepared(db, topic, [m]) for m in messages]
        return [p for ready, _ in parts for p in ready], [e for _, over in parts for e in over]
    ready = [(m, made[m.id]) for m in messages if not isinstance(made[m.id], Ended)]
    return ready, [one for one in made.values() if isinstance(one, Ended)]


def _unprepared(db: Database, message: Message, error: Exception) -> Ended:
    """A database that cannot be reached is no fault of the message: its attempt is given back."""
    _log.exception("message %s of %s could not be prepared", message.id, message.topic)
    result: AttemptResult | NotStarted = (
        NotStarted() if db.is_in_trouble(error) else result_of(error)
    )
    return Ended(message, None, result)


def finish(
    db: Database,
    registry: Registry,
    ended: Sequence[Ended],
    follow: Callable[[Topic], Follow | None] = lambda _topic: None,
) -> Counter[str]:
    """Write how attempts ended, each topic in its way; how many of each kind.

    `follow` says how much of what follows may be begun here. Raises only where the database
    is in trouble: then it is worth trying again.
    """
    by_topic: dict[Topic | None, list[Ended]] = defaultdict(list)
    for one in ended:
        topic = registry.ended_by(one)
        by_topic[topic if topic.finish is not None and one.argument is not None else None].append(
            one
        )
    counts: Counter[str] = Counter()
    for own, those in by_topic.items():
        held = _held(db, registry, own, those, None if own is None else follow(own))
        kinds = [_kind(one) if one.message.id in held else "fenced" for one in those]
        counts.update(kinds)
        topics = [one.message.topic for one in those]
        count_deliveries(Counter(zip(topics, kinds, strict=True)))
    return counts


def _held(
    db: Database,
    registry: Registry,
    topic: Topic | None,
    ended: Sequence[Ended],
    follow: Follow | None = None,
) -> set[MessageId]:
    try:
        if topic is None or topic.finish is None:
            return settle_attempts(db, registry, ended)
        if follow is not None and topic.carry_on is not None:
            return topic.carry_on(db, ended, follow)
        return topic.finish(db, ended)
    except Exception as error:
        if db.is_in_trouble(error):
            raise
        if len(ended) > 1:
            return {id for one in ended for id in _held(db, registry, topic, [one])}
        _log.exception("the end of message %s could not be written", ended[0].message.id)
        return _failed(db, registry, ended[0].message, result_of(error))


def _failed(
    db: Database, registry: Registry, message: Message, result: AttemptResult
) -> set[MessageId]:
    """Write that the end of an attempt could not be written.

    Where that fails too the message is let go: it is claimed again when its lease has ended.
    """
    try:
        return settle_attempts(db, registry, [Ended(message, None, result)])
    except Exception as error:
        if db.is_in_trouble(error):
            raise
        _log.exception("message %s is left to its lease", message.id)
        return set()


def _kind(one: Ended) -> str:
    match one.result:
        case Delivered():
            return "delivered"
        case Parked():
            return "parked"
        case NotStarted():
            return "released"
        case Retry() | Reject():
            return "failed"
