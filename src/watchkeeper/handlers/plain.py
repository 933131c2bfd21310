"""Plain copies of what handlers return, made in the handler's own thread.

A handler may return anything: subclasses of str and dict with methods of their own, an iterator
without end, an object that lies about its class. What is kept is copied once, within bounds, into
values of Python's own types; nothing that a handler made is asked anything after its attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import CoroutineType
from typing import Any

from watchkeeper.act_results import Outcome
from watchkeeper.core.redaction import storable
from watchkeeper.errors import Invalid
from watchkeeper.failures import cut, name_of, text_of
from watchkeeper.results import Decision

NOTE_LENGTH_MAX = 10_000
TEXT_LENGTH_MAX = 100_000
"""Characters of one text inside of what is returned."""

DEPTH_MAX = 40
VALUES_MAX = 50_000
"""Values inside of one signal, plan or answer."""

PLANS_MAX = 20
"""Plans that one decision may suggest: those that follow are not read."""

USAGE = ("input_tokens", "output_tokens", "model")


def plain_decision(value: object) -> Decision | None:
    """The Decision as plain values; None where something else was returned."""
    refuse_coroutine(value)
    if not issubclass(type(value), Decision):
        return None
    assert isinstance(value, Decision)
    note = value.note
    return Decision(
        note=None if note is None else plain_text(note, NOTE_LENGTH_MAX),
        usage=_plain_usage(value.usage),
        plans=list(_plain_plans(value.plans)),
    )


def plain_outcome(value: object) -> Outcome | None:
    """The Outcome as plain values; TypeError for anything but an Outcome and None."""
    refuse_coroutine(value)
    if value is None:
        return None
    if not issubclass(type(value), Outcome):
        raise TypeError(f"the handler returned {name_of(value)}, not an Outcome")
    assert isinstance(value, Outcome)
    succeeded, detail = value.succeeded, value.detail
    if not (succeeded is None or succeeded is True or succeeded is False):
        told = f"the handler returned Outcome with succeeded of type {name_of(succeeded)}"
        raise TypeError(f"{told}: it must be True, False or None")
    return Outcome(succeeded, None if detail is None else plain_text(detail, NOTE_LENGTH_MAX))


def refuse_coroutine(value: object) -> None:
    """TypeError for what a handler returned that nobody awaits: nothing of it has been done."""
    if type(value) is CoroutineType:
        value.close()
        raise TypeError("the handler returned a coroutine: declare it with `async def`")


def plain_text(value: object, length_max: int) -> str:
    """Text as both databases take it, cut to a length."""
    return storable(text_of(value, length_max))


def plain_json(value: object, at: str) -> Any:
    """A copy in JSON's own types, or Invalid that names what cannot be copied."""
    return _Copying(at).copy(value, at, 0)


class _Copying:
    """One copy: how many values it has taken so far."""

    def __init__(self, at: str) -> None:
        self._at = at
        self._count = 0

    def copy(self, value: Any, at: str, depth: int) -> Any:
        self._count += 1
        if self._count > VALUES_MAX:
            raise Invalid.at(self._at, f"has more than {VALUES_MAX} values")
        if depth > DEPTH_MAX:
            raise Invalid.at(self._at, f"is nested deeper than {DEPTH_MAX} levels")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if issubclass(kind, str):
            return cut(value, TEXT_LENGTH_MAX)
        if issubclass(kind, int):
            return int.__add__(value, 0)
        if issubclass(kind, float):
            return float.__add__(value, 0.0)
        if issubclass(kind, Mapping):
            return {key: self.copy(one, at, depth + 1) for key, one in self._items(value, at)}
        if issubclass(kind, list | tuple):
            return [self.copy(one, at, depth + 1) for one in islice(iter(value), VALUES_MAX)]
        raise Invalid.at(at, f"has {name_of(value)}, which is not JSON")

    def _items(self, value: Mapping[Any, Any], at: str) -> Iterator[tuple[str, Any]]:
        for key, inner in islice(iter(value.items()), VALUES_MAX):
            if not issubclass(type(key), str):
                raise Invalid.at(at, "must have text as keys")
            yield cut(key, TEXT_LENGTH_MAX), inner


def _plain_usage(usage: Any) -> dict[str, Any] | None:
    """The counters and the model, as far as they are plain; what else stands there is not kept."""
    if usage is None:
        return None
    kept: dict[str, Any] = {}
    for name in USAGE:
        try:
            value = usage.get(name)
        except BaseException:
            continue
        if type(value) in (int, str):
            kept[name] = value
    return kept


def _plain_plans(plans: Any) -> Iterator[Any]:
    """Each plan as plain JSON; one that cannot be copied is an error in its place."""
    try:
        given = iter(plans)
        for place, plan in enumerate(islice(given, PLANS_MAX)):
            yield _plain_plan(plan, f"plans[{place}]")
    except BaseException as error:
        yield Invalid.at("plans", f"cannot be read: {name_of(error)}")


def _plain_plan(plan: object, at: str) -> Any:
    try:
        return plain_json(plan, at)
    except Invalid as error:
        return error
    except BaseException as error:
        return Invalid.at(at, f"cannot be read: {name_of(error)}")
