"""On which line of a TOML text each key stands, so that a mistake can be named by line.

The parser of the standard library says what a document means, not where. This walks a
text which that parser has accepted, so it need not know what is wrong, only where
things begin and end: strings, comments, arrays and inline tables cannot confuse it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\r\n]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


def locate_lines(text: str) -> dict[Path, int]:
    """The line, from 1, of every table header and key of a valid TOML text.

    Elements of arrays have their index in the path. A table named twice (first as the
    parent of another) is where it was named first.
    """
    return _Walk(text).lines


class _Walk:
    """One pass over the text; `at` only moves forward."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._line, self._counted = 1, 0
        self._elements: dict[Path, int] = {}  # arrays of tables: how many so far
        self._document()

    def _document(self) -> None:
        table: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self._sees("["):
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)

    def _header(self) -> Path:
        is_array = self._sees("[[")
        self.at += 2 if is_array else 1
        line = self._line_here()
        path: Path = ()
        for part in self._key():
            self._note(path := self._newest((*path, part)), line)
        if is_array:
            plain = path[:-1] if isinstance(path[-1], int) else path
            index = self._elements.get(plain, -1) + 1
            self._elements[plain] = index
            self._note(path := (*plain, index), line)
        self.at += 2 if is_array else 1
        return path

    def _newest(self, path: Path) -> Path:
        """A header below an array of tables speaks of its last element."""
        return (*path, self._elements[path]) if path in self._elements else path

    def _pair(self, table: Path) -> None:
        line = self._line_here()
        path = table
        for part in self._key():
            self._note(path := (*path, part), line)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _key(self) -> Iterator[str]:
        """The parts of a dotted key; stops before what follows it."""
        while True:
            self._skip(_SPACE)
            yield self._key_part()
            self._skip(_SPACE)
            if not self._sees("."):
                return
            self.at += 1

    def _key_part(self) -> str:
        quoted = self.text[self.at] in "\"'"
        token = self._skip(_STRING if quoted else _BARE)
        return str(tomllib.loads(f"key = {token}")["key"]) if quoted else token

    def _value(self, path: Path) -> None:
        match self.text[self.at]:
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_SCALAR)

    def _array(self, path: Path) -> None:
        self.at += 1
        self._skip(_BLANK)
        index = 0
        while not self._sees("]"):
            element = (*path, index)
            self._note(element, self._line_here())
            self._value(element)
            self._comma()
            index += 1
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self._skip(_BLANK)
        while not self._sees("}"):
            self._pair(path)
            self._comma()
        self.at += 1

    def _comma(self) -> None:
        self._skip(_BLANK)
        if self._sees(","):
            self.at += 1
            self._skip(_BLANK)

    def _sees(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        assert found is not None, "only a text that parses is walked"
        self.at = found.end()
        return found.group()

    def _line_here(self) -> int:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def _note(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)
