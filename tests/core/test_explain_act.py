"""The smallest change is tried: written down, read as policy, and judged by it once more."""

import tomllib
from itertools import product

import pytest

from watchkeeper.core.approvals import Approval, Mode, Risk, judge
from watchkeeper.core.explain import Outcome
from watchkeeper.core.explain_act import (
    ApprovalCase,
    GateCase,
    approval_trail,
    gate_record,
    gate_trail,
    read_gate,
)
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_types import GateCheck, GateFacts, Held
from watchkeeper.core.plans import Step
from watchkeeper.core.policy import Document, TenantRules, overlay, rules_for
from watchkeeper.core.policy_parse import parse_policy, parse_policy_json
from watchkeeper.core.time import DAY, HOUR, Instant
from watchkeeper.store.json import dumps, loads

pytestmark = pytest.mark.req("T-10")

ACME = TenantId("acme")
NOON = Instant(1000 * DAY + 12 * HOUR)
DEFEND = """
[plan_types.DEFEND]
objective = "keep them"
max_retries_per_step = 3
expiry_hours = 24
human_touch = "yes"
[plan_types.DEFEND.actions]
MEET = 1
BRIEF = 2
[plan_types.DEFEND.required_facts]
renewal_at = "yes"
owner = "yes"
[plan_types.DEFEND.blocked_postures]
DORMANT = "yes"
[autonomy]
max_risk = "low"
"""
STEPS = (Step("one", "BRIEF", 0, 1), Step("two", "MEET", 1, 2), Step("three", "NOTE", 2, 3))
RISKS = {"MEET": Risk.MEDIUM, "BRIEF": Risk.LOW, "NOTE": Risk.LOW}
BARRED = GateFacts(frozenset({"owner"}), "DORMANT", None, "policy", False)


def rules_of(text: str, change: str | None = None) -> TenantRules:
    said: Document = parse_policy(text).said
    if change is not None:
        said = overlay(said, tomllib.loads(change))
    return rules_for(parse_policy_json(said), ACME, None)


@pytest.mark.parametrize(
    ("mode", "most", "risk", "budget"),
    [
        pytest.param(*one, id=f"{one[0]}-{one[1].name}-{one[2].name}-{one[3]}")
        for one in product(Mode, Risk, Risk, ("unlimited", 3))
    ],
)
def test_a_changed_policy_changes_the_approval(
    mode: Mode, most: Risk, risk: Risk, budget: object
) -> None:
    told = budget if isinstance(budget, int) else f'"{budget}"'
    text = (
        f'[autonomy]\nmode = "{mode}"\nmax_risk = "{most.name.lower()}"\nauto_per_day_max = {told}'
    )
    trail = approval_trail(ApprovalCase(rules_of(text), "MEET", risk, 5, NOON))
    judged = judge(risk, rules_of(text).act.autonomy, used_today=5)
    assert (trail.result, trail.reason, trail.clause) == (
        judged.approval,
        judged.reason,
        judged.clause,
    )
    bound = [check.name for check in trail.checks if check.outcome is Outcome.BOUND]
    assert bound == ([] if trail.binding_check is None else [trail.binding_check])
    if judged.approval is Approval.AUTO_EXECUTE:
        assert (trail.binding_check, trail.smallest_change) == (None, None)
        return
    after = rules_of(text, trail.smallest_change).act
    again = judge(after.risks.get("MEET", risk), after.autonomy, used_today=5)
    wanted = {Approval.BLOCK: Approval.REQUIRE_APPROVAL}.get(judged.approval, Approval.AUTO_EXECUTE)
    assert again.approval is wanted


def test_an_autonomy_budget_is_full_until_the_day_is_over() -> None:
    text = '[autonomy]\nmode = "auto_low_risk"\nauto_per_day_max = 5'
    trail = approval_trail(ApprovalCase(rules_of(text), "MEET", Risk.LOW, 5, NOON))
    assert trail.binding_check == "autonomy_budget"
    assert trail.earliest_pass_at == 1001 * DAY
    assert trail.smallest_change == "autonomy.auto_per_day_max = 6"
    assert trail.checks[-1].compared == "5 went by themselves in this UTC day"


