"""What stands between a tenant and a connector: the order of limits, and how many may pass."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.databases import START_AT
from watchkeeper.core.limits import (
    Breaker,
    BreakerRule,
    Bucket,
    Gate,
    Hold,
    Limit,
    Rate,
    Room,
    Stopped,
    by_clock,
    held_until,
    passed,
    room,
    stopped,
)
from watchkeeper.core.time import MINUTE, SECOND, Instant

NOW = START_AT
RULE = BreakerRule(failures=5, pause_us=5 * MINUTE, probe_us=MINUTE)


def at(seconds: float) -> Instant:
    return Instant(NOW + int(seconds * SECOND))


OPEN = Breaker(5, at(100))
HALF_OPEN = Breaker(5, at(-1))
PROBED = Breaker(5, at(-1), at(30))
HELD = Hold(at(60), at(30))
USED_UP = Bucket(Rate(SECOND, 1), at(7))
SLOW = Bucket(Rate(SECOND, 3), NOW)


@pytest.mark.req("P-10", "P-12")
@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        (Gate(), None),
        (Gate(OPEN), Stopped(Limit.BREAKER, at(100))),
        (Gate(HALF_OPEN), None),
        (Gate(PROBED), Stopped(Limit.BREAKER, at(30))),
        (Gate(hold=HELD), Stopped(Limit.HOLD, at(60))),
        (Gate(hold=Hold(at(60))), Stopped(Limit.HOLD, at(60))),
        (Gate(hold=Hold(at(60), NOW)), None),
        (Gate(hold=Hold(NOW, at(-9))), None),
        (Gate(own=USED_UP), Stopped(Limit.OWN_RATE, at(1))),
        (Gate(shared=USED_UP), Stopped(Limit.SHARED_RATE, at(1))),
        (Gate(shared=USED_UP, waiting=3), Stopped(Limit.SHARED_RATE, at(4))),
        (Gate(shared=SLOW, own=SLOW), None),
        (Gate(slots_max=2, slots_used=1), None),
        (Gate(slots_max=2, slots_used=2), Stopped(Limit.SLOTS, at(1))),
        (Gate(slots_max=2, slots_used=3, waiting=5), Stopped(Limit.SLOTS, at(3))),
    ],
    ids=str,
)
def test_what_refuses_and_until_when(gate: Gate, expected: Stopped | None) -> None:
    assert stopped(by_clock(gate, NOW), NOW) == expected


@pytest.mark.req("P-06", "P-10")
def test_limits_are_asked_in_their_order() -> None:
    """Each that is lifted lets the next one speak."""
    gate = Gate(OPEN, HELD, USED_UP, USED_UP, 1, 1)
    lifted = [{"breaker": Breaker()}, {"hold": None}, {"own": None}, {"shared": None}]
    seen = []
    for change in [*lifted, {"slots_max": None}]:
        stop = stopped(gate, NOW)
        assert stop is not None
        seen.append(stop.limit)
        gate = gate._replace(**change)
    assert seen == list(Limit)
    assert stopped(gate, NOW) is None


@pytest.mark.req("P-10")
@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        (Gate(), Room(10, NOW)),
        (Gate(OPEN), Room(0, at(100))),
        (Gate(HALF_OPEN), Room(1, at(60))),
        (Gate(PROBED), Room(0, at(30))),
        (Gate(hold=HELD), Room(0, at(60))),
        (Gate(hold=Hold(at(60), NOW)), Room(1, at(60))),
        (Gate(hold=Hold(NOW)), Room(10, NOW)),
        (Gate(shared=SLOW), Room(3, at(1))),
        (Gate(own=SLOW, slots_max=9, slots_used=6), Room(3, at(1))),
        (Gate(slots_max=9, slots_used=5), Room(4, at(1))),
        (Gate(slots_max=9, slots_used=10), Room(0, at(1))),
        (Gate(HALF_OPEN, slots_max=1), Room(1, at(60))),
        (Gate(OPEN, HELD), Room(0, at(100))),
        (Gate(hold=HELD, shared=SLOW), Room(0, at(60))),
    ],
    ids=str,
)
def test_how_many_may_pass(gate: Gate, expected: Room) -> None:
    assert room(gate, RULE, NOW, 10) == expected


@pytest.mark.req("P-10")
def test_a_probe_is_one() -> None:
    assert held_until(HELD, at(29)) == at(60)
    assert held_until(HELD, at(30)) is None
    once = passed(Gate(hold=HELD), RULE, at(30))
    assert once.hold == Hold(at(60)), "nobody else, until it is over"
    assert stopped(once, at(59)) == Stopped(Limit.HOLD, at(60))
    assert passed(Gate(hold=HELD), RULE, at(60)).hold is None


breakers = st.sampled_from([Breaker(), Breaker(3), OPEN, HALF_OPEN, PROBED])
holds = st.sampled_from([None, HELD, Hold(at(60)), Hold(at(60), NOW), Hold(NOW)])
buckets = st.none() | st.builds(
    Bucket,
    st.builds(Rate, st.integers(1, 3 * SECOND), st.integers(1, 6)),
    st.integers(NOW - 9 * SECOND, NOW + 9 * SECOND).map(Instant),
)
gates = st.builds(
    Gate,
    breakers,
    holds,
    buckets,
    buckets,
    st.none() | st.integers(1, 6),
    st.integers(0, 7),
    st.just(0),
)


@pytest.mark.req("P-10", "P-06")
@given(gates, st.integers(1, 12))
def test_as_many_pass_as_there_was_said_to_be_room_for(gate: Gate, wanted: int) -> None:
    """One after the other; the next is refused, and not later than the room said is its time."""
    gate = by_clock(gate, NOW)
    found = room(gate, RULE, NOW, wanted)
    for _ in range(found.count):
        assert stopped(gate, NOW) is None
        gate = passed(gate, RULE, NOW)
    if found.count < wanted:
        stop = stopped(gate, NOW)
        assert stop is not None
        assert NOW < stop.retry_at <= found.retry_at
    else:
        assert found.count == wanted


@pytest.mark.req("P-10")
@given(gates)
def test_who_only_asks_takes_nothing_from_who_passes(gate: Gate) -> None:
    before = by_clock(gate, NOW)
    assert by_clock(before, NOW) == before
    room(before, RULE, NOW, 5)
    assert stopped(before, NOW) == stopped(by_clock(gate, NOW), NOW)
