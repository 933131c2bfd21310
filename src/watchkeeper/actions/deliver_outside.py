"""Messages that leave the process: which of them do, how many at once, and what comes back.

A message goes to the sink of its tenant, else to the one for all tenants, else to the
handler of this process; one that has none of these is put back and stays visible. Sends
run on the dispatcher's event loop and end like any attempt: fenced by their lease.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from watchkeeper import ids
from watchkeeper.actions.deliver_messages import prepared
from watchkeeper.core import delivery
from watchkeeper.core.delivery import DeliveryRule, Guarantee
from watchkeeper.core.ids import SYSTEM, MessageId
from watchkeeper.core.sinks import UNHANDLED, UNHANDLED_US, is_private_ok
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Unavailable
from watchkeeper.handlers.attempts import attempt_async
from watchkeeper.handlers.endpoint import TIMEOUT_SECONDS, Endpoint, Kind, Sender
from watchkeeper.handlers.endpoint_limits import EndpointKey, EndpointLimits
from watchkeeper.handlers.loop_thread import LoopThread
from watchkeeper.handlers.registry import (
    Departure,
    Ended,
    NotStarted,
    Parked,
    Registry,
    Topic,
)
from watchkeeper.store import sinks
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.store.sinks import Sink, SinkBook

ABANDONED = "the worker stopped before the receiver had answered"
LEASE_SHARE = 0.8
"""The part of a lease that one attempt may take."""

SLACK_SECONDS = 1.0
"""A sender keeps the deadline itself; after this much more it is cut short."""

_SURE_SECONDS = (1 - LEASE_SHARE) / 2 / SECOND
"""The part of a lease, per microsecond of it, in which an attempt may begin that is not renewed."""

Draw = Callable[[], float]

_log = logging.getLogger("watchkeeper.sinks")


class Routed(NamedTuple):
    """Where messages of one topic go."""

    inside: list[Message]
    outside: list[tuple[Message, Sink]]
    nowhere: list[Message]


def routed(book: SinkBook, topic: Topic, messages: Iterable[Message]) -> Routed:
    """The tenant's sink, the sink for all, the handler here, nobody: the first there is."""
    found = Routed([], [], [])
    for m in messages:
        sink = book.route(m.tenant_id, m.namespace, m.topic)
        if sink is not None:
            found.outside.append((m, sink))
        else:
            (found.nowhere if topic.is_bare else found.inside).append(m)
    return found


def unhandled(messages: Iterable[Message], draw: Draw = ids.draw) -> list[Ended]:
    """Left alone for about a minute, and to be seen as what they are."""
    waits = [(m, int(UNHANDLED_US * (0.9 + 0.2 * draw()))) for m in messages]
    return [Ended(m, None, Parked(wait_us, UNHANDLED)) for m, wait_us in waits]


def endpoint_of(db: Database, sink: Sink, registry: Registry, rule: DeliveryRule) -> Endpoint:
    """Where a sink is, with its secrets. Raises Unavailable where they cannot be decrypted."""
    limits = [TIMEOUT_SECONDS, rule.lease_us * LEASE_SHARE / SECOND]
    if rule.timeout_us is not None:
        limits.append(rule.timeout_us / SECOND)
    return Endpoint(
        name=sink.name,
        tenant_id=sink.tenant_id,
        kind=sink.kind.value,
        url=sink.url,
        secrets=tuple(db.keyring.open(secret, sink.owner) for secret in sink.secrets(db.sinks.now)),
        private_ok=is_private_ok(registry.reach, sink.url),
        timeout_seconds=min(limits),
    )


def key_of(place: Sink | Endpoint) -> EndpointKey:
    return place.tenant_id, place.url


def departures(
    db: Database, registry: Registry, topic: Topic, leaving: Sequence[tuple[Message, Sink]]
) -> tuple[list[Departure], list[Ended]]:
    """What is to be sent, and what has ended before it was: a kill switch may say so."""
    rule = registry.rule_for(topic.name)
    bare = registry.bare((topic.namespace, topic.name))
    endpoints: dict[MessageId, Endpoint] = {}
    locked: list[Ended] = []
    for m, sink in leaving:
        try:
            endpoints[m.id] = endpoint_of(db, sink, registry, rule)
        except Unavailable as error:  # a key is missing here: another process may have it
            if db.sinks.may_warn(sink.owner):
                _log.warning("messages to sink %s wait: %s", sink.name, error)
            locked.append(Ended(m, None, Parked(UNHANDLED_US, str(error))))
    ready, over = prepared(db, bare, [m for m, _ in leaving if m.id in endpoints])
    ended = locked + [
        one
        if one.argument is None
        else one._replace(
            argument=Departure(one.message, endpoints[one.message.id], bare, one.argument)
        )
        for one in over
    ]
    return [Departure(m, endpoints[m.id], bare, told) for m, told in ready], ended


