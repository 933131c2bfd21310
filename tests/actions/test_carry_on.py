"""A step that goes by itself is begun by whoever ended the one before, in one transaction."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.databases import Clock, Place
from watchkeeper.act_results import Action, Outcome, Plan
from watchkeeper.actions.claim_messages import claim
from watchkeeper.actions.dispatcher import Dispatcher
from watchkeeper.app import App
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.moves.plan_desk import CYCLE
from watchkeeper.store.outbox import NAMESPACE

WAIT = 60.0
NAMES = ["REQUEST_RENEWAL_MEETING", "PREP_RENEWAL_BRIEF", "ESCALATE_SUPPORT_RISK"]
POLICY = """
[autonomy]
mode = "auto_low_risk"
"""


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False)
    app.apply_policy(POLICY, reason="try")
    yield app
    app.close()


@pytest.fixture
def make(app: App) -> Iterator[Callable[[], Dispatcher]]:
    made: list[Dispatcher] = []

    def dispatcher() -> Dispatcher:
        made.append(Dispatcher(app.db, app.registry))
        return made[-1]

    yield dispatcher
    for one in made:
        one.dismiss(WAIT)


def until(question: Callable[[], Any]) -> None:
    for _ in range(int(WAIT / 0.005)):
        if question():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it did not happen in time")


def handled(app: App, calls: list[str], hold: threading.Event | None = None) -> None:
    for name in NAMES:

        @app.action(name, risk="low")
        def handle(action: Action) -> Outcome:
            calls.append(action.step_id)
            if hold is not None and (action.step_id, action.attempt) == ("step-2", 1):
                hold.wait(WAIT)
            return Outcome.success()


def begun(app: App, account: str = "a") -> Plan:
    plan = app.plans.create("acme", account, "RENEWAL_DEFENSE", NAMES)
    app.plans.approve(plan.plan_id, by="ann")
    app.plans.run_cycle("acme")
    return plan


@pytest.mark.req("A-05", "A-09", "A-11")
def test_steps_follow_without_another_claim(
    app: App, place: Place, make: Callable[[], Dispatcher]
) -> None:
    calls: list[str] = []
    handled(app, calls)
    plan = begun(app)
    dispatcher = make()
    until(lambda: dispatcher.step() and app.plans.get(plan.plan_id).status == "COMPLETED")
    assert calls == ["step-1", "step-2", "step-3"]
    first, *others = app.plans.get(plan.plan_id).intents
    assert all(one.executing_at == one.created_at for one in others), "born executing"
    until(lambda: dispatcher.step() and not dispatcher.held)
    found = place.execute("select attempts from outbox_delivered where topic = 'action.requested'")
    assert [row[0] for row in found] == [1, 1, 1]
    assert place.execute("select 1 from outbox where topic = 'action.requested'") == []
    assert first.attempt == 1


@pytest.mark.req("A-09")
def test_nothing_is_begun_at_a_kill_switch(app: App, make: Callable[[], Dispatcher]) -> None:
    calls: list[str] = []
    handled(app, calls)
    plan = begun(app)
    app.kill("action", NAMES[1], reason="wait", tenant_id="acme")
    dispatcher = make()
    until(lambda: dispatcher.step() and app.plans.get(plan.plan_id).steps[0].status == "DONE")
    until(lambda: dispatcher.step() and not dispatcher.held)
    assert calls == ["step-1"]
    assert "kill switch" in app.plans.why(plan.plan_id).waits_for


@pytest.mark.req("A-09", "O-14")
def test_a_worker_that_stops_begins_nothing(
    app: App, place: Place, make: Callable[[], Dispatcher]
) -> None:
    calls: list[str] = []
    handled(app, calls)
    plan = begun(app)
    dispatcher = make()
    dispatcher.step()
    until(lambda: calls == ["step-1"])
    until(
        lambda: (
            dispatcher.step(claiming=False)
            and app.plans.get(plan.plan_id).steps[0].status == "DONE"
        )
    )
    until(lambda: dispatcher.step(claiming=False) and not dispatcher.held)
    found = place.execute("select status from outbox where topic = 'action.requested'")
    assert [row[0] for row in found] == ["pending"]


@pytest.mark.req("A-09", "A-12", "O-10")
def test_what_was_begun_by_a_worker_that_died_is_unknown_and_tried_again(
    app: App, clock: Clock, make: Callable[[], Dispatcher]
) -> None:
    calls: list[str] = []
    hold = threading.Event()
    handled(app, calls, hold)
    plan = begun(app)
    dispatcher = make()
    until(lambda: dispatcher.step() and calls == ["step-1", "step-2"])
    for _ in range(3):  # this one never writes how the second step ended
        clock.advance(minutes=2)
        app.drain()
    shown = app.plans.get(plan.plan_id)
    second = [one for one in shown.intents if one.step_id == "step-2"]
    assert (second[0].status, second[0].reason) == ("FAILED", "outcome_unknown")
    assert [one.attempt for one in second] == [1, 2]
    assert shown.status == "COMPLETED"
    assert calls == ["step-1", "step-2", "step-2", "step-3"]
    hold.set()


@pytest.mark.req("A-09", "S-12")
def test_others_have_their_turn_before_what_follows(
    app: App, make: Callable[[], Dispatcher]
) -> None:
    """Where more is due than is claimed at once, steps wait in the outbox like everything else."""
    calls: list[str] = []
    handled(app, calls)
    plans = [begun(app, f"a{n}") for n in range(4)]
    dispatcher = make()
    dispatcher.batch_max = 2
    dispatcher.step()
    until(lambda: dispatcher.grow() or len(calls) == 2)
    dispatcher.step()
    waiting = [app.plans.get(plan.plan_id).intents[-1] for plan in plans]
    assert [one.executing_at for one in waiting if one.step_id == "step-2"] == [None, None]
    until(
        lambda: (
            dispatcher.step()
            and all(app.plans.get(plan.plan_id).status == "COMPLETED" for plan in plans)
        )
    )


@pytest.mark.req("A-09", "A-11")
def test_a_cycle_begins_with_what_it_makes_possible(
    app: App, place: Place, make: Callable[[], Dispatcher]
) -> None:
    """The end of its message, the activation and the first step are one transaction."""
    calls: list[str] = []
    handled(app, calls)
    plan = app.plans.create("acme", "a", "RENEWAL_DEFENSE", NAMES)
    app.plans.approve(plan.plan_id, by="ann")
    dispatcher = make()
    dispatcher.step()
    [first] = app.plans.get(plan.plan_id).intents
    assert first.executing_at == first.created_at, "born executing"
    done = place.execute("select done_at from outbox_delivered where topic = 'plan.cycle'")
    assert len(done) == 1
    until(lambda: dispatcher.step() and app.plans.get(plan.plan_id).status == "COMPLETED")
    assert calls == ["step-1", "step-2", "step-3"]
    assert dispatcher.counts["claimed"] == dispatcher.counts["delivered"] == 4


@pytest.mark.req("A-09", "A-11")
def test_a_cycle_begins_with_no_more_than_there_is_room_for(
    app: App, place: Place, make: Callable[[], Dispatcher]
) -> None:
    calls: list[str] = []
    handled(app, calls)
    app.apply_policy(
        POLICY + '[delivery.topics."action.requested"]\nconcurrency = 2\n', reason="few"
    )
    plans = [app.plans.create("acme", f"a{n}", "RENEWAL_DEFENSE", NAMES) for n in range(4)]
    for plan in plans:
        app.plans.approve(plan.plan_id, by="ann")
    dispatcher = make()
    dispatcher.step()
    born = [app.plans.get(plan.plan_id).intents[0].executing_at for plan in plans]
    assert [at is not None for at in born] == [True, True, False, False]
    until(
        lambda: (
            dispatcher.step()
            and all(app.plans.get(plan.plan_id).status == "COMPLETED" for plan in plans)
        )
    )
    assert len(calls) == 12


@pytest.mark.req("A-11", "A-12")
def test_who_lost_the_message_of_a_cycle_does_nothing(app: App, clock: Clock) -> None:
    plan = app.plans.create("acme", "a", "RENEWAL_DEFENSE", NAMES)
    app.plans.approve(plan.plan_id, by="ann")
    [(message, _)] = claim(app.db, app.registry, NAMESPACE, CYCLE, 1)
    clock.advance(minutes=10)
    [(again, _)] = claim(app.db, app.registry, NAMESPACE, CYCLE, 1)
    finish = app.registry.of(message).finish
    assert finish is not None
    assert finish(app.db, [Ended(message, message, DELIVERED)]) == set()
    assert app.plans.get(plan.plan_id).status == "APPROVED"
    assert finish(app.db, [Ended(again, again, DELIVERED)]) == {again.id}
    assert app.plans.get(plan.plan_id).status == "ACTIVE"


@pytest.mark.req("A-11")
def test_a_plan_is_not_written_for_a_later_look(app: App, place: Place, clock: Clock) -> None:
    """A cycle that comes for an earlier step's deadline finds nothing to do and asks again."""

    @app.action(NAMES[0], risk="low")
    def first(_action: Action) -> Outcome:
        return Outcome.success()

    @app.action(NAMES[1], risk="low")
    def second(_action: Action) -> Outcome:
        return Outcome.later()

    app.apply_policy(POLICY + "[plans]\noutcome_timeout_seconds = 600\n", reason="soon")
    plan = app.plans.create("acme", "a", "RENEWAL_DEFENSE", NAMES)
    app.plans.approve(plan.plan_id, by="ann")
    app.plans.run_cycle("acme")
    [(due_at,)] = place.execute("select due_at from plans")
    clock.advance(minutes=5)
    app.drain()
    assert place.execute("select due_at from plans") == [(due_at,)]
    clock.advance(minutes=6)
    app.drain()
    [(later_at,)] = place.execute("select due_at from plans")
    assert later_at > due_at
    assert app.plans.get(plan.plan_id).steps[1].status == "AUTO_EXECUTED"
    clock.advance(minutes=5)
    app.drain()
    assert app.plans.get(plan.plan_id).steps[1].reason == "outcome_unknown"
