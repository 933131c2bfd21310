"""The fonts of a PDF: FiraGO, embedded, and others behind it for what it does not have.

FiraGO writes Latin, Greek, Cyrillic, Georgian, Hebrew, Arabic, Devanagari and Thai; Noto fonts
add rarer letters, signs and, where the extra `pdf-cjk` is installed, Chinese, Japanese and
Korean. A line that FiraGO writes letter by letter is plain PDF text. Any other line is shaped
by HarfBuzz and drawn as outlines, with the same line unseen behind it in reading order, so that
it can be searched and copied.
"""

from __future__ import annotations

import functools
import importlib
import io
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.errors import Unavailable
from watchkeeper.render_report_words import Run, needs_shaping, runs_of, shown

REGULAR = "WatchkeeperRegular"
BOLD = "WatchkeeperBold"
UNITS = 1000
"""Of an em, in every face: they are scaled to it."""


LETTERS_PER_EM = 8
THOUSANDS_GAP = 0.12
"""Between groups of three digits, as a share of the text's height."""


def thousands(line: str) -> list[str]:
    """A whole number of five digits or more in its groups; any other line as it is."""
    if len(line) < 5 or not (line.isascii() and line.isdigit()):
        return [line]
    first = len(line) % 3 or 3
    return [line[:first], *(line[n : n + 3] for n in range(first, len(line), 3))]


def need(module: str) -> Any:
    """A module of the extra, or an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise Unavailable(
            f"PDF needs an extra ({module} is missing): pip install 'watchkeeper[pdf]'",
            extra="pdf",
        ) from missing


@dataclass(frozen=True, slots=True)
class Glyph:
    """A glyph at its place, in thousandths of the text's height."""

    face: int
    number: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Outlined:
    """A line's glyphs from left to right; `runs` in reading order, each with its place."""

    glyphs: tuple[Glyph, ...]
    runs: tuple[tuple[Run, float, float], ...]  # where it begins, how wide it is
    width: float


@dataclass(slots=True)
class Fonts:
    """Faces in order of preference; the first writes all that it can."""

    shaper: Any
    faces: list[Any]  # HarfBuzz fonts
    bold: Any
    plain: dict[str, Any]  # reportlab fonts by name
    have: list[frozenset[int]]
    _faces: dict[str, int] = field(default_factory=dict)
    _advances: dict[tuple[int, str], tuple[int, float]] = field(default_factory=dict)

    def shown(self, text: str) -> str:
        return shown(text, lambda char: self.face_of(char) >= 0)

    def face_of(self, char: str) -> int:
        """The first face that has it; -1 where none has."""
        found = self._faces.get(char)
        if found is None:
            code = ord(char)
            found = next((n for n, have in enumerate(self.have) if code in have), -1)
            self._faces[char] = found
        return found

    def is_plain(self, line: str) -> bool:
        return all(self.face_of(char) == 0 and not needs_shaping(char) for char in line)

    def width(self, line: str, height: float, *, is_bold: bool = False) -> float:
        if any(map(needs_shaping, line)):
            return self.outlined(line, is_bold=is_bold).width * height / UNITS
        natural = sum(self._alone(char, is_bold)[2] for char in line)
        gaps = (len(thousands(line)) - 1) * THOUSANDS_GAP
        return (natural / UNITS + gaps) * height

    def outlined(self, line: str, *, is_bold: bool = False) -> Outlined:
        """The glyphs of a line from left to right as they are seen."""
        glyphs: list[Glyph] = []
        placed: list[tuple[Run, float, float]] = []
        x = 0.0
        for run in runs_of(line, lambda char: max(0, self.face_of(char))):
            began = x
            for face, number, dx, dy, advance in self._glyphs(run, is_bold):
                glyphs.append(Glyph(face, number, x + dx, dy))
                x += advance
            placed.append((run, began, x - began))
        placed.sort(key=lambda one: one[0].start)
        return Outlined(tuple(glyphs), tuple(placed), x)

    def _glyphs(self, run: Run, is_bold: bool) -> Iterator[tuple[int, int, float, float, float]]:
        if not run.is_rtl and not any(map(needs_shaping, run.text)):
            for char in run.text:
                face, number, advance = self._alone(char, is_bold)
                yield face, number, 0.0, 0.0, advance
            return
        face = -1 if is_bold and run.face == 0 else run.face
        buffer = self.shaper.Buffer()
        buffer.add_str(run.text)
        buffer.guess_segment_properties()
        buffer.direction = "rtl" if run.is_rtl else "ltr"
        self.shaper.shape(self._font(face), buffer)
        for info, place in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
            yield face, info.codepoint, place.x_offset, place.y_offset, place.x_advance

    def _alone(self, char: str, is_bold: bool) -> tuple[int, int, float]:
        """A character that does not care for its neighbours: its face, glyph and width."""
        face = max(0, self.face_of(char))
        face = -1 if is_bold and face == 0 else face
        found = self._advances.get((face, char))
        if found is None:
            font = self._font(face)
            number = font.get_nominal_glyph(ord(char)) or 0
            found = self._advances[face, char] = number, font.get_glyph_h_advance(number)
        return face, *found

    def _font(self, face: int) -> Any:
        return self.bold if face < 0 else self.faces[face]

    def outline(self, glyph: Glyph) -> list[tuple[str, tuple[float, ...]]]:
        """The strokes of a glyph: moves, lines, curves."""
        pen = _Pen()
        self._font(glyph.face).draw_glyph_with_pen(glyph.number, pen)
        return pen.strokes

    def wrapped(
        self, text: str, width: float, height: float, *, is_bold: bool = False
    ) -> list[str]:
        """Lines no wider than `width`: broken at spaces, inside a word only where it must be."""
        lines: list[str] = []
        line = ""
        for word in _words(self.shown(text)):
            if self.width((line + word).rstrip(), height, is_bold=is_bold) <= width:
                line += word
                continue
            if line:
                lines.append(line.rstrip())
            *full, line = self._broken(word, width, height, is_bold)
            lines += full
        return [*lines, line.rstrip()] if line or not lines else lines

    def _broken(self, word: str, width: float, height: float, is_bold: bool) -> Iterator[str]:
        """Beginnings that fit, then the rest. A mark is not parted from its letter."""
        most = 1 + int(
            LETTERS_PER_EM * width / height
        )  # no line holds more, so no more is measured
        while word and (
            len(word) > most or self.width(word.rstrip(), height, is_bold=is_bold) > width
        ):
            low, high = 1, min(len(word), most)
            while low < high:  # the longest beginning that fits
                middle = (low + high + 1) // 2
                if self.width(word[:middle], height, is_bold=is_bold) <= width:
                    low = middle
                else:
                    high = middle - 1
            cut = low
            while cut > 1 and cut < len(word) and unicodedata.category(word[cut])[0] == "M":
                cut -= 1
            cut = cut if cut > 1 else low
            yield word[:cut]
            word = word[cut:]
        yield word


