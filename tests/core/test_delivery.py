"""What becomes of a message: settling an attempt, backing off, giving up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.delivery import (
    ERROR_LENGTH_MAX,
    RETRY_AFTER_MAX_US,
    Dead,
    DeadReason,
    Delivered,
    DeliveryRule,
    Done,
    Guarantee,
    OnDead,
    Order,
    Reject,
    Retry,
    RetryAt,
    backoff_us,
    settle,
    settle_expired,
)
from watchkeeper.core.time import DAY, SECOND, Instant

NOW = Instant(1_893_456_000 * SECOND)


def rule(max_attempts=10, base=1, most=3600):
    return DeliveryRule(
        guarantee=Guarantee.AT_LEAST_ONCE,
        max_attempts=max_attempts,
        lease_us=30 * SECOND,
        backoff_base_us=base * SECOND,
        backoff_max_us=most * SECOND,
        concurrency=16,
        concurrency_total=None,
        order=Order.NONE,
        on_dead=OnDead.CONTINUE,
        timeout_us=None,
    )


def later(seconds, error="no"):
    return RetryAt(Instant(NOW + int(seconds * SECOND)), error)


EXHAUSTED = Dead(DeadReason.ATTEMPTS_EXHAUSTED, "no")


@pytest.mark.req("S-14", "S-15")
@pytest.mark.parametrize(
    ("attempt", "result", "expected"),
    [
        pytest.param(1, Delivered(), Done(), id="delivered at once"),
        pytest.param(10, Delivered(), Done(), id="delivered by the last attempt"),
        pytest.param(1, Reject("no"), Dead(DeadReason.REJECTED, "no"), id="hopeless: no retry"),
        pytest.param(1, Retry("no"), later(0.5), id="the first retry is within the base"),
        pytest.param(4, Retry("no"), later(4), id="the ceiling doubles per attempt"),
        pytest.param(9, Retry("no"), later(128), id="the last but one is tried again"),
        pytest.param(10, Retry("no"), EXHAUSTED, id="no attempt is left"),
        pytest.param(11, Retry("no"), EXHAUSTED, id="nor after that"),
        pytest.param(10, Retry("no", 5), EXHAUSTED, id="a named delay grants no attempt"),
        pytest.param(1, Retry("no", 30), later(30.5), id="a named delay is a floor, with jitter"),
        pytest.param(1, Retry("no", 0), later(0.5), id="a delay of nothing is no delay"),
        pytest.param(1, Retry("no", -5), later(0.5), id="a negative delay is no delay"),
        pytest.param(1, Retry("no", float("nan")), later(0.5), id="not a number is no delay"),
        pytest.param(1, Retry("no", 1e9), later(86400.5), id="patience ends after a day"),
        pytest.param(1, Retry("no", float("inf")), later(86400.5), id="even for ever is a day"),
    ],
)
def test_settle(attempt, result, expected):
    assert settle(attempt, result, rule(), NOW, 0.5) == expected


@pytest.mark.req("S-17")
def test_one_attempt_is_one_attempt():
    assert settle(1, Retry("no"), rule(max_attempts=1), NOW, 0.5) == EXHAUSTED


@pytest.mark.req("S-15")
@pytest.mark.parametrize(
    ("attempt", "is_buried"),
    [
        pytest.param(1, False, id="a lost first attempt can be claimed again"),
        pytest.param(2, False, id="so can the last but one"),
        pytest.param(3, True, id="a lost last attempt is buried"),
    ],
)
def test_an_expired_lease(attempt, is_buried):
    dead = settle_expired(attempt, rule(max_attempts=3))
    assert (dead is not None) == is_buried
    assert dead is None or dead.reason is DeadReason.OUTCOME_UNKNOWN


@pytest.mark.req("S-14")
def test_an_error_is_kept_within_bounds():
    dead = settle(1, Reject("x" * 100_000), rule(), NOW, 0.0)
    assert len(dead.error) == ERROR_LENGTH_MAX


attempts = st.integers(1, 100_000)
draws = st.floats(0, 1, exclude_max=True)
rules = st.tuples(st.integers(1, 3600), st.integers(0, 600_000)).map(
    lambda spans: rule(max_attempts=1_000_000, base=spans[0], most=spans[0] + spans[1])
)


@pytest.mark.req("S-14")
@given(attempts, rules, draws)
def test_a_backoff_is_never_nothing_and_never_above_the_maximum(attempt, some_rule, draw):
    assert 1 <= backoff_us(attempt, some_rule, draw) <= some_rule.backoff_max_us


@pytest.mark.req("S-14")
@given(attempts, rules, draws)
def test_a_later_attempt_never_waits_less_for_the_same_draw(attempt, some_rule, draw):
    assert backoff_us(attempt, some_rule, draw) <= backoff_us(attempt + 1, some_rule, draw)


@pytest.mark.req("S-14")
@given(attempts, rules, draws, st.none() | st.floats())
def test_a_retry_lies_in_the_future_and_honours_a_sane_wish(attempt, some_rule, draw, wish):
    match settle(attempt, Retry("no", wish), some_rule, NOW, draw):
        case RetryAt(at=at):
            assert NOW < at <= NOW + RETRY_AFTER_MAX_US + some_rule.backoff_max_us
            if wish is not None and 0 < wish <= 86_400:
                assert at >= NOW + int(wish * SECOND)
        case other:
            pytest.fail(f"attempts were left: {other}")


@pytest.mark.req("S-14")
def test_full_jitter_reaches_from_nothing_to_the_ceiling():
    spread = [backoff_us(5, rule(), draw / 100) for draw in range(100)]
    assert spread[0] == 1
    assert spread[-1] == int(16 * SECOND * 0.99)
    assert spread == sorted(set(spread))


def test_a_day_is_the_longest_that_a_receiver_may_ask_for():
    assert RETRY_AFTER_MAX_US == DAY
