"""Every deed of plans, with its 1st step failing, then its 2nd, until none is left to fail."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.carrying import ACME, AUTO, KIND, MEET, STEPS, Orchestrator, sound
from tests.databases import Clock, Place
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from watchkeeper.act_inputs import PlanIn, proposal_of
from watchkeeper.actions.propose_plan import propose_plan
from watchkeeper.actions.run_actions import end_actions, start_actions
from watchkeeper.actions.settle_attempts import bury
from watchkeeper.core.delivery import Dead, DeadReason
from watchkeeper.core.ids import TenantId
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.inputs import parse
from watchkeeper.moves.plans import NewPlan
from watchkeeper.moves.steps import Ending

TENANT = TenantId(ACME)
Prepared = Callable[[Orchestrator, Clock], Callable[[], object]]


@pytest.fixture
def one(place: Place) -> Iterator[Orchestrator]:
    made = Orchestrator(place.url)
    made.draft("zoe")
    made.app.carrier.makes_tenants = False
    made.app.on("plan.changed")(lambda _message: None)
    yield made
    made.close()


def wanted() -> NewPlan:
    steps = [{"action_type": name} for name in STEPS]
    return parse(PlanIn, {"account_id": "ann", "plan_type": KIND, "steps": steps}).plan()


def create(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    return lambda: one.app.carrier.create(TENANT, wanted(), by="ann")


def create_by_policy(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    one.app.apply_policy(f'{AUTO}[plan_types.{KIND}]\napproval = "policy"\n', reason="test")
    return create(one, clock)


def propose(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    new = proposal_of({"steps": [{"action_type": name} for name in (*STEPS, "X")]}, "ann", KIND)
    return lambda: propose_plan(one.app.carrier, TENANT, new, by="ann")


def edit(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    plan_id = one.draft(steps=[MEET])
    return lambda: one.app.carrier.edit(TENANT, plan_id, wanted(), by="ann")


def approve(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    plan_id = one.draft()
    return lambda: one.app.carrier.approve(TENANT, plan_id, by="ann")


def pause(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    plan_id = one.active()
    return lambda: one.app.carrier.pause(TENANT, plan_id, None, by="ann")


def resume(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    """Whose action waits to be asked for anew."""
    plan_id = one.active()
    one.plans.pause(plan_id, by="ann")
    return lambda: one.app.carrier.resume(TENANT, plan_id, None, by="ann")


def resume_to_completion(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    plan_id, intent = one.executing(steps=[MEET])
    one.plans.pause(plan_id, by="ann")
    one.intents.report(intent, succeeded=True)
    return lambda: one.app.carrier.resume(TENANT, plan_id, None, by="ann")


def abort(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    """Another plan of the same account waits for that."""
    plan_id = one.active()
    one.approved()
    one.cycle()
    return lambda: one.app.carrier.abort(TENANT, plan_id, None, by="ann")


def skip(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    plan_id, _ = one.executing()
    return lambda: one.app.carrier.skip(TENANT, plan_id, "step-1", "x", by="ann")


def tell(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    plan_id = one.active()
    return lambda: one.app.carrier.tell(TENANT, plan_id, {"a": 1}, by="ann")


def answer(one: Orchestrator, clock: Clock, *, yes: bool = True) -> Callable[[], object]:
    one.app.apply_policy("", reason="test")
    intent = one.under_way(one.active())
    if yes:
        return lambda: one.app.carrier.approve_intent(TENANT, intent, by="ann")
    return lambda: one.app.carrier.reject_intent(TENANT, intent, "no", by="ann")


def reject(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    return answer(one, clock, yes=False)


def report(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    _, intent = one.executing()
    return lambda: one.app.carrier.report(TENANT, intent, Ending(True, "fine"))


def start(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    one.active()
    messages = one.claim()
    return lambda: start_actions(one.db, messages, one.app.actions.keys())


def end(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    one.active()
    [message] = one.claim()
    [action] = one.start(message).values()
    ended = [Ended(message, action, DELIVERED)]
    return lambda: end_actions(one.app.carrier, one.app.registry, ended)


def end_at_the_limit(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    """The last attempt fails: the step, the plan and the news of it."""
    one.app.apply_policy(f"{AUTO}[plan_types.{KIND}]\nmax_retries_per_step = 1\n", reason="test")
    one.active()
    [message] = one.claim()
    [action] = one.start(message).values()
    ended = [Ended(message, action, DELIVERED, 7)]
    return lambda: end_actions(one.app.carrier, one.app.registry, ended)


def lose(one: Orchestrator, clock: Clock) -> Callable[[], object]:
    one.active()
    [message] = one.claim()
    one.start(message)
    dead = [(message, Dead(DeadReason.OUTCOME_UNKNOWN, "silent"))]
    return lambda: bury(one.db, one.app.registry, dead)


DEEDS = [create, create_by_policy, propose, edit, approve, pause, resume, resume_to_completion]
DEEDS += [abort, skip, tell, answer, reject, report, start, end, end_at_the_limit, lose]


@pytest.mark.req("A-01", "A-05", "A-08", "A-13")
@pytest.mark.parametrize("prepared", DEEDS, ids=lambda deed: deed.__name__)
def test_a_power_cut_leaves_all_or_nothing(one, clock, place, prepared: Prepared) -> None:
    deed = prepared(one, clock)
    before = contents(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                deed()
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    assert step >= 4, "fewer steps than the deed has statements: the cuts did not reach it"
    assert seen.count("commit") == 1, "one transaction"
    assert contents(place) != before
    sound(place)


@pytest.mark.req("A-11", "A-12")
def test_a_cycle_that_is_cut_goes_on_where_it_was(one, clock: Clock, place: Place) -> None:
    """It is two transactions: after a cut the first may have been, and all of it holds."""
    one.later()
    one.app.apply_policy(f'{AUTO}[plan_types.{KIND}]\napproval = "policy"\n', reason="test")
    ended = False
    for step in count(1):
        assert step < STEPS_MAX
        name = f"a{step}"
        made = [one.approved(f"{name}x"), one.approved(f"{name}x"), one.draft(f"{name}y")]
        try:
            with power_cut_at(step):
                one.cycle()
            ended = True
        except PowerCut:
            sound(place)
            one.cycle()
        statuses = [one.status(plan_id) for plan_id in made]
        assert sorted(statuses) == ["ACTIVE", "ACTIVE", "APPROVED"], step
        sound(place)
        one.act()
        if ended:
            break
    assert step >= 15
