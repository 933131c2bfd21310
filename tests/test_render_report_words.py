"""Which way text runs: the order in which the letters of a line are seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.render_report_fonts import thousands
from watchkeeper.render_report_words import levels_of, needs_shaping, runs_of, shown

pytestmark = pytest.mark.req("R-11")

LETTERS = "abc אבג عرب 123 ١٢ .,:-+%()[]{}"


def everything(_char: str) -> bool:
    return True


def first(_char: str) -> int:
    return 0


def seen(line: str) -> str:
    """From left to right; brackets in a right-to-left run are not mirrored here."""
    return "".join(run.as_seen for run in runs_of(line, first))


@pytest.mark.parametrize(
    ("line", "order"),
    [
        ("abc def", "abc def"),
        ("אבג", "גבא"),
        ("abc אבג def", "abc גבא def"),
        ("אבג abc דהו", "והד abc גבא"),
        ("אבג 123", "123 גבא"),
        ("abc אבג 123", "abc 123 גבא"),
        ("אבג 1,234.5%", "1,234.5% גבא"),
        ("אבג (abc)", "(abc) גבא".replace("(abc)", ")abc(")),
        ("abc (אבג) def", "abc (גבא) def"),
        ("עرب 12", "12 برע"),
    ],
)
def test_the_order_of_a_line(line: str, order: str) -> None:
    assert seen(line) == order


@given(st.text(st.sampled_from(LETTERS), max_size=40))
def test_every_character_of_a_line_is_in_one_run(line: str) -> None:
    runs = sorted(runs_of(line, lambda char: ord(char) % 2), key=lambda run: run.start)
    assert "".join(run.text for run in runs) == line
    assert len(levels_of(line)) == len(line)


@given(st.text(max_size=60))
def test_what_is_shown_can_be_seen_and_is_shown_as_it_is_again(text: str) -> None:
    once = shown(text, everything)
    assert shown(once, everything) == once
    assert all(ord(char) <= 0xFFFF for char in once)
    assert not set(once) & set("\n\r\t\x00\u202a\u202e\u2066\ufeff")


@given(st.text(st.sampled_from("abcxyz éüß ЖЯ ΑΩ 0123 .,"), max_size=60))
def test_plain_text_is_left_alone(text: str) -> None:
    assert shown(text, everything) == text
    assert seen(text) == text
    assert not any(needs_shaping(char) for char in text)


@given(st.integers(0, 10**30))
def test_thousands_are_groups_of_three_from_the_right(number: int) -> None:
    groups = thousands(str(number))
    assert "".join(groups) == str(number)
    assert all(len(group) == 3 for group in groups[1:])
    assert len(groups) == 1 or number >= 10_000
