"""Outcomes that come late, twice, or at the same instant as something else: one thing happens."""

import itertools
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.carrying import (
    MEET,
    STEPS,
    Orchestrator,
    document,
    entries,
    kinds,
    sound,
)
from tests.databases import START, Clock, Place
from watchkeeper.core.time import HOUR
from watchkeeper.errors import Conflict

ENDS = ("PLAN_COMPLETED", "PLAN_ABORTED", "PLAN_EXPIRED")


@pytest.fixture
def one(place: Place) -> Iterator[Orchestrator]:
    made = Orchestrator(place.url)
    yield made
    sound(place)
    made.close()


def late(place: Place, plan_id: str) -> list[bool]:
    return [entry["succeeded"] for entry in entries(place, plan_id, "OUTCOME_LATE")]


def standing(one: Orchestrator, plan_id: str) -> tuple:
    plan = one.get(plan_id)
    return plan.status, [(step.status, step.attempts) for step in plan.steps]


# -- late ------------------------------------------------------------------------------------------


@pytest.mark.req("A-09", "A-10")
@pytest.mark.parametrize("succeeded", [True, False])
def test_after_its_time_an_outcome_is_recorded_and_changes_nothing(one, place, clock, succeeded):
    plan_id, intent = one.executing()
    clock.advance(hours=24, microseconds=-1)
    one.drain()
    assert one.steps(plan_id)[0] == "AUTO_EXECUTED"
    clock.advance(microseconds=1)
    one.drain()
    assert one.steps(plan_id)[0] == "FAILED"
    assert entries(place, plan_id, "STEP_FAILED")[0]["reason"] == "outcome_unknown"
    assert one.intents.get(intent).reason == "outcome_unknown"
    before = standing(one, plan_id)
    one.intents.report(intent, succeeded=succeeded)
    assert late(place, plan_id) == [succeeded]
    assert standing(one, plan_id) == before
    clock.advance(60)
    one.later()
    one.drain()
    second = one.under_way(plan_id)
    one.intents.report(intent, succeeded=True)
    assert one.steps(plan_id)[0] == "AUTO_EXECUTED", "the second attempt is another one"
    one.intents.report(second, succeeded=True)
    assert one.steps(plan_id)[0] == "DONE"


def skip(one: Orchestrator, plan_id: str, clock: Clock) -> None:
    one.plans.skip(plan_id, "step-1", "no need", by="ann")


def abort(one: Orchestrator, plan_id: str, clock: Clock) -> None:
    one.plans.abort(plan_id, by="ann")


def expire(one: Orchestrator, plan_id: str, clock: Clock) -> None:
    clock.advance(hours=1)
    one.cycle()


@pytest.mark.req("A-10")
@pytest.mark.parametrize("deed", [skip, abort, expire], ids=lambda deed: deed.__name__)
@pytest.mark.parametrize("steps", [STEPS, STEPS[:1]], ids=["many", "one"])
def test_after_the_plan_went_on_without_it(one, place, clock, deed, steps) -> None:
    plan_id, intent = one.executing(steps=steps, expires_at=START + timedelta(hours=1))
    deed(one, plan_id, clock)
    assert one.intents.get(intent).is_late
    before = standing(one, plan_id)
    one.intents.report(intent, succeeded=False, detail="it broke")
    assert standing(one, plan_id) == before
    assert late(place, plan_id) == [False]
    assert one.intents.get(intent).status == "FAILED"
    one.intents.report(intent, succeeded=False)
    assert late(place, plan_id) == [False], "the same again changes nothing at all"
    one.intents.report(intent, succeeded=True)
    assert late(place, plan_id) == [False, True]
    assert standing(one, plan_id) == before
    assert one.intents.get(intent).status == "FAILED"


@pytest.mark.req("A-10")
@pytest.mark.parametrize("deed", [skip, abort, expire], ids=lambda deed: deed.__name__)
def test_from_a_handler_that_was_inside(one, place, clock, deed) -> None:
    plan_id = one.active(expires_at=START + timedelta(hours=1))
    [message] = one.claim()
    [action] = one.start(message).values()
    deed(one, plan_id, clock)
    before = standing(one, plan_id)
    assert one.end(message, action) == {"delivered": 1}
    assert standing(one, plan_id) == before
    assert late(place, plan_id) == [True]


