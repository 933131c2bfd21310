"""Pulls: what a budget allows, what a pull is called, and when the next one is."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.databases import START_AT
from watchkeeper.core.heat import Depth
from watchkeeper.core.pulls import (
    Allowance,
    Budget,
    Consumed,
    Origin,
    PullKey,
    PullReason,
    brought_forward,
    cadence_slot,
    consume,
    first_slot,
    manual_slot,
    next_day,
    next_slot,
    pull_job_id,
    remaining,
)
from watchkeeper.core.time import DAY, HOUR, MINUTE, Instant, day_of

NOW = START_AT
KEY = PullKey("acme", "ann", "crm")
EXCEEDED, NO_BUDGET = PullReason.BUDGET_EXCEEDED, PullReason.NO_BUDGET


@pytest.mark.req("P-08")
@pytest.mark.parametrize(
    ("caps", "used", "units", "answer"),
    [
        ((10, {}), (0, 0), 3, Allowance(None, 7)),
        ((10, {}), (7, 7), 3, Allowance(None, 0)),
        ((10, {}), (7, 8), 3, Allowance(EXCEEDED, 2)),
        ((10, {"crm": 3}), (0, 0), 3, Allowance(None, 0)),
        ((10, {"crm": 3}), (1, 1), 3, Allowance(EXCEEDED, 2)),
        ((10, {"crm": 5}), (2, 9), 3, Allowance(EXCEEDED, 1)),  # the connector has, the tenant not
        ((10, {"crm": 9}), (2, 4), 3, Allowance(None, 3)),  # the smaller of both, afterwards
        ((10, {"erp": 0}), (0, 0), 1, Allowance(None, 9)),
        ((10, {"crm": 0}), (0, 0), 1, Allowance(EXCEEDED, 0)),
        ((0, {}), (0, 0), 1, Allowance(EXCEEDED, 0)),
        ((2, {}), (5, 5), 1, Allowance(EXCEEDED, 0)),  # a cap that was lowered since
        ((2, {"crm": 1}), (5, 1), 1, Allowance(EXCEEDED, 0)),
        ((10**15, {"crm": 10**15}), (0, 0), 1, Allowance(None, 10**15 - 1)),
        (None, (0, 0), 1, Allowance(NO_BUDGET, 0)),
    ],
)
def test_what_a_budget_says(
    caps: tuple | None, used: tuple[int, int], units: int, answer: Allowance
) -> None:
    budget = None if caps is None else Budget(*caps)
    connector, total = (Consumed(one, 1) for one in used)
    assert consume(budget, "crm", connector, total, units) == answer


@pytest.mark.req("P-08")
@given(
    st.integers(0, 20),
    st.none() | st.integers(0, 20),
    st.lists(st.sampled_from([1, 3]), max_size=30),
)
def test_the_sum_never_exceeds_a_cap(total: int, cap: int | None, wanted: list[int]) -> None:
    budget = Budget(total, {} if cap is None else {"crm": cap})
    used = 0
    for units in wanted:
        answer = consume(budget, "crm", Consumed(used), Consumed(used), units)
        most = total if cap is None else min(total, cap)
        assert (answer.refused is None) == (used + units <= most)
        if answer.refused is None:
            used += units
        assert answer.remaining == remaining(budget, "crm", used, used) == most - used


@pytest.mark.req("P-07")
def test_an_id_is_of_all_that_a_pull_is_for() -> None:
    slot = cadence_slot(NOW)
    base = pull_job_id(KEY, Depth.DEEP, Origin.CADENCE, slot)
    others = [
        pull_job_id(KEY._replace(tenant_id="other"), Depth.DEEP, Origin.CADENCE, slot),
        pull_job_id(KEY._replace(account_id="bob"), Depth.DEEP, Origin.CADENCE, slot),
        pull_job_id(KEY._replace(connector_id="erp"), Depth.DEEP, Origin.CADENCE, slot),
        pull_job_id(KEY, Depth.SHALLOW, Origin.CADENCE, slot),
        pull_job_id(KEY, Depth.DEEP, Origin.SIGNAL, slot),
        pull_job_id(KEY, Depth.DEEP, Origin.CADENCE, cadence_slot(Instant(NOW + 1))),
    ]
    assert len({base, *others}) == 7
    assert base == pull_job_id(KEY, Depth.DEEP, Origin.CADENCE, slot)


@pytest.mark.req("P-07")
def test_parts_of_a_name_do_not_run_together() -> None:
    one = pull_job_id(PullKey("a", "bc", "d"), Depth.DEEP, Origin.MANUAL, "1")
    other = pull_job_id(PullKey("ab", "c", "d"), Depth.DEEP, Origin.MANUAL, "1")
    assert one != other


@pytest.mark.req("P-07")
def test_by_hand_once_an_hour_is_one() -> None:
    assert manual_slot(NOW) == manual_slot(Instant(NOW + HOUR - 1))
    assert manual_slot(NOW) != manual_slot(Instant(NOW + HOUR))


@pytest.mark.req("P-05")
@pytest.mark.parametrize(
    ("late", "after"), [(0, 1), (1, 1), (HOUR - 1, 1), (HOUR, 2), (26 * HOUR + 5, 27)]
)
def test_the_cadence_stays_in_step_and_makes_up_for_nothing(late: int, after: int) -> None:
    following = next_slot(NOW, HOUR, Instant(NOW + late))
    assert following == NOW + after * HOUR
    assert following > NOW + late


@pytest.mark.req("P-05")
def test_a_clock_that_stepped_back_does_not_repeat_a_slot() -> None:
    assert next_slot(NOW, HOUR, Instant(NOW - DAY)) == NOW + HOUR


@pytest.mark.req("P-05")
@pytest.mark.parametrize(
    ("slot", "pulled", "expected"),
    [
        (2 * DAY, None, 0),
        (2 * DAY, -2 * HOUR, 0),
        (2 * DAY, -20 * MINUTE, 40 * MINUTE),
        (10 * MINUTE, -20 * MINUTE, 10 * MINUTE),  # never later than it was
        (-5 * MINUTE, None, -5 * MINUTE),
    ],
)
def test_promotion_pulls_forward(slot: int, pulled: int | None, expected: int) -> None:
    pulled_at = None if pulled is None else Instant(NOW + pulled)
    found = brought_forward(Instant(NOW + slot), pulled_at, HOUR, NOW)
    assert found == NOW + expected


def keys(count: int) -> list[PullKey]:
    return [KEY._replace(account_id=f"account-{n}") for n in range(count)]


@pytest.mark.req("P-05")
def test_first_slots_are_spread_over_a_cadence() -> None:
    found = sorted(first_slot(key, 6 * HOUR, NOW) for key in keys(500))
    assert found[0] >= NOW
    assert found[-1] < NOW + 6 * HOUR
    assert max(b - a for a, b in pairwise(found)) < HOUR // 3
    assert first_slot(KEY, HOUR, NOW) == first_slot(KEY, HOUR, NOW)


@pytest.mark.req("P-14", "P-09")
@pytest.mark.parametrize("late", [0, 5 * HOUR, DAY - 1])
def test_the_next_day_is_the_next_utc_day_and_spread(late: int) -> None:
    now = Instant(NOW + late)
    found = [next_day(key, now) for key in keys(500)]
    assert {day_of(at) for at in found} == {day_of(NOW) + 1}
    midnight = NOW + DAY
    assert all(midnight <= at < midnight + HOUR for at in found)
    busiest = max(found.count(at) for at in found)
    assert busiest <= 25, "no second holds more than a twentieth of the herd"
