"""Drawings: what is drawn is what was given, whatever was given; SVG is safe in any page."""

from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.charts import (
    Drawing,
    Lane,
    Part,
    Row,
    Span,
    Tone,
    budget_line,
    horizontal_bars,
    sparkline,
    stacked_bars,
    step_timeline,
    stylesheet,
    svg,
    tone_of,
)
from watchkeeper.charts.bars import BARS_MAX, ROWS_MAX
from watchkeeper.charts.lines import POINTS_MAX
from watchkeeper.charts.model import Dot, Path, Rect, Text
from watchkeeper.charts.timeline import LANES_MAX
from watchkeeper.core.time import DAY, HOUR, Instant, from_iso

pytestmark = pytest.mark.req("U-31")
T = from_iso("2030-01-01T00:00:00Z")
SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {f"{SVG}{name}" for name in ("svg", "title", "desc", "rect", "circle", "text")}
ELEMENTS |= {f"{SVG}polyline", f"{SVG}polygon"}
ATTRIBUTES = {"class", "role", "viewBox", "width", "height", "id", "aria-labelledby"}
ATTRIBUTES |= {"x", "y", "cx", "cy", "r", "points", "text-anchor"}

numbers = st.integers(0, 10**20) | st.floats(0, 1e250)
names = st.text(max_size=60) | st.sampled_from(
    ["<script>alert(1)</script>", "\"'&<>", "]]>", "a\x00b\x1f", 'style="x"', "\ud800", "x" * 500]
)
tones = st.sampled_from(Tone)


def bars_of(drawing: Drawing) -> list[Rect]:
    return [mark for mark in drawing.marks if isinstance(mark, Rect) and mark.says is not None]


def words_of(drawing: Drawing) -> list[str]:
    return [mark.text for mark in drawing.marks if isinstance(mark, Text)]


def assert_safe(drawing: Drawing, given_names: Sequence[str] = ()) -> None:
    """Well-formed, nothing but known elements and attributes, inside its own frame."""
    text = svg(drawing, "chart-1")
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert [child.tag for child in root[:2]] == [f"{SVG}title", f"{SVG}desc"]
    for element in root.iter():
        assert element.tag in ELEMENTS
        assert set(element.attrib) <= ATTRIBUTES
        assert "nan" not in str(element.attrib)
    assert "<script" not in text
    assert ' style="' not in text
    for mark in drawing.marks:
        if isinstance(mark, Rect):
            assert -1 <= mark.x <= mark.x + mark.width <= drawing.width + 1
            assert -1 <= mark.y <= mark.y + mark.height <= drawing.height + 1
        elif isinstance(mark, Path):
            assert all(-1 <= x <= drawing.width + 2 for x, _ in mark.points)
            assert all(-1 <= y <= drawing.height + 1 for _, y in mark.points)


@given(st.data(), names, st.integers(0, 300), st.integers(0, 4))
def test_any_stacked_bars(data: st.DataObject, name: str, length: int, count: int) -> None:
    values = st.lists(numbers, min_size=length, max_size=length)
    parts = [Part(data.draw(names), data.draw(values), data.draw(tones)) for _ in range(count)]
    drawing = stacked_bars(name, T, HOUR, parts, unit=name)
    assert_safe(drawing)
    assert len(bars_of(drawing)) <= BARS_MAX * max(1, count)


@given(names, st.lists(numbers, max_size=600), st.none() | numbers, st.lists(numbers, max_size=3))
def test_any_line(name: str, values: list[float], budget: float | None, ahead: list[float]) -> None:
    points = [(Instant(T + n * HOUR), value) for n, value in enumerate(values)]
    after = [(Instant(T + (len(values) + n) * HOUR), value) for n, value in enumerate(ahead)]
    until = Instant(T + 30 * DAY)
    drawing = budget_line(name, points, since=T, until=until, budget=budget, projection=after)
    assert_safe(drawing)
    assert_safe(sparkline(name, values))


@given(names, st.lists(st.builds(Row, names, numbers, tones), max_size=60))
def test_any_lying_bars(name: str, rows: list[Row]) -> None:
    drawing = horizontal_bars(name, rows)
    assert_safe(drawing)
    assert len(bars_of(drawing)) <= ROWS_MAX + 1


@given(names, st.data())
def test_any_timeline(name: str, data: st.DataObject) -> None:
    moments = st.integers(T - DAY, T + 3 * DAY).map(Instant)
    spans = st.lists(st.builds(Span, moments, st.none() | moments, names, tones), max_size=4)
    lanes = data.draw(st.lists(st.builds(Lane, names, spans), max_size=8))
    assert_safe(step_timeline(name, lanes, since=T, until=Instant(T + DAY)))


