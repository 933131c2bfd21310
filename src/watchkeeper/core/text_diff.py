"""Two texts, line by line: what left, what came, and a few lines around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

AROUND = 3
LINES_MAX = 5_000
"""Of one text. Longer ones are not compared line by line: that could take minutes."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a comparison, with its number in the text before and in the one after."""

    sign: str  # " ", "-" or "+"
    before: int | None
    after: int | None
    text: str


Hunk = tuple[DiffLine, ...]


def text_diff(before: str, after: str) -> list[Hunk] | None:
    """The parts that differ; none where nothing does, None where a text is too long."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > LINES_MAX:
        return None
    groups = SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND)
    return [
        tuple(
            line
            for kind, i, i_end, j, j_end in group
            for line in _lines(kind, old, new, (i, i_end, j, j_end))
        )
        for group in groups
    ]


def _lines(
    kind: str, old: list[str], new: list[str], places: tuple[int, int, int, int]
) -> Iterator[DiffLine]:
    i, i_end, j, j_end = places
    if kind == "equal":
        for n in range(i_end - i):
            yield DiffLine(" ", i + n + 1, j + n + 1, old[i + n])
        return
    for n in range(i, i_end):
        yield DiffLine("-", n + 1, None, old[n])
    for n in range(j, j_end):
        yield DiffLine("+", None, n + 1, new[n])