@pytest.mark.req("A-10")
@pytest.mark.parametrize("deed", [skip, abort, expire], ids=lambda deed: deed.__name__)
def test_what_nobody_has_begun_with_is_cancelled(one, place, clock, deed) -> None:
    plan_id = one.active(expires_at=START + timedelta(hours=1))
    intent = one.under_way(plan_id)
    deed(one, plan_id, clock)
    assert one.intents.get(intent).status == "CANCELLED"
    with pytest.raises(Conflict):
        one.intents.report(intent, succeeded=True)
    one.act()
    assert [call for call in one.calls if call[1] == "step-1"] == []


@pytest.mark.req("A-10")
def test_one_that_never_comes_ends_in_its_time_though_the_plan_is_over(one, place, clock) -> None:
    plan_id, intent = one.executing(steps=[MEET])
    one.plans.abort(plan_id, by="ann")
    clock.advance(hours=24)
    one.drain()
    assert one.intents.get(intent).status == "FAILED"
    assert late(place, plan_id) == [False]
    assert place.execute("select due_at from plans") == [(None,)]
    assert place.execute("select count(*) from plan_cycles") == [(0,)]


@pytest.mark.req("A-09")
def test_an_outcome_twice_counts_once(one: Orchestrator, place: Place) -> None:
    plan_id, intent = one.executing()
    one.intents.report(intent, succeeded=True)
    before = kinds(place)
    one.intents.report(intent, succeeded=True)
    assert kinds(place) == before
    one.intents.report(intent, succeeded=False)
    assert kinds(place) == [*before, "OUTCOME_LATE"]
    assert one.steps(plan_id)[0] == "DONE"


# -- while paused ----------------------------------------------------------------------------------


@pytest.mark.req("A-10")
def test_an_outcome_while_paused_is_recorded_and_completion_follows_resume(one, place) -> None:
    plan_id, intent = one.executing(steps=[MEET])
    one.plans.pause(plan_id, by="ann")
    one.intents.report(intent, succeeded=True)
    assert standing(one, plan_id) == ("PAUSED", [("DONE", 1)])
    one.drain()
    assert one.status(plan_id) == "PAUSED"
    one.plans.resume(plan_id, by="ann")
    assert one.status(plan_id) == "COMPLETED"
    assert kinds(place, plan_id)[-3:] == ["STEP_COMPLETED", "PLAN_RESUMED", "PLAN_COMPLETED"]


@pytest.mark.req("A-10")
def test_a_failure_while_paused_waits_for_resume_too(one, place: Place, clock: Clock) -> None:
    plan_id, intent = one.executing(steps=[MEET])
    one.plans.pause(plan_id, by="ann")
    one.intents.report(intent, succeeded=False)
    clock.advance(hours=2)
    one.drain()
    assert standing(one, plan_id) == ("PAUSED", [("FAILED", 1)])
    one.plans.resume(plan_id, by="ann")
    assert standing(one, plan_id) == ("ACTIVE", [("AUTO_EXECUTED", 2)])


@pytest.mark.req("A-10")
def test_a_paused_plan_expires(one: Orchestrator, clock: Clock, place: Place) -> None:
    plan_id = one.active(expires_at=START + timedelta(hours=1))
    one.plans.pause(plan_id, by="ann")
    clock.advance(hours=1)
    one.drain()
    assert one.status(plan_id) == "EXPIRED"
    with pytest.raises(Conflict):
        one.plans.resume(plan_id, by="ann")


@pytest.mark.req("A-10")
def test_resumed_at_the_instant_at_which_it_expires(one, clock: Clock, place: Place) -> None:
    plan_id = one.active(expires_at=START + timedelta(hours=1))
    one.plans.pause(plan_id, by="ann")
    clock.advance(hours=1)
    one.plans.resume(plan_id, by="ann")
    assert one.status(plan_id) == "EXPIRED"
    one.act()
    assert one.calls == []


@pytest.mark.req("A-04", "A-08")
def test_an_approval_that_nobody_gave_and_expiry_at_one_instant(one, clock, place) -> None:
    """It expires, and that is all: nobody is told that it was rejected and paused as well."""
    one.app.apply_policy("[autonomy]\napproval_hours = 1\n", reason="test")
    plan_id = one.active(expires_at=START + timedelta(hours=1))
    intent = one.under_way(plan_id)
    clock.advance(hours=1)
    one.drain()
    assert one.status(plan_id) == "EXPIRED"
    assert one.intents.get(intent).status == "CANCELLED"
    assert kinds(place, plan_id)[-2:] == ["STEP_STARTED", "PLAN_EXPIRED"]


# -- at the same instant ---------------------------------------------------------------------------


