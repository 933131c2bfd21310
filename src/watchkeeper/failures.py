"""Exceptions of handlers as text, and their line in the log.

A handler may raise anything: an exception whose `__str__` raises or returns a gigabyte, a chain
without end, a class that lies about itself. Telling it always ends, is bounded, and never raises.
Nothing here trusts an attribute that a class can override.
"""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Iterator, Mapping
from typing import Any, Final

from watchkeeper.core.redaction import redacted

WORDS_LENGTH_MAX = 2_000
TRACEBACK_LENGTH_MAX = 8_000
FRAMES_MAX = 30
CHAIN_MAX = 8
"""Exceptions of one chain of causes that are told."""

MEMBERS_MAX = 5
"""Exceptions of one group that are told."""

UNREADABLE = "<it cannot be read>"
CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"

IDS = (
    "account_id",
    "decision_id",
    "turn_id",
    "pull_job_id",
    "connector_id",
    "plan_id",
    "intent_id",
    "action_type",
    "correlation_id",
)
"""Names that a handler's argument may have, for the log."""

FACTS = ("handler", "tenant_id", "topic", "message_id", "attempt", "plan_type", *IDS)
"""Fields that a line about a failed call may have."""

_NAME: Final[Any] = type.__dict__["__name__"]
_OF_ERRORS: Final[Mapping[str, Any]] = BaseException.__dict__
_MEMBERS: Final[Any] = BaseExceptionGroup.__dict__["exceptions"]

_log = logging.getLogger("watchkeeper.handlers")


def name_of(value: object) -> str:
    """The name of the value's type, whatever its metaclass says."""
    return cut(_NAME.__get__(type(value)), WORDS_LENGTH_MAX)


def cut(text: str, length_max: int) -> str:
    """A plain string of at most so many characters; a subclass is not asked."""
    if str.__len__(text) <= length_max:
        return str.__getitem__(text, slice(length_max))
    return str.__getitem__(text, slice(length_max - 1)) + "…"


def text_of(value: object, length_max: int = WORDS_LENGTH_MAX) -> str:
    """The value as text; UNREADABLE if it cannot be had."""
    try:
        return cut(str(value), length_max)
    except BaseException:
        return UNREADABLE


def words_of(error: BaseException) -> str:
    """`ValueError: what it says`, cut to a bound."""
    return f"{name_of(error)}: {text_of(error)}"


def traceback_of(error: BaseException) -> str:
    """Where an exception came from, with its causes: without secrets, the newest lines kept."""
    try:
        told = _told_chain(error, 0)
    except BaseException:
        told = words_of(error)
    return redacted(told[-TRACEBACK_LENGTH_MAX:])


def log_failure(
    error: BaseException, handler: str, facts: Mapping[str, object], *, level: int = logging.ERROR
) -> None:
    """Write one line about a failed call of a handler, with its traceback. Never raises.

    The traceback is text already: no formatter of a log asks the exception again.
    """
    with contextlib.suppress(Exception):
        if not _log.isEnabledFor(level):
            return
        given = {name: value for name, value in facts.items() if value is not None}
        ids = " ".join(f"{name}={value}" for name, value in given.items())
        text = redacted(f"{handler} handler failed: {words_of(error)} ({ids})")
        extra = {"handler": handler, **given}
        record = _log.makeRecord(_log.name, level, __file__, 0, text, (), None, None, extra)
        record.exc_text = traceback_of(error)
        _log.handle(record)


def _told_chain(error: BaseException, depth: int) -> str:
    told = [
        _told(one, depth) if link is None else f"{link}\n\n{_told(one, depth)}"
        for one, link in reversed(list(_chain(error)))
    ]
    return "\n".join(told)


def _chain(error: BaseException) -> Iterator[tuple[BaseException, str | None]]:
    """The exception and those before it, each with the words that lead to it."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen and len(seen) < CHAIN_MAX:
        seen.add(id(one))
        cause, context = _of(one, "__cause__"), _of(one, "__context__")
        if cause is None and _of(one, "__suppress_context__"):
            context = None
        before = context if cause is None else cause
        is_last = before is None or id(before) in seen or len(seen) == CHAIN_MAX
        yield one, None if is_last else CAUSE if cause is not None else CONTEXT
        one = before


def _told(error: BaseException, depth: int) -> str:
    frames = traceback.extract_tb(_of(error, "__traceback__"), limit=-FRAMES_MAX)
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)]
    lines.append(f"{words_of(error)}\n")
    if issubclass(type(error), BaseExceptionGroup) and depth < 2:
        for member in _MEMBERS.__get__(error)[:MEMBERS_MAX]:
            told = _told_chain(member, depth + 1)
            lines += [f"  | {line}\n" for line in told.splitlines()]
    return "".join(lines)


def _of(error: BaseException, name: str) -> Any:
    return _OF_ERRORS[name].__get__(error)