def test_bars_stand_on_each_other_and_their_heights_are_their_numbers() -> None:
    parts = [Part("ALLOW", [10, 0], Tone.BLUE), Part("SKIP", [30, 20], Tone.GREY)]
    allow, skip, later = bars_of(stacked_bars("d", T, HOUR, parts, unit="decisions"))
    assert (allow.says, skip.says) == ("ALLOW: 10 decisions", "SKIP: 30 decisions")
    assert skip.height == pytest.approx(3 * allow.height)
    assert later.height == pytest.approx(2 * allow.height)
    assert skip.y + skip.height == pytest.approx(allow.y)
    assert later.y + later.height == pytest.approx(allow.y + allow.height)
    assert later.x > skip.x + skip.width


def test_ten_thousand_buckets_become_a_bounded_chart_that_sums_to_the_same() -> None:
    drawing = stacked_bars("d", T, HOUR, [Part("x", range(10_000), Tone.BLUE)])
    bars = bars_of(drawing)
    assert len(bars) <= BARS_MAX
    shown = sum(int(str(bar.says).removeprefix("x: ").replace(",", "")) for bar in bars)
    assert shown == sum(range(10_000))
    assert len(svg(drawing)) < 30_000


def test_ten_thousand_points_become_a_bounded_line() -> None:
    points = [(Instant(T + n), n) for n in range(10_000)]
    drawing = budget_line("l", points, since=T, until=Instant(T + 10_000))
    longest = max(len(mark.points) for mark in drawing.marks if isinstance(mark, Path))
    assert longest <= POINTS_MAX + 6


def test_one_point_is_a_dot_and_none_is_said() -> None:
    one = budget_line("l", [(T, 5)], since=T, until=Instant(T + DAY))
    assert [mark.says for mark in one.marks if isinstance(mark, Dot)] == ["5"]
    none = budget_line("l", [], since=T, until=Instant(T + DAY))
    assert "nothing in this window" in words_of(none)
    assert "nothing in this window" in words_of(stacked_bars("b", T, HOUR, []))
    zeros = stacked_bars("b", T, HOUR, [Part("x", [0, 0], Tone.BLUE)])
    assert "nothing in this window" in words_of(zeros)
    assert "nothing in this window" in words_of(horizontal_bars("h", []))
    assert "nothing in this window" in words_of(step_timeline("t", [], since=T, until=T))


def test_a_budget_and_an_estimate_are_named_where_they_are_drawn() -> None:
    until = Instant(T + DAY)
    points = [(T, 0), (Instant(T + HOUR), 400)]
    drawing = budget_line(
        "units", points, since=T, until=until, budget=1000, projection=[(until, 900)], unit="units"
    )
    assert {"budget 1,000", "400", "900"} <= set(words_of(drawing))
    assert "an estimate for 2030-01-02T00:00:00Z: 900 units" in drawing.summary


def test_rows_and_lanes_beyond_the_limit_are_counted() -> None:
    rows = horizontal_bars("h", [Row("x", 1)] * (ROWS_MAX + 5))
    assert bars_of(rows)[-1].says == "5 more: 5"
    lanes = step_timeline("t", [Lane("x", ())] * (LANES_MAX + 2), since=T, until=Instant(T + 1))
    assert "and 2 more" in words_of(lanes)


def test_a_step_that_goes_on_is_open_and_one_that_took_no_time_is_seen() -> None:
    lanes = [Lane("a", [Span(T, None, "going on")]), Lane("b", [Span(T, T, "failed")])]
    on, moment = bars_of(step_timeline("t", lanes, since=T, until=Instant(T + DAY)))
    assert on.says == "going on: 2030-01-01T00:00:00Z to going on"
    assert moment.width == 2


def test_parts_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="same number of values"):
        stacked_bars("d", T, HOUR, [Part("a", [1], Tone.BLUE), Part("b", [1, 2], Tone.GREY)])
    with pytest.raises(ValueError, match="bucket"):
        stacked_bars("d", T, 0, [])


def test_text_is_escaped_and_read_back_as_it_was() -> None:
    name = "</title><script>alert('1')</script> & \"style=\""
    root = ElementTree.fromstring(svg(horizontal_bars(name, [Row(name[:20], 1)])))
    assert root[0].text == name
    assert ElementTree.fromstring(svg(sparkline("a\x00b", [1])))[0].text == "a\\u{0000}b"


@pytest.mark.parametrize("name", ["", "1a", 'a"b', "a b", "x" * 65])
def test_a_name_that_is_no_id_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        svg(sparkline("s", [1]), name)


@pytest.mark.req("U-30")
def test_every_class_in_a_drawing_is_in_the_style_sheet_for_light_and_dark() -> None:
    css = stylesheet()
    for tone in Tone:
        assert f".wk-fill-{tone}{{" in css
        assert f".wk-line-{tone}{{" in css
        assert css.count(f"--wk-{tone}:") == 4  # light, dark, and both when chosen by hand
    assert "prefers-color-scheme:dark" in css


def test_a_result_has_its_tone_wherever_it_stands() -> None:
    assert {tone_of("ALLOW", n) for n in range(9)} == {Tone.BLUE}
    assert tone_of("DEFER") != tone_of("SKIP") != tone_of("ALLOW")
