"""A plan whose action is under way here is not read again; what was done to it meanwhile counts.

The worker begins each step with the end of the one before it, as a dispatcher does, but by hand.
The person has a process of their own. On PostgreSQL, where time goes by, the worker does not even
wait for what it takes to be so, and is refused where it is not: what comes of it is the same.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.actions.test_turn_races import at_once
from tests.carrying import (
    ACME,
    AUTO,
    ESCALATE,
    KIND,
    MEET,
    STEPS,
    Orchestrator,
    entries,
    kinds,
    messages,
    sound,
)
from tests.conftest import POSTGRESQL
from tests.databases import SET_CLOCK, START_AT, Clock, EngineName, Place
from watchkeeper.act_results import Action, Outcome
from watchkeeper.actions.deliver_messages import finish
from watchkeeper.core.ids import IntentId, MessageId, PlanId, TenantId, Token
from watchkeeper.core.time import HOUR, from_datetime
from watchkeeper.errors import Conflict
from watchkeeper.handlers.registry import DELIVERED, Ended, Follow
from watchkeeper.ids import new_id, new_token
from watchkeeper.moves.plan_desk import CYCLE
from watchkeeper.store import plan_ends, tenants
from watchkeeper.store.leases import Message
from watchkeeper.store.plan_ends import Known

Running = tuple[Message, Action]
LEASE_US = 10 * HOUR


class Carrier(Orchestrator):
    """One that begins what follows in the transaction that made it possible."""

    def carry(self, *ended: Ended) -> list[Running]:
        """Write how these ended; what was begun with that."""
        follow = Follow(Token(new_token()), LEASE_US, 100)
        finish(self.db, self.app.registry, ended, lambda _topic: follow)
        return follow.begun

    def carry_cycle(self) -> list[Running]:
        return self.carry(*[Ended(m, m, DELIVERED) for m in self.claim(CYCLE)])

    def go_on(self, running: Running, succeeded: bool = True) -> list[Running]:
        return self.carry(ended(running, succeeded))

    def second(self, account: str = "ann", steps: Any = STEPS, **more: Any) -> tuple[str, Running]:
        """A plan whose second step was begun by whoever ended the first; and that action."""
        plan_id = self.approved(account, steps, **more)
        [first] = self.carry_cycle()
        [second] = self.go_on(first)
        assert (second[1].plan_id, second[1].step_id) == (plan_id, "step-2")
        return plan_id, second


def ended(running: Running, succeeded: bool = True) -> Ended:
    answer = Outcome.success() if succeeded else Outcome.failure("no")
    return Ended(*running, DELIVERED, answer)


GUESSED = pytest.param("guessed", marks=pytest.mark.postgresql)


@pytest.fixture(params=["sqlite", POSTGRESQL, GUESSED])
def way(request: pytest.FixtureRequest) -> str:
    """The engine; or PostgreSQL in real time, where the worker decides before it has read."""
    return request.param


@pytest.fixture
def engine(way: str) -> EngineName:
    return "sqlite" if way == "sqlite" else "postgresql"


while_time_stands = pytest.mark.parametrize("way", ["sqlite", POSTGRESQL], indirect=True)


@pytest.fixture
def worker(place: Place, clock: Clock, way: str) -> Iterator[Carrier]:
    if way == "guessed":
        clock.make_real()
    made = Carrier(place.url)
    yield made
    sound(place)
    for count, last in place.execute("select count(*), max(seq) from ledger group by tenant_id"):
        assert count == last, "the ledger has no gaps"
    made.close()


@pytest.fixture
def person(place: Place, worker: Carrier) -> Iterator[Orchestrator]:
    """Without a policy of its own, and without a word on what the objective is."""
    made = Orchestrator(place.url, None)
    yield made
    made.close()


def late(place: Place, plan_id: str) -> list[tuple[str, bool]]:
    told = entries(place, plan_id, "OUTCOME_LATE")
    return [(entry["step_id"], entry["succeeded"]) for entry in told]


def to_its_end(worker: Carrier, running: list[Running]) -> None:
    """Carry out what was begun, what follows from it, and what waits in the outbox."""
    while running:
        running = [more for one in running for more in worker.go_on(one)]
    worker.drain()


# -- while nothing happens ------------------------------------------------------------------------


@pytest.mark.req("A-09", "A-11")
def test_a_plan_that_is_as_it_was_left_is_not_read(
    worker, place: Place, engine: EngineName
) -> None:
    """What is written past the plan's row, as nobody in the product does, is seen by readers."""
    plan_id, second = worker.second()
    place.execute("update plan_steps set reason = 'outcome_unknown' where step_id = 'step-3'")
    [third] = worker.go_on(second)
    assert worker.steps(plan_id) == ["DONE", "DONE", "AUTO_EXECUTED"]
    [told] = messages(place)
    is_read = engine == "sqlite"
    assert told["detail"].get("is_suspect", False) == is_read
    assert worker.go_on(third) == []
    assert worker.status(plan_id) == "COMPLETED"
    assert [kind for kind in kinds(place, plan_id) if kind.startswith("STEP")] == [
        "STEP_STARTED",
        "STEP_COMPLETED",
    ] * 3


