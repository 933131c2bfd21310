"""The state diagrams of plans, steps and intents, drawn from the tables that are the machines.

`python -m tools.docs` puts them into the page between marks; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from tools.markdown import block
from watchkeeper.core.plans import (
    INTENT_MOVES,
    PLAN_MOVES,
    STEP_MOVES,
    IntentState,
    PlanStatus,
    StepStatus,
)

PAGE = Path(__file__).parents[1] / "docs" / "act.md"
_MARKED = "<!-- drawn: {} -->"
_END = "<!-- /drawn -->"

S = TypeVar("S", bound=StrEnum)


def diagram(moves: Mapping[S, Set[S]], births: Set[S]) -> str:
    """Every state and every way between two, for Mermaid; states without a way out are ends."""
    lines = ["stateDiagram-v2"]
    lines += [f"    [*] --> {state}" for state in moves if state in births]
    for state, ways in moves.items():
        lines += [f"    {state} --> {after}" for after in moves if after in ways]
        lines += [f"    {state} --> [*]"] if not ways else []
    return block("mermaid", "\n".join(lines))


def diagrams() -> dict[str, str]:
    blocked = frozenset({IntentState.PENDING_APPROVAL, IntentState.APPROVED, IntentState.REJECTED})
    return {
        "plans": diagram(PLAN_MOVES, frozenset({PlanStatus.DRAFT})),
        "steps": diagram(STEP_MOVES, frozenset({StepStatus.PENDING})),
        "intents": diagram(INTENT_MOVES, blocked),
    }


def drawn(page: str) -> str:
    """The page with its diagrams as they are today."""
    for name, picture in diagrams().items():
        start = _MARKED.format(name)
        pattern = re.compile(f"{re.escape(start)}.*?{re.escape(_END)}", re.DOTALL)
        if not pattern.search(page):
            raise ValueError(f"the page has no place for the diagram of {name}")
        page = pattern.sub(lambda _, s=start, p=picture: f"{s}\n{p}\n{_END}", page)
    return page


def draw() -> None:
    PAGE.write_text(drawn(PAGE.read_text()))