def play(one: Orchestrator, tenant: str, order: tuple[str, ...]) -> tuple[str, list[str]]:
    """Deeds on one plan of a tenant, one after the other; who comes too late is refused."""
    [plan] = one.plans.list(tenant)
    [intent] = plan.intents
    done = []
    for deed in order:
        try:
            match deed:
                case "report":
                    one.intents.report(intent.intent_id, succeeded=True)
                case "skip":
                    one.plans.skip(plan.plan_id, "step-1", "no need", by="ann")
                case "cycle":
                    one.plans.run_cycle(tenant)
                case _:
                    getattr(one.plans, deed)(plan.plan_id, by="ann")
            done.append(deed)
        except Conflict:
            pass
    return plan.plan_id, done


def prepared(one: Orchestrator, orders: list[tuple[str, ...]], **more: object) -> list[str]:
    """A tenant for each order, with a plan of one step whose action is being carried out."""
    heard: list[object] = []
    one.app.on("plan.changed")(heard.append)
    tenants = [f"t{n}" for n in range(len(orders))]
    one.later()
    for tenant in tenants:
        one.approved(tenant=tenant, steps=[MEET], **more)
    one.plans.run_cycle()
    one.act()
    return tenants


def news(place: Place, tenant: str) -> list[str]:
    """What is told of a plan, to whoever listens for changes."""
    rows = place.execute(
        "select payload from outbox where topic = 'plan.changed'"
        f" and tenant_id = '{tenant}' order by seq"
    )
    return [document(row[0])["detail"]["status"] for row in rows]


@pytest.mark.req("A-01", "A-04", "A-10")
def test_at_the_instant_of_expiry_one_end_and_what_belongs_to_it(one, place, clock) -> None:
    orders = list(itertools.permutations(["report", "abort", "cycle", "skip"]))
    tenants = prepared(one, orders, expires_at=START + timedelta(hours=1))
    clock.advance(microseconds=HOUR)
    for tenant, order in zip(tenants, orders, strict=True):
        plan_id, _done = play(one, tenant, order)
        expected = "ABORTED" if order[0] == "abort" else "EXPIRED"
        assert one.status(plan_id) == expected, order
        ends = [kind for kind in kinds(place, plan_id) if kind in ENDS]
        assert ends == [f"PLAN_{expected}"], order
        assert [s for s in news(place, tenant) if f"PLAN_{s}" in ENDS] == [expected], order
        expected_step = {"report": "DONE", "skip": "SKIPPED"}.get(order[0], "AUTO_EXECUTED")
        assert one.steps(plan_id) == [expected_step], order


@pytest.mark.req("A-01", "A-10")
def test_stopping_skipping_and_an_outcome_in_every_order(one, place: Place) -> None:
    orders = list(itertools.permutations(["report", "abort", "pause", "skip"]))
    tenants = prepared(one, orders)
    for tenant, order in zip(tenants, orders, strict=True):
        plan_id, done = play(one, tenant, order)
        first = next(deed for deed in order if deed != "pause")
        is_paused_before = "pause" in order[: order.index(first) + 1]
        plan = one.get(plan_id)
        if first == "abort" or is_paused_before:
            assert plan.status == "ABORTED", order
        else:
            assert plan.status == "COMPLETED", order
            assert "abort" not in done
        ends = [kind for kind in kinds(place, plan_id) if kind in ENDS]
        assert ends == [f"PLAN_{plan.status}"], order
        if first in ("report", "skip"):
            expected = {"report": "DONE", "skip": "SKIPPED"}[first]
            assert [step.status for step in plan.steps] == [expected], order
        lines = kinds(place, plan_id)
        assert lines.count("STEP_COMPLETED") + lines.count("STEP_SKIPPED") <= 1, order
        assert lines.count("OUTCOME_LATE") == (first != "report"), order


@pytest.mark.req("A-09")
def test_somebody_may_carry_out_by_hand_what_was_approved(one: Orchestrator, place: Place) -> None:
    """The message that nobody took is void then: nothing is carried out a second time."""
    plan_id = one.active()
    intent_id = one.under_way(plan_id)
    told = one.app.intents.report(intent_id, succeeded=True, detail="by telephone")
    assert (told.status, told.detail) == ("SUCCEEDED", "by telephone")
    assert one.steps(plan_id)[0] == "DONE"
    one.drain()
    assert [call[1] for call in one.calls] == ["step-2", "step-3"]
    assert one.status(plan_id) == "COMPLETED"
