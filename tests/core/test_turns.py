"""A turn's terms, its settlement, and the event that tells of it; without a database."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core import quota, turns
from watchkeeper.core.quota import TOKENS_MAX, Asked, Granted, Model, QuotaRules
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.core.turns import Ending, Method, Settlement, Turn, TurnState, Usage

NOW = Instant(1_900_000_000 * SECOND)
MODEL = Model("m", "standard", 1_000_000, 3_000_000)


def begun(
    *,
    input: int = 100,
    output: int = 100,
    model: Model = MODEL,
    started: bool = False,
    **terms: Any,
) -> Turn:
    """With the defaults 400 credits are reserved, and 440 may be charged."""
    asked = Asked("t", "r", "asked-for", input, output, user_id="u", is_started=started)
    reserve = quota.credits(model, input, output)
    rules = QuotaRules(models={}, **terms)
    return turns.begin(asked, Granted(model, reserve, ()), rules, 7, NOW)


def ending(**more: Any) -> Ending:
    told: dict[str, Any] = {
        "turn_id": "t",
        "outcome": TurnState.COMPLETED,
        "started": True,
        "usage": None,
        "ended_by": "caller",
        "finalize_id": "f",
    }
    return Ending(**(told | more))


# -- settlement ------------------------------------------------------------------------------


@pytest.mark.req("S-05", "S-03")
@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param(Usage(90, 50), (90, 50, 240, 240), id="less than reserved"),
        pytest.param(Usage(100, 100), (100, 100, 400, 400), id="exactly what was reserved"),
        pytest.param(Usage(140, 100), (140, 100, 440, 440), id="up to the tolerance"),
        pytest.param(Usage(141, 100), (141, 100, 441, 440), id="one above it is not charged"),
        pytest.param(Usage(0, 10**6), (0, 10**6, 3 * 10**6, 440), id="far above"),
        pytest.param(Usage(0, 0), (0, 0, 0, 0), id="nothing was used, and that is known"),
    ],
)
def test_known_usage_is_charged_up_to_the_tolerance(usage: Usage, expected: tuple) -> None:
    for started in (True, False):
        settled = turns.settle(begun(), started=started, usage=usage)
        assert settled == Settlement(Method.ACTUAL, *expected)
        after = turns.end(begun(), ending(usage=usage), settled, event_id="e", now=NOW)
        assert after.is_capped is (expected[2] > expected[3])


@pytest.mark.req("S-05")
@pytest.mark.parametrize(
    ("turn", "tokens", "charged"),
    [
        pytest.param(begun(), (100, 50), 250, id="estimated input and the floor"),
        pytest.param(begun(output=20), (100, 50), 160, id="never above the reserve"),
        pytest.param(begun(generation_floor_tokens=0), (100, 0), 100, id="no floor"),
        pytest.param(begun(input=0), (0, 50), 150, id="no input"),
    ],
)
def test_unknown_usage_is_estimated(turn: Turn, tokens: tuple[int, int], charged: int) -> None:
    settled = turns.settle(turn, started=True, usage=None)
    assert settled == Settlement(Method.ESTIMATED, *tokens, charged, charged)


@pytest.mark.req("S-05")
def test_what_was_never_started_is_released() -> None:
    settled = turns.settle(begun(), started=False, usage=None)
    assert settled == Settlement(Method.RELEASED, 0, 0, 0, 0)


@pytest.mark.req("S-05", "S-06")
def test_what_has_progressed_was_started_whatever_the_caller_says() -> None:
    for turn in (begun(started=True), begun()._replace(started_at=NOW)):
        assert turns.settle(turn, started=False, usage=None).method is Method.ESTIMATED


@pytest.mark.req("S-05", "S-03")
@given(
    sizes=st.tuples(*[st.integers(0, TOKENS_MAX)] * 2),
    used=st.none() | st.builds(Usage, *[st.integers(0, TOKENS_MAX)] * 2),
    multipliers=st.tuples(*[st.integers(0, 10**12)] * 2),
    tolerance=st.integers(100, 1_000),
    floor=st.integers(0, 1_000_000),
    started=st.booleans(),
)
def test_never_more_than_reserve_and_tolerance(
    sizes, used, multipliers, tolerance, floor, started
) -> None:
    turn = begun(
        input=sizes[0],
        output=sizes[1],
        model=Model("m", "standard", *multipliers),
        tolerance_percent=tolerance,
        generation_floor_tokens=floor,
    )
    settled = turns.settle(turn, started=started, usage=used)
    assert all(type(amount) is int for amount in settled[1:])
    assert 0 <= settled.charged_micro <= settled.computed_micro
    assert settled.charged_micro * 100 <= turn.reserved_micro * tolerance
    if used is None:
        assert settled.charged_micro <= turn.reserved_micro
        assert settled.charged_micro == settled.computed_micro
    elif settled.computed_micro <= turn.reserved_micro:
        assert settled.charged_micro == settled.computed_micro, "what fits is charged as it is"


@pytest.mark.req("S-02")
@given(st.integers(0, 1_000), st.integers(0, 1_000))
def test_settlement_goes_by_the_turn_alone(input: int, output: int) -> None:
    """Whatever the policy says by now: nothing of it is asked for."""
    cheap = turns.settle(begun(), started=True, usage=Usage(input, output))
    dear = turns.settle(
        begun(model=Model("m", "x", 2_000_000, 6_000_000)), started=True, usage=Usage(input, output)
    )
    assert dear.computed_micro == 2 * cheap.computed_micro


# -- who may end it, and when ------------------------------------------------------------------


@pytest.mark.req("S-04", "S-06")
@pytest.mark.parametrize("state", [s for s in TurnState if s is not TurnState.RUNNING])
def test_an_ended_turn_ends_no_more(state: TurnState) -> None:
    turn = begun()._replace(state=state)
    assert not turns.may_end(turn, ending(), NOW)
    assert not turns.may_end(turn, ending(is_timeout=True), Instant(NOW + 10**12))


@pytest.mark.req("S-06")
@pytest.mark.parametrize(
    ("later", "may"), [(0, False), (300 * SECOND, False), (300 * SECOND + 1, True)]
)
def test_a_timeout_is_one_only_when_it_has_passed(later: int, may: bool) -> None:
    now = Instant(NOW + later)
    assert turns.may_end(begun(), ending(is_timeout=True), now) is may
    assert turns.may_end(begun(), ending(), now), "anybody else may end it at any time"


@pytest.mark.req("S-02")
def test_the_terms_are_those_of_the_reserve() -> None:
    turn = begun(tolerance_percent=150, generation_floor_tokens=9, timeout_us=60 * SECOND)
    assert (turn.selected_model, turn.effective_model, turn.tier) == ("asked-for", "m", "standard")
    assert (turn.input_multiplier_micro, turn.output_multiplier_micro) == (1_000_000, 3_000_000)
    assert (turn.policy_version, turn.tolerance_percent) == (7, 150)
    assert (turn.generation_floor_tokens, turn.reserved_micro) == (9, 400)
    assert turn.day_start_at == quota.day_start(NOW)
    assert turn.month_start_at == quota.month_start(NOW)
    assert turn.deadline_at == NOW + 60 * SECOND
    assert turn.started_at is None
    assert turn.is_running


@pytest.mark.req("S-02", "S-04")
def test_an_end_changes_nothing_of_the_terms() -> None:
    before = begun()
    settled = turns.settle(before, started=True, usage=None)
    after = turns.end(before, ending(), settled, event_id="e", now=Instant(NOW + 10**12))
    terms = Turn._fields[: Turn._fields.index("state")]
    assert [getattr(after, name) for name in terms] == [getattr(before, name) for name in terms]
    assert list(turns.buckets(after)) == list(turns.buckets(before))


# -- the event -----------------------------------------------------------------------------------

KEYS = {
    "tenant_id", "turn_id", "request_id", "user_id", "decision_id", "policy_version_applied",
    "selected_model", "effective_model", "tier", "outcome", "settlement_method", "input_tokens",
    "output_tokens", "reserved_credits_micro", "charged_credits_micro", "computed_credits_micro",
    "overshoot_capped", "reserved_at", "settled_at", "day", "month",
}  # fmt: skip


@pytest.mark.req("S-07")
@pytest.mark.parametrize("user", [None, "u"])
@pytest.mark.parametrize("decision", [None, "d"])
def test_the_event_has_these_fields_and_no_others(user: str | None, decision: str | None) -> None:
    turn = begun()._replace(user_id=user, decision_id=decision)
    settled = turns.settle(turn, started=True, usage=Usage(1, 10**6))
    event = turns.usage_snapshot("acme", turns.end(turn, ending(), settled, event_id="e", now=NOW))
    absent = ({"user_id"} if user is None else set()) | (set() if decision else {"decision_id"})
    assert set(event) == KEYS - absent
    assert event | {"user_id": user} == {
        "tenant_id": "acme",
        "turn_id": "t",
        "request_id": "r",
        "user_id": user,
        "policy_version_applied": 7,
        "selected_model": "asked-for",
        "effective_model": "m",
        "tier": "standard",
        "outcome": "completed",
        "settlement_method": "actual",
        "input_tokens": 1,
        "output_tokens": 10**6,
        "reserved_credits_micro": 400,
        "charged_credits_micro": 440,
        "computed_credits_micro": 3_000_001,
        "overshoot_capped": True,
        "reserved_at": "2030-03-17T17:46:40Z",
        "settled_at": "2030-03-17T17:46:40Z",
        "day": "2030-03-17",
        "month": "2030-03",
    } | ({"decision_id": decision} if decision else {})
    assert not any(isinstance(value, float) for value in event.values())


@pytest.mark.req("S-07")
def test_a_turn_that_runs_has_no_event() -> None:
    with pytest.raises(AssertionError):
        turns.usage_snapshot("acme", begun())
