"""The few pieces of Markdown that the pages are made of."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence

MADE = "<!-- Written by `python -m tools.docs`. Change the code, not this page. -->"


def page(title: str, *parts: str) -> str:
    return "\n\n".join([MADE, f"# {title}", *(part for part in parts if part)]) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [_row(columns), _row(["---"] * len(columns)), *(_row(row) for row in rows)]
    return "\n".join(lines)


def block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def words(documented: object) -> str:
    """A docstring of its own, its paragraphs kept and its lines joined."""
    text = inspect.cleandoc(documented.__doc__ or "")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _row(cells: Sequence[object]) -> str:
    """A cell stays on its line: paragraphs follow each other in it."""
    told = [str(cell).replace("|", "\\|").replace("\n\n", " ") for cell in cells]
    return "| " + " | ".join(told) + " |"
