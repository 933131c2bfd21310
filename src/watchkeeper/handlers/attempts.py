"""One call of a handler, and what it says about its attempt.

Whatever a handler raises is an answer, `SystemExit` too: it is logged once, with the ids of its
message, and told in plain words from there on. What a handler returns is kept only where its topic
has a `finish`, and is plain by then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, NamedTuple, TypeAlias, TypeVar

from watchkeeper.core import delivery
from watchkeeper.core.delivery import AttemptResult
from watchkeeper.failures import IDS, cut, log_failure, text_of, words_of
from watchkeeper.handlers.plain import refuse_coroutine
from watchkeeper.handlers.registry import DELIVERED, Departure, Ended, Topic
from watchkeeper.handlers.results import Reject, Retry, seconds_of
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message

NO_REASON = "the handler gave no reason that can be read"

Heard: TypeAlias = Callable[[BaseException], None]
"""Is told of the exceptions that were no answer, as they were raised."""

A = TypeVar("A")
T = TypeVar("T")


class Raised(NamedTuple):
    """An exception on its way from one thread to another, as a value."""

    error: BaseException


def attempt(topic: Topic, message: Message, argument: Any, heard: Heard | None = None) -> Ended:
    """Call a handler once, in this thread."""
    assert topic.call is not None
    try:
        value = topic.call(argument)
        refuse_coroutine(value)
    except BaseException as error:
        return _failed(topic, message, argument, error, heard)
    return _done(topic, message, argument, value)


async def attempt_async(
    topic: Topic,
    message: Message,
    argument: Any,
    timeout_seconds: float | None = None,
    heard: Heard | None = None,
    call: Callable[[Any], Any] | None = None,
) -> Ended:
    """Call a handler once, on the running event loop; `call` stands in for the topic's own."""
    call = call or topic.call
    assert call is not None
    try:
        if timeout_seconds is None:
            value = await call(argument)
        else:
            async with asyncio.timeout(timeout_seconds):
                value = await call(argument)
    except BaseException as error:
        return _failed(topic, message, argument, error, heard)
    return _done(topic, message, argument, value)


def attempt_batch(
    topic: Topic, db: Database, messages: list[Message], heard: Heard | None = None
) -> list[Ended]:
    """Deliver a batch; one that fails as a whole fails for each of its messages."""
    assert topic.deliver is not None
    try:
        results = list(topic.deliver(db, messages))
        if len(results) != len(messages):
            raise ValueError(f"{len(results)} answers for {len(messages)} messages")
    except BaseException as error:
        failed = _failed(topic, messages[0], messages[0], error, heard)
        return [Ended(m, m, failed.result) for m in messages]
    return [Ended(m, m, result) for m, result in zip(messages, results, strict=True)]


async def in_thread(threads: Executor, call: Callable[[A], T], argument: A) -> T:
    """Call a function in a thread of the executor, from the event loop.

    What it raises does not travel in a future: a StopIteration would be lost there, and whoever
    awaits it would wait for ever.
    """

    def caught() -> T | Raised:
        try:
            return call(argument)
        except BaseException as error:
            return Raised(error)

    found = await asyncio.get_running_loop().run_in_executor(threads, caught)
    if isinstance(found, Raised):
        raise found.error
    return found


def result_of(error: BaseException) -> AttemptResult:
    """What an exception of a handler says about its attempt. Never raises."""
    try:
        return _result_of(error)
    except BaseException:
        return delivery.Retry(words_of(error))


def _result_of(error: Any) -> AttemptResult:
    kind = type(error)  # `isinstance` would believe what the object says of its class
    if issubclass(kind, Retry):
        return delivery.Retry(text_of(error) or NO_REASON, seconds_of(error.after))
    if issubclass(kind, Reject):
        return delivery.Reject(text_of(error) or NO_REASON)
    return delivery.Retry(words_of(error))


def _done(topic: Topic, message: Message, argument: Any, value: object) -> Ended:
    return Ended(message, argument, DELIVERED, value if topic.finish is not None else None)


def _failed(
    topic: Topic, message: Message, argument: Any, error: BaseException, heard: Heard | None
) -> Ended:
    is_answer = issubclass(type(error), Retry | Reject)
    level = logging.WARNING if is_answer else logging.ERROR
    kind = "sink" if type(argument) is Departure else topic.kind
    log_failure(error, kind, facts_of(message, argument), level=level)
    if heard is not None and not is_answer:
        heard(error)
    return Ended(message, argument, result_of(error))


def facts_of(message: Message, argument: Any) -> dict[str, object]:
    """Which message it is, and which run, pull or action: for a line of the log."""
    facts: dict[str, object] = {
        "tenant_id": message.tenant_id,
        "topic": message.topic,
        "message_id": message.id,
        "attempt": message.attempt,
    }
    facts |= {name: value for name in IDS if (value := getattr(argument, name, None)) is not None}
    return {k: cut(v, 200) if isinstance(v, str) else v for k, v in facts.items()}