@pytest.mark.req("A-05", "A-09")
def test_of_many_plans_those_that_changed_are_read(worker, person, place: Place) -> None:
    """More than are judged before the first are written."""
    worker.app.apply_policy(AUTO + "[plans]\nper_cycle_max = 100\n", reason="many")
    made = [worker.approved(f"a{n}") for n in range(70)]
    first = worker.carry_cycle()
    second = worker.carry(*map(ended, first))
    assert len(second) == 70
    paused, aborted = made[::7], made[3::7]
    for plan_id in paused:
        person.plans.pause(plan_id, by="ann")
    for plan_id in aborted:
        person.plans.abort(plan_id, by="ann")
    third = worker.carry(*map(ended, second))
    assert {action.plan_id for _, action in third} == set(made) - {*paused, *aborted}
    assert worker.carry(*map(ended, third)) == []
    for plan_id in made:
        if plan_id in paused:
            expected = "PAUSED", ["DONE", "DONE", "PENDING"]
        elif plan_id in aborted:
            expected = "ABORTED", ["DONE", "AUTO_EXECUTED", "PENDING"]
        else:
            expected = "COMPLETED", ["DONE", "DONE", "DONE"]
        assert (worker.status(plan_id), worker.steps(plan_id)) == expected


# -- while an action is under way ------------------------------------------------------------------


@pytest.mark.req("A-01", "A-09", "A-10")
@pytest.mark.parametrize("succeeded", [True, False])
def test_paused(worker, person, place: Place, succeeded: bool) -> None:
    plan_id, second = worker.second()
    person.plans.pause(plan_id, by="ann")
    assert worker.go_on(second, succeeded) == []
    outcome = "DONE" if succeeded else "FAILED"
    assert (worker.status(plan_id), worker.steps(plan_id)) == (
        "PAUSED",
        ["DONE", outcome, "PENDING"],
    )
    assert messages(place) == []
    person.plans.resume(plan_id, by="ann")
    worker.drain()
    if succeeded:
        assert worker.status(plan_id) == "COMPLETED"
    else:
        assert worker.get(plan_id).steps[1].attempts == 2, "there is no need to wait"
    assert late(place, plan_id) == []


@pytest.mark.req("A-01", "A-09", "A-10")
def test_paused_and_resumed(worker, person, place: Place) -> None:
    plan_id, second = worker.second()
    person.plans.pause(plan_id, by="ann")
    person.plans.resume(plan_id, by="ann")
    [third] = worker.go_on(second)
    assert third[1].step_id == "step-3"
    assert worker.go_on(third) == []
    assert worker.status(plan_id) == "COMPLETED"
    assert kinds(place, plan_id).count("STEP_STARTED") == 3


