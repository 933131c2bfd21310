"""The frame of a chart over time: where the plot lies, its grid, axes and the words at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.charts.model import (
    TEXT_HEIGHTS,
    Anchor,
    Mark,
    Path,
    Rect,
    Size,
    Stroke,
    Text,
    Tone,
)
from watchkeeper.charts.scale import NumberScale, TimeLabel, clipped, text_width, time_ticks
from watchkeeper.core.time import Instant

SMALL = TEXT_HEIGHTS[Size.SMALL]
_LEGEND_LABEL_MAX = 150.0
_LEGEND_LINES_MAX = 3
LEGEND_LINE = 16.0
_LEGEND_SLACK = 1.1
"""Some fonts are wider than the guess: a name must not run into its total."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The plot's edges, and the window that its width stands for."""

    left: float
    top: float
    right: float
    bottom: float
    since: Instant
    until: Instant
    edge: float  # how far to the right words may reach

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def x(self, at: int) -> float:
        span = max(1, self.until - self.since)
        share = min(1.0, max(0.0, (at - self.since) / span))
        return self.left + self.width * share

    def y(self, share: float) -> float:
        return self.bottom - self.height * share


def tick_width(scale: NumberScale) -> float:
    """Wide enough for its numbers, and the same for most charts, so that they stand in line."""
    return max(36.0, max(text_width(words, SMALL) for words in scale.words) + 8)


def number_axis(frame: Frame, scale: NumberScale) -> list[Mark]:
    """Hair lines across, their numbers to the left; the lowest line is the axis itself."""
    marks: list[Mark] = []
    for tick, words in zip(scale.ticks, scale.words, strict=True):
        y = frame.y(scale.share(tick))
        if tick:
            marks.append(Path(((frame.left, y), (frame.right, y)), Tone.GRID, Stroke.HAIR))
        marks.append(Text(frame.left - 6, y + 3.5, words, anchor=Anchor.END))
    marks.append(base_line(frame))
    return marks


def base_line(frame: Frame) -> Path:
    ends = ((frame.left, frame.bottom), (frame.right, frame.bottom))
    return Path(ends, Tone.AXIS, Stroke.HAIR)


def time_axis(frame: Frame, label: TimeLabel, *, wanted: int | None = None) -> list[Mark]:
    """Short marks below the plot with their words, none of which runs into another."""
    ticks, step = time_ticks(
        frame.since, frame.until, wanted=wanted or max(2, int(frame.width / 80))
    )
    marks: list[Mark] = []
    free_from = 0.0
    for at in ticks:
        x, words = frame.x(at), label(at, step)
        half = text_width(words, SMALL) / 2
        marks.append(Path(((x, frame.bottom), (x, frame.bottom + 4)), Tone.AXIS, Stroke.HAIR))
        middle = min(x, frame.edge - half)  # a word at the edge is moved in, not cut off
        if middle - half >= free_from:
            marks.append(Text(middle, frame.bottom + 16, words, anchor=Anchor.MIDDLE))
            free_from = middle + half + 6
    return marks


def legend(
    entries: Sequence[tuple[str, str, Tone]], left: float, right: float
) -> tuple[list[Mark], float]:
    """Coloured squares with a name and its total, in as few lines as needed; and their height."""
    marks: list[Mark] = []
    x, line = left, 0
    for n, (name, total, tone) in enumerate(entries):
        shown = clipped(name, _LEGEND_LABEL_MAX, SMALL)
        name_wide = text_width(shown, SMALL) * _LEGEND_SLACK
        wide = 14 + name_wide + 5 + text_width(total, SMALL) + 16
        if x > left and x + wide > right:
            x, line = left, line + 1
        y = line * LEGEND_LINE
        if line == _LEGEND_LINES_MAX - 1 and n < len(entries) - 1 and x + 2 * wide > right:
            marks.append(Text(x, y + 10, f"and {len(entries) - n} more"))
            break
        marks.append(Rect(x, y + 2, 9, 9, tone))
        marks.append(Text(x + 14, y + 10, shown, Tone.INK))
        after = x + 14 + name_wide + 5
        marks.append(Text(after, y + 10, total, Tone.MUTED))
        x += wide
    return marks, (line + 1) * LEGEND_LINE


def nothing(frame: Frame, words: str) -> list[Mark]:
    """What stands in the place of a chart that has nothing to show."""
    middle = (frame.left + frame.right) / 2
    where = (frame.top + frame.bottom) / 2 + 4
    return [base_line(frame), Text(middle, where, words, anchor=Anchor.MIDDLE)]