def test_every_obstacle_of_a_gate_is_told_and_met() -> None:
    rules = rules_of(DEFEND)
    trail = gate_trail(GateCase(rules, "DEFEND", STEPS, RISKS, BARRED))
    bound = [check.name for check in trail.checks if check.outcome is Outcome.BOUND]
    assert bound == [
        GateCheck.FACTS,
        GateCheck.POSTURE,
        GateCheck.PERSON,
        GateCheck.ACTIONS,
        GateCheck.RISK,
        GateCheck.ORDER,
    ]
    assert (trail.result, trail.reason) == ("HELD", Held.PRECONDITIONS_UNMET)
    assert trail.binding_check == GateCheck.FACTS
    assert trail.clause == "plan_types.DEFEND.required_facts"
    by_name = {check.name: check for check in trail.checks}
    assert by_name[GateCheck.FACTS].compared == "given: owner"
    assert by_name[GateCheck.FACTS].threshold == "owner, renewal_at"
    assert by_name[GateCheck.RISK].threshold == "at most low"
    after = GateCase(rules_of(DEFEND, trail.smallest_change), "DEFEND", STEPS, RISKS, BARRED)
    assert after.decided().can_activate
    assert set((trail.smallest_change or "").splitlines()) == {
        'plan_types.DEFEND.required_facts.renewal_at = "no"',
        'plan_types.DEFEND.blocked_postures.DORMANT = "no"',
        'plan_types.DEFEND.human_touch = "no"',
        "plan_types.DEFEND.actions.NOTE = 0",
        "plan_types.DEFEND.actions.MEET = 0",
        'autonomy.max_risk = "medium"',
    }


def test_no_document_moves_another_plan_out_of_the_way() -> None:
    case = GateCase(rules_of(DEFEND), "DEFEND", STEPS, RISKS, BARRED._replace(conflict="other"))
    trail = gate_trail(case)
    assert (trail.binding_check, trail.clause) == (GateCheck.CONFLICT, None)
    assert trail.smallest_change is None


def test_of_a_type_that_is_gone_nothing_else_is_asked() -> None:
    trail = gate_trail(GateCase(rules_of(""), "DEFEND", STEPS, RISKS, BARRED))
    assert trail.binding_check == GateCheck.TYPE
    assert {check.outcome for check in trail.checks[2:]} == {Outcome.NOT_REACHED}
    assert trail.smallest_change is None


def test_a_draft_lacks_an_approval() -> None:
    text = DEFEND.replace('human_touch = "yes"', "")
    of = GateFacts(frozenset({"owner", "renewal_at"}), None, None, None, False)
    trail = gate_trail(GateCase(rules_of(text), "DEFEND", STEPS[:1], RISKS, of))
    assert (trail.binding_check, trail.smallest_change) == (
        GateCheck.APPROVAL,
        'plan_types.DEFEND.approval = "policy"',
    )


def test_a_gate_that_opened_has_nothing_to_change() -> None:
    of = GateFacts(frozenset({"owner", "renewal_at"}), "OK", None, "ann", True)
    trail = gate_trail(GateCase(rules_of(DEFEND), "DEFEND", STEPS[:1], RISKS, of))
    assert (trail.result, trail.binding_check, trail.smallest_change) == ("ACTIVATED", None, None)


def test_a_change_stands_where_the_value_was_set() -> None:
    text = '[tenants.acme.autonomy]\nmode = "propose_only"\n'
    trail = approval_trail(ApprovalCase(rules_of(text), "MEET", Risk.LOW, 0, NOON))
    assert trail.smallest_change == 'tenants.acme.autonomy.mode = "approve_each"'
    assert trail.checks[0].source == "tenant:acme"


def test_a_case_is_read_as_it_was_recorded() -> None:
    rules = rules_of(DEFEND)
    case = GateCase(rules, "DEFEND", STEPS, RISKS, BARRED)
    data = loads(dumps(gate_record(STEPS, RISKS, BARRED)))
    assert read_gate(data, rules, "DEFEND") == case