@pytest.mark.req("A-10")
@pytest.mark.parametrize("succeeded", [True, False])
def test_aborted(worker, person, place: Place, succeeded: bool) -> None:
    plan_id, second = worker.second()
    person.plans.abort(plan_id, by="ann")
    assert worker.go_on(second, succeeded) == []
    assert worker.steps(plan_id) == ["DONE", "AUTO_EXECUTED", "PENDING"]
    assert worker.status(plan_id) == "ABORTED"
    assert late(place, plan_id) == [("step-2", succeeded)]
    stored = worker.intents.get(second[1].intent_id)
    assert (stored.is_late, stored.status) == (True, "SUCCEEDED" if succeeded else "FAILED")


@pytest.mark.req("A-04", "A-10")
def test_told_what_meets_the_objective(worker, person, place: Place) -> None:
    """By somebody who cannot judge it: the worker can."""
    worker.app.objective(KIND)(lambda facts: facts.get("renewed") is True)
    plan_id, second = worker.second()
    person.plans.tell(plan_id, {"renewed": True})
    assert person.status(plan_id) == "ACTIVE"
    assert worker.go_on(second) == []
    plan = worker.get(plan_id)
    assert (plan.status, plan.completion_reason) == ("COMPLETED", "objective_met")
    assert worker.steps(plan_id) == ["DONE", "DONE", "PENDING"]


@pytest.mark.req("A-05", "A-06", "A-10")
def test_a_later_step_is_skipped(worker, person, place: Place) -> None:
    plan_id, second = worker.second()
    person.plans.skip(plan_id, "step-3", "no need", by="ann")
    assert worker.go_on(second) == []
    assert worker.steps(plan_id) == ["DONE", "DONE", "SKIPPED"]
    worker.drain()
    assert worker.calls == []
    assert kinds(place, plan_id).count("STEP_STARTED") == 2


@pytest.mark.req("A-10")
@pytest.mark.parametrize("succeeded", [True, False])
def test_the_step_itself_is_skipped(worker, person, place: Place, succeeded: bool) -> None:
    plan_id, second = worker.second()
    person.plans.skip(plan_id, "step-2", "no need", by="ann")
    assert worker.steps(plan_id) == ["DONE", "SKIPPED", "AUTO_EXECUTED"]
    third = worker.under_way(plan_id)
    assert worker.go_on(second, succeeded) == []
    assert late(place, plan_id) == [("step-2", succeeded)]
    assert worker.steps(plan_id) == ["DONE", "SKIPPED", "AUTO_EXECUTED"]
    assert worker.under_way(plan_id) == third
    worker.drain()
    assert worker.calls == [(plan_id, "step-3", 1)]
    assert worker.get(plan_id).intents[-1].status == "SUCCEEDED"


@pytest.mark.req("A-09", "A-10")
@pytest.mark.parametrize("succeeded", [True, False])
def test_its_outcome_is_reported_by_hand(worker, person, place: Place, succeeded: bool) -> None:
    plan_id, second = worker.second()
    person.intents.report(second[1].intent_id, succeeded=True)
    third = worker.under_way(plan_id)
    assert worker.go_on(second, succeeded) == []
    assert late(place, plan_id) == ([] if succeeded else [("step-2", False)])
    assert worker.intents.get(second[1].intent_id).status == "SUCCEEDED"
    assert worker.under_way(plan_id) == third
    worker.drain()
    assert worker.calls == [(plan_id, "step-3", 1)]
    assert worker.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-04", "A-10")
def test_it_expires(worker, place: Place, clock: Clock, way: str) -> None:
    """Time jumps: what the worker took it to be is of no importance."""
    plan_id, second = worker.second()
    if way == "guessed":
        place.execute(SET_CLOCK.format(now=int(START_AT)))
    clock.set(from_datetime(worker.get(plan_id).expires_at))
    assert worker.go_on(second) == []
    assert worker.status(plan_id) == "EXPIRED"
    assert worker.steps(plan_id)[2] == "PENDING"


