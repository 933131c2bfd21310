"""Bars: stacked over time, and lying for a breakdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.charts.frame import (
    SMALL,
    Frame,
    base_line,
    legend,
    nothing,
    number_axis,
    tick_width,
    time_axis,
)
from watchkeeper.charts.model import TEXT_HEIGHTS, Anchor, Drawing, Mark, Rect, Size, Text, Tone
from watchkeeper.charts.scale import (
    Number,
    TimeLabel,
    checked,
    clipped,
    exact,
    merged,
    number_scale,
    short,
    text_width,
    utc_label,
)
from watchkeeper.core.time import Instant, to_iso

BARS_MAX = 120
"""Bars side by side; more are summed with their neighbours."""
ROWS_MAX = 40
NOTHING = "nothing in this window"


@dataclass(frozen=True, slots=True)
class Part:
    """One layer of stacked bars: a value for every bucket."""

    label: str
    values: Sequence[Number]
    tone: Tone


@dataclass(frozen=True, slots=True)
class Row:
    label: str
    value: Number
    tone: Tone = Tone.BLUE


def stacked_bars(
    title: str,
    starts_at: Instant,
    bucket_us: int,
    parts: Sequence[Part],
    *,
    unit: str = "",
    width: float = 640,
    height: float = 200,
    label: TimeLabel = utc_label,
    words_for_nothing: str = NOTHING,
) -> Drawing:
    """One bar a bucket, its parts on each other in the order given.

    Raises ValueError when parts differ in length: they would not stand on the same buckets.
    """
    if bucket_us <= 0:
        raise ValueError("a bucket must have a length")
    if len({len(part.values) for part in parts}) > 1:
        raise ValueError("parts of stacked bars must have the same number of values")
    layers = [merged(checked(part.values), BARS_MAX)[0] for part in parts]
    length = len(parts[0].values) if parts else 0
    size = merged(range(length), BARS_MAX)[1]
    columns = len(layers[0]) if layers else 0
    sums = [sum(layer[n] for layer in layers) for n in range(columns)]
    scale = number_scale(max(sums, default=0), is_whole=_is_whole(sums))

    totals = [sum(part.values) for part in parts]
    named = [(p.label, short(t), p.tone) for p, t in zip(parts, totals, strict=True)]
    entries = [entry for entry, total in zip(named, totals, strict=True) if total]
    left = tick_width(scale)
    marks, top = legend(entries, left, width) if len(parts) > 1 else ([], 0.0)
    until = Instant(starts_at + bucket_us * max(1, length))
    frame = Frame(left, top + 8, width - 4, height - 22, starts_at, until, width)

    words = f"{to_iso(starts_at)} to {to_iso(until)}. " + _listed(parts, totals, unit)
    if not any(sums):
        marks += nothing(frame, words_for_nothing)
    else:
        marks += number_axis(frame, scale)[:-1]
        pitch = frame.width * size / length  # the last may hold fewer buckets: it is narrower
        marks += _columns(frame, parts, layers, scale.top, unit, pitch)
        marks.append(base_line(frame))
    marks += time_axis(frame, label)
    return Drawing(width, height, title, words, tuple(marks))


def _is_whole(values: Sequence[Number]) -> bool:
    return all(isinstance(value, int) for value in values)


def _listed(parts: Sequence[Part], totals: Sequence[Number], unit: str) -> str:
    if not parts:
        return "No parts."
    return "; ".join(
        f"{part.label}: {exact(total)} {unit}".rstrip()
        for part, total in zip(parts, totals, strict=True)
    )


def _columns(
    frame: Frame,
    parts: Sequence[Part],
    layers: Sequence[Sequence[Number]],
    top: float,
    unit: str,
    pitch: float,
) -> list[Mark]:
    gap = min(3.0, pitch * 0.2)
    marks: list[Mark] = []
    for n in range(len(layers[0])):
        floor = 0.0
        x = frame.left + n * pitch
        wide = min(pitch, frame.right - x) - gap
        for part, layer in zip(parts, layers, strict=True):
            if not layer[n]:
                continue
            ceiling = floor + layer[n] / top
            y = frame.y(min(1.0, ceiling))
            # Whatever is not zero is seen, if only as a hair.
            tall = max(0.6, frame.y(floor) - y)
            says = f"{part.label}: {exact(layer[n])} {unit}".rstrip()
            marks.append(Rect(x + gap / 2, y, max(0.3, wide), tall, part.tone, says))
            floor = ceiling
    return marks


def horizontal_bars(
    title: str,
    rows: Sequence[Row],
    *,
    unit: str = "",
    width: float = 640,
    words_for_nothing: str = NOTHING,
) -> Drawing:
    """One line a row, in the order given; what is beyond the limit is summed in a last row."""
    checked([row.value for row in rows])
    shown = list(rows[:ROWS_MAX])
    if rest := rows[ROWS_MAX:]:
        shown.append(Row(f"{len(rest)} more", sum(row.value for row in rest), Tone.GREY))
    pitch, height = 20.0, TEXT_HEIGHTS[Size.BODY]
    if not shown:
        empty = Text(width / 2, 16, words_for_nothing, anchor=Anchor.MIDDLE)
        return Drawing(width, 24, title, words_for_nothing, (empty,))
    widest = max(text_width(row.label[:200], height) for row in shown)
    left = min(widest + 10, width * 0.42)
    room = width - left - max(text_width(short(row.value), SMALL) for row in shown) - 12
    largest = max(row.value for row in shown)
    marks: list[Mark] = []
    for n, row in enumerate(shown):
        y = n * pitch
        long = max(0.6, room * (row.value / largest)) if row.value else 0.0
        words = f"{row.label}: {exact(row.value)} {unit}".rstrip()
        marks.append(
            Text(left - 8, y + 14, clipped(row.label, left - 10, height), Tone.INK, Anchor.END)
        )
        marks.append(Rect(left, y + 4, long, 12, row.tone, words))
        marks.append(Text(left + long + 6, y + 14, short(row.value), Tone.INK))
    said = "; ".join(f"{row.label}: {exact(row.value)} {unit}".rstrip() for row in shown)
    return Drawing(width, len(shown) * pitch + 4, title, said, tuple(marks))
