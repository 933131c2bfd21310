"""Delivering without threads: one round, or until nothing is due.

For the virtual clock, for tests, and for programs that bring their own loop.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from watchkeeper.actions.deliver_messages import exchange, finish, learn_rules, prepared
from watchkeeper.actions.deliver_outside import send_here
from watchkeeper.actions.settle_attempts import bury_exhausted
from watchkeeper.core.time import SECOND
from watchkeeper.failures import words_of
from watchkeeper.handlers.attempts import Heard, attempt, attempt_async, attempt_batch
from watchkeeper.handlers.loop_thread import LoopThread
from watchkeeper.handlers.registry import Ended, Registry, Topic
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.sinks import in_force

ROUNDS_MAX = 100_000
LIMIT = 500


CLOSE_SECONDS = 5.0
NOTES_MAX = 20
"""Further exceptions of one drain that are named beside the first."""


class Calling(NamedTuple):
    """How handlers are called: async ones on this loop, and who hears of their exceptions."""

    loop: LoopThread
    heard: Heard | None = None


@contextmanager
def loop_of_its_own() -> Iterator[LoopThread]:
    loop = LoopThread()
    try:
        yield loop
    finally:
        loop.close(CLOSE_SECONDS)


def dispatch_once(
    db: Database, registry: Registry, limit: int = LIMIT, calling: Calling | None = None
) -> Counter[str]:
    """Claim up to `limit` messages of each topic and deliver them, one after the other."""
    if calling is None:
        with loop_of_its_own() as loop:
            return dispatch_once(db, registry, limit, Calling(loop))
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
        parts = [[m] for m in messages] if topic.is_one_by_one else [messages]
        for part in parts:
            counts += finish(db, registry, _delivered(db, registry, topic, part, calling))
    return counts


def drain(
    db: Database, registry: Registry, limit: int = LIMIT, calling: Calling | None = None
) -> Counter[str]:
    """Deliver until nothing is due any more."""
    if calling is None:
        with loop_of_its_own() as loop:
            return drain(db, registry, limit, Calling(loop))
    counts: Counter[str] = Counter()
    for _ in range(ROUNDS_MAX):
        found = dispatch_once(db, registry, limit, calling)
        counts += found
        if not found["claimed"]:
            return counts
    raise RuntimeError(f"messages are still due after {ROUNDS_MAX} rounds")


def raise_first(errors: Sequence[BaseException]) -> None:
    """Raise the first of the exceptions as it is; the others are named in its notes."""
    if not errors:
        return
    first, *others = errors
    for other in others[:NOTES_MAX]:
        first.add_note(f"also raised by a handler: {words_of(other)}")
    if len(others) > NOTES_MAX:
        first.add_note(f"and {len(others) - NOTES_MAX} more")
    raise first


def _delivered(
    db: Database, registry: Registry, topic: Topic, messages: Sequence[Message], calling: Calling
) -> list[Ended]:
    sent: list[Ended] = []
    if topic.is_bare or db.sinks.of_topic((topic.namespace, topic.name)):
        messages, sent = send_here(db, registry, topic, messages, calling.loop)
    if topic.is_bare or not messages:
        return sent
    if topic.deliver is not None:
        return sent + attempt_batch(topic, db, list(messages), calling.heard)
    ready, ended = prepared(db, topic, messages)
    ended += sent
    timeout_us = registry.rule_for(topic.name).timeout_us
    timeout_seconds = None if timeout_us is None else timeout_us / SECOND
    for message, argument in ready:
        if topic.is_async:
            call = attempt_async(topic, message, argument, timeout_seconds, calling.heard)
            ended.append(calling.loop.run(call))
        else:
            ended.append(attempt(topic, message, argument, calling.heard))
    return ended
