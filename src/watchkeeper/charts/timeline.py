"""Steps over time: one lane a step, a bar from when it began to when it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.charts.bars import NOTHING
from watchkeeper.charts.frame import SMALL, Frame, nothing, time_axis
from watchkeeper.charts.model import (
    TEXT_HEIGHTS,
    Anchor,
    Drawing,
    Mark,
    Path,
    Rect,
    Size,
    Stroke,
    Text,
    Tone,
)
from watchkeeper.charts.scale import TimeLabel, clipped, text_width, utc_label
from watchkeeper.core.time import Instant, to_iso

LANES_MAX = 60
SPANS_MAX = 200
LANE = 22.0


@dataclass(frozen=True, slots=True)
class Span:
    """`until` is None while it goes on."""

    since: Instant
    until: Instant | None
    label: str
    tone: Tone = Tone.BLUE


@dataclass(frozen=True, slots=True)
class Lane:
    label: str
    spans: Sequence[Span]


def step_timeline(
    title: str,
    lanes: Sequence[Lane],
    *,
    since: Instant,
    until: Instant,
    width: float = 640,
    label: TimeLabel = utc_label,
    words_for_nothing: str = NOTHING,
) -> Drawing:
    """A moment without length is a thin bar; one that goes on runs to the edge and stays open."""
    shown = lanes[:LANES_MAX]
    body = TEXT_HEIGHTS[Size.BODY]
    widest = max((text_width(lane.label[:200], body) for lane in shown), default=0.0)
    left = min(widest + 12, width * 0.35)
    hidden = len(lanes) - len(shown)
    rows = max(1, len(shown)) + bool(hidden)
    frame = Frame(left, 4, width - 8, 4 + rows * LANE, since, until, width)
    marks: list[Mark] = []
    for n, lane in enumerate(shown):
        y = frame.top + n * LANE
        floor = y + LANE
        marks.append(Path(((0, floor), (frame.right, floor)), Tone.GRID, Stroke.HAIR))
        words = clipped(lane.label, left - 12, body)
        marks.append(Text(left - 10, y + 15, words, Tone.INK, Anchor.END))
        for span in lane.spans[:SPANS_MAX]:
            marks += _bar(frame, span, y)
    if hidden:
        marks.append(Text(left, frame.bottom - 7, f"and {hidden} more"))
    marks += time_axis(frame, label) if shown else nothing(frame, words_for_nothing)
    said = "; ".join(_said(lane) for lane in shown) or words_for_nothing
    return Drawing(width, frame.bottom + 22, title, said, tuple(marks))


def _bar(frame: Frame, span: Span, y: float) -> list[Mark]:
    start = frame.x(span.since)
    end = frame.right if span.until is None else max(frame.x(span.until), start)
    long = max(2.0, end - start)
    marks: list[Mark] = [Rect(start, y + 5, long, 12, span.tone, _span_said(span))]
    if span.until is None:  # a notch of paper, as if torn off: it has not ended
        tip = (
            (end - 5, y + 5),
            (end + 1, y + 5),
            (end + 1, y + 17),
            (end - 5, y + 17),
            (end, y + 11),
        )
        marks.append(Path(tip, Tone.PAPER, is_closed=True))
    wide = text_width(span.label, SMALL)
    if span.label and start + long + 6 + wide <= frame.right:
        marks.append(Text(start + long + 5, y + 14.5, span.label))
    return marks


def _span_said(span: Span) -> str:
    end = "going on" if span.until is None else to_iso(span.until)
    return f"{span.label}: {to_iso(span.since)} to {end}"


def _said(lane: Lane) -> str:
    return f"{lane.label}: " + (", ".join(_span_said(s) for s in lane.spans[:SPANS_MAX]) or "none")
