"""Delivering without threads: one round, or until nothing is due.

For the virtual clock, for tests, and for programs that bring their own loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence

from watchkeeper.actions.deliver_messages import exchange, finish, learn_rules, prepared
from watchkeeper.actions.deliver_outside import send_here
from watchkeeper.actions.settle_attempts import bury_exhausted
from watchkeeper.core.delivery import AttemptResult
from watchkeeper.handlers.registry import (
    Ended,
    Registry,
    Topic,
    attempt,
    attempt_async,
    attempt_batch,
)
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.sinks import in_force

ROUNDS_MAX = 100_000
LIMIT = 500


def dispatch_once(db: Database, registry: Registry, limit: int = LIMIT) -> Counter[str]:
    """Claim up to `limit` messages of each topic and deliver them, one after the other."""
    book = in_force(db)
    learn_rules(db)
    queues = [
        queue_for(topic.namespace, topic.name, registry.rule_for(topic.name), limit)
        for topic in registry.with_sinks(book)
    ]
    found = exchange(db, [], queues)
    counts = Counter(claimed=len(found.claimed))
    counts += bury_exhausted(db, registry, found.claimed)
    by_topic: dict[Topic, list[Message]] = defaultdict(list)
    for m in found.claimed:
        if m.dead_reason is None:
            by_topic[registry.of(m)].append(m)
    for topic, messages in by_topic.items():
        counts += finish(db, registry, _delivered(db, registry, topic, messages))
    return counts


def drain(db: Database, registry: Registry, limit: int = LIMIT) -> Counter[str]:
    """Deliver until nothing is due any more."""
    counts: Counter[str] = Counter()
    for _ in range(ROUNDS_MAX):
        found = dispatch_once(db, registry, limit)
        counts += found
        if not found["claimed"]:
            return counts
    raise RuntimeError(f"messages are still due after {ROUNDS_MAX} rounds")


def _delivered(
    db: Database, registry: Registry, topic: Topic, messages: Sequence[Message]
) -> list[Ended]:
    sent: list[Ended] = []
    if topic.is_bare or db.sinks.of_topic((topic.namespace, topic.name)):
        messages, sent = send_here(db, registry, topic, messages)
    if topic.is_bare or not messages:
        return sent
    if topic.deliver is not None:
        return sent + attempt_batch(topic, db, list(messages))
    ready, ended = prepared(db, topic, messages)
    ended += sent
    timeout_us = registry.rule_for(topic.name).timeout_us
    for message, argument in ready:
        result, value = _attempt(topic, argument, None if timeout_us is None else timeout_us / 1e6)
        ended.append(Ended(message, argument, result, value))
    return ended


def _attempt(
    topic: Topic, argument: object, timeout_seconds: float | None
) -> tuple[AttemptResult, object]:
    assert topic.call is not None
    if topic.is_async:
        return asyncio.run(attempt_async(topic.call, argument, timeout_seconds))
    return attempt(topic.call, argument)
