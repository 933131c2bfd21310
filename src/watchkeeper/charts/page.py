"""A drawing put onto a PDF page: the same marks as in SVG, in the light colours."""

from __future__ import annotations

from typing import Any, Protocol

from watchkeeper.charts.model import (
    DASHES,
    STROKE_WIDTHS,
    TEXT_HEIGHTS,
    Anchor,
    Dot,
    Drawing,
    Path,
    Rect,
    Stroke,
    Text,
    Tone,
)
from watchkeeper.charts.palette import rgb


class Writer(Protocol):
    """How text gets onto the page: it knows the fonts."""

    def width(self, text: str, height: float) -> float: ...

    def write(self, x: float, y: float, text: str, height: float, tone: Tone) -> None: ...


def paint(canvas: Any, drawing: Drawing, x: float, y: float, width: float, writer: Writer) -> float:
    """Draws with the upper left corner at (x, y), scaled to `width`; returns the height taken.

    `canvas` is one of reportlab's: its y grows upwards.
    """
    scale = width / drawing.width

    def at(mark_x: float, mark_y: float) -> tuple[float, float]:
        return x + mark_x * scale, y - mark_y * scale

    for mark in drawing.marks:
        match mark:
            case Rect():
                canvas.setFillColorRGB(*rgb(mark.tone))
                left, bottom = at(mark.x, mark.y + mark.height)
                canvas.rect(left, bottom, mark.width * scale, mark.height * scale, 0, 1)
            case Dot():
                canvas.setFillColorRGB(*rgb(mark.tone))
                canvas.circle(*at(mark.x, mark.y), mark.radius * scale, 0, 1)
            case Path():
                _path(canvas, mark, [at(*point) for point in mark.points], scale)
            case Text():
                _text(writer, mark, *at(mark.x, mark.y), scale)
    return drawing.height * scale


def _path(canvas: Any, mark: Path, points: list[tuple[float, float]], scale: float) -> None:
    if not points:
        return
    path = canvas.beginPath()
    path.moveTo(*points[0])
    for point in points[1:]:
        path.lineTo(*point)
    if mark.is_closed:
        path.close()
        canvas.setFillColorRGB(*rgb(mark.tone))
        canvas.drawPath(path, stroke=0, fill=1)
        return
    canvas.setStrokeColorRGB(*rgb(mark.tone))
    canvas.setLineWidth(STROKE_WIDTHS[mark.stroke] * scale)
    canvas.setDash(*[[one * scale for one in DASHES]] if mark.stroke is Stroke.DASH else [[]])
    canvas.drawPath(path, stroke=1, fill=0)
    canvas.setDash([])


def _text(writer: Writer, mark: Text, x: float, y: float, scale: float) -> None:
    height = TEXT_HEIGHTS[mark.size] * scale
    shares = {Anchor.START: 0.0, Anchor.MIDDLE: 0.5, Anchor.END: 1.0}
    left = x - shares[mark.anchor] * writer.width(mark.text, height)
    writer.write(left, y, mark.text, height, mark.tone)
