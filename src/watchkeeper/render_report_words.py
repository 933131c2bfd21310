"""Text of any script, made ready for a page: what is shown for each character, and in which order.

Nothing is ever dropped or drawn as an empty box. A character that no font has, or that would not
be seen or would disturb others (controls, direction overrides), is written as its code point:
`\\u{1F600}`, behind the replacement sign. Pure: which characters fonts have is an argument.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ZERO_WIDTH = "\u200c\u200d"
"""Non-joiner and joiner: unseen, but they shape their neighbours in the scripts that use them."""

_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f]")
_SHAPED = {"ARABIC", "HEBREW", "DEVANAGARI", "THAI", "BENGALI", "TAMIL", "SYRIAC", "THAANA"}
_HIGHEST = 0xFFFF


def shown(text: str, has: Callable[[str], bool]) -> str:
    """`text` with every character that cannot be shown as itself replaced by its code point."""
    parts: list[str] = []
    was_replaced = False
    for place, char in enumerate(text):
        previous = text[place - 1] if place else ""
        if _is_showable(char, previous, has):
            parts.append(char)
            was_replaced = False
        else:
            sign = "" if was_replaced else REPLACEMENT
            parts.append(f"{sign}\\u{{{ord(char):04X}}}")
            was_replaced = True
    return "".join(parts)


def _is_showable(char: str, previous: str, has: Callable[[str], bool]) -> bool:
    if char == " ":
        return True
    if char in ZERO_WIDTH:
        return bool(previous) and script_of(previous) in _SHAPED
    if ord(char) > _HIGHEST or _UNSEEN.match(char):
        return False
    return unicodedata.category(char) not in _NEVER and has(char)


_NEVER = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@functools.lru_cache(maxsize=4096)
def script_of(char: str) -> str:
    """A word for the script, from the character's name; "" for what belongs to all of them."""
    if unicodedata.category(char)[0] not in "LM":
        return ""
    name = unicodedata.name(char, "")
    word = name.partition(" ")[0]
    if word in ("COMBINING", "MODIFIER", "HALFWIDTH", "FULLWIDTH"):
        return ""
    return {"KATAKANA": "CJK", "HIRAGANA": "CJK", "KATAKANA-HIRAGANA": "CJK"}.get(word, word)


