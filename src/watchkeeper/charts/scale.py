"""Scales: round numbers and round moments for axes, buckets that bound a chart, short numbers.

Everything here is exact and pure. What cannot be drawn honestly (a number below zero, one that
is not a number) is refused rather than bent.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND, Instant, from_datetime, to_datetime

Number: TypeAlias = int | float
TimeLabel: TypeAlias = Callable[[Instant, int], str]
"""A moment and the distance between ticks, in microseconds, to what stands at the axis."""

DRAWABLE_MAX = 1e300
SEEN_MIN = 1e-12
"""A chart of nothing larger than this is a chart of zeros."""
TICKS_MAX = 12
_MONTH = 30 * DAY
_STEPS = (
    *(n * SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 14)),
)
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000)
_MONDAY = 4 * DAY  # 1970 began on a Thursday
_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")


def checked(values: Sequence[Number]) -> tuple[Number, ...]:
    """Raises ValueError for what is not a number from 0 to 1e300."""
    for value in values:
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{value} cannot be drawn: it is not a finite number")
        if not 0 <= value <= DRAWABLE_MAX:
            raise ValueError("a number below 0 or above 1e300 cannot be drawn")
    return tuple(values)


@dataclass(frozen=True, slots=True)
class NumberScale:
    """From zero to a round `top` that no value exceeds."""

    top: float
    ticks: tuple[float, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The ticks as they stand at the axis, all in the same thousands."""
        fits = (n for n in range(len(_SUFFIXES)) if self.top / 1000**n < 10_000)
        power = next(fits, None)
        if power is None:
            return tuple(f"{tick:.3g}" if tick else "0" for tick in self.ticks)
        if power and self.top >= 1000 ** (power + 1) and power + 1 < len(_SUFFIXES):
            power += 1
        divided = ((tick, tick / 1000**power) for tick in self.ticks)
        return tuple(f"{one:,.6g}{_SUFFIXES[power]}" if tick else "0" for tick, one in divided)

    def share(self, value: Number) -> float:
        return min(1.0, value / self.top)


def number_scale(largest: Number, *, wanted: int = 4, is_whole: bool = True) -> NumberScale:
    if largest < SEEN_MIN:
        return NumberScale(1.0, (0.0,))
    step = _nice(largest / wanted)
    if is_whole:
        step = max(step, 1.0)
    count = math.ceil(round(largest / step, 9))
    return NumberScale(step * count, tuple(step * n for n in range(count + 1)))


def _nice(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `rough`."""
    power = math.floor(math.log10(rough))
    base = float(f"1e{power}")
    for factor in (1, 2, 5, 10):
        if factor * base >= rough * (1 - 1e-9):
            return factor * base
    return 10 * base


def time_ticks(since: Instant, until: Instant, *, wanted: int = 6) -> tuple[list[Instant], int]:
    """Round moments in UTC within the window, and the distance between them."""
    span = max(1, until - since)
    for step in _STEPS:
        if span / step <= wanted:
            shift = _MONDAY if step >= 7 * DAY else 0
            first = -(-(since - shift) // step) * step + shift
            return [Instant(at) for at in range(first, until + 1, step)], step
    for months in _MONTH_STEPS:
        if span / (months * _MONTH) <= wanted or months == _MONTH_STEPS[-1]:
            return _month_ticks(since, until, months), months * _MONTH
    raise AssertionError("the last step is always wide enough")


def _month_ticks(since: Instant, until: Instant, months: int) -> list[Instant]:
    moment = to_datetime(since)
    index = (moment.year * 12 + moment.month - 1) // months * months
    ticks: list[Instant] = []
    while index // 12 <= 9999 and len(ticks) < TICKS_MAX:
        if index // 12 >= 1:
            at = from_datetime(datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC))
            if at > until:
                break
            if at >= since:
                ticks.append(at)
        index += months
    return ticks


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def utc_label(at: Instant, step: int) -> str:
    """As short as the distance between ticks allows: 14:30, 2 Jan, Jan 2030, 2030."""
    moment = to_datetime(at)
    day = f"{moment.day} {_MONTHS[moment.month - 1]}"
    if step < MINUTE:
        return f"{moment:%H:%M:%S}"
    if step < DAY:
        return f"{moment:%H:%M}" if at % DAY else day
    if step < _MONTH:
        return day
    return f"{moment.year}" if step >= 12 * _MONTH else f"{_MONTHS[moment.month - 1]} {moment.year}"


def merged(values: Sequence[Number], at_most: int) -> tuple[tuple[Number, ...], int]:
    """Neighbours summed until there are no more than `at_most`, and how many each sum holds."""
    size = max(1, -(-len(values) // at_most))
    return tuple(sum(values[n : n + size]) for n in range(0, len(values), size)), size


def thinned(points: Sequence[tuple[Instant, Number]], at_most: int) -> list[tuple[Instant, Number]]:
    """About `at_most` points: the lowest and highest of every stretch, and both ends."""
    if len(points) <= at_most:
        return list(points)
    size = -(-len(points) * 2 // at_most)
    kept = {0, len(points) - 1}
    for start in range(0, len(points), size):
        stretch = range(start, min(start + size, len(points)))
        kept.add(min(stretch, key=lambda n: points[n][1]))
        kept.add(max(stretch, key=lambda n: points[n][1]))
    return [points[n] for n in sorted(kept)]


def short(value: Number) -> str:
    """1,234 as it is; 12.3k, 4.57M beyond: for axes and labels, where the exact number is near."""
    if value < 10_000:
        return f"{value:,}" if isinstance(value, int) or value != int(value) else f"{int(value):,}"
    for power, suffix in enumerate(_SUFFIXES):
        scaled = value / 1000**power
        if scaled < 999.5:
            return f"{scaled:.3g}{suffix}"
    return f"{value:.3g}" if isinstance(value, float) else f"{float(value):.3g}"


def exact(value: Number) -> str:
    return f"{value:,}"


_NARROW = frozenset("ijltfrI.,:;|!'()[]{}- ·")
_BROAD = frozenset("mwMW@%…—")


def text_width(text: str, height: float) -> float:
    """A careful guess, for where no font is at hand."""
    return sum(_share(char) for char in text) * height


def _share(char: str) -> float:
    if char in _NARROW:
        return 0.34
    if char in _BROAD:
        return 0.88
    if not char.isascii() and unicodedata.east_asian_width(char) in "WF":
        return 1.0
    return 0.66 if char.isupper() else 0.59


def clipped(text: str, width: float, height: float) -> str:
    """As much as fits, then an ellipsis. Whoever clips shows the whole text elsewhere."""
    line = text[:400]
    if len(line) == len(text) and text_width(text, height) <= width:
        return text
    while line and text_width(line + "…", height) > width:
        line = line[:-1]
    return line + "…"
