"""Who delivers which topic, and how an attempt goes: prepare, call, finish.

A topic has either a function that is called for each message, or one that takes a whole
batch. Around the former, `prepare` runs once for a batch before its messages are handed
out, and `finish` once for those that have ended.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from watchkeeper.core.delivery import AttemptResult, Delivered, DeliveryRule
from watchkeeper.core.ids import MessageId, Token
from watchkeeper.core.sinks import Reach
from watchkeeper.handlers.endpoint import Endpoint, Kind, Sender
from watchkeeper.moves.lose_messages import OnLost
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.store.outbox import NAMESPACE
from watchkeeper.store.sinks import SinkBook

BATCH_MAX = 100
"""Messages that a batch function is given at once, unless it says otherwise."""

AT_ONCE_MAX = 10
"""Messages that the dispatcher deals with itself before it looks at others again."""


OWN = "own"
"""The kind of handlers that Watchkeeper brings itself."""


@dataclass(frozen=True, slots=True)
class NotStarted:
    """The worker stopped before the handler was called: the attempt is given back."""


@dataclass(frozen=True, slots=True)
class Parked(NotStarted):
    """Nobody takes it now: it is put back with its attempt, and left alone for a while."""

    wait_us: int
    why: str | None = None  # kept with the message, if it is to be seen there


class Ended(NamedTuple):
    """One attempt that is over, as far as this worker knows."""

    message: Message
    argument: Any  # what `prepare` made of it
    result: AttemptResult | NotStarted
    value: Any = None  # what the handler returned


@dataclass(slots=True)
class Follow:
    """What may be begun by whoever makes it possible: under this lease, no more than that.

    Messages that are written as claimed already spare the next step two transactions.
    """

    token: Token
    lease_us: int
    room: int
    begun: list[tuple[Message, Any]] = field(default_factory=list)
    when_sent: Callable[[], None] | None = None
    """To be called while the database works."""


Call: TypeAlias = Callable[[Any], Any]
Deliver: TypeAlias = Callable[[Database, list[Message]], Sequence[AttemptResult]]
Prepare: TypeAlias = Callable[[Database, Sequence[Message]], Mapping[MessageId, Any]]
"""By message, what `call` is given; or an `Ended`, which is finished without a call."""
Finish: TypeAlias = Callable[[Database, Sequence[Ended]], set[MessageId]]
"""Writes the ends; the ids of those that were still held."""
CarryOn: TypeAlias = Callable[[Database, Sequence[Ended], Follow], set[MessageId]]
"""The same, and begins with what follows from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """How the messages of one topic are delivered."""

    namespace: str
    name: str
    call: Call | None = None
    deliver: Deliver | None = None
    prepare: Prepare | None = None
    finish: Finish | None = None
    carry_on: CarryOn | None = None
    leads_to: str | None = None
    """The topic whose messages `carry_on` begins with; its own, where it does not say."""
    is_at_once: bool = False
    """Nothing is called: a message is dealt with where its end is written."""
    batch_max: int = BATCH_MAX
    kind: str = "topic"
    """What its handler is called in the log: decision, connector, action, usage sink, topic."""
    is_one_by_one: bool = False
    """The end of one message may stop the next: without threads, each is prepared after it."""

    @property
    def is_async(self) -> bool:
        return self.call is not None and is_async(self.call)

    @property
    def is_bare(self) -> bool:
        """Nothing in this process takes it: it is here because a sink does."""
        return self.call is None and self.deliver is None


class Departure(NamedTuple):
    """A message on its way out of the process."""

    message: Message
    endpoint: Endpoint
    topic: Topic  # the bare one, whose hooks stand around the send
    told: Any  # what `prepare` made of the message


