"""A document as TOML text, for those that came as JSON: one layout for one meaning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(document: Mapping[str, object]) -> str:
    """Keys in order, values before tables; reads back as the same document."""
    return "\n".join(_table(document, ())).strip("\n") + "\n" if document else ""


def _table(table: Mapping[str, object], path: tuple[str, ...]) -> Iterator[str]:
    values = {key: v for key, v in sorted(table.items()) if not isinstance(v, Mapping)}
    if path and (values or not table):
        yield f"\n[{'.'.join(_key(part) for part in path)}]"
    for key, value in values.items():
        yield f"{_key(key)} = {_scalar(value)}"
    for key, value in sorted(table.items()):
        if isinstance(value, Mapping):
            yield from _table(value, (*path, key))


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _scalar(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _string(value)
        case list() | tuple():
            return f"[{', '.join(_scalar(each) for each in value)}]"
        case _:
            raise TypeError(f"a policy holds no {type(value).__name__}")


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
