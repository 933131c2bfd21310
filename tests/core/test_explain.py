"""The trail of a verdict: each check in words and numbers, and what would have changed it."""

import pytest

from tests.core.test_admission import (
    ALL_AT_ONCE,
    MOVED,
    RETRY,
    SIGNAL,
    at,
    counted,
    rules,
    spent,
    state,
)
from watchkeeper.core.admission import CHECKS, Case, Duplicate, Event, decide
from watchkeeper.core.explain import _TOLD, Outcome, Trail, trail
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_parse import parse_policy
from watchkeeper.core.run_state import RunState, TenantRuns, TriggerState
from watchkeeper.core.time import SECOND, to_iso

pytestmark = pytest.mark.req("T-10", "T-02")


def walk(now, where=None, trigger=SIGNAL, ruled=None, tenant=None, event=None, **more) -> Trail:
    asked = Event(AccountId("ann"), trigger, "k", **(event or {}))
    case = Case(asked, where or state(), tenant or TenantRuns(), ruled or rules(), at(now), **more)
    found = trail(case)
    assert found.verdict == decide(case)
    return found


def line(found: Trail, name: str):
    [check] = [check for check in found.checks if check.name == name]
    return check


def test_every_check_of_the_gate_can_be_told() -> None:
    assert list(_TOLD) == [name for name, _ in CHECKS]


@pytest.mark.parametrize(
    ("asked", "binding", "earliest", "change"),
    [
        pytest.param({"now": 0}, None, None, None, id="an ALLOW is bound by nothing"),
        pytest.param(
            {"now": 100, "where": state(0)},
            "cooldown",
            300,
            f"triggers.{SIGNAL}.cooldown_seconds = 100",
            id="too close to the last run",
        ),
        pytest.param(
            {"now": 99, "where": state(0, pending={"LIFECYCLE_STATE_CHANGE": 600})},
            "cooldown",
            900,
            None,
            id="a slot in the future is not flipped by a threshold",
        ),
        pytest.param(
            {"now": 10, "where": state(signal=TriggerState(at(0)))},
            "debounce",
            60,
            f"triggers.{SIGNAL}.debounce_seconds = 10",
            id="too close to the last event",
        ),
        pytest.param(
            {"now": 10, "where": state(0, TriggerState(at(0)))},
            "debounce",
            300,
            f"triggers.{SIGNAL}.debounce_seconds = 10\ntriggers.{SIGNAL}.cooldown_seconds = 10",
            id="without the debounce the cooldown had bound it",
        ),
        pytest.param(
            {"now": 400, "where": state(0, pending={SIGNAL: 500})},
            "coalescing",
            800,
            None,
            id="a retry waits",
        ),
        pytest.param(
            {"now": 0, "tenant": spent(5), "ruled": rules(budget=5)},
            "run_budget",
            86_400,
            "run_budget_per_day = 6",
            id="nothing is left of the day",
        ),
        pytest.param(
            {"now": 1800, "where": state(signal=counted(3)), "ruled": rules(account_cap=3)},
            "account_hourly_cap",
            3600,
            f"triggers.{SIGNAL}.max_per_account_per_hour = 4",
            id="the account's hour is full",
        ),
        pytest.param(
            {"now": 1800, "tenant": spent(hour_runs=3), "ruled": rules(tenant_cap=3)},
            "tenant_hourly_cap",
            3600,
            f"triggers.{SIGNAL}.max_per_tenant_per_hour = 4",
            id="the tenant's hour is full",
        ),
        pytest.param({"now": 0, "event": {"saturation": 1.0}}, "saturation", None, None, id="full"),
        pytest.param({"now": 0, "kill_switch": "all"}, "kill_switch", None, None, id="killed"),
        pytest.param(
            {"now": 0, "trigger": "X"},
            "known_trigger_type",
            None,
            "triggers.X.debounce_seconds = 0\ntriggers.X.cooldown_seconds = 0",
            id="unknown",
        ),
        pytest.param(
            {"now": 0, "duplicate": Duplicate(DecisionId("first"))},
            "idempotency",
            None,
            None,
            id="a repeat",
        ),
        pytest.param(
            {"now": 100, "where": state(0), "event": MOVED},
            "cooldown",
            300,
            f"triggers.{SIGNAL}.cooldown_seconds = 100",
            id="a retry that is over, by what it would have waited for",
        ),
        pytest.param(
            {
                "now": 600,
                "where": state(0, counted(9)),
                "event": RETRY,
                "ruled": rules(account_cap=9),
            },
            "account_hourly_cap",
            3600,
            f"triggers.{SIGNAL}.max_per_account_per_hour = 10",
            id="a retry that found its hour full",
        ),
    ],
)
def test_what_bound_it(asked, binding, earliest, change) -> None:
    found = walk(**asked)
    assert found.binding_check == binding
    assert found.earliest_pass_at == (None if earliest is None else at(earliest))
    assert found.smallest_change == change


def test_a_trail_says_what_was_compared() -> None:
    found = walk(100.5, state(0, TriggerState(at(0), None, at(0) // 3_600_000_000, 2)))
    debounce, cooldown = line(found, "debounce"), line(found, "cooldown")
    assert debounce.outcome is Outcome.PASSED
    assert (debounce.value, debounce.limit) == (100_500_000, 60 * SECOND)
    assert debounce.compared == f"100.5 s from the last one at {to_iso(at(0))}"
    assert cooldown.outcome is Outcome.BOUND
    assert (cooldown.compared, cooldown.threshold) == (
        f"100.5 s from the last run at {to_iso(at(0))}",
        "300 s",
    )
    assert line(found, "run_budget").outcome is Outcome.NOT_APPLICABLE
    assert line(found, "run_budget").threshold == "unlimited"
    after = [check.outcome for check in found.checks[-3:]]
    assert after == [Outcome.NOT_REACHED] * 3
    assert found.checks[-1].compared is None


def test_a_retry_is_neither_debounced_nor_coalesced() -> None:
    found = walk(300, state(0, pending={SIGNAL: 300}), event=RETRY)
    assert found.binding_check is None
    for name in ("debounce", "coalescing"):
        assert line(found, name).outcome is Outcome.NOT_APPLICABLE


def test_a_threshold_says_who_set_it() -> None:
    policy = parse_policy(
        "[triggers.SIGNAL_ARRIVED]\ndebounce_seconds = 1\n"
        "[tiers.gold.triggers.SIGNAL_ARRIVED]\nmax_per_account_per_hour = 5\n"
        "[tenants.acme]\nrun_budget_per_day = 9\n"
    )
    found = walk(0, ruled=rules_for(policy, "acme", "gold"))
    sources = {check.name: check.source for check in found.checks}
    assert sources["debounce"] == "policy"
    assert sources["cooldown"] == "default"
    assert sources["account_hourly_cap"] == "tier:gold"
    assert sources["run_budget"] == "tenant:acme"
    assert sources["idempotency"] == "default"
    assert sources["saturation"] is None


def test_the_first_objection_is_told_and_nothing_after_it() -> None:
    asked = {**ALL_AT_ONCE, "where": RunState()}
    found = walk(1, **asked)
    outcomes = [check.outcome for check in found.checks]
    assert outcomes[:2] == [Outcome.PASSED, Outcome.BOUND]
    assert set(outcomes[2:]) == {Outcome.NOT_REACHED}
