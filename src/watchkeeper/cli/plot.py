"""Plots for a terminal: columns of block characters, eight heights to a line of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

BLOCKS = " ▁▂▃▄▅▆▇█"
HEIGHT = 6
EIGHTHS = len(BLOCKS) - 1


def columns_of(values: Sequence[int], width: int) -> list[int]:
    """At most `width` numbers: neighbours share a column, which shows the largest of them."""
    if len(values) <= width:
        return list(values)
    edges = [n * len(values) // width for n in range(width + 1)]
    return [max(values[a:b]) for a, b in pairwise(edges)]


def plot(
    values: Sequence[int], *, width: int = 72, height: int = HEIGHT, top: int | None = None
) -> list[str]:
    """Lines of text, the highest first, with what they stand for at their left.

    `top` is a level that is marked: what lies above it is drawn up to the edge all the same.
    """
    shown = columns_of(values, width)
    highest = max([1, *shown, *([] if top is None else [top])])
    lines = []
    names = [f"{highest:,}", *[""] * (height - 2), "0"]
    margin = max(map(len, names))
    for row in range(height):
        floor = (height - 1 - row) * EIGHTHS
        cells = "".join(_cell(value, highest, floor, height) for value in shown)
        lines.append(f"{names[row]:>{margin}} ┤{cells}".rstrip())
    return lines


def _cell(value: int, highest: int, floor: int, height: int) -> str:
    """Whatever is not nothing is seen, if only as the lowest block."""
    eighths = -(-value * height * EIGHTHS // highest)
    return BLOCKS[min(EIGHTHS, max(0, eighths - floor))]
