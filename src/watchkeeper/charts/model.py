"""What a chart is before it is drawn: a few kinds of marks at places, and no more.

The same drawing becomes SVG for the dashboard and vector graphics in a PDF, so that the two
can never show different pictures. Places are counted from the upper left, y grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias


class Tone(StrEnum):
    """What a mark means; its colour follows from it, one for light and one for dark."""

    INK = "ink"
    MUTED = "muted"
    AXIS = "axis"
    GRID = "grid"
    PAPER = "paper"
    SHADE = "shade"
    BLUE = "blue"
    AMBER = "amber"
    GREY = "grey"
    TEAL = "teal"
    VIOLET = "violet"
    RED = "red"
    SKY = "sky"
    OLIVE = "olive"


SERIES = (
    Tone.BLUE,
    Tone.AMBER,
    Tone.TEAL,
    Tone.VIOLET,
    Tone.SKY,
    Tone.RED,
    Tone.OLIVE,
    Tone.GREY,
)
"""Tones of parts that have no meaning of their own, in order."""

_MEANINGS = {
    "ALLOW": Tone.BLUE,
    "DEFER": Tone.AMBER,
    "SKIP": Tone.GREY,
    "AVAILABLE": Tone.BLUE,
    "PARTIAL": Tone.AMBER,
    "MISSING": Tone.GREY,
    "NOT_PERMITTED": Tone.VIOLET,
    "DEAD": Tone.RED,
    "FAILED": Tone.RED,
}


def tone_of(label: str, place: int = 0) -> Tone:
    """The same word has the same tone in every chart; other words take theirs by their place."""
    return _MEANINGS.get(label.upper(), SERIES[place % len(SERIES)])


def has_meaning(label: str) -> bool:
    """Whether the tone of a word says something, or is only one of many."""
    return label.upper() in _MEANINGS


class Stroke(StrEnum):
    HAIR = "hair"
    LINE = "line"
    DASH = "dash"


class Size(StrEnum):
    SMALL = "small"
    BODY = "body"


TEXT_HEIGHTS = {Size.SMALL: 10.0, Size.BODY: 12.0}
STROKE_WIDTHS = {Stroke.HAIR: 0.75, Stroke.LINE: 1.75, Stroke.DASH: 1.25}
DASHES = (4.0, 3.0)


class Anchor(StrEnum):
    START = "start"
    MIDDLE = "middle"
    END = "end"


@dataclass(frozen=True, slots=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    tone: Tone
    says: str | None = None  # shown when pointed at, read by screen readers


@dataclass(frozen=True, slots=True)
class Path:
    """Straight lines through all points; filled when closed, otherwise stroked."""

    points: tuple[tuple[float, float], ...]
    tone: Tone
    stroke: Stroke = Stroke.LINE
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    radius: float
    tone: Tone
    says: str | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """`y` is the line that letters stand on."""

    x: float
    y: float
    text: str
    tone: Tone = Tone.MUTED
    anchor: Anchor = Anchor.START
    size: Size = Size.SMALL


Mark: TypeAlias = Rect | Path | Dot | Text


@dataclass(frozen=True, slots=True)
class Drawing:
    """`title` and `summary` say in words what is drawn, for those who do not see it."""

    width: float
    height: float
    title: str
    summary: str
    marks: tuple[Mark, ...]

    def with_marks(self, *more: Mark) -> Drawing:
        return replace(self, marks=self.marks + more)
