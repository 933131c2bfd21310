"""The dispatcher: messages under way in this process, in the threads of their topics.

One step is one exchange with the database. No more is claimed than there are free slots,
and what could not be written is kept until it can be, or until its lease is lost.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from watchkeeper.actions.deliver_messages import (
    Exchanged,
    count_messages,
    exchange,
    finish,
    learn_rules,
    prepared,
)
from watchkeeper.actions.deliver_outside import Outside
from watchkeeper.actions.settle_attempts import bury_exhausted
from watchkeeper.core.delivery import Delivered, Order
from watchkeeper.core.ids import Token
from watchkeeper.core.time import EARLIEST, SECOND, Instant
from watchkeeper.handlers.loop_thread import LoopThread
from watchkeeper.handlers.registry import DELIVERED, Ended, Follow, Registry, Topic
from watchkeeper.handlers.renew_leases import Leases
from watchkeeper.handlers.run_in_threads import Crew, Piece
from watchkeeper.ids import new_token
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, Queue, queue_for

BATCH_MAX = 500
"""Messages of one topic that are claimed at once, however many slots are free."""

CARRIED_MAX = 200
"""Ends that are written together where more follows from them: what was begun by those before is
called while the database works."""

QUIET_US = SECOND // 2
"""While work follows from work here, nothing was heard of more and no timer is due, the database is
asked for more no more often than this."""

NOTHING = Exchanged(True, [], False, None, EARLIEST)

_TOPIC = attrgetter("namespace", "topic")

_log = logging.getLogger("watchkeeper.dispatch")


class Dispatcher:
    """One thread steps and owns everything here; `counts` may be read by anybody."""

    def __init__(
        self,
        db: Database,
        registry: Registry,
        *,
        batch_max: int = BATCH_MAX,
        crew: type[Crew] = Crew,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.db = db
        self.registry = registry
        self.batch_max = batch_max
        self.counts: Counter[str] = Counter()
        self.leases = Leases(clock)
        self._make_crew = crew
        self._crews: dict[tuple[str, str], Crew] = {}
        self._retired: list[
            Crew
        ] = []  # their topic has another handler now; they end what they hold
        self._loop = LoopThread()
        self.outside = Outside(db, registry, self._loop, may_start=self.leases.may_start)
        self._unwritten: list[Ended] = []
        self._found = NOTHING
        self._asked = 0.0
        self._heard = -1
        self._is_claiming = False

    def step(self, *, claiming: bool = True) -> Exchanged:
        """Write what has ended, claim what is due, hand it to the threads.

        Where more is due, what was claimed is begun with the next step, while the database
        works: handlers that are busy would keep this thread from asking it.
        """
        self.outside.look()
        learn_rules(self.db)
        plain, own = self._taken()
        self._is_claiming = claiming
        first = [one for one in own if self.registry.ended_by(one).carry_on is not None]
        own = [one for one in own if self.registry.ended_by(one).carry_on is None]
        parts = [first[at : at + CARRIED_MAX] for at in range(0, len(first), CARRIED_MAX)]
        has_begun = any([self._write(part) for part in parts])  # what follows is begun at once
        if has_begun and not (plain or own) and (spared := self._spared()) is not None:
            self._begin()
            return spared
        queues = self._queues() if claiming else []
        since = self._asked = self.leases.clock()
        self._heard = self.db.heard_count
        try:
            found = exchange(self.db, [one.message for one in plain], queues, self._begin)
        except BaseException:
            self._unwritten += plain + own
            raise
        finally:
            self._begin()
        self._found = found
        if found.are_acked:
            self.counts["delivered"] += len(plain)
            self.leases.drop([one.message.id for one in plain])
        else:
            own += plain
        self._start(found.claimed, queues, since)
        if own or not (found.has_more and self.has_room):
            self._begin()
        self._write(own)
        return found

    def grow(self) -> bool:
        """Add threads where they are needed; whether another look soon is worth its while."""
        self._begin()
        return any([crew.grow() for crew in self._all_crews()])

    @property
    def held(self) -> int:
        """Messages under lease here, in handlers or on the way to or from them."""
        inside = sum(crew.held for crew in self._all_crews())
        return inside + self.outside.held + len(self._unwritten)

    @property
    def has_room(self) -> bool:
        """Whether some topic has a free slot."""
        return bool(self._queues())

    def abandon(self) -> None:
        """Take back what no handler has begun; the next step releases it."""
        for crew in self._all_crews():
            crew.abandon()

    def give_up(self) -> None:
        """Cut short what is being sent, so that the next step can give it back."""
        self.outside.abandon()

    @property
    def is_cutting(self) -> bool:
        """Whether sends that were cut short are still on their way back."""
        return self.outside.is_cutting

    def dismiss(self, timeout_seconds: float) -> None:
        self.outside.close(timeout_seconds)
        for crew in self._all_crews():
            crew.dismiss()
        self._loop.close(timeout_seconds)

    # -- inside ---------------------------------------------------------------------

    def _spared(self) -> Exchanged | None:
        """What to wait for, if the database need not be asked yet; ends come before it."""
        since_us = int((self.leases.clock() - self._asked) * SECOND)
        now, due_at = Instant(self._found.now + since_us), self._found.due_at
        until = Instant(self._found.now + QUIET_US)
        until = until if due_at is None else min(until, due_at)
        if self._heard != self.db.heard_count or until <= now:
            return None
        return replace(self._found, claimed=[], now=now, due_at=until)

    def _begin(self) -> None:
        for crew in self._all_crews():
            crew.begin()

    def _all_crews(self) -> list[Crew]:
        return [*self._crews.values(), *self._retired] if self._retired else [*self._crews.values()]

    def _taken(self) -> tuple[list[Ended], list[Ended]]:
        """What has ended and is still ours: what only needs an ack, and the rest."""
        ended, self._unwritten = self._unwritten, []
        plain: list[Ended] = []
        for crew in self._all_crews():
            taken = crew.take()
            if crew.topic.finish is None:
                plain += [one for one in taken if type(one.result) is Delivered]
                ended += [one for one in taken if type(one.result) is not Delivered]
            else:
                ended += taken
        self._retire()
        for one in self.outside.take():
            is_plain = type(one.result) is Delivered and one.argument.topic.finish is None
            (plain if is_plain else ended).append(one)
        if self.leases.lost:
            plain, ended = self._still_ours(plain), self._still_ours(ended)
        return plain, ended

    def _retire(self) -> None:
        """Let crews go that hold nothing any more."""
        for crew in [crew for crew in self._retired if not crew.held]:
            crew.dismiss()
            self._retired.remove(crew)

    def _still_ours(self, ended: Sequence[Ended]) -> list[Ended]:
        gone = [one.message for one in ended if one.message.id in self.leases.lost]
        kept = [one for one in ended if one.message.id not in self.leases.lost]
        self.counts["fenced"] += len(gone)
        count_messages(gone, "fenced")
        self.leases.drop([message.id for message in gone])
        return kept

    def _queues(self) -> list[Queue]:
        queues = []
        for topic in self.registry.with_sinks(self.db.sinks):
            rule = self.registry.rule_for(topic.name)
            crew = self._crew(topic)
            if topic.is_at_once:
                free = topic.batch_max
            elif topic.deliver is not None:
                free = 0 if crew.running else topic.batch_max
            else:
                crew.threads_max = rule.concurrency
                free = min(rule.concurrency - crew.running, self.batch_max)
            if self.outside.concerns(topic):
                free = self.outside.room(topic, free)
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
            if crew is not None:
                self._retired.append(crew)
            crew = self._make_crew(
                topic,
                self.db,
                self._loop,
                may_start=self.leases.may_start,
                wake=self.db.wake,
            )
            self._crews[topic.namespace, topic.name] = crew
        return crew

    def _start(self, claimed: Sequence[Message], queues: Sequence[Queue], since: float) -> None:
        self.counts["claimed"] += len(claimed)
        if claimed:
            self._look_again()
        alive = [m for m in claimed if m.dead_reason is None]
        by_topic = {topic: list(part) for topic, part in groupby(alive, key=_TOPIC)}
        for queue in queues:
            messages = by_topic.get((queue.namespace, queue.topic))
            if messages:
                self._start_topic(queue, messages, since)
        exhausted = [m for m in claimed if m.dead_reason is not None]
        if exhausted:
            self._bury(exhausted)

    def _look_again(self) -> None:
        """A sink that was set before a message was written gets it, however long the claim took."""
        try:
            self.outside.look()
        except Exception:
            _log.exception("the sinks could not be read; they are taken to be as they were")

    def _start_topic(self, queue: Queue, messages: list[Message], since: float) -> None:
        crew = self._crews[queue.namespace, queue.topic]
        timeout_us = self.registry.rule_for(queue.topic).timeout_us
        self.leases.hold(messages, queue, since, timeout_us)
        if self.outside.concerns(crew.topic):
            messages, ended = self.outside.start(crew.topic, messages)
            self._write(ended)
            if not messages:
                return
        if crew.topic.is_at_once:
            self._write([Ended(m, m, DELIVERED) for m in messages])
            return
        if crew.topic.deliver is not None:
            crew.add([messages])
            return
        ready, ended = prepared(self.db, crew.topic, messages)
        pieces: list[Piece] = list(ready)
        crew.add(pieces)
        self._write(ended)

    def _bury(self, exhausted: Sequence[Message]) -> None:
        try:
            self.counts += bury_exhausted(self.db, self.registry, exhausted)
        except Exception:  # their new leases will end, and they come again
            _log.exception("%d messages could not be buried", len(exhausted))

    def _write(self, ended: Sequence[Ended]) -> bool:
        """Write ends; whether something that follows from them was begun here."""
        if not ended:
            return False
        follows: list[tuple[Topic, Follow]] = []
        since = self.leases.clock()

        def follow(topic: Topic) -> Follow | None:
            led = self.registry.get(topic.namespace, topic.leads_to or topic.name)
            if topic.carry_on is None or led is None:
                return None
            begun = sum(len(found.begun) for other, found in follows if other is led)
            found = self._follow(led, begun)
            if found is not None:
                follows.append((led, found))
            return found

        try:
            self.counts += finish(self.db, self.registry, ended, follow)
        except Exception:
            _log.exception("the ends of %d messages could not be written yet", len(ended))
            self._unwritten += ended
            return False
        self.leases.drop([one.message.id for one in ended])
        for topic, found in follows:
            self._go_on(topic, found, since)
        return any(found.begun for _, found in follows)

    def _follow(self, topic: Topic, begun: int) -> Follow | None:
        """How much may be begun at once: nothing while others wait for their turn."""
        rule = self.registry.rule_for(topic.name)
        is_simple = rule.concurrency_total is None and rule.order is Order.NONE
        if topic.carry_on is None or not is_simple or self.outside.concerns(topic):
            return None
        room = min(rule.concurrency - self._crew(topic).running - begun, self.batch_max)
        if not self._is_claiming or self._found.has_more or room <= 0:
            return None
        return Follow(Token(new_token()), rule.lease_us, room, when_sent=self._begin)

    def _go_on(self, topic: Topic, follow: Follow, since: float) -> None:
        if not follow.begun:
            return
        rule = self.registry.rule_for(topic.name)
        queue = queue_for(topic.namespace, topic.name, rule, len(follow.begun))
        self.leases.hold([m for m, _ in follow.begun], queue, since, rule.timeout_us)
        self.counts["claimed"] += len(follow.begun)
        count_messages([m for m, _ in follow.begun], "claimed")
        self._crew(topic).add(list(follow.begun))
