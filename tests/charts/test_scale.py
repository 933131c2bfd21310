"""Axes: round numbers, round moments, bounded input, short words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.charts.scale import (
    TICKS_MAX,
    checked,
    clipped,
    merged,
    number_scale,
    short,
    text_width,
    thinned,
    time_ticks,
    utc_label,
)
from watchkeeper.core.time import DAY, HOUR, LATEST, MINUTE, Instant, from_iso

T = from_iso("2030-01-01T00:00:00Z")


@pytest.mark.req("R-11")
@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (0, (0,)),
        (1, (0, 1)),
        (3, (0, 1, 2, 3)),
        (7, (0, 2, 4, 6, 8)),
        (97, (0, 50, 100)),
        (1_000_000, (0, 500_000, 1_000_000)),
    ],
)
def test_ticks_are_round_and_reach_the_largest(largest: int, ticks: tuple[int, ...]) -> None:
    assert number_scale(largest).ticks == ticks


@given(st.integers(0, 10**30) | st.floats(0, 1e300))
def test_no_value_exceeds_its_scale(largest: float) -> None:
    scale = number_scale(largest, is_whole=isinstance(largest, int))
    assert 0 <= scale.share(largest) <= 1
    assert largest <= scale.top * (1 + 1e-9)
    assert len(scale.ticks) <= TICKS_MAX
    assert len(scale.words) == len(scale.ticks) == len(set(scale.words))


@pytest.mark.req("U-31")
@pytest.mark.parametrize(
    ("since", "length", "words"),
    [
        ("2030-01-01T00:00:00Z", DAY, ["1 Jan", "06:00", "12:00", "18:00", "2 Jan"]),
        (
            "2030-01-01T10:07:00Z",
            30 * MINUTE,
            ["10:10", "10:15", "10:20", "10:25", "10:30", "10:35"],
        ),
        ("2030-01-02T00:00:00Z", 30 * DAY, ["7 Jan", "14 Jan", "21 Jan", "28 Jan"]),
        ("2030-01-15T00:00:00Z", 120 * DAY, ["Feb 2030", "Mar 2030", "Apr 2030", "May 2030"]),
        ("2030-06-01T00:00:00Z", 4 * 365 * DAY, ["2031", "2032", "2033", "2034"]),
    ],
)
def test_moments_at_an_axis_are_round_in_utc(since: str, length: int, words: list[str]) -> None:
    start = from_iso(since)
    ticks, step = time_ticks(start, Instant(start + length))
    assert [utc_label(at, step) for at in ticks] == words


@given(st.integers(0, LATEST), st.integers(0, LATEST))
def test_ticks_lie_in_their_window_and_are_few(one: int, other: int) -> None:
    since, until = Instant(min(one, other)), Instant(max(one, other))
    ticks, step = time_ticks(since, until)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= TICKS_MAX
    assert all(since <= at <= until for at in ticks)
    assert all(utc_label(at, step) for at in ticks)


@given(st.lists(st.integers(0, 10**9), max_size=500), st.integers(1, 50))
def test_buckets_that_are_merged_lose_nothing(values: list[int], at_most: int) -> None:
    sums, size = merged(values, at_most)
    assert sum(sums) == sum(values)
    assert len(sums) <= at_most
    assert -(-len(values) // size) == len(sums)


@given(st.lists(st.integers(0, 10**9), max_size=2000), st.integers(4, 60))
def test_a_thinned_line_keeps_its_ends_and_its_extremes(values: list[int], at_most: int) -> None:
    points = [(Instant(n), value) for n, value in enumerate(values)]
    kept = thinned(points, at_most)
    assert len(kept) <= at_most + 4
    assert kept == sorted(kept)
    if points:
        assert (kept[0], kept[-1]) == (points[0], points[-1])
        kept_values = [value for _, value in kept]
        assert (min(kept_values), max(kept_values)) == (min(values), max(values))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (9999, "9,999"),
        (10_000, "10k"),
        (12_345, "12.3k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (4_567_890, "4.57M"),
        (10**18, "1E"),
        (10**25, "1e+25"),
        (1.5, "1.5"),
    ],
)
def test_a_short_number(value: float, words: str) -> None:
    assert short(value) == words


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), 10**301])
def test_what_cannot_be_drawn_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="cannot be drawn"):
        checked([1, value])


@given(st.text(max_size=900), st.floats(20, 300))
def test_a_clipped_text_fits_or_was_short_enough(text: str, width: float) -> None:
    words = clipped(text, width, 10)
    assert words == text or (words.endswith("…") and text.startswith(words[:-1]))
    assert text_width(words, 10) <= width or words == "…"


def test_hours_are_not_days() -> None:
    assert utc_label(Instant(T + HOUR), HOUR) == "01:00"
    assert utc_label(T, HOUR) == "1 Jan"
