"""Acting in the policy: what ships, who overrides whom, every mistake by its line."""

import pytest

from watchkeeper.core.approvals import Autonomy, Mode, Risk, Unanswered
from watchkeeper.core.plan_types import ActRules, PlanType
from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_parse import parse_policy, shipped_policy
from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND
from watchkeeper.errors import Invalid

OWN = """\
[plan_types.WIN_BACK]
max_retries_per_step = 5
expiry_hours = 48
human_touch = "yes"
approval = "policy"
skipped_counts = "no"
objective = "Win them back"
required_facts.owner = "yes"
required_facts.mail = "no"
blocked_postures.CHURNED = "yes"
[plan_types.WIN_BACK.actions]
CALL = 1
WRITE = 0
"""


def rules(text: str = "", tenant: str = "acme", tier: str | None = None) -> ActRules:
    return rules_for(parse_policy(text), tenant, tier).act


def problems(text: str) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refused:
        parse_policy(text)
    return [(problem.place, problem.message) for problem in refused.value.problems]


@pytest.mark.req("A-02", "A-08", "A-09", "A-11")
def test_what_is_shipped() -> None:
    shipped = rules_for(shipped_policy(), "acme", None).act
    [kind] = shipped.types.values()
    assert (kind.name, kind.attempts_max, kind.expiry_us) == ("RENEWAL_DEFENSE", 3, 30 * DAY)
    assert kind.actions == {
        "REQUEST_RENEWAL_MEETING": 1,
        "PREP_RENEWAL_BRIEF": 2,
        "ESCALATE_SUPPORT_RISK": 3,
    }
    assert not kind.needs_person
    assert not kind.approved_by_policy
    assert kind.skipped_counts
    assert shipped.autonomy == Autonomy(
        mode=Mode.APPROVE_EACH,
        risk_max=Risk.HIGH,
        auto_per_day_max=None,
        unanswered=Unanswered.REJECT,
    )
    assert (shipped.per_cycle_max, shipped.cycle_us) == (10, MINUTE)
    assert (shipped.outcome_timeout_us, shipped.approval_us) == (24 * HOUR, 72 * HOUR)
    assert shipped.risks == {}


@pytest.mark.req("A-02")
def test_a_plan_type_of_ones_own_stands_beside_what_is_shipped() -> None:
    found = rules(OWN).types
    assert set(found) == {"RENEWAL_DEFENSE", "WIN_BACK"}
    assert found["WIN_BACK"] == PlanType(
        name="WIN_BACK",
        actions={"CALL": 1, "WRITE": 0},
        attempts_max=5,
        expiry_us=48 * HOUR,
        objective="Win them back",
        required_facts=frozenset({"owner"}),
        blocked_postures=frozenset({"CHURNED"}),
        needs_person=True,
        approved_by_policy=True,
        skipped_counts=False,
    )


LAYERS = """\
[autonomy]
mode = "auto_low_risk"
auto_per_day_max = 5
[actions.CALL]
risk = "low"
[plans]
per_cycle_max = 2
[tiers.gold.autonomy]
auto_per_day_max = 50
[tiers.gold.actions.CALL]
risk = "medium"
[tenants.acme.autonomy]
mode = "propose_only"
unanswered = "pause"
[tenants.acme.plan_types.RENEWAL_DEFENSE]
max_retries_per_step = 1
[tenants.acme.plans]
cycle_seconds = 5
"""


@pytest.mark.req("A-08", "A-15")
def test_a_tenant_comes_before_its_tier_and_that_before_the_document() -> None:
    other, gold, acme = rules(LAYERS, "other"), rules(LAYERS, "x", "gold"), rules(LAYERS, "acme")
    assert other.autonomy.mode is gold.autonomy.mode is Mode.AUTO_LOW_RISK
    assert (other.autonomy.auto_per_day_max, gold.autonomy.auto_per_day_max) == (5, 50)
    assert (other.risks["CALL"], gold.risks["CALL"]) == (Risk.LOW, Risk.MEDIUM)
    assert acme.autonomy.mode is Mode.PROPOSE_ONLY
    assert acme.autonomy.unanswered is Unanswered.PAUSE
    assert acme.types["RENEWAL_DEFENSE"].attempts_max == 1
    assert other.types["RENEWAL_DEFENSE"].attempts_max == 3
    assert (acme.per_cycle_max, acme.cycle_us) == (2, 5 * SECOND)