def _words(text: str) -> Iterator[str]:
    """Words with the spaces behind them; together they are the text."""
    start = 0
    for n in range(1, len(text)):
        if text[n - 1] == " " and text[n] != " ":
            yield text[start:n]
            start = n
    yield text[start:]


class _Pen:
    """Takes a glyph's outline from HarfBuzz; curves of the second degree become third."""

    def __init__(self) -> None:
        self.strokes: list[tuple[str, tuple[float, ...]]] = []
        self._at = (0.0, 0.0)

    def moveTo(self, point: tuple[float, float]) -> None:
        self._add("moveTo", point)

    def lineTo(self, point: tuple[float, float]) -> None:
        self._add("lineTo", point)

    def curveTo(self, *points: tuple[float, float]) -> None:
        self._add("curveTo", *points)

    def qCurveTo(self, middle: tuple[float, float], end: tuple[float, float]) -> None:
        (x0, y0), (x1, y1), (x2, y2) = self._at, middle, end
        first = (x0 + 2 / 3 * (x1 - x0), y0 + 2 / 3 * (y1 - y0))
        second = (x2 + 2 / 3 * (x1 - x2), y2 + 2 / 3 * (y1 - y2))
        self._add("curveTo", first, second, end)

    def closePath(self) -> None:
        self.strokes.append(("close", ()))

    def endPath(self) -> None:
        self.closePath()

    def _add(self, kind: str, *points: tuple[float, float]) -> None:
        self.strokes.append((kind, tuple(round(value, 1) for point in points for value in point)))
        self._at = points[-1]


@functools.lru_cache(maxsize=2)
def load(*, with_cjk: bool = True) -> Fonts:
    """All fonts of the installed extras. They are read once."""
    need("reportlab")
    shaper, packed = need("uharfbuzz"), need("pymupdf_fonts")
    regular, bold = packed.myfont("figo"), packed.myfont("figbo")
    buffers = [regular, *(packed.myfont(n) for n in ("notos", "symbol2", "symbol1", "math"))]
    if with_cjk and (cjk := _cjk()) is not None:
        buffers.append(cjk)
    faces = [_face(shaper, buffer) for buffer in buffers]
    have = [_codes(face) for face in faces]
    return Fonts(shaper, faces, _face(shaper, bold), _plain(), have)


@functools.cache
def _plain() -> dict[str, Any]:
    """Made once in a process: reportlab keeps the first font of a name, whoever comes after."""
    ttfonts, packed = need("reportlab.pdfbase.ttfonts"), need("pymupdf_fonts")
    return {
        name: ttfonts.TTFont(
            name, io.BytesIO(packed.myfont(short)), asciiReadable=False, shapable=False
        )
        for name, short in ((REGULAR, "figo"), (BOLD, "figbo"))
    }


def _cjk() -> bytes | None:
    try:
        package = importlib.import_module("noto_cjk_sans_jp_regular")
    except ImportError:
        return None
    found = package.FONT_PATH.read_bytes()
    assert isinstance(found, bytes)
    return found


def _face(shaper: Any, buffer: bytes) -> Any:
    font = shaper.Font(shaper.Face(buffer))
    font.scale = (UNITS, UNITS)
    return font


def _codes(font: Any) -> frozenset[int]:
    codes: Iterable[int] = font.face.unicodes
    return frozenset(codes)