@functools.lru_cache(maxsize=4096)
def needs_shaping(char: str) -> bool:
    """Whether letters around it change its form or place."""
    return (
        unicodedata.category(char)[0] == "M"
        or char in ZERO_WIDTH
        or unicodedata.bidirectional(char) in ("R", "AL", "AN")
        or script_of(char) in _SHAPED
    )


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring characters that one font draws in one direction."""

    text: str
    start: int  # where it begins in the line
    face: int
    is_rtl: bool

    @property
    def as_seen(self) -> str:
        """Its characters from left to right."""
        return self.text[::-1] if self.is_rtl else self.text


def runs_of(line: str, face_of: Callable[[str], int]) -> list[Run]:
    """The runs of a line from left to right as they are seen."""
    levels = levels_of(line)
    pieces: list[tuple[int, int, int, int]] = []  # start, end, face, level
    script, start, face = "", 0, -1
    for n, char in enumerate(line):
        new_script = script_of(char) or script
        joins = char == " " or unicodedata.category(char)[0] == "M" or char in ZERO_WIDTH
        new_face = face if joins and face >= 0 else face_of(char)
        if n and (new_face, levels[n]) == (face, levels[n - 1]) and new_script == script:
            continue
        if n:
            pieces.append((start, n, face, levels[n - 1]))
        start, face, script = n, new_face, new_script
    if line:
        pieces.append((start, len(line), face, levels[-1]))
    order = _reordered([level for *_, level in pieces])
    runs = [Run(line[a:b], a, face, level % 2 == 1) for a, b, face, level in pieces]
    return [runs[n] for n in order]


def _reordered(levels: list[int]) -> list[int]:
    """From the highest level down to the lowest odd one, turn each stretch around (rule L2)."""
    order = list(range(len(levels)))
    for level in range(max(levels, default=0), 0, -1):
        n = 0
        while n < len(order):
            end = n
            while end < len(order) and levels[order[end]] >= level:
                end += 1
            order[n:end] = reversed(order[n:end])
            n = max(end, n + 1)
    return order


def levels_of(line: str) -> list[int]:
    """Levels of the Unicode bidirectional algorithm for one line, without explicit overrides.

    Those are never in a shown line: they are written as code points.
    """
    kinds = [unicodedata.bidirectional(char) or "L" for char in line]
    strong = next((kind for kind in kinds if kind in ("L", "R", "AL")), "L")
    base = 0 if strong == "L" else 1
    if base == 0 and not any(kind in ("R", "AL", "AN") for kind in kinds):
        return [0] * len(line)
    side = "R" if base else "L"
    _resolve_weak(kinds, side)
    _resolve_brackets(line, kinds, side)
    _resolve_neutral(kinds, side)
    levels = [_level(kind, base) for kind in kinds]
    for n in range(len(line) - 1, -1, -1):  # rule L1: spaces at the end belong to the line
        if not line[n].isspace():
            break
        levels[n] = base
    return levels


def _level(kind: str, base: int) -> int:
    if base == 0:
        return {"L": 0, "R": 1}.get(kind, 2)
    return 1 if kind == "R" else 2


_JOINED = frozenset({("ES", "EN"), ("CS", "EN"), ("CS", "AN")})


def _resolve_weak(kinds: list[str], side: str) -> None:
    """Rules W1 to W7."""
    _resolve_marks(kinds, side)
    kinds[:] = ["R" if kind == "AL" else kind for kind in kinds]  # W3
    for n in range(1, len(kinds) - 1):  # W4
        before = kinds[n - 1]
        if before == kinds[n + 1] and (kinds[n], before) in _JOINED:
            kinds[n] = before
    for start, end in _stretches(kinds, {"ET"}):  # W5
        if "EN" in (kinds[start - 1] if start else "", kinds[end] if end < len(kinds) else ""):
            kinds[start:end] = ["EN"] * (end - start)
    kinds[:] = ["ON" if kind in ("ES", "ET", "CS") else kind for kind in kinds]  # W6
    strong = side
    for n, kind in enumerate(kinds):  # W7
        if kind in ("L", "R"):
            strong = kind
        elif kind == "EN" and strong == "L":
            kinds[n] = "L"


def _resolve_marks(kinds: list[str], side: str) -> None:
    """Rules W1 and W2: marks go with their letter, digits behind Arabic letters are Arabic."""
    previous, strong = side, side
    for n, kind in enumerate(kinds):
        if kind in ("NSM", "BN"):
            kinds[n] = previous
        elif kind == "EN" and strong == "AL":
            kinds[n] = "AN"
        if kind in ("L", "R", "AL"):
            strong = kind
        previous = kinds[n]


def _resolve_brackets(line: str, kinds: list[str], side: str) -> None:
    """Rule N0: a pair of brackets goes with what stands in it, so that it stays a pair."""
    for opening, closing in _pairs(line):
        inside = {_side(kind) for kind in kinds[opening + 1 : closing] if kind in _STRONG}
        if not inside:
            continue
        before = (_side(kind) for kind in reversed(kinds[:opening]) if kind in _STRONG)
        if side in inside or next(before, side) == side:
            kinds[opening] = kinds[closing] = side
        else:
            kinds[opening] = kinds[closing] = "R" if side == "L" else "L"


_STRONG = frozenset({"L", "R", "EN", "AN"})
_BRACKETS = {")": "(", "]": "[", "}": "{", "»": "«"}


def _pairs(line: str) -> list[tuple[int, int]]:
    found, opened = [], []
    for n, char in enumerate(line):
        if char in _BRACKETS.values():
            opened.append(n)
        elif char in _BRACKETS:
            for depth in range(len(opened) - 1, -1, -1):
                if line[opened[depth]] == _BRACKETS[char]:
                    found.append((opened[depth], n))
                    del opened[depth:]
                    break
    return sorted(found)


def _resolve_neutral(kinds: list[str], side: str) -> None:
    """Rules N1 and N2."""
    for start, end in _stretches(kinds, {"B", "S", "WS", "ON"}):
        before = _side(kinds[start - 1]) if start else side
        after = _side(kinds[end]) if end < len(kinds) else side
        kinds[start:end] = [before if before == after else side] * (end - start)


def _side(kind: str) -> str:
    return "L" if kind == "L" else "R"


def _stretches(kinds: list[str], wanted: Iterable[str]) -> list[tuple[int, int]]:
    """Where neighbours of the wanted kinds begin and end."""
    wanted, found, start = set(wanted), [], -1
    for n, kind in enumerate([*kinds, ""]):
        if kind in wanted and start < 0:
            start = n
        elif kind not in wanted and start >= 0:
            found.append((start, n))
            start = -1
    return found