@pytest.mark.req("A-08")
def test_a_budget_may_be_lifted_for_one() -> None:
    text = (
        '[autonomy]\nauto_per_day_max = 0\n[tenants.acme.autonomy]\nauto_per_day_max = "unlimited"'
    )
    assert rules(text, "other").autonomy.auto_per_day_max == 0
    assert rules(text, "acme").autonomy.auto_per_day_max is None


@pytest.mark.req("A-02", "A-08", "A-11", "T-20")
@pytest.mark.parametrize(
    ("text", "line", "place", "words"),
    [
        pytest.param(
            '\n[autonomy]\nmode = "yolo"', 3, "autonomy.mode", "propose_only", id="a mode"
        ),
        pytest.param('[autonomy]\nmax_risk = "mad"', 2, "autonomy.max_risk", "low", id="a risk"),
        pytest.param(
            "[autonomy]\nauto_per_day_max = -1", 2, "autonomy.auto_per_day_max", "from 0", id="< 0"
        ),
        pytest.param(
            "[autonomy]\napproval_hours = 0", 2, "autonomy.approval_hours", "from 1", id="no time"
        ),
        pytest.param(
            '[autonomy]\nunanswered = "shrug"', 2, "autonomy.unanswered", "reject", id="unanswered"
        ),
        pytest.param("[plans]\nper_cycle_max = 0", 2, "plans.per_cycle_max", "from 1", id="no K"),
        pytest.param(
            "[plans]\ncycle_seconds = 0", 2, "plans.cycle_seconds", "from 1", id="no pause"
        ),
        pytest.param(
            "[plans]\noutcome_timeout_seconds = 1.5",
            2,
            "plans.outcome_timeout_seconds",
            "decimal",
            id="half a second",
        ),
        pytest.param("[plans]\nfoo = 1", 2, "plans.foo", "not known", id="an unknown key"),
        pytest.param(
            '[actions.CALL]\nrisk = "x"', 2, "actions.CALL.risk", "high", id="risk of one"
        ),
        pytest.param("[actions.CALL]", 1, "actions.CALL.risk", "required", id="no risk"),
        pytest.param(
            '[actions.call]\nrisk = "low"', 1, "actions.call", "not a name", id="a small name"
        ),
        pytest.param(
            "[plan_types.MINE]\nexpiry_hours = 1\nmax_retries_per_step = 1",
            1,
            "plan_types.MINE.actions",
            "required",
            id="a type without actions",
        ),
        pytest.param(
            "[plan_types.MINE]\nexpiry_hours = 1\nmax_retries_per_step = 1\n"
            "[plan_types.MINE.actions]",
            4,
            "plan_types.MINE.actions",
            "required",
            id="with none",
        ),
        pytest.param(
            "[plan_types.RENEWAL_DEFENSE]\nmax_retries_per_step = 0",
            2,
            "plan_types.RENEWAL_DEFENSE.max_retries_per_step",
            "from 1",
            id="no attempt",
        ),
        pytest.param(
            '[plan_types.RENEWAL_DEFENSE]\nhuman_touch = "maybe"',
            2,
            "plan_types.RENEWAL_DEFENSE.human_touch",
            "yes, no",
            id="neither yes nor no",
        ),
        pytest.param(
            "[plan_types.RENEWAL_DEFENSE.actions]\nCALL = -1",
            2,
            "plan_types.RENEWAL_DEFENSE.actions.CALL",
            "from 0",
            id="a place below nought",
        ),
        pytest.param(
            '[tenants.acme.autonomy]\nmode = "x"', 2, "tenants.acme.autonomy.mode", "", id="of one"
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, place: str, words: str) -> None:
    [(where, message)] = problems(text)
    assert where == f"line {line}: {place}"
    assert words in message