@pytest.mark.req("A-09", "A-12")
def test_another_carries_it_on_and_it_comes_back(worker, person, place: Place) -> None:
    """What was remembered for an action of long ago is of no use for a later one."""
    plan_id, second = worker.second()
    person.intents.report(second[1].intent_id, succeeded=True)
    person.app.drain()
    assert [call[1] for call in person.calls] == ["step-3"]
    assert worker.go_on(second, False) == []
    assert worker.status(plan_id) == "COMPLETED"
    assert late(place, plan_id) == [("step-2", False)]
    assert worker.calls == []


# -- what plans are judged by, besides themselves --------------------------------------------------


@pytest.mark.req("A-09")
@pytest.mark.parametrize("tenant", [ACME, "_system"])
def test_a_kill_switch(worker, person, place: Place, tenant: str) -> None:
    plan_id, second = worker.second()
    person.app.kill("action", ESCALATE, reason="wait", tenant_id=tenant)
    assert worker.go_on(second) == []
    assert worker.steps(plan_id) == ["DONE", "DONE", "PENDING"]
    assert "kill switch" in worker.plans.why(plan_id).waits_for
    worker.drain()
    assert worker.calls == []


@pytest.mark.req("A-08")
def test_another_policy(worker, person, place: Place) -> None:
    plan_id, second = worker.second()
    person.app.apply_policy('[autonomy]\nmode = "approve_each"\n', reason="people shall see it")
    assert worker.go_on(second) == []
    assert worker.steps(plan_id) == ["DONE", "DONE", "PENDING_APPROVAL"]


@pytest.mark.req("A-08")
def test_another_risk(worker, person, place: Place) -> None:
    plan_id, second = worker.second()
    place.execute(f"update action_types set risk = 2 where action_type = '{ESCALATE}'")
    assert worker.go_on(second) == []
    assert worker.steps(plan_id) == ["DONE", "DONE", "PENDING_APPROVAL"]


@pytest.mark.req("A-08")
def test_the_autonomy_of_the_day_is_used_up(worker, person, place: Place) -> None:
    worker.app.apply_policy(AUTO + "auto_per_day_max = 3\n", reason="few")
    plan_id, second = worker.second()
    other = person.approved("bob", [MEET])
    person.cycle()
    assert person.steps(other) == ["AUTO_EXECUTED"]
    assert worker.go_on(second) == []
    assert worker.steps(plan_id) == ["DONE", "DONE", "PENDING_APPROVAL"]
    assert place.execute("select used from autonomy_days") == [(3,)]


@pytest.mark.req("A-03")
def test_somebody_waits_for_its_place(worker, person, place: Place) -> None:
    """Who ends the active plan of an account wakes the next, also one that came meanwhile."""
    plan_id, second = worker.second(steps=STEPS[:2])
    waiting = person.approved()
    person.cycle()
    assert person.status(waiting) == "APPROVED"
    assert worker.go_on(second) == []
    assert worker.status(plan_id) == "COMPLETED"
    worker.carry_cycle()
    assert worker.status(waiting) == "ACTIVE"


@pytest.mark.req("A-11")
def test_an_earlier_cycle_was_planned(worker, person, place: Place) -> None:
    plan_id, second = worker.second()
    other = person.approved("bob")
    [third] = worker.go_on(second)
    assert len(messages(place, CYCLE)) >= 1
    worker.carry_cycle()
    assert worker.status(other) == "ACTIVE"
    assert worker.go_on(third) == []
    assert worker.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-09", "A-12")
def test_somebody_else_holds_the_message(worker, person, place: Place) -> None:
    plan_id, second = worker.second()
    place.execute(f"update outbox set locked_by = '{new_token()}' where id = '{second[0].id}'")
    assert worker.go_on(second) == []
    assert worker.steps(plan_id) == ["DONE", "AUTO_EXECUTED", "PENDING"]
    assert late(place, plan_id) == []


# -- an outcome that is late, while the next attempt is under way here -----------------------------


