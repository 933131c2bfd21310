"""Pages: text, rules, tables and drawings flow from top to bottom, over as many as they need.

What is to be drawn is collected first and drawn at the end, when the number of pages is known.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from watchkeeper.charts.model import Drawing, Tone
from watchkeeper.charts.page import paint
from watchkeeper.charts.palette import rgb
from watchkeeper.render_report_fonts import (
    BOLD,
    REGULAR,
    THOUSANDS_GAP,
    UNITS,
    Fonts,
    Glyph,
    need,
    thousands,
)

WIDTH, HEIGHT = 595.276, 841.89  # A4
LEFT, RIGHT = 51.0, WIDTH - 51.0
TOP, BOTTOM = HEIGHT - 66.0, 58.0
LEADING = 1.38
_DRAWING = threading.Lock()  # reportlab keeps its fonts for the whole process

Ink: TypeAlias = Callable[["Pen"], None]


@dataclass(frozen=True, slots=True)
class Style:
    height: float
    is_bold: bool = False
    tone: Tone = Tone.INK

    @property
    def line(self) -> float:
        return self.height * LEADING


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    style: Style
    at_right: bool = False
    mark: str = ""  # stands behind, small: the number of a note
    bar: float | None = None  # a share of the cell's width, drawn instead of text
    tone: Tone | None = None  # a small square before the text


@dataclass(slots=True)
class Pen:
    """Writes and draws on a canvas of reportlab, in any script."""

    canvas: Any
    pdfdoc: Any  # reportlab's module of what a PDF is made of
    fonts: Fonts
    _known: set[str] = field(default_factory=set)

    def width(self, text: str, height: float) -> float:
        return self.fonts.width(self.fonts.shown(text), height)

    def write(self, x: float, y: float, text: str, height: float, tone: Tone) -> None:
        self.line(x, y, self.fonts.shown(text), Style(height, tone=tone))

    def line(self, x: float, y: float, line: str, style: Style) -> None:
        """One line of text that is already `shown`."""
        if not line:
            return
        self.canvas.setFillColorRGB(*rgb(style.tone))
        if self.fonts.is_plain(line):
            self._plain(x, y, line, style)
            return
        outlined = self.fonts.outlined(line, is_bold=style.is_bold)
        scale = style.height / UNITS
        for run, start, wide in outlined.runs:
            self._behind(x + start * scale, y, run.as_seen, style.height, wide * scale)
        for glyph in outlined.glyphs:
            self._glyph(glyph, x + glyph.x * scale, y + glyph.y * scale, scale)

    def _plain(self, x: float, y: float, line: str, style: Style) -> None:
        """Long numbers get room between thousands: seen, but no character of the text."""
        text = self.canvas.beginText(x, y)
        text.setFont(BOLD if style.is_bold else REGULAR, style.height)
        *groups, rest = thousands(line)
        for group in groups:
            text.textOut(group[:-1])
            text.setCharSpace(style.height * THOUSANDS_GAP)
            text.textOut(group[-1])
            text.setCharSpace(0)
        text.textOut(rest)
        self.canvas.drawText(text)

    def _behind(self, x: float, y: float, text: str, height: float, width: float) -> None:
        """Unseen letters where the outlines are: what is found when the page is searched."""
        font = self.fonts.plain[REGULAR]
        for char in text:  # a letter that this font lacks has no glyph here, but it has a code
            font.face.charToGlyph.setdefault(ord(char), 0)
            font.face.charWidths.setdefault(ord(char), font.face.defaultWidth)
        natural = font.stringWidth(text, height)
        unseen = self.canvas.beginText(x, y)
        unseen.setFont(REGULAR, height)
        unseen.setTextRenderMode(3)
        unseen.setHorizScale(round(100 * width / natural, 2) if natural and width else 100)
        unseen.textOut(text)
        unseen.setHorizScale(100)
        unseen.setTextRenderMode(0)
        self.canvas.drawText(unseen)

    def _glyph(self, glyph: Glyph, x: float, y: float, scale: float) -> None:
        """An outline is stored once and used wherever its glyph stands."""
        name = f"glyph-{glyph.face + 1}-{glyph.number}"
        if name not in self._known:
            self._known.add(name)
            path = self.canvas.beginPath()
            for kind, numbers in self.fonts.outline(glyph):
                getattr(path, kind)(*numbers)
            # Without the fonts of the page, which an outline does not use: readers of text would
            # look through them all at each letter.
            form = self.pdfdoc.PDFFormXObject(-2 * UNITS, -2 * UNITS, 4 * UNITS, 3 * UNITS)
            form.setStreamList([path.getCode(), "f"])
            form.compression = 1
            form.Resources = self.pdfdoc.PDFDictionary()
            self.canvas._doc.addForm(name, form)
        self.canvas.addLiteral(f"q {scale:.6f} 0 0 {scale:.6f} {x:.3f} {y:.3f} cm")
        self.canvas.doForm(name)
        self.canvas.addLiteral("Q")

    def rule(self, x: float, y: float, right: float, tone: Tone, thick: float = 0.5) -> None:
        self.canvas.setStrokeColorRGB(*rgb(tone))
        self.canvas.setLineWidth(thick)
        self.canvas.line(x, y, right, y)

    def box(self, x: float, y: float, width: float, height: float, tone: Tone) -> None:
        self.canvas.setFillColorRGB(*rgb(tone))
        self.canvas.rect(x, y, width, height, 0, 1)


@dataclass(slots=True)
class Flow:
    """Places things below one another; a new page begins when one is full."""

    fonts: Fonts
    pages: list[list[Ink]] = field(default_factory=lambda: [[]])
    y: float = TOP

    def put(self, ink: Ink) -> None:
        self.pages[-1].append(ink)

    def gap(self, height: float) -> None:
        self.y -= height

    def need(self, height: float) -> None:
        """A new page, unless so much is left on this one (or this one is still empty)."""
        if self.y - height < BOTTOM and self.y < TOP:
            self.pages.append([])
            self.y = TOP

    def text(
        self, text: str, style: Style, *, x: float = LEFT, width: float = RIGHT - LEFT
    ) -> None:
        for line in self.fonts.wrapped(text, width, style.height, is_bold=style.is_bold):
            self.need(style.line)
            self.y -= style.line
            self.put(_line(x, self.y + style.height * 0.3, line, style))

    def rule(self, tone: Tone = Tone.GRID, thick: float = 0.5) -> None:
        y = self.y
        self.put(lambda pen: pen.rule(LEFT, y, RIGHT, tone, thick))

    def drawing(self, drawing: Drawing, *, x: float = LEFT, width: float = RIGHT - LEFT) -> None:
        height = drawing.height * width / drawing.width
        self.need(height)
        y = self.y
        self.put(lambda pen: _painted(pen, drawing, x, y, width))
        self.y -= height

    def row(
        self,
        cells: Sequence[Cell],
        edges: Sequence[tuple[float, float]],
        *,
        has_rule: bool = True,
    ) -> None:
        """Cells side by side; one that is taller than the page goes on on the next."""
        wrapped = [
            self.fonts.wrapped(
                cell.text,
                max(12.0, right - left - _reserved(self.fonts, cell)),
                cell.style.height,
                is_bold=cell.style.is_bold,
            )
            for cell, (left, right) in zip(cells, edges, strict=True)
        ]
        line = max(cell.style.line for cell in cells)
        self.need(line + 5)
        done = 0
        total = max(len(lines) for lines in wrapped)
        while done < total:
            self.need(line)
            room = max(1, int((self.y - BOTTOM) / line))
            # The longest last: on the next page it goes on where it stopped.
            for n in sorted(range(len(cells)), key=lambda n: len(wrapped[n])):
                self._cell(cells[n], wrapped[n][done : done + room], edges[n], line, done == 0)
            self.y -= line * min(room, total - done)
            done += room
        if has_rule:
            self.y -= 4
            self.rule()

    def _cell(
        self, cell: Cell, lines: list[str], edge: tuple[float, float], line: float, is_first: bool
    ) -> None:
        (left, right), style = edge, cell.style
        y = self.y - line + style.height * 0.28
        if cell.bar is not None:
            if is_first and cell.bar > 0:
                long = max(0.7, (right - left) * cell.bar)
                self.put(_box(left, y + 0.4, long, 5.2, cell.tone or Tone.BLUE))
            return
        if is_first and cell.tone is not None:
            self.put(_box(left, y, 6.2, 6.2, cell.tone))
        indent = 11.0 if cell.tone is not None else 0.0
        for n, words in enumerate(lines):
            x = left + indent
            if cell.at_right:
                wide = self.fonts.width(words, style.height, is_bold=style.is_bold)
                x = right - _MARK_ROOM - wide
            self.put(_line(x, y - n * line, words, style))
        if is_first and cell.mark:
            last = self.fonts.width(lines[0], style.height, is_bold=style.is_bold) if lines else 0.0
            x = right - _MARK_ROOM if cell.at_right else left + indent + last
            small = Style(_MARK_HEIGHT, tone=Tone.MUTED)
            self.put(_line(x + 1.5, y + style.height * 0.32, cell.mark, small))


_MARK_HEIGHT = 5.8
_MARK_ROOM = 16.0


def _mark_width(fonts: Fonts, cell: Cell) -> float:
    return fonts.width(cell.mark, _MARK_HEIGHT) if cell.mark else 0.0


def _reserved(fonts: Fonts, cell: Cell) -> float:
    indent = 11.0 if cell.tone is not None else 0.0
    return indent + (_MARK_ROOM if cell.at_right else _mark_width(fonts, cell)) + 2


def _line(x: float, y: float, line: str, style: Style) -> Ink:
    return lambda pen: pen.line(x, y, line, style)


def _box(x: float, y: float, width: float, height: float, tone: Tone) -> Ink:
    return lambda pen: pen.box(x, y, width, height, tone)


def _painted(pen: Pen, drawing: Drawing, x: float, y: float, width: float) -> None:
    paint(pen.canvas, drawing, x, y, width, pen)


def written(
    flow: Flow, frame: Callable[[Pen, int, int], None], *, title: str, subject: str
) -> bytes:
    """The pages as a PDF. The same pages give the same bytes: it holds no date and no chance.

    `frame` draws what stands on every page, given its number and how many there are.
    """
    pdfmetrics, canvases = need("reportlab.pdfbase.pdfmetrics"), need("reportlab.pdfgen.canvas")
    out = io.BytesIO()
    with _DRAWING:
        for font in flow.fonts.plain.values():
            pdfmetrics.registerFont(font)
        canvas = canvases.Canvas(out, (WIDTH, HEIGHT), pageCompression=1, invariant=1, lang="en")
        canvas.setTitle(title)
        canvas.setSubject(subject)
        canvas.setAuthor("Watchkeeper")
        canvas.setCreator("Watchkeeper")
        pen = Pen(canvas, need("reportlab.pdfbase.pdfdoc"), flow.fonts)
        for number, inks in enumerate(flow.pages, start=1):
            frame(pen, number, len(flow.pages))
            for ink in inks:
                ink(pen)
            canvas.showPage()
        canvas.save()
    return out.getvalue()