class Senders:
    """The senders of one event loop, each made when it is first needed."""

    def __init__(self, make: Callable[[Kind], Sender]) -> None:
        self._make = make
        self._made: dict[Kind, Sender] = {}

    async def send(self, departure: Departure) -> None:
        kind = departure.endpoint.kind
        sender = self._made.get(kind)
        if sender is None:
            sender = self._made[kind] = self._make(kind)
        await sender.send(departure.endpoint, departure.message)

    async def attempt(self, departure: Departure) -> Ended:
        limit = departure.endpoint.timeout_seconds + SLACK_SECONDS
        topic, message = departure.topic, departure.message
        return await attempt_async(topic, message, departure, limit, call=self.send)

    async def close(self) -> None:
        for sender in self._made.values():
            await sender.close()


class Outside:
    """The sends of one dispatcher. All methods but those on the loop belong to its thread."""

    def __init__(
        self,
        db: Database,
        registry: Registry,
        loop: LoopThread,
        *,
        may_start: Callable[[Message], bool],
        draw: Draw = ids.draw,
    ) -> None:
        self._db = db
        self._registry = registry
        self._loop = loop
        self._may_start = may_start
        self._draw = draw
        self._senders = Senders(registry.make_sender)
        self._held: Counter[tuple[str, str]] = Counter()
        self._ended: deque[Ended] = deque()
        self._sending: dict[asyncio.Task[object], Departure] = {}
        self._is_stopping = False
        self.limits = EndpointLimits()

    @property
    def held(self) -> int:
        """Begun, and not yet taken as ended."""
        return self._held.total()

    @property
    def is_cutting(self) -> bool:
        """Whether something that was cut short has not yet been taken as ended."""
        return self._is_stopping and any(
            self._may_be_cut(topic) for (_, topic), count in self._held.items() if count
        )

    def look(self) -> SinkBook:
        """See to it that the sinks are known as they are now."""
        return sinks.in_force(self._db)

    def concerns(self, topic: Topic) -> bool:
        return topic.is_bare or bool(self._db.sinks.of_topic((topic.namespace, topic.name)))

    def room(self, topic: Topic, free: int) -> int:
        """How much of a topic to claim: no more than can begin, where all of it goes outside."""
        key = (topic.namespace, topic.name)
        free -= self._held[key]
        places = self._db.sinks.of_topic(key)
        if not places or not (topic.is_bare or any(s.tenant_id == SYSTEM for s in places)):
            return free
        most = self._registry.rule_for(topic.name).endpoint_concurrency
        return min(free, sum(self.limits.room(k, most) for k in set(map(key_of, places))))

    def start(self, topic: Topic, messages: Sequence[Message]) -> tuple[list[Message], list[Ended]]:
        """Begin what goes outside; what is for the handler here, and what has ended already."""
        found = routed(self._db.sinks, topic, messages)
        entered, ended = self._entered(topic, found.outside)
        ready, over = departures(self._db, self._registry, topic, entered)
        begun = {departure.message.id for departure in ready}
        for m, sink in entered:
            if m.id not in begun:
                self.limits.leave(key_of(sink), is_well=None)
        self._held[topic.namespace, topic.name] += len(ready)
        if ready:
            self._loop.call(self._begin, ready)
        return found.inside, ended + over + unhandled(found.nowhere, self._draw)

    def take(self) -> list[Ended]:
        """The sends that have ended since."""
        taken = []
        while self._ended:
            one = self._ended.popleft()
            taken.append(one)
            self._held[one.message.namespace, one.message.topic] -= 1
            self.limits.leave(key_of(one.argument.endpoint), is_well=is_well(one))
        return taken

    def abandon(self) -> None:
        """Cut short what may be sent again. What may not keeps its lease: nobody knows its end."""
        was_stopping, self._is_stopping = self._is_stopping, True  # before the loop can look
        if self.held and not was_stopping:
            self._loop.call(self._cancel)

    def close(self, timeout_seconds: float) -> None:
        self._loop.finish(self._senders.close(), timeout_seconds)

    def _entered(
        self, topic: Topic, leaving: Sequence[tuple[Message, Sink]]
    ) -> tuple[list[tuple[Message, Sink]], list[Ended]]:
        most = self._registry.rule_for(topic.name).endpoint_concurrency
        entered, parked = [], []
        for m, sink in leaving:
            key = key_of(sink)
            if self.limits.enter(key, most):
                entered.append((m, sink))
            else:
                wait = self.limits.wait_seconds(key, self._draw())
                parked.append(Ended(m, None, Parked(int(wait * SECOND))))
        return entered, parked

    # -- on the event loop --------------------------------------------------------------

    def _begin(self, ready: Sequence[Departure]) -> None:
        for departure in ready:
            if self._may_start(departure.message):
                self._loop.spawn(self._send(departure), partial(self._unbegun, departure))
            else:
                self._unbegun(departure)

    def _unbegun(self, departure: Departure) -> None:
        self._end(Ended(departure.message, departure, NotStarted()))

    async def _send(self, departure: Departure) -> None:
        own = asyncio.current_task()
        assert own is not None
        if self._is_stopping:  # `_cancel` may have looked already, and nobody would cut this
            self._unbegun(departure)
            return
        self._sending[own] = departure
        ended = await self._senders.attempt(departure)
        del self._sending[own]
        if own.cancelling() and isinstance(ended.result, delivery.Retry):
            ended = ended._replace(result=delivery.Retry(ABANDONED))
        self._end(ended)

    def _end(self, ended: Ended) -> None:
        self._ended.append(ended)
        self._db.wake()

    def _cancel(self) -> None:
        for begun, departure in list(self._sending.items()):
            if self._may_be_cut(departure.topic.name):
                begun.cancel()

    def _may_be_cut(self, topic: str) -> bool:
        return self._registry.rule_for(topic).guarantee is not Guarantee.AT_MOST_ONCE


