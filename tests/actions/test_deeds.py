"""One table of deeds on plans and intents: each is to be found behind every door."""

import pytest
from typer.main import get_command

from tests.carrying import ACME, Orchestrator
from tests.databases import Place
from watchkeeper.actions.deeds import DEEDS, OF_INTENTS, OF_PLANS, Order
from watchkeeper.cli import intents as intent_commands
from watchkeeper.cli import plans as plan_commands
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_choices import Deed
from watchkeeper.errors import Invalid
from watchkeeper.http import intents as intent_routes
from watchkeeper.http import plans as plan_routes
from watchkeeper.http.page import SAID
from watchkeeper.plan_methods import IntentDoor, PlanDoor

pytestmark = pytest.mark.req("U-11", "U-20")

BY_OTHER_MEANS = {Deed.EDIT, Deed.TELL, Deed.REPORT_OUTCOME}
"""They take a document, not a word."""


def test_every_deed_that_helps_stands_in_the_table() -> None:
    assert set(DEEDS) == set(Deed) - BY_OTHER_MEANS
    assert {*OF_PLANS.values(), *OF_INTENTS.values()} == set(DEEDS.values())
    assert not set(OF_PLANS.values()) & set(OF_INTENTS.values())


@pytest.mark.parametrize("name", OF_PLANS)
def test_a_deed_on_a_plan_is_behind_every_door(name: str) -> None:
    middle = "/steps/{step_id}" if name == "skip" else ""
    paths = {route.path for route in plan_routes.routes.routes}
    assert f"/v1/plans/{{plan_id}}{middle}/{name}" in paths
    assert name in get_command(plan_commands.app).commands
    assert callable(getattr(PlanDoor, name))
    assert OF_PLANS[name].said in SAID


@pytest.mark.parametrize("name", OF_INTENTS)
def test_an_answer_to_an_intent_is_behind_every_door(name: str) -> None:
    paths = {route.path for route in intent_routes.routes.routes}
    assert f"/v1/intents/{{intent_id}}/{name}" in paths
    assert name in get_command(intent_commands.app).commands
    assert callable(getattr(IntentDoor, name))
    assert OF_INTENTS[name].said in SAID


def test_what_ends_something_for_good_asks() -> None:
    assert {deed for deed, rule in DEEDS.items() if rule.asks} == {
        Deed.ABORT,
        Deed.SKIP,
        Deed.REJECT_INTENT,
    }


def test_a_deed_that_needs_a_reason_is_refused_without_one(place: Place) -> None:
    hand = Orchestrator(place.url)
    try:
        plan_id = hand.active()
        order = Order(TenantId(ACME), plan_id, "ann", step_id=hand.get(plan_id).steps[0].step_id)
        rule = DEEDS[Deed.SKIP]
        with pytest.raises(Invalid, match="reason: is required"):
            rule.do(hand.app.carrier, order)
        with pytest.raises(Invalid, match="step_id: is required"):
            rule.do(hand.app.carrier, order._replace(reason="r", step_id=None))
        rule.do(hand.app.carrier, order._replace(reason="r"))
        assert hand.steps(plan_id)[0] == "SKIPPED"
    finally:
        hand.app.close()