def with_a_late_one(worker: Carrier, clock: Clock, steps: Any) -> tuple[str, str, Running]:
    """A plan whose first action is carried out outside though it was skipped; that intent; and the
    second attempt of the second step, which a cycle has begun."""
    plan_id = worker.approved(steps=steps)
    [first] = worker.carry_cycle()
    assert worker.carry(Ended(*first, DELIVERED, Outcome.later())) == []
    worker.plans.skip(plan_id, "step-1", "no need", by="ann")
    [message] = worker.claim()
    [action] = worker.start(message).values()
    assert worker.go_on((message, action), False) == []
    clock.advance(minutes=5)
    [again] = worker.carry_cycle()
    assert (again[1].step_id, again[1].attempt) == ("step-2", 2)
    return plan_id, first[1].intent_id, again


@while_time_stands
@pytest.mark.req("A-09", "A-10")
def test_a_late_outcome_of_another_step_comes_before_the_last_one_ends(
    worker, person, place: Place, clock: Clock
) -> None:
    """It changes neither the plan nor the attempt that is under way; it is over all the same."""
    plan_id, late_one, again = with_a_late_one(worker, clock, STEPS[:2])
    person.intents.report(late_one, succeeded=True)
    assert late(place, plan_id) == [("step-1", True)]
    assert worker.go_on(again) == []
    assert worker.intents.get(again[1].intent_id).status == "SUCCEEDED"
    assert worker.steps(plan_id) == ["SKIPPED", "DONE"]
    assert worker.status(plan_id) == "COMPLETED"
    assert worker.intents.get(late_one).status == "SUCCEEDED"
    worker.drain()
    assert worker.calls == [], "nothing is carried out a second time"


@while_time_stands
@pytest.mark.req("A-09", "A-10")
def test_a_late_outcome_of_another_step_is_not_timed_out_again(
    worker, person, place: Place, clock: Clock
) -> None:
    worker.app.apply_policy(AUTO + "[plans]\noutcome_timeout_seconds = 3600\n", reason="soon")
    plan_id, late_one, again = with_a_late_one(worker, clock, STEPS)
    person.intents.report(late_one, succeeded=True)
    clock.advance(minutes=56)  # the time of the late one is over, that of the other is not
    [third] = worker.go_on(again)
    assert worker.steps(plan_id) == ["SKIPPED", "DONE", "AUTO_EXECUTED"]
    assert late(place, plan_id) == [("step-1", True)]
    to_its_end(worker, [third])
    assert worker.status(plan_id) == "COMPLETED"


@while_time_stands
@pytest.mark.req("A-05", "A-09", "A-10")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["old first", "new first"])
def test_two_attempts_of_one_plan_end_together(
    worker, place: Place, clock: Clock, order: tuple[int, int]
) -> None:
    """The first fell silent for too long and was given up; then both say how they ended."""
    worker.app.apply_policy(AUTO + "[plans]\noutcome_timeout_seconds = 600\n", reason="soon")
    plan_id, old = worker.second()
    clock.advance(minutes=10)
    worker.carry_cycle()
    assert worker.steps(plan_id)[1] == "FAILED"
    clock.advance(minutes=5)
    [new] = worker.carry_cycle()
    assert (new[1].step_id, new[1].attempt) == ("step-2", 2)
    both = [ended(old, False), ended(new)]
    worker.carry(*[both[n] for n in order])
    assert late(place, plan_id) == [("step-2", False)]
    assert worker.steps(plan_id) == ["DONE", "DONE", "AUTO_EXECUTED"]
    assert worker.intents.get(new[1].intent_id).status == "SUCCEEDED"
    assert worker.intents.get(old[1].intent_id).status == "FAILED"


# -- the fence -------------------------------------------------------------------------------------


