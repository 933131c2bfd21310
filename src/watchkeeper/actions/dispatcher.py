"""The dispatcher: messages under way in this process, in the threads of their topics.

One step is one exchange with the database. No more is claimed than there are free slots,
and what could not be written is kept until it can be, or until its lease is lost.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from watchkeeper.actions.deliver_messages import Exchanged, exchange, finish, prepared
from watchkeeper.actions.settle_attempts import bury_exhausted, settle_attempts
from watchkeeper.core.time import SECOND
from watchkeeper.handlers.registry import DELIVERED, Ended, Registry, Topic
from watchkeeper.handlers.renew_leases import Leases
from watchkeeper.handlers.run_in_threads import Crew, LoopThread, Piece
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, Queue, queue_for
from watchkeeper.store.outbox_settle import Misplaced
from watchkeeper.telemetry import count_deliveries

BATCH_MAX = 500
"""Messages of one topic that are claimed at once, however many slots are free."""

_log = logging.getLogger("watchkeeper.dispatch")


class Dispatcher:
    """One thread steps and owns everything here; `counts` may be read by anybody."""

    def __init__(self, db: Database, registry: Registry, *, batch_max: int = BATCH_MAX) -> None:
        self.db = db
        self.registry = registry
        self.batch_max = batch_max
        self.counts: Counter[str] = Counter()
        self.leases = Leases()
        self._crews: dict[tuple[str, str], Crew] = {}
        self._loop = LoopThread()
        self._unwritten: list[Ended] = []

    def step(self, *, claiming: bool = True) -> Exchanged:
        """Write what has ended, claim what is due, hand it to the threads."""
        before = self.counts.copy()
        plain, own = self._taken()
        queues = self._queues() if claiming else []
        since = time.monotonic()
        try:
            found = self._exchange(plain, queues)
        except BaseException:
            self._unwritten = plain + own
            raise
        self._count_acked(plain, found)
        self._start(found.claimed, queues, since)
        self._write(own)
        count_deliveries(self.counts - before)
        return found

    def grow(self) -> bool:
        """Add threads where they are needed; whether another look soon is worth its while."""
        return any([crew.grow() for crew in self._crews.values()])

    @property
    def held(self) -> int:
        """Messages under lease here, in handlers or on the way to or from them."""
        return sum(crew.held for crew in self._crews.values()) + len(self._unwritten)

    @property
    def has_room(self) -> bool:
        """Whether some topic has a free slot."""
        return bool(self._queues())

    def abandon(self) -> None:
        """Take back what no handler has begun; the next step releases it."""
        for crew in self._crews.values():
            crew.abandon()

    def dismiss(self, timeout_seconds: float) -> None:
        for crew in self._crews.values():
            crew.dismiss()
        self._loop.close(timeout_seconds)

    # -- inside ---------------------------------------------------------------------

    def _exchange(self, plain: Sequence[Ended], queues: Sequence[Queue]) -> Exchanged:
        try:
            return exchange(self.db, [one.message for one in plain], queues)
        except Misplaced:
            acked = settle_attempts(self.db, self.registry, plain)
            return replace(exchange(self.db, [], queues), acked=acked)

    def _taken(self) -> tuple[list[Ended], list[Ended]]:
        """What has ended and is still ours: what only needs an ack, and the rest."""
        ended, self._unwritten = self._unwritten, []
        plain: list[Ended] = []
        for crew in self._crews.values():
            if crew.topic.finish is None:
                for one in crew.take():
                    (plain if one.result is DELIVERED else ended).append(one)
            else:
                ended += crew.take()
        if self.leases.lost:
            plain, ended = self._still_ours(plain), self._still_ours(ended)
        return plain, ended

    def _still_ours(self, ended: Sequence[Ended]) -> list[Ended]:
        gone = [one.message.id for one in ended if one.message.id in self.leases.lost]
        kept = [one for one in ended if one.message.id not in self.leases.lost]
        self.counts["fenced"] += len(gone)
        self.leases.drop(gone)
        return kept

    def _queues(self) -> list[Queue]:
        queues = []
        for topic in self.registry:
            rule = self.registry.rule_for(topic.name)
            crew = self._crew(topic)
            if topic.deliver is not None:
                free = 0 if crew.held else topic.batch_max
            else:
                crew.threads_max = rule.concurrency
                free = min(rule.concurrency - crew.held, self.batch_max)
            if rule.timeout_us is not None:
                crew.timeout_seconds = rule.timeout_us / SECOND
            if free > 0:
                suspects = not self.leases.holds_suspect(topic.namespace, topic.name)
                named = (topic.namespace, topic.name)
                queues.append(queue_for(*named, rule, free, takes_suspects=suspects))
        return queues

    def _crew(self, topic: Topic) -> Crew:
        crew = self._crews.get((topic.namespace, topic.name))
        if crew is None or crew.topic is not topic:
            crew = Crew(
                topic,
                self.db,
                self._loop,
                may_start=self.leases.may_start,
                wake=self.db.wake,
            )
            self._crews[topic.namespace, topic.name] = crew
        return crew

    def _count_acked(self, plain: Sequence[Ended], found: Exchanged) -> None:
        self.counts["delivered"] += len(found.acked)
        self.counts["fenced"] += len(plain) - len(found.acked)
        self.leases.drop([one.message.id for one in plain])

    def _start(self, claimed: Sequence[Message], queues: Sequence[Queue], since: float) -> None:
        self.counts["claimed"] += len(claimed)
        by_topic: dict[tuple[str, str], list[Message]] = defaultdict(list)
        for m in claimed:
            if m.dead_reason is None:
                by_topic[m.namespace, m.topic].append(m)
        for queue in queues:
            messages = by_topic.get((queue.namespace, queue.topic))
            if messages:
                self._start_topic(queue, messages, since)
        exhausted = [m for m in claimed if m.dead_reason is not None]
        if exhausted:
            self._bury(exhausted)

    def _start_topic(self, queue: Queue, messages: list[Message], since: float) -> None:
        crew = self._crews[queue.namespace, queue.topic]
        timeout_us = self.registry.rule_for(queue.topic).timeout_us
        self.leases.hold(messages, queue, since, timeout_us)
        if crew.topic.deliver is not None:
            crew.start([messages])
            return
        ready, ended = prepared(self.db, crew.topic, messages)
        pieces: list[Piece] = list(ready)
        crew.start(pieces)
        self._write(ended)

    def _bury(self, exhausted: Sequence[Message]) -> None:
        try:
            self.counts += bury_exhausted(self.db, self.registry, exhausted)
        except Exception:  # their new leases will end, and they come again
            _log.exception("%d messages could not be buried", len(exhausted))

    def _write(self, ended: Sequence[Ended]) -> None:
        if not ended:
            return
        try:
            self.counts += finish(self.db, self.registry, ended)
        except Exception:
            _log.exception("the ends of %d messages could not be written yet", len(ended))
            self._unwritten += ended
            return
        self.leases.drop([one.message.id for one in ended])
