"""Plans made, approved, carried out, stopped and told in any order, against a model of them."""

import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.carrying import KIND, STEPS, Look, Orchestrator, sound
from tests.databases import START_AT, Databases, EngineName
from tests.plan_model import RISKS, Model, Plan, Refused
from watchkeeper.act_results import Outcome
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Conflict

POLICY = f"""
[autonomy]
mode = "auto_low_risk"
[plan_types.{KIND}]
expiry_hours = 120
required_facts.owner = "yes"
[plans]
per_cycle_max = 100
""" + "".join(f'[actions.{name}]\nrisk = "{risk}"\n' for name, risk in RISKS.items())

MODES = {
    "succeed": lambda _action: Outcome.success(),
    "fail": lambda _action: Outcome.failure("no"),
    "later": lambda _action: Outcome.later(),
    "nonsense": lambda _action: 7,
}
some_actions = st.lists(st.sampled_from(STEPS), min_size=1, max_size=3).map(
    lambda names: sorted(names, key=STEPS.index)
)
SPANS = [1, 59, 60, 120, 240, 86_399, 86_400, 3 * 86_400, 5 * 86_400]


class PlansMachine(RuleBasedStateMachine):
    """Two orchestrators on one database; the deeds of people reach either."""

    databases: Databases
    engine: EngineName

    def __init__(self) -> None:
        super().__init__()
        self._opened = contextlib.ExitStack()
        place = self._opened.enter_context(self.databases.fresh(self.engine))
        self.look = Look(place)
        self._opened.callback(self.look.close)
        self.both = [Orchestrator(place.url, POLICY), Orchestrator(place.url, None)]
        for one in self.both:
            self._opened.callback(one.close)
            one.app.objective(KIND)(lambda facts: facts.get("renewed") is True)
        self.model = Model(START_AT)

    def teardown(self) -> None:
        self._opened.close()

    # -- choosing -----------------------------------------------------------------------------

    either = st.integers(0, 1)
    which = st.integers(0, 999)

    def pick(self, which: int) -> Plan:
        plans = list(self.model.plans.values())
        return plans[which % len(plans)]

    def both_do(self, deed: Any, mirrored: Any) -> None:
        """The product refuses what the model refuses, and nothing else."""
        try:
            mirrored()
        except Refused:
            with pytest.raises(Conflict):
                deed()
            return
        deed()

    # -- deeds --------------------------------------------------------------------------------

    @initialize()
    def first(self) -> None:
        for account in ("a", "b"):
            self.create(0, account, [STEPS[0], STEPS[1]], True)
            self.approve(0, len(self.model.plans) - 1)

    @rule(o=either, account=st.sampled_from("ab"), actions=some_actions, owner=st.booleans())
    def create(self, o: int, account: str, actions: list[str], owner: bool) -> None:
        facts = {"owner": "ann"} if owner else {}
        plan_id = self.both[o].draft(account, actions, facts=facts)
        self.model.create(plan_id, account, actions, has_owner=owner)

    has_plans = precondition(lambda self: self.model.plans)

    @has_plans
    @rule(o=either, n=which, actions=some_actions, owner=st.booleans())
    def edit(self, o: int, n: int, actions: list[str], owner: bool) -> None:
        plan, facts = self.pick(n), {"owner": "bob"} if owner else {}
        self.both_do(
            lambda: self.both[o].plans.edit(plan.plan_id, plan.account, KIND, actions, facts=facts),
            lambda: self.model.edit(plan, actions, has_owner=owner),
        )

    @has_plans
    @rule(o=either, n=which)
    def approve(self, o: int, n: int) -> None:
        plan = self.pick(n)
        self.both_do(
            lambda: self.both[o].plans.approve(plan.plan_id, by="ann"),
            lambda: self.model.approve(plan),
        )

    @has_plans
    @rule(o=either, n=which, name=st.sampled_from(["pause", "resume", "resume", "abort"]))
    def stop_or_go(self, o: int, n: int, name: str) -> None:
        plan = self.pick(n)
        self.both_do(
            lambda: getattr(self.both[o].plans, name)(plan.plan_id, by="ann"),
            lambda: getattr(self.model, name)(plan),
        )

    @has_plans
    @rule(o=either, n=which, m=st.integers(0, 2))
    def skip(self, o: int, n: int, m: int) -> None:
        plan = self.pick(n)
        step = plan.steps[m % len(plan.steps)]
        self.both_do(
            lambda: self.both[o].plans.skip(plan.plan_id, step.step_id, "no need", by="ann"),
            lambda: self.model.skip(plan, step),
        )

    @has_plans
    @rule(o=either, n=which, renewed=st.booleans())
    def tell(self, o: int, n: int, renewed: bool) -> None:
        plan = self.pick(n)
        facts = {"owner": "eve", "renewed": renewed}
        self.both_do(
            lambda: self.both[o].plans.tell(plan.plan_id, facts),
            lambda: self.model.tell(plan, is_met=renewed),
        )

    def intents(self) -> list[tuple[Plan, Any]]:
        return [(plan, one) for plan in self.model.plans.values() for one in plan.intents]

    def id_of(self, plan: Plan, intent: Any) -> str:
        [(found,)] = self.look.execute(
            f"select intent_id from intents where plan_id = '{plan.plan_id}'"
            f" and step_id = '{intent.step.step_id}' and attempt = {intent.attempt}"
        )
        return str(found)

    has_intents = precondition(lambda self: self.intents())

    @has_intents
    @rule(o=either, n=which, yes=st.booleans())
    def answer(self, o: int, n: int, yes: bool) -> None:
        waiting = [one for one in self.intents() if one[1].state == "PENDING_APPROVAL"]
        found = waiting or self.intents()
        plan, intent = found[n % len(found)]
        door, id = self.both[o].intents, self.id_of(plan, intent)
        deed = door.approve if yes else door.reject
        self.both_do(lambda: deed(id, by="ann"), lambda: self.model.answer(plan, intent, yes=yes))

    @has_intents
    @rule(o=either, n=which, succeeded=st.booleans())
    def report(self, o: int, n: int, succeeded: bool) -> None:
        """Also of what has ended, was never begun, or is told for the second time."""
        found = self.intents()
        plan, intent = found[n % len(found)]
        door, id = self.both[o].intents, self.id_of(plan, intent)
        self.both_do(
            lambda: door.report(id, succeeded=succeeded),
            lambda: self.model.report(plan, intent, succeeded=succeeded),
        )

    # -- time ---------------------------------------------------------------------------------

    @rule(o=either)
    def cycle(self, o: int) -> None:
        eligible = self.model.eligible()
        self.both[o].cycle()
        self.follow(eligible)

    def follow(self, eligible: dict[str, list[Plan]]) -> None:
        """Which of several that may be activated is chosen is the product's own affair."""
        active = {
            str(row[0])
            for row in self.look.execute("select subject from ledger where kind = 'PLAN_ACTIVATED'")
        }
        chosen = []
        for account, those in eligible.items():
            found = [plan for plan in those if plan.plan_id in active]
            assert len(found) == 1, f"one of {account}'s plans is activated"
            chosen += found
        self.model.cycle(chosen)

    @rule(o=either, mode=st.sampled_from(sorted(MODES)))
    def act(self, o: int, mode: str) -> None:
        """Carry out what is asked for at this moment, each plan's action at most."""
        one = self.both[o]
        one.answers = {"": MODES[mode]}
        one.act()
        for plan in list(self.model.plans.values()):
            intent = plan.under_way()
            if plan.status != "ACTIVE" or intent is None or intent.state != "APPROVED":
                continue
            if plan.expires_at <= self.model.now:
                continue
            self.model.begin(plan, intent)
            if mode != "later":
                self.model.report(plan, intent, succeeded=mode == "succeed")

    @rule(seconds=st.sampled_from(SPANS))
    def time_passes(self, seconds: int) -> None:
        self.model.now += seconds * SECOND
        self.look.execute(f"update clock set now_at = {self.model.now}")

    # -- what must hold -----------------------------------------------------------------------

    @invariant()
    def the_model_agrees(self) -> None:
        sound(self.look)
        plans = {
            str(row[0]): tuple(row[1:])
            for row in self.look.execute("select plan_id, status, completion_reason from plans")
        }
        assert plans == {p.plan_id: (p.status, p.reason) for p in self.model.plans.values()}
        steps = sorted(
            (str(plan_id), *row)
            for plan_id, *row in self.look.execute(
                "select plan_id, step_id, status, attempts, spared from plan_steps"
            )
        )
        assert steps == sorted(
            (p.plan_id, s.step_id, s.status, s.attempts, s.spared)
            for p in self.model.plans.values()
            for s in p.steps
        )
        intents = sorted(
            (str(plan_id), step_id, attempt, state, bool(is_late))
            for plan_id, step_id, attempt, state, is_late in self.look.execute(
                "select plan_id, step_id, attempt, state, is_late from intents"
            )
        )
        assert intents == sorted(
            (p.plan_id, i.step.step_id, i.attempt, i.state, i.is_late) for p, i in self.intents()
        )


@pytest.mark.req("A-01", "A-04", "A-05", "A-06", "A-07", "A-08", "A-09", "A-10", "A-12")
@pytest.mark.parametrize(
    "engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
)
def test_no_history_of_plans_is_unlike_the_model(databases: Databases, engine: EngineName) -> None:
    machine = type("Machine", (PlansMachine,), {"databases": databases, "engine": engine})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=10 if engine == "sqlite" else 4,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
