"""Plans are written in the same forms wherever a program writes them."""

from collections.abc import Iterator

import pytest

from watchkeeper import Asked, Decision, Explanation, Plan, Turn
from watchkeeper.app import App

pytestmark = pytest.mark.req("U-01")

KIND, ACTION = "RENEWAL_DEFENSE", "REQUEST_RENEWAL_MEETING"


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False)
    yield app
    app.close()


@pytest.mark.parametrize("step", [ACTION, {"action_type": ACTION}], ids=["name", "mapping"])
def test_a_decision_suggests_steps_as_plans_are_created_with(app: App, step: object) -> None:
    @app.decision
    def decide(run: object) -> Decision:
        return Decision(plans=[{"plan_type": KIND, "steps": [step]}])

    app.signal("acme", "acct-1", "mail")
    app.drain()
    [plan] = app.plans.list("acme")
    assert [one.action_type for one in plan.steps] == [ACTION]


def test_one_deadline_is_shown_while_an_approval_is_waited_for(app: App) -> None:
    plan = app.plans.create("acme", "acct-1", KIND, [ACTION])
    app.plans.approve(plan.plan_id, by="ann")
    app.drain()
    why = app.plans.why(plan.plan_id)
    assert why.intent is not None
    assert why.until == why.intent.deadline_at


def test_the_types_of_results_can_be_imported() -> None:
    assert {kind.__name__ for kind in (Asked, Explanation, Plan, Turn)} == {
        "Asked",
        "Explanation",
        "Plan",
        "Turn",
    }
