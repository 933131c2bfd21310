"""A report as canonical JSON, and back: equal reports give equal text, and it loads back equal.

The shape is that of the dataclasses themselves, and what a report is known by stands at the top
as well. Loading is strict: a field too many, too few or
of another type is refused, so that nothing comes out of a stored report that was not put in.
"""

from __future__ import annotations

import functools
import json
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from watchkeeper.core.canonical import canonical_json
from watchkeeper.core.reports import Report
from watchkeeper.core.time import Instant, from_iso, to_iso

KNOWN_BY = ("generated_at", "report_id", "tenant_id", "trigger")
"""Fields of the header that stand at the top too."""


def to_json(report: Report) -> str:
    plain = to_plain(report)
    return canonical_json({**plain, **{name: plain["header"][name] for name in KNOWN_BY}})


def from_json(text: str) -> Report:
    """Raises ValueError for anything but a report."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("report: not an object")
    said = {name: value.pop(name, None) for name in KNOWN_BY}
    report = _read(value, Report, "report")
    for name, told in said.items():
        if told != value["header"][name]:
            raise ValueError(f"report.{name}: not that of its header")
    assert isinstance(report, Report)
    return report


def to_plain(value: Any) -> Any:
    """Dicts, lists, strings and whole numbers; moments in ISO 8601."""
    if is_dataclass(value):
        kind: Any = type(value)
        hints = _hints(kind)
        return {
            one.name: _plain(getattr(value, one.name), hints[one.name]) for one in fields(value)
        }
    if isinstance(value, tuple):
        return [to_plain(one) for one in value]
    return str(value) if isinstance(value, StrEnum) else value


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _plain(value: Any, hint: Any) -> Any:
    is_moment = hint is Instant or Instant in get_args(hint)
    return to_iso(value) if is_moment and value is not None else to_plain(value)


def _read(value: Any, hint: Any, place: str) -> Any:
    if get_origin(hint) in (Union, UnionType):
        return _read_one_of(value, get_args(hint), place)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{place}: not a list")
        inner = get_args(hint)[0]
        return tuple(_read(one, inner, f"{place}[{n}]") for n, one in enumerate(value))
    if is_dataclass(hint):
        return _read_fields(value, hint, place)
    return _read_leaf(value, hint, place)


def _read_leaf(value: Any, hint: Any, place: str) -> Any:
    if hint is int:
        if type(value) is not int:
            raise ValueError(f"{place}: not a whole number")
        return value
    if not isinstance(value, str):
        raise ValueError(f"{place}: not a string")
    if hint is Instant:
        return from_iso(value)
    return value if hint is str else hint(value)


def _read_one_of(value: Any, hints: tuple[Any, ...], place: str) -> Any:
    """An absent value, or the one class that has exactly these fields."""
    if value is None and type(None) in hints:
        return None
    kinds = [hint for hint in hints if hint is not type(None)]
    if len(kinds) == 1:
        return _read(value, kinds[0], place)
    for kind in kinds:
        if isinstance(value, dict) and value.keys() == {one.name for one in fields(kind)}:
            return _read(value, kind, place)
    raise ValueError(f"{place}: none of what may stand there")


def _read_fields(value: Any, kind: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{place}: not an object")
    names = {one.name for one in fields(kind)}
    for name in sorted(value.keys() ^ names):
        raise ValueError(f"{place}.{name}: {'missing' if name in names else 'not known'}")
    hints = _hints(kind)
    return kind(**{name: _read(value[name], hints[name], f"{place}.{name}") for name in value})
