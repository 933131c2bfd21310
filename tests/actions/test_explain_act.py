"""Held plans and actions that were not let go are explained from the ledger alone."""

import tomllib
from collections.abc import Iterator

import pytest

from tests.carrying import ACME, AUTO, BRIEF, KIND, MEET, Orchestrator, entries
from tests.databases import Clock, Place
from watchkeeper.actions.explain_act import ActExplanation
from watchkeeper.actions.views import view_policy
from watchkeeper.core.ids import TenantId
from watchkeeper.core.policy import overlay
from watchkeeper.errors import NotFound

pytestmark = pytest.mark.req("T-10")

BASE = f"[plan_types.{KIND}]\n"
PERSON = f'{BASE}approval = "policy"\nhuman_touch = "yes"\n'
FACTS = f'[plan_types.{KIND}.required_facts]\nrenewal_at = "yes"\n'
POSTURE = f'[plan_types.{KIND}.blocked_postures]\nDORMANT = "yes"\n'
RISK = '[autonomy]\nmax_risk = "medium"\n'


@pytest.fixture
def carrier(place: Place, clock: Clock) -> Iterator[Orchestrator]:
    made = Orchestrator(place.url, policy=None, risk="high")
    yield made
    made.close()


def change(carrier: Orchestrator, lines: str | None) -> None:
    """What is in force, with these lines."""
    assert lines is not None
    said = overlay(view_policy(carrier.db, None).said, tomllib.loads(lines))
    carrier.app.apply_policy(said, reason="as it was explained")


def held(carrier: Orchestrator, policy: str, by_policy: bool = False) -> str:
    carrier.app.apply_policy(policy, reason="test")
    carrier.app.account(ACME, "ann", posture="DORMANT")
    plan_id = carrier.draft() if by_policy else carrier.approved()
    carrier.cycle()
    assert carrier.status(plan_id) == "APPROVED"
    return plan_id


@pytest.mark.parametrize(
    ("policy", "check", "line"),
    [
        pytest.param(
            PERSON, "human_touch", f'plan_types.{KIND}.human_touch = "no"', id="human touch"
        ),
        pytest.param(
            FACTS,
            "required_facts",
            f'plan_types.{KIND}.required_facts.renewal_at = "no"',
            id="facts",
        ),
        pytest.param(
            POSTURE,
            "posture",
            f'plan_types.{KIND}.blocked_postures.DORMANT = "no"',
            id="posture",
        ),
        pytest.param(RISK, "risk", 'autonomy.max_risk = "high"', id="risk"),
    ],
)
def test_a_held_plan_is_activated_by_the_change_that_was_named(
    carrier: Orchestrator, clock: Clock, policy: str, check: str, line: str
) -> None:
    plan_id = held(carrier, policy, by_policy=policy is PERSON)
    found = carrier.plans.explain(plan_id)
    told = found.to_json()
    assert (told["explained"]["result"], told["binding_check"]) == ("HELD", check)
    assert told["smallest_change"] == line
    assert told["agrees"]
    assert told["explained"]["policy_version"] == 1
    assert told["explained"]["entry_id"] is not None
    [bound] = [one for one in told["checks"] if one["outcome"] == "bound"]
    assert bound["compared"]
    assert bound["threshold"]
    change(carrier, told["smallest_change"])
    clock.advance(61)
    carrier.cycle()
    assert carrier.status(plan_id) == "ACTIVE"
    after = carrier.plans.explain(plan_id).to_json()
    assert (after["explained"]["result"], after["binding_check"]) == ("ACTIVATED", None)
    assert after["smallest_change"] is None
    assert after["agrees"]


def test_what_ruled_then_is_told_and_not_what_rules_now(carrier: Orchestrator) -> None:
    plan_id = held(carrier, RISK)
    before = carrier.plans.explain(plan_id).to_json()
    carrier.app.apply_policy("", reason="another")
    assert carrier.plans.explain(plan_id).to_json() == before


