"""Answers, and lists a page at a time.

A cursor is opaque to its holder. It says where a list was left, and is good for that
list only; one that was made up is refused, and could show nothing that its caller may
not see anyway.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Query, Response

from watchkeeper.core.time import Instant, to_iso
from watchkeeper.errors import Invalid
from watchkeeper.input_types import INTEGER_MAX, PRINTABLE, TenantName

LIMIT_MAX = 200
LIMIT = 50
CURSOR_LENGTH_MAX = 2048
CURSOR_PATTERN = "^[A-Za-z0-9_-]+$"
LENGTH_MAX = 200

T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX, description="Maximum number of rows.")]
Cursor = Annotated[
    str | None,
    Query(
        max_length=CURSOR_LENGTH_MAX,
        description="Value of `next_cursor` of the previous page.",
        json_schema_extra={"pattern": CURSOR_PATTERN},
    ),
]
TenantQuery = Annotated[
    TenantName | None,
    Query(description="Id of the tenant; needed only with a key for all tenants."),
]
Text = Annotated[str | None, Query(min_length=1, max_length=200, pattern=PRINTABLE)]


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), status, dict(headers or {}), "application/json")


def nothing() -> Response:
    return Response(status_code=204)


def page(
    name: str,
    rows: Sequence[dict[str, Any]],
    limit: int,
    position: str | int | None,
    *,
    is_cut: bool = False,
) -> Response:
    """One page of the list `name`; `position` is that of its last row.

    `is_cut`: there may be more, though the page is not full.
    """
    more = len(rows) == limit or is_cut
    cursor = cursor_of(name, position) if more and position is not None else None
    return answer({"items": list(rows), "next_cursor": cursor})


def cursor_of(name: str, position: str | int) -> str:
    """Where the list `name` is left: behind this row."""
    return _encode([name, position])


def position(cursor: str | None, name: str, start: T) -> T:
    """Where the page begins; `start` without a cursor."""
    if cursor is None:
        return start
    found = _decode(cursor)
    if not (isinstance(found, list) and len(found) == 2 and found[0] == name) or not _fits(
        found[1], start
    ):
        raise Invalid.at("cursor", "is not a cursor of this list")
    at: T = found[1]
    return at


def _fits(value: object, start: object) -> bool:
    """Of the right kind, and nothing that a database would refuse."""
    if type(value) is not type(start):
        return False
    if isinstance(value, str):
        return len(value) <= LENGTH_MAX and "\0" not in value
    return isinstance(value, int) and 0 <= value <= INTEGER_MAX


def iso(at: Instant | None) -> str | None:
    return None if at is None else to_iso(at)


def _encode(value: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


def _decode(cursor: str) -> object:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return orjson.loads(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, binascii.Error):
        return None