@pytest.mark.req("A-09", "A-11")
@pytest.mark.parametrize("way", [POSTGRESQL], indirect=True)
def test_what_a_plan_is_known_by(worker, place: Place) -> None:
    plan_id, (message, action) = worker.second()
    other_id, _ = worker.second("bob")
    [(row,)] = place.execute(f"select xmin::text from plans where plan_id = '{plan_id}'")
    right = Known(PlanId(plan_id), row, IntentId(action.intent_id), message.id)

    def unchanged(*known: Known) -> set[MessageId]:
        with worker.db.batch(TenantId(ACME)) as tx:
            waiting = tenants.send_lock_and_time(tx)
            asked = plan_ends.send(tx, [], [], list(known))
            tenants.locked(tx, waiting)
            return plan_ends.read(tx, asked).unchanged

    assert unchanged(right) == {message.id}
    assert unchanged() == set()
    assert unchanged(right._replace(row=str(int(row) - 1))) == set()
    assert unchanged(right._replace(message_id=MessageId(new_id()))) == set()
    assert unchanged(right._replace(intent_id=IntentId(new_id()))) == set()
    first = worker.get(plan_id).intents[0].intent_id
    assert unchanged(right._replace(intent_id=IntentId(first))) == set()
    assert unchanged(right._replace(plan_id=PlanId(new_id()))) == set()
    place.execute(f"update intents set is_late = true where intent_id = '{action.intent_id}'")
    assert unchanged(right) == set()
    place.execute(f"update intents set is_late = false where intent_id = '{action.intent_id}'")
    assert unchanged(right) == {message.id}
    place.execute(f"update plans set due_at = due_at where plan_id = '{other_id}'")
    assert unchanged(right) == {message.id}
    place.execute(f"update plans set due_at = due_at where plan_id = '{plan_id}'")
    assert unchanged(right) == set()


# -- many at once ----------------------------------------------------------------------------------

CARRIERS, PEOPLE, PLANS, ROUNDS = 3, 2, 24, 12


def work(one: Carrier) -> None:
    """Cycles, claims, and what follows from them, as they come; nothing is left half done."""
    running: list[Running] = []
    for _ in range(ROUNDS):
        running += one.carry_cycle()
        running += [(m, a) for m in one.claim(limit=5) for a in one.start(m).values()]
        running = one.carry(*map(ended, running))
    while running:
        running = one.carry(*map(ended, running))


def meddle(person: Orchestrator, plan_ids: list[str]) -> None:
    for number, plan_id in enumerate(plan_ids):
        deeds = [
            lambda id: person.plans.pause(id, by="ann"),
            lambda id: person.plans.resume(id, by="ann"),
            lambda id: person.plans.tell(id, {"seen": True}),
        ]
        if number % 5 == 0:
            deeds.append(lambda id: person.plans.skip(id, "step-3", "no need", by="ann"))
        for deed in deeds:
            with contextlib.suppress(Conflict):  # the plan was quicker
                deed(plan_id)


@pytest.mark.req("A-05", "A-09", "A-12")
@pytest.mark.parametrize("way", [POSTGRESQL, GUESSED], indirect=True)
def test_many_carry_and_meddle_at_once(worker: Carrier, place: Place) -> None:
    """Each step is begun once and ends once; what people did to the plans counts."""
    worker.app.apply_policy(AUTO + "[plans]\nper_cycle_max = 100\n", reason="many")
    with contextlib.ExitStack() as stack:
        others = [Carrier(place.url, None) for _ in range(CARRIERS + PEOPLE - 1)]
        for one in others:
            stack.callback(one.close)
        those = [worker, *others]
        made = [worker.approved(f"a{n}") for n in range(PLANS)]

        def deed(n: int) -> None:
            if n < CARRIERS:
                work(those[n])
            else:
                meddle(those[n], made[n - CARRIERS :: PEOPLE])

        at_once(CARRIERS + PEOPLE, deed)
        for one in those:
            one.drain()
    for plan_id in made:
        assert worker.status(plan_id) == "COMPLETED"
        lines = kinds(place, plan_id)
        assert lines.count("PLAN_PAUSED") == lines.count("PLAN_RESUMED")
        assert "STEP_FAILED" not in lines
        skipped = lines.count("STEP_SKIPPED")
        assert 3 - skipped <= lines.count("STEP_STARTED") <= 3
        assert lines.count("STEP_COMPLETED") == 3 - skipped