def test_a_plan_that_another_one_keeps_out(carrier: Orchestrator) -> None:
    carrier.app.apply_policy("", reason="test")
    first, second = carrier.active(), carrier.approved()
    carrier.cycle()
    told = carrier.plans.explain(second).to_json()
    assert told["binding_check"] == "no_active_plan_of_the_type"
    assert told["checks"][0]["compared"] == f"plan {first}"
    assert told["smallest_change"] is None


def test_a_draft_is_asked_about_as_it_stands(carrier: Orchestrator) -> None:
    plan_id = carrier.draft()
    told = carrier.plans.explain(plan_id).to_json()
    assert told["explained"]["entry_id"] is None
    assert told["binding_check"] == "approved"
    assert told["explained"]["at"] == "2030-01-01T00:00:00Z"


def test_what_is_not_there_is_not_explained(carrier: Orchestrator) -> None:
    plan_id = carrier.active()
    intent_id = carrier.under_way(plan_id)
    for name in ("nothing", intent_id):
        with pytest.raises(NotFound):
            carrier.plans.explain(name, tenant_id=ACME)
    for name in ("nothing", plan_id):
        with pytest.raises(NotFound):
            carrier.intents.explain(name, tenant_id=ACME)
    with pytest.raises(NotFound):
        carrier.plans.explain(plan_id, tenant_id=TenantId("bolt"))


# -- approvals -------------------------------------------------------------------------------


def judged(carrier: Orchestrator, account: str = "ann", action: str = MEET) -> ActExplanation:
    plan_id = carrier.approved(account, [{"step_id": "one", "action_type": action}])
    carrier.cycle()
    [intent] = carrier.get(plan_id).intents
    return carrier.intents.explain(intent.intent_id)


@pytest.mark.parametrize(
    ("policy", "result", "check", "then"),
    [
        pytest.param("", "REQUIRE_APPROVAL", "asks_for_each", "AUTO_EXECUTE", id="each"),
        pytest.param(AUTO, "REQUIRE_APPROVAL", "risk_low", "AUTO_EXECUTE", id="not low"),
        pytest.param(
            '[autonomy]\nmode = "propose_only"\n',
            "BLOCK",
            "may_act",
            "REQUIRE_APPROVAL",
            id="propose only",
        ),
    ],
)
def test_an_action_is_judged_otherwise_by_the_change_that_was_named(
    carrier: Orchestrator, policy: str, result: str, check: str, then: str
) -> None:
    carrier.app.apply_policy(policy, reason="test")
    told = judged(carrier).to_json()
    assert (told["explained"]["result"], told["binding_check"]) == (result, check)
    assert told["explained"]["clause"] == "autonomy.mode"
    assert told["agrees"]
    change(carrier, told["smallest_change"])
    assert judged(carrier, "bob").to_json()["explained"]["result"] == then


def test_what_went_by_itself_today_counts(carrier: Orchestrator) -> None:
    low = f'{AUTO}auto_per_day_max = 1\n[actions.{BRIEF}]\nrisk = "low"\n'
    carrier.app.apply_policy(low, reason="test")
    first, second = judged(carrier, action=BRIEF), judged(carrier, "bob", BRIEF)
    assert first.trail.result == "AUTO_EXECUTE"
    told = second.to_json()
    assert told["binding_check"] == "autonomy_budget"
    assert told["earliest_pass_at"] == "2030-01-02T00:00:00Z"
    assert told["smallest_change"] == "autonomy.auto_per_day_max = 2"
    assert told["checks"][-1]["compared"].startswith("1 went")


def test_the_tier_of_that_day_is_remembered(carrier: Orchestrator, place: Place) -> None:
    carrier.app.apply_policy('[tiers.bold.autonomy]\nmode = "propose_only"\n', reason="test")
    carrier.draft("cid")
    place.execute("update tenants set tier = 'bold' where tenant_id = 'acme'")
    found = judged(carrier)
    place.execute("update tenants set tier = null where tenant_id = 'acme'")
    assert carrier.intents.explain(found.id).to_json() == found.to_json()
    assert found.trail.smallest_change == 'tiers.bold.autonomy.mode = "approve_each"'
    [started] = entries(place, found.plan_id, "STEP_STARTED")
    assert started["tier"] == "bold"
