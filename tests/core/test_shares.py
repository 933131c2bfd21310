"""Shares of places: whoever floods leaves room, and what is given back can be taken again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.shares import NoPlace, Places

pytestmark = pytest.mark.req("O-12")


def flood(places: Places, party: str) -> int:
    """How many places this party gets."""
    count = 0
    while places.take(party) is None:
        count += 1
    return count


@pytest.mark.parametrize(("total", "alone"), [(1, 1), (2, 1), (3, 2), (4, 2), (128, 64)])
def test_a_party_alone_gets_half(total: int, alone: int) -> None:
    places = Places(total)
    assert flood(places, "a") == alone
    assert places.take("a") is (NoPlace.FULL if total == alone else NoPlace.SHARE)


def test_each_flood_leaves_room_for_a_newcomer() -> None:
    places = Places(128)
    assert [flood(places, party) for party in "abcd"] == [64, 32, 16, 8]
    assert places.take("e") is None


def test_two_that_go_on_flooding_come_to_equal_shares() -> None:
    places = Places(120)
    assert [flood(places, party) for party in "ab"] == [60, 30]
    for _ in range(100):
        for party in "ab":
            places.leave(party)
        for party in "ab":
            flood(places, party)
    assert [places.held(party) for party in "ab"] == [41, 40]


def test_none_is_left_when_as_many_parties_came_as_there_are_places() -> None:
    places = Places(2)
    assert places.take("a") is None
    assert places.take("b") is None
    assert places.take("c") is NoPlace.FULL


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), max_size=200))
def test_places_are_neither_lost_nor_made(steps: list[tuple[bool, str]]) -> None:
    places = Places(7)
    held = dict.fromkeys("abc", 0)
    for is_taking, party in steps:
        if is_taking and places.take(party) is None:
            held[party] += 1
        elif not is_taking and held[party]:
            places.leave(party)
            held[party] -= 1
        assert places.taken == sum(held.values()) <= places.total
        assert {one: places.held(one) for one in held} == held
