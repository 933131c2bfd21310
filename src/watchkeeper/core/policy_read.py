"""Reading values out of a checked document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Value: TypeAlias = "int | str | Mapping[str, Value]"
Document: TypeAlias = "Mapping[str, Value]"

UNLIMITED = "unlimited"
NONE = "none"


def table(value: Value) -> Document:
    assert isinstance(value, Mapping)
    return value


def entry(document: Document, section: str, name: str) -> Document:
    """A table within a section; empty where there is none."""
    return table(table(document.get(section, {})).get(name, {}))


def whole(values: Document, key: str) -> int:
    value = values[key]
    assert isinstance(value, int)
    return value


def limit(values: Document, key: str) -> int | None:
    """A cap or budget; absent and "unlimited" are the same."""
    return whole(values, key) if values.get(key, UNLIMITED) != UNLIMITED else None
