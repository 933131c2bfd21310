"""A deed that dies at any of its points, and again while it is mended, leaves nothing wrong."""

import pytest

from tests.sim.enumerate import DEEDS, all_deaths
from tests.sim.places import Ground

pytestmark = [pytest.mark.req("T-32"), pytest.mark.slow, pytest.mark.timeout(600)]

QUICK = {"admit": 12, "finalize": 13, "schedule a pull": 151, "claim and ack": 12, "plan": 41}
"""Every so many points only: all of them are for `-m stress`."""


@pytest.mark.parametrize("deed", QUICK)
@pytest.mark.parametrize("victim", ["client", "worker"])
def test_one_death_or_two(ground: Ground, deed: str, victim: str) -> None:
    results = all_deaths(deed, victim, ground, "sqlite", pairs=2, stride=QUICK[deed])
    assert [one.broken for one in results if one.broken] == []


@pytest.mark.stress
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("victim", ["client", "worker"])
def test_every_death(ground: Ground, deed: str, victim: str) -> None:
    results = all_deaths(deed, victim, ground, "sqlite", pairs=40)
    assert [one.broken for one in results if one.broken] == []
