"""From stretches to buckets: nothing is lost, and it falls where the time was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.sampling import Stretch, by_bucket
from watchkeeper.core.time import MINUTE, Instant

pytestmark = pytest.mark.req("U-31")

ALLOW, SKIP = ("ALLOW", ""), ("SKIP", "DEBOUNCED")
SINCE = Instant(1000 * MINUTE)


def at(minutes: float) -> Instant:
    return Instant(SINCE + int(minutes * MINUTE))


def drawn(*stretches: Stretch, until: float = 10) -> dict:
    return dict(by_bucket(stretches, since=SINCE, until=at(until), bucket_us=MINUTE))


def test_a_stretch_stands_for_all_up_to_the_next_evenly() -> None:
    first = Stretch(at(0), {ALLOW: 3, SKIP: 1}, 8.0)
    second = Stretch(at(2), {ALLOW: 1}, 8.0)
    assert drawn(first, second, until=3) == {
        (1000, ALLOW): 12, (1001, ALLOW): 12, (1000, SKIP): 4, (1001, SKIP): 4,
        (1002, ALLOW): 8,
    }  # fmt: skip


def test_what_lies_within_a_minute_stays_there() -> None:
    assert drawn(Stretch(at(0.5), {ALLOW: 2}, 5.0), until=0.75) == {(1000, ALLOW): 10}


def test_a_minute_that_is_cut_gets_its_part() -> None:
    assert drawn(Stretch(at(0.5), {ALLOW: 3}, 10.0), until=2) == {
        (1000, ALLOW): 10, (1001, ALLOW): 20,
    }  # fmt: skip


def test_a_stretch_that_begins_before_the_window_counts_from_its_beginning() -> None:
    assert drawn(Stretch(at(-5), {ALLOW: 1}, 4.0), until=1) == {(1000, ALLOW): 4}


def test_times_that_step_back_do_no_harm() -> None:
    found = drawn(Stretch(at(3), {ALLOW: 1}, 6.0), Stretch(at(1), {ALLOW: 1}, 6.0), until=2)
    assert found == {(1003, ALLOW): 6, (1001, ALLOW): 6}


def test_nothing_is_nothing() -> None:
    assert drawn() == {}


@given(st.lists(st.floats(0, 59), min_size=1, max_size=20), st.integers(1, 1000))
def test_as_much_is_drawn_as_there_was(times: list[float], weight: int) -> None:
    stretches = [Stretch(at(one), {ALLOW: 7}, float(weight)) for one in sorted(times)]
    total = sum(drawn(*stretches, until=60).values())
    assert abs(total - 7 * weight * len(times)) <= 60
