"""Where a budget leads: a straight line, honest about when there is none to draw."""

import pytest

from watchkeeper.core.projection import PACE_MIN_US, Projection, project
from watchkeeper.core.time import DAY, HOUR, Instant

pytestmark = pytest.mark.req("U-31")

SINCE, UNTIL = Instant(100 * DAY), Instant(101 * DAY)
NOON = Instant(SINCE + 12 * HOUR)


@pytest.mark.parametrize(
    ("used", "limit", "now", "expected"),
    [
        pytest.param(10, 100, NOON, Projection(20, None), id="it lasts"),
        pytest.param(10, 20, NOON, Projection(20, UNTIL), id="it is used up as the period ends"),
        pytest.param(10, 15, NOON, Projection(20, Instant(SINCE + 18 * HOUR)), id="it ends before"),
        pytest.param(10, 10, NOON, Projection(20, NOON), id="it is used up now"),
        pytest.param(10, 5, NOON, Projection(20, NOON), id="a lowered limit was reached before"),
        pytest.param(10, 0, NOON, Projection(20, NOON), id="nothing was ever allowed"),
        pytest.param(10, None, NOON, Projection(20, None), id="without a limit it never ends"),
        pytest.param(0, 100, NOON, None, id="nothing was used"),
        pytest.param(5, 100, Instant(SINCE + PACE_MIN_US - 1), None, id="too early"),
        pytest.param(1, 100, Instant(SINCE + PACE_MIN_US), Projection(96, None), id="early enough"),
        pytest.param(5, 100, UNTIL, None, id="it is over"),
        pytest.param(5, 100, Instant(SINCE - HOUR), None, id="it has not begun"),
    ],
)
def test_where_it_leads(
    used: int, limit: int | None, now: Instant, expected: Projection | None
) -> None:
    assert project(used, limit, since=SINCE, now=now, until=UNTIL) == expected
