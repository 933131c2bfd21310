"""Who has to say yes: every mode, every risk, at the edge of every budget."""

import itertools

import pytest

from watchkeeper.core.approvals import (
    Approval,
    ApprovalReason,
    Autonomy,
    Judged,
    Mode,
    Risk,
    judge,
)

LOW, MEDIUM, HIGH = Risk
AUTO, ASK, BLOCK = Approval
R = ApprovalReason


def expected(mode: Mode, risk: Risk, most: Risk, budget: int | None, used: int):
    """The same in other words."""
    if mode is Mode.PROPOSE_ONLY:
        return BLOCK, R.PROPOSE_ONLY, "autonomy.mode"
    if risk > most:
        return BLOCK, R.RISK_NOT_ALLOWED, "autonomy.max_risk"
    if mode is Mode.APPROVE_EACH:
        return ASK, R.APPROVE_EACH, "autonomy.mode"
    if risk > LOW:
        return ASK, R.RISK_NOT_LOW, "autonomy.mode"
    if budget is not None and used >= budget:
        return ASK, R.AUTONOMY_BUDGET_USED, "autonomy.auto_per_day_max"
    return AUTO, R.LOW_RISK, "autonomy.mode"


EVERYTHING = list(
    itertools.product(Mode, Risk, Risk, [(None, 0), (None, 9), (0, 0), (2, 1), (2, 2), (2, 3)])
)


@pytest.mark.req("A-08")
@pytest.mark.parametrize(("mode", "risk", "most", "budget"), EVERYTHING)
def test_every_mode_risk_and_budget(mode: Mode, risk: Risk, most: Risk, budget) -> None:
    limit, used = budget
    autonomy = Autonomy(mode=mode, risk_max=most, auto_per_day_max=limit)
    found = judge(risk, autonomy, used_today=used)
    assert found[:3] == expected(mode, risk, most, limit, used)
    assert found.explanation
    assert found == judge(risk, autonomy, used_today=used)


@pytest.mark.req("A-08")
def test_by_default_every_action_is_asked_for_and_what_is_unknown_is_of_high_risk() -> None:
    assert {judge(risk, Autonomy(), used_today=0).approval for risk in Risk} == {ASK}
    assert max(Risk) is HIGH


@pytest.mark.req("A-08")
def test_nothing_but_low_risk_ever_goes_by_itself() -> None:
    for mode, risk, most, (limit, used) in EVERYTHING:
        autonomy = Autonomy(mode=mode, risk_max=most, auto_per_day_max=limit)
        if judge(risk, autonomy, used_today=used).approval is AUTO:
            assert (mode, risk) == (Mode.AUTO_LOW_RISK, LOW)
            assert limit is None or used < limit


@pytest.mark.req("A-08")
def test_the_explanation_says_how_much_of_the_budget_is_used() -> None:
    autonomy = Autonomy(mode=Mode.AUTO_LOW_RISK, auto_per_day_max=2)
    assert judge(LOW, autonomy, used_today=2) == Judged(
        ASK,
        R.AUTONOMY_BUDGET_USED,
        "autonomy.auto_per_day_max",
        "2 of 2 went by themselves today",
    )
