"""Bodies, checked before anybody reads them.

A body is bounded, in UTF-8 and not nested deeply before it is parsed, so that the answer
to a hostile one depends neither on the version of Python nor on the database. What JSON
allows and a database may not (doubled keys, U+0000, lone surrogates, numbers beyond 64
bits) is refused with its place.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from watchkeeper.errors import Invalid, Problem
from watchkeeper.http.problems import Refused
from watchkeeper.input_types import INTEGER_MAX
from watchkeeper.inputs import PROBLEMS_MAX, place

DEPTH_MAX = 64
DIGITS_MAX = 20
NUMBER_LENGTH_MAX = 64

_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Odd:
    """Stands in a parsed body where something was that is refused."""

    message: str


_NOT_FINITE = Odd("must be a finite number")
_TOO_LARGE = Odd("must be a whole number within 64 bits")
_TWICE = Odd("is there twice")


class _Reader:
    """Parses one body and remembers whether it met anything odd."""

    def __init__(self) -> None:
        self.is_odd = False

    def read(self, text: str) -> Any:
        return json.loads(
            text,
            object_pairs_hook=self._object,
            parse_int=self._whole,
            parse_float=self._number,
            parse_constant=self._constant,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    found[name] = self._odd(_TWICE)
                seen.add(name)
        return found

    def _whole(self, digits: str) -> Any:
        if len(digits) > DIGITS_MAX:
            return self._odd(_TOO_LARGE)
        number = int(digits)
        return number if -INTEGER_MAX <= number <= INTEGER_MAX else self._odd(_TOO_LARGE)

    def _number(self, text: str) -> Any:
        number = float(text) if len(text) <= NUMBER_LENGTH_MAX else math.inf
        return number if math.isfinite(number) else self._odd(_NOT_FINITE)

    def _constant(self, _: str) -> Any:
        return self._odd(_NOT_FINITE)

    def _odd(self, what: Odd) -> Odd:
        self.is_odd = True
        return what


def read_json(raw: bytes) -> Any:
    """The value, or Refused (400) when it is not JSON, or Invalid with the places."""
    text = read_text(raw)
    if depth_of(raw) > DEPTH_MAX:
        raise Refused(400, "too_deep", f"the body is nested deeper than {DEPTH_MAX} levels")
    reader = _Reader()
    try:
        value = reader.read(text)
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(400, "malformed", f"the body is not JSON{where}") from None
    if reader.is_odd or _SUSPECT.search(raw):
        problems = [Problem(place(path), message) for path, message in _oddities(value, ())]
        if problems:
            raise Invalid(str(problems[0]), problems[:PROBLEMS_MAX])
    return value


def read_text(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(400, "not_utf8", "the body is not UTF-8") from None
    if "\0" in text:
        raise Refused(400, "malformed", "the body contains a NUL byte")
    return text


def depth_of(raw: bytes) -> int:
    """How deeply a JSON text is nested, without parsing it. Linear, whatever the text."""
    depth = deepest = 0
    for found in _TOKENS.finditer(raw):
        first = found[0][0]
        if first in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in b"]}":
            depth -= 1
    return deepest


def _oddities(
    value: object, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    match value:
        case Odd(message):
            yield path, message
        case str():
            if (found := _odd_text(value)) is not None:
                yield path, found
        case dict():
            for name, inner in value.items():
                if (found := _odd_text(name)) is not None:
                    yield (*path, name), found
                yield from _oddities(inner, (*path, name))
        case list():
            for index, inner in enumerate(value):
                yield from _oddities(inner, (*path, index))
        case _:
            return


def _odd_text(text: str) -> str | None:
    if "\0" in text:
        return "must not contain the character U+0000"
    return "must be Unicode text" if _SURROGATE.search(text) else None
