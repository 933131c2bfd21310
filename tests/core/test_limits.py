"""Limits: never above the rate in any window, whatever the clock does; the life of a breaker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.databases import START_AT
from watchkeeper.core.limits import (
    Breaker,
    BreakerRule,
    Rate,
    failed,
    may_pull,
    possible,
    probing,
    rate_of,
    succeeded,
    take,
)
from watchkeeper.core.time import HOUR, SECOND, Instant

NOW = START_AT
RULE = BreakerRule(failures=3, pause_us=300 * SECOND, probe_us=60 * SECOND)

rates = st.builds(rate_of, st.integers(1, 2_000_000), st.integers(1, 50))
demands = st.lists(st.tuples(st.integers(0, 3 * SECOND), st.integers(1, 60)), max_size=40)


@pytest.mark.req("P-10")
@pytest.mark.parametrize(
    ("milli", "interval_us"),
    [(1000, SECOND), (1, 1000 * SECOND), (3000, 333_334), (2_000_000, 500), (10**12, 1)],
)
def test_a_rate_is_never_rounded_up(milli: int, interval_us: int) -> None:
    assert rate_of(milli, 1).interval_us == interval_us


@pytest.mark.req("P-10")
@pytest.mark.parametrize(
    ("waited", "wanted", "granted"),
    [
        (0, 1, 1),
        (0, 5, 3),  # a rested limiter gives its burst
        (HOUR, 5, 3),  # and no more for a longer rest
    ],
)
def test_a_burst_after_a_rest(waited: int, wanted: int, granted: int) -> None:
    rate = Rate(SECOND, 3)
    assert take(rate, NOW, Instant(NOW + waited), wanted).granted == granted


@pytest.mark.req("P-10")
def test_the_time_that_it_names_is_the_first_that_grants() -> None:
    rate = Rate(SECOND, 3)
    used = take(rate, Instant(0), NOW, 3)
    refused = take(rate, used.next_at, NOW, 1)
    assert (refused.granted, refused.retry_at) == (0, NOW + SECOND)
    assert take(rate, refused.next_at, Instant(refused.retry_at - 1), 1).granted == 0
    assert take(rate, refused.next_at, refused.retry_at, 1).granted == 1


@pytest.mark.req("P-10")
@given(rates, demands)
def test_never_above_rate_and_burst_in_any_window(rate: Rate, asked: list) -> None:
    now, schedule, grants = NOW, Instant(0), []
    for wait, wanted in asked:
        now = Instant(now + wait)
        tokens = take(rate, schedule, now, wanted)
        assert 0 <= tokens.granted <= wanted
        assert tokens.granted == wanted or tokens.retry_at > now
        schedule = tokens.next_at
        grants += [now] * tokens.granted
    for first in range(len(grants)):
        for last in range(first, len(grants)):
            span = grants[last] - grants[first]
            assert last - first + 1 <= span // rate.interval_us + rate.burst


@pytest.mark.req("P-10")
@given(rates, st.lists(st.integers(1, 60), max_size=40))
def test_who_comes_when_it_is_told_to_gets_all_of_it(rate: Rate, asked: list[int]) -> None:
    now, schedule, granted = NOW, Instant(0), 0
    for wanted in asked:
        tokens = take(rate, schedule, now, wanted)
        schedule, granted = tokens.next_at, granted + tokens.granted
        if tokens.granted < wanted:
            assert granted == rate.burst + (now - NOW) // rate.interval_us
            now = tokens.retry_at


@pytest.mark.req("P-10")
@given(rates, st.integers(1, 48 * HOUR), st.integers(0, 60))
def test_a_clock_that_steps_back_gives_no_second_burst(rate: Rate, back: int, wanted: int) -> None:
    spent = take(rate, Instant(0), NOW, rate.burst)
    earlier = Instant(NOW - back)
    assert take(rate, spent.next_at, earlier, wanted).granted == 0


@pytest.mark.req("P-10")
@given(rates, st.integers(1, 48 * HOUR))
def test_nor_does_it_lock_out(rate: Rate, back: int) -> None:
    """Once the schedule is stored as it can be, an interval later there is a token."""
    spent = take(rate, Instant(0), NOW, rate.burst)
    earlier = Instant(NOW - back)
    schedule = possible(rate, spent.next_at, earlier)
    refused = take(rate, schedule, earlier, 1)
    assert refused.retry_at <= earlier + rate.interval_us
    assert take(rate, schedule, Instant(earlier + rate.interval_us), 1).granted == 1


@pytest.mark.req("P-10")
@given(rates, demands)
def test_where_the_clock_is_right_a_schedule_stays_as_it_is(rate: Rate, asked: list) -> None:
    now, schedule = NOW, Instant(0)
    for wait, wanted in asked:
        now = Instant(now + wait)
        assert possible(rate, schedule, now) == schedule
        schedule = take(rate, schedule, now, wanted).next_at


# -- the breaker --------------------------------------------------------------------------------


@pytest.mark.req("P-12")
def test_the_life_of_a_breaker() -> None:
    breaker = Breaker()
    for _ in range(RULE.failures - 1):
        breaker = failed(breaker, RULE, NOW)
        assert may_pull(breaker, NOW) is None
    breaker = failed(breaker, RULE, NOW)
    over = Instant(NOW + RULE.pause_us)
    assert may_pull(breaker, NOW) == over
    assert may_pull(breaker, Instant(over - 1)) == over
    assert may_pull(breaker, over) is None, "half open"
    breaker = probing(breaker, RULE, over)
    back = Instant(over + RULE.probe_us)
    assert may_pull(breaker, over) == back, "one probe at a time"
    assert may_pull(breaker, back) is None, "unless it does not come back"
    assert succeeded(breaker) == Breaker()


@pytest.mark.req("P-12")
def test_a_probe_that_fails_opens_it_again() -> None:
    breaker = Breaker(RULE.failures, Instant(NOW - 1), Instant(NOW + 1))
    again = failed(breaker, RULE, NOW)
    assert again == Breaker(RULE.failures + 1, Instant(NOW + RULE.pause_us), None)


@pytest.mark.req("P-12")
def test_a_success_in_between_begins_to_count_anew() -> None:
    breaker = failed(failed(Breaker(), RULE, NOW), RULE, NOW)
    breaker = failed(succeeded(breaker), RULE, NOW)
    assert breaker == Breaker(1)


@pytest.mark.req("P-12")
def test_a_closed_breaker_needs_no_probe() -> None:
    assert probing(Breaker(2), RULE, NOW) == Breaker(2)
