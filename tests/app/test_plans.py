"""The door for Python programs, where it is about acting."""

from collections.abc import Iterator

import pytest

from watchkeeper.act_results import Action, Asked, Outcome, Proposal
from watchkeeper.app import App
from watchkeeper.results import Decision, Run

pytestmark = pytest.mark.req("U-01")

STEPS = ["REQUEST_RENEWAL_MEETING", "PREP_RENEWAL_BRIEF", "ESCALATE_SUPPORT_RISK"]
KIND = "RENEWAL_DEFENSE"


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False)
    app.apply_policy('[autonomy]\nmode = "auto_low_risk"\n', reason="try")
    yield app
    app.close()


@pytest.mark.req("A-07", "A-08", "A-09", "A-13")
def test_a_plan_is_carried_out_from_draft_to_completion(app: App) -> None:
    calls: list[tuple[str, int]] = []

    @app.action(STEPS[0], risk="low")
    async def meet(action: Action) -> Outcome:
        calls.append((action.step_id, action.attempt))
        return Outcome.success("met")

    @app.action(STEPS[1], risk="low")
    def brief(action: Action) -> None:
        calls.append((action.step_id, action.attempt))
        if action.attempt < 3:
            raise RuntimeError("not yet")

    @app.action(STEPS[2], risk="medium")
    def escalate(action: Action) -> Outcome:
        calls.append((action.step_id, action.attempt))
        return Outcome.later()

    plan = app.plans.create("acme", "a", KIND, STEPS)
    assert plan.status == "DRAFT"
    app.plans.approve(plan.plan_id, by="ann")
    app.drain()
    assert calls == [("step-1", 1), ("step-2", 1)]
    app.clock.advance(minutes=10)
    assert calls[2:] == [("step-2", 2), ("step-2", 3)]
    [asked] = app.intents.list("acme", status="PENDING_APPROVAL")
    app.intents.approve(asked.intent_id, by="ann")
    app.drain()
    assert calls[4:] == [("step-3", 1)]
    assert app.intents.get(asked.intent_id).status == "EXECUTING"
    app.intents.report(asked.intent_id, succeeded=True)
    done = app.plans.get(plan.plan_id)
    assert (done.status, done.completion_reason) == ("COMPLETED", "all_steps_done")
    assert [step.status for step in done.steps] == ["DONE", "DONE", "DONE"]


@pytest.mark.req("A-14")
def test_what_a_decision_suggests_is_a_draft_without_what_is_not_allowed(app: App) -> None:
    @app.decision
    def decide(_run: Run) -> Decision:
        steps = [{"action_type": name} for name in ("SEND_MONEY", STEPS[1], STEPS[0])]
        return Decision(plans=[{"plan_type": KIND, "steps": steps}, {"plan_type": "NO_SUCH"}])

    app.trigger("acme", "a", "SIGNAL_ARRIVED", idempotency_key="k")
    app.drain()
    [plan] = app.plans.list("acme")
    assert (plan.status, plan.source) == ("DRAFT", "decision")
    assert [step.action_type for step in plan.steps] == [STEPS[0], STEPS[1]]


@pytest.mark.req("A-14")
def test_a_proposer_suggests_and_nothing_is_carried_out(app: App) -> None:
    @app.proposer()
    async def propose(asked: Asked) -> Proposal:
        return Proposal([{"action_type": name} for name in asked.allowed_actions], "keep them")

    plan = app.plans.propose("acme", "a", KIND, context={"why": "they look away"})
    app.drain()
    assert app.plans.get(plan.plan_id).status == "DRAFT"
    assert plan.objective == "keep them"
    assert [step.action_type for step in plan.steps] == STEPS


@pytest.mark.req("A-04")
def test_a_plan_whose_objective_is_met_is_over(app: App) -> None:
    @app.objective(KIND)
    def renewed(facts: dict[str, object]) -> bool:
        return facts.get("renewed") is True

    plan = app.plans.create("acme", "a", KIND, STEPS)
    app.plans.approve(plan.plan_id, by="ann")
    app.drain()
    assert app.plans.get(plan.plan_id).status == "ACTIVE"
    done = app.plans.tell(plan.plan_id, {"renewed": True})
    assert (done.status, done.completion_reason) == ("COMPLETED", "objective_met")
    assert [intent.status for intent in done.intents] == ["CANCELLED"]


@pytest.mark.req("A-07")
def test_a_cycle_out_of_turn_starts_what_a_kill_switch_held(app: App) -> None:
    calls: list[str] = []

    @app.action(STEPS[0], risk="low")
    def meet(action: Action) -> None:
        calls.append(action.step_id)

    plan = app.plans.create("acme", "a", KIND, STEPS[:1])
    app.kill("tenant", tenant_id="acme", reason="stop")
    app.plans.approve(plan.plan_id, by="ann")
    app.drain()
    app.kill("tenant", tenant_id="acme", on=False, reason="go on")
    app.plans.run_cycle("acme")
    app.drain()
    assert calls == ["step-1"]
