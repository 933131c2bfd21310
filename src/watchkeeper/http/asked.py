"""What the address of a page asks for, a word at a time; what cannot be is named.

A form that filters sends every one of its fields: one that was left empty asks for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar
from urllib.parse import urlencode

from pydantic import TypeAdapter

from watchkeeper.actions.views import OLDEST
from watchkeeper.core.time import Instant, from_iso
from watchkeeper.errors import Invalid
from watchkeeper.http.answers import position
from watchkeeper.http.context import is_identifier
from watchkeeper.http.page import Page
from watchkeeper.input_types import (
    INTEGER_MAX,
    PRINTABLE,
    AccountName,
    Label,
    TopicName,
    TriggerName,
)
from watchkeeper.inputs import parse_value

LENGTH_MAX = 200
_PRINTABLE = re.compile(PRINTABLE)
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?", re.ASCII)

Word = TypeVar("Word", bound=str)

TEXT: TypeAdapter[str] = TypeAdapter(Label)
ACCOUNT: TypeAdapter[str] = TypeAdapter(AccountName)
TOPIC: TypeAdapter[str] = TypeAdapter(TopicName)
NAME: TypeAdapter[str] = TypeAdapter(TriggerName)


def text(page: Page, name: str, kind: TypeAdapter[str] = TEXT) -> str | None:
    """What somebody typed, without the blanks around it."""
    found = page.request.query_params.get(name, "").strip()
    return parse_value(kind, found, name) if found else None


def exact(page: Page, name: str) -> str | None:
    """A name as it is, blanks included."""
    return checked(name, page.request.query_params.get(name, ""))


def checked(name: str, value: str) -> str | None:
    if value == "":
        return None
    if len(value) > LENGTH_MAX:
        raise Invalid.at(name, f"is longer than {LENGTH_MAX} characters")
    if not _PRINTABLE.fullmatch(value):
        raise Invalid.at(name, "must not contain control characters")
    return value


def one_of(page: Page, name: str, known: Iterable[Word]) -> Word | None:
    """One of a few."""
    asked = text(page, name)
    words = list(known)
    found = next((one for one in words if one == asked), None)
    if asked is not None and found is None:
        raise Invalid.at(name, f"must be one of {', '.join(words)}")
    return found


def place(page: Page, name: str = "cursor") -> int:
    """Before which place of the ledger a page begins."""
    value = text(page, name)
    if value is None:
        return OLDEST
    if not (value.isascii() and value.isdigit()) or int(value) > INTEGER_MAX:
        raise Invalid.at(name, "is not a place of the ledger")
    return int(value)


def whole(page: Page, name: str, most: int) -> int | None:
    """A number from 0 on."""
    value = text(page, name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 19 and int(value) <= most):
        raise Invalid.at(name, f"must be a whole number from 0 to {most}")
    return int(value)


def behind(page: Page, name: str) -> str | None:
    """The id behind which the list `name` goes on."""
    found = position(page.request.query_params.get("cursor") or None, name, "")
    if found and not is_identifier(found):
        raise Invalid.at("cursor", "is not a cursor of this list")
    return found or None


def moment(page: Page, name: str) -> Instant | None:
    """A moment; without an offset it is one of UTC."""
    value = text(page, name)
    if value is None:
        return None
    try:
        return from_iso(f"{value}+00:00" if _WITHOUT_ZONE.fullmatch(value) else value)
    except ValueError:
        raise Invalid.at(name, f"{value} is not a time such as 2030-01-01T00:00") from None


def address(path: str, **query: str | None) -> str:
    """The same page for what is asked for, and nothing that is not."""
    given = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path