def is_well(one: Ended) -> bool | None:
    """Whether the endpoint dealt with what it was sent; None if it was not sent."""
    match one.result:
        case NotStarted():
            return None
        case delivery.Retry():
            return False
        case _:
            return True


def send_here(
    db: Database,
    registry: Registry,
    topic: Topic,
    messages: Sequence[Message],
    loop: LoopThread,
) -> tuple[list[Message], list[Ended]]:
    """The same while the caller waits: what is for the handler here, and what has ended.

    Each endpoint gets a few at a time; where nothing gets through, the rest is put back. So
    is what cannot be sent while its lease surely lives: nobody renews leases here.
    """
    found = routed(db.sinks, topic, messages)
    ended = unhandled(found.nowhere)
    if not found.outside:
        return found.inside, ended
    rule = registry.rule_for(topic.name)
    most, until = rule.endpoint_concurrency, time.monotonic() + rule.lease_us * _SURE_SECONDS
    waiting: dict[EndpointKey, deque[tuple[Message, Sink]]] = {}
    for m, sink in found.outside:
        waiting.setdefault(key_of(sink), deque()).append((m, sink))
    limits = EndpointLimits()
    senders = Senders(registry.make_sender)
    try:
        while waiting:
            wave = [q.popleft() for q in waiting.values() for _ in range(min(most, len(q)))]
            ready, over = departures(db, registry, topic, wave)
            sent = loop.run(_together(senders, ready))
            ended += over + sent
            stuck = _stuck(sent)
            for key in [k for k, q in waiting.items() if not q or k in stuck]:
                wait = limits.wait_seconds(key, ids.draw())
                rest = waiting.pop(key)
                ended += [Ended(m, None, Parked(int(wait * SECOND))) for m, _ in rest]
            if time.monotonic() > until:
                ended += [Ended(m, None, NotStarted()) for q in waiting.values() for m, _ in q]
                break
    finally:
        loop.run(senders.close())
    return found.inside, ended


def _stuck(sent: Sequence[Ended]) -> set[EndpointKey]:
    """Endpoints that took nothing of all they were sent."""
    keys = {key_of(one.argument.endpoint) for one in sent}
    return keys - {key_of(one.argument.endpoint) for one in sent if is_well(one)}


async def _together(senders: Senders, ready: Sequence[Departure]) -> list[Ended]:
    return list(await asyncio.gather(*[senders.attempt(departure) for departure in ready]))