class Registry:
    """The handlers of this process, the rules of their topics, and who hears of losses."""

    def __init__(self, rule_for: Callable[[str], DeliveryRule]) -> None:
        self.rule_for = rule_for
        self._topics: dict[tuple[str, str], Topic] = {}
        self._bare: dict[tuple[str, str], Topic] = {}
        self.on_lost: dict[tuple[str, str], OnLost] = {}
        self.on_dead: OnLost | None = None
        self.make_sender: Callable[[Kind], Sender] = make_sender
        self.reach = Reach.PUBLIC

    def handle(
        self,
        name: str,
        call: Call,
        *,
        namespace: str = NAMESPACE,
        prepare: Prepare | None = None,
        finish: Finish | None = None,
        carry_on: CarryOn | None = None,
        kind: str = "topic",
        is_one_by_one: bool = False,
    ) -> None:
        """Call a function for each message. It may be `async`."""
        self._topics[namespace, name] = Topic(
            namespace=namespace,
            name=name,
            call=call,
            prepare=prepare,
            finish=finish,
            carry_on=carry_on,
            kind=kind,
            is_one_by_one=is_one_by_one,
        )

    def handle_batch(
        self, name: str, deliver: Deliver, *, namespace: str = NAMESPACE, batch_max: int = BATCH_MAX
    ) -> None:
        """Call a function for many messages at once; it answers for each, in order."""
        self._topics[namespace, name] = Topic(
            namespace=namespace, name=name, deliver=deliver, batch_max=batch_max, kind=OWN
        )

    def handle_at_once(
        self,
        name: str,
        finish: Finish,
        carry_on: CarryOn,
        *,
        leads_to: str,
        batch_max: int = AT_ONCE_MAX,
    ) -> None:
        """What a message asks for is short, and done in the transaction that ends it.

        The dispatcher's own thread does it, and begins with what follows from it.
        """
        self._topics[NAMESPACE, name] = Topic(
            namespace=NAMESPACE,
            name=name,
            call=_itself,
            finish=finish,
            carry_on=carry_on,
            leads_to=leads_to,
            is_at_once=True,
            batch_max=batch_max,
            kind=OWN,
        )

    def get(self, namespace: str, name: str) -> Topic | None:
        """A topic that this process has a handler for."""
        return self._topics.get((namespace, name))

    def send(self, name: str, *, prepare: Prepare, finish: Finish) -> None:
        """What stands around each send of a topic, where it has a sink."""
        topic = Topic(namespace=NAMESPACE, name=name, prepare=prepare, finish=finish)
        self._bare[NAMESPACE, name] = topic

    def bare(self, key: tuple[str, str]) -> Topic:
        """A topic as it is where only a sink takes it. Always the same object."""
        found = self._bare.get(key)
        if found is None:
            found = self._bare[key] = Topic(namespace=key[0], name=key[1])
        return found

    def with_sinks(self, book: SinkBook) -> Iterator[Topic]:
        """Every topic that somebody takes: a handler here, or a sink of anybody."""
        yield from self
        for key in list(book.topics()):
            if key not in self._topics:
                yield self.bare(key)

    def when_lost(self, name: str, hook: OnLost, *, namespace: str = NAMESPACE) -> None:
        """Tell of each message that died or was discarded, in the transaction of that."""
        self.on_lost[namespace, name] = hook

    def __iter__(self) -> Iterator[Topic]:
        return iter(list(self._topics.values()))

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._topics

    def of(self, message: Message) -> Topic:
        key = (message.namespace, message.topic)
        return self._topics.get(key) or self.bare(key)

    def ended_by(self, one: Ended) -> Topic:
        """The topic whose `finish` writes this end."""
        return one.argument.topic if isinstance(one.argument, Departure) else self.of(one.message)


def make_sender(kind: Kind) -> Sender:
    """Who takes messages to endpoints of a kind; loaded when the first of them has one."""
    if kind == "webhook":
        from watchkeeper.handlers.webhook import WebhookSender

        return WebhookSender()
    from watchkeeper.handlers.nats import NatsSender

    return NatsSender()


DELIVERED = Delivered()


def _itself(message: Message) -> Message:
    return message


def is_async(call: Call) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
        getattr(call, "__call__", None)  # noqa: B004 - an object whose call is async
    )
