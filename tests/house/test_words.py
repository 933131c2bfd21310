"""The first sentence of what users read begins with a noun or a verb; riddles do not return."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import watchkeeper
from tests.house.source import ROOT
from tools.pages_of_doors import commands
from watchkeeper.app import App
from watchkeeper.plan_methods import IntentDoor, PlanDoor
from watchkeeper.tenant_methods import TenantDoor

RIDDLE = re.compile(
    r"(What|Who|Whoever|Whose|It|Its|One|Those|Why|How it|How many|Of|Say)\b(?! far)"
)

FORBIDDEN = (
    "whatever race",
    "come from looking",
    "deep look",
    "what refused most",
    "keeps a place",
    "saying it twice",
    "none any more",
    "is no hole",
    "through these accounts",
    "those that come by themselves",
    "stands where it stands",
    "no such thing",
    "watchkeeper works",
    "watchkeeper serves",
    "or it dies",
    "not done afterwards",
    "say yes",
    "say no:",
    "whose it is",
    "asked for patience",
    "would have been another",
    "gone otherwise",
    "judged otherwise",
    "judged again",
    "ask it no more",
    "ask it beside",
    "nobody knows how",
    "told something new",
    "stood in the way",
    "nobody takes",
    "what ships",
    "fresh allowance",
    "looked at again",
    "moves by itself",
    "pages move by themselves",
)
"""Phrases of earlier versions that had to be read twice."""

READ = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src" / "watchkeeper" / "http" / "templates").glob("*.html")),
]
AUTHORS_OWN = ("benchmarks.md", "conformance.md")


def begins_badly(text: str | None) -> bool:
    return RIDDLE.match(inspect.cleandoc(text or "")) is not None


def test_public_classes_and_calls_begin_with_a_noun_or_a_verb() -> None:
    classes = [getattr(watchkeeper, name) for name in watchkeeper.__all__]
    calls = [
        member
        for door in (App, TenantDoor, PlanDoor, IntentDoor)
        for name, member in inspect.getmembers(door, inspect.isfunction)
        if not name.startswith("_")
    ]
    assert [one.__qualname__ for one in [*classes, *calls] if begins_badly(one.__doc__)] == []


def test_help_begins_with_a_noun_or_a_verb() -> None:
    texts: dict[str, Any] = {}
    for name, command in commands():
        texts[name] = command.help
        texts.update({f"{name} {part.name}": part.help for part in command.params})
    assert [name for name, text in texts.items() if not text or begins_badly(text)] == []


@pytest.mark.parametrize("path", READ, ids=lambda path: path.name)
def test_no_riddle_returns(path: Path) -> None:
    if path.name in AUTHORS_OWN:
        return
    text = " ".join(path.read_text().lower().split())
    assert [phrase for phrase in FORBIDDEN if phrase in text] == []
