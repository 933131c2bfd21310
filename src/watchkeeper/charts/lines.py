"""Lines: a spend against its budget with a projection, and the small line beside a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from watchkeeper.charts.bars import NOTHING
from watchkeeper.charts.frame import SMALL, Frame, nothing, number_axis, tick_width, time_axis
from watchkeeper.charts.model import Anchor, Dot, Drawing, Mark, Path, Stroke, Text, Tone
from watchkeeper.charts.scale import (
    Number,
    NumberScale,
    TimeLabel,
    checked,
    exact,
    number_scale,
    short,
    text_width,
    thinned,
    utc_label,
)
from watchkeeper.core.time import Instant, to_iso

POINTS_MAX = 400
SPARK_POINTS_MAX = 60

Point: TypeAlias = tuple[Instant, Number]
Line: TypeAlias = tuple[tuple[float, float], ...]


def budget_line(
    title: str,
    points: Sequence[Point],
    *,
    since: Instant,
    until: Instant,
    budget: Number | None = None,
    projection: Sequence[Point] = (),
    unit: str = "",
    width: float = 640,
    height: float = 200,
    label: TimeLabel = utc_label,
    words_for_nothing: str = NOTHING,
) -> Drawing:
    """What was spent as a line, what it is held against as a level, what is expected dashed.

    Points are in order of time; those outside the window are drawn at its edge.
    """
    values = checked([value for _, value in points])
    ahead = checked([value for _, value in projection])
    level = checked([] if budget is None else [budget])
    numbers = (*values, *ahead, *level)
    whole = all(isinstance(value, int) for value in numbers)
    scale = number_scale(max(numbers, default=0), is_whole=whole)
    ends = [text_width(short(run[-1]), SMALL) + 12 for run in (values, ahead) if run]
    right = width - max(ends, default=8)
    frame = Frame(tick_width(scale), 14, right, height - 22, since, until, width)
    marks: list[Mark] = []
    if not values and budget is None:
        marks += nothing(frame, words_for_nothing)
    else:
        marks += number_axis(frame, scale)
        line = _placed(frame, points, scale)
        marks += _filled(frame, line)
        if budget is not None:
            marks += _level(frame, scale.share(budget), f"budget {short(budget)}")
        if projection:
            marks += _ahead(_placed(frame, [*points[-1:], *projection], scale), ahead[-1])
        marks += _line_with_end(line, values, unit, is_last=not projection)
    marks += time_axis(frame, label)
    words = _said(points, budget, projection, unit)
    return Drawing(width, height, title, words, tuple(marks))


def _placed(frame: Frame, points: Sequence[Point], scale: NumberScale) -> Line:
    shown = thinned(points, POINTS_MAX)
    return tuple((frame.x(at), frame.y(scale.share(value))) for at, value in shown)


def _filled(frame: Frame, line: Line) -> list[Mark]:
    if len(line) < 2:
        return []
    closed = (*line, (line[-1][0], frame.bottom), (line[0][0], frame.bottom))
    return [Path(closed, Tone.SHADE, is_closed=True)]


def _level(frame: Frame, share: float, words: str) -> list[Mark]:
    y = frame.y(share)
    return [
        Path(((frame.left, y), (frame.right, y)), Tone.RED, Stroke.DASH),
        Text(frame.left + 4, y - 4, words, Tone.RED),
    ]


def _ahead(line: Line, value: Number) -> list[Mark]:
    x, y = line[-1]
    return [Path(line, Tone.BLUE, Stroke.DASH), Text(x + 6, y + 3.5, short(value))]


def _line_with_end(line: Line, values: Sequence[Number], unit: str, *, is_last: bool) -> list[Mark]:
    """The line, and its last value where nothing else is drawn."""
    if not line:
        return []
    x, y = line[-1]
    marks: list[Mark] = [Path(line, Tone.BLUE)] if len(line) > 1 else []
    marks.append(Dot(x, y, 2.5, Tone.BLUE, f"{exact(values[-1])} {unit}".rstrip()))
    if is_last:
        marks.append(Text(x + 6, y + 3.5, short(values[-1]), Tone.INK))
    else:
        marks.append(Text(x - 5, y - 6, short(values[-1]), Tone.INK, Anchor.END))
    return marks


def _said(
    points: Sequence[Point], budget: Number | None, projection: Sequence[Point], unit: str
) -> str:
    parts = []
    if points:
        at, value = points[-1]
        parts.append(f"At {to_iso(at)}: {exact(value)} {unit}".rstrip())
    else:
        parts.append("No points")
    if budget is not None:
        parts.append(f"budget: {exact(budget)} {unit}".rstrip())
    if projection:
        at, value = projection[-1]
        parts.append(f"an estimate for {to_iso(at)}: {exact(value)} {unit}".rstrip())
    return "; ".join(parts)


def sparkline(
    title: str,
    values: Sequence[Number],
    *,
    tone: Tone = Tone.BLUE,
    width: float = 120,
    height: float = 28,
) -> Drawing:
    """The run of a number without axes; its last value has a dot."""
    checked(values)
    points = thinned([(Instant(n), value) for n, value in enumerate(values)], SPARK_POINTS_MAX)
    frame = Frame(3, 4, width - 4, height - 4, Instant(0), Instant(max(1, len(values) - 1)), width)
    top = max((value for _, value in points), default=0) or 1
    line = tuple((frame.x(at), frame.y(value / top)) for at, value in points)
    if len(line) == 1:
        line = ((frame.right, line[0][1]),)
    marks: list[Mark] = []
    if not line:
        marks.append(
            Path(((frame.left, frame.bottom), (frame.right, frame.bottom)), Tone.GRID, Stroke.HAIR)
        )
    if len(line) > 1:
        marks.append(Path(line, tone))
    if line:
        marks.append(Dot(*line[-1], 2.25, tone))
    words = "No values" if not values else _run_in_words(values)
    return Drawing(width, height, title, words, tuple(marks))


def _run_in_words(values: Sequence[Number]) -> str:
    return (
        f"{len(values)} values, lowest {exact(min(values))}, highest {exact(max(values))}, "
        f"last {exact(values[-1])}"
    )
