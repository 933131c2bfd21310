"""Texts compared line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.text_diff import AROUND, LINES_MAX, text_diff

pytestmark = pytest.mark.req("U-31")

texts = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map("\n".join)


def test_what_left_and_what_came_with_lines_around() -> None:
    old = "\n".join(map(str, range(10)))
    [hunk] = text_diff(old, old.replace("5", "five")) or []
    shown = [(line.sign, line.before, line.after, line.text) for line in hunk]
    assert shown[AROUND] == ("-", 6, None, "5")
    assert shown[AROUND + 1] == ("+", None, 6, "five")
    assert len(shown) == 2 * AROUND + 2


def test_what_is_too_long_is_not_compared() -> None:
    assert text_diff("x\n" * (LINES_MAX + 1), "x") is None
    assert text_diff("x\n" * LINES_MAX, "x\n" * LINES_MAX) == []


@given(texts, texts)
def test_one_becomes_the_other(old: str, new: str) -> None:
    lines, shift = old.splitlines(), 0
    for hunk in text_diff(old, new) or []:
        for line in hunk:
            if line.sign == "-":
                assert lines.pop(line.before - 1 + shift) == line.text
                shift -= 1
            elif line.sign == "+":
                lines.insert(line.after - 1, line.text)
                shift += 1
            else:
                assert lines[line.after - 1] == line.text
    assert lines == new.splitlines()
