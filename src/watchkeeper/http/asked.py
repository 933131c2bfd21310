"""What the address of a page asks for, a word at a time; what cannot be is named.

A form that filters sends every one of its fields: an empty one asks for nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from pydantic import TypeAdapter

from watchkeeper.errors import Invalid
from watchkeeper.http.answers import position
from watchkeeper.http.context import is_identifier
from watchkeeper.http.page import Page
from watchkeeper.input_types import AccountName, Label, TopicName, TriggerName
from watchkeeper.inputs import parse_value

E = TypeVar("E", bound=StrEnum)

TEXT: TypeAdapter[str] = TypeAdapter(Label)
ACCOUNT: TypeAdapter[str] = TypeAdapter(AccountName)
TOPIC: TypeAdapter[str] = TypeAdapter(TopicName)
NAME: TypeAdapter[str] = TypeAdapter(TriggerName)


def text(page: Page, name: str, kind: TypeAdapter[str] = TEXT) -> str | None:
    found = page.request.query_params.get(name, "").strip()
    return parse_value(kind, found, name) if found else None


def word(page: Page, name: str, words: type[E]) -> E | None:
    """One of a few."""
    found = text(page, name)
    if found is None:
        return None
    if found not in set(words):
        raise Invalid.at(name, f"must be one of {', '.join(words)}")
    return words(found)


def behind(page: Page, name: str) -> str | None:
    """The id behind which the list `name` goes on."""
    found = position(page.request.query_params.get("cursor") or None, name, "")
    if found and not is_identifier(found):
        raise Invalid.at("cursor", "is not a cursor of this list")
    return found or None


def address(path: str, **query: str | None) -> str:
    """The same page for what is asked for, and nothing that is not."""
    given = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path
