"""The cycle: what is activated, what is held back and why, how many at a time, and who waits."""

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.carrying import (
    ACME,
    AUTO,
    BRIEF,
    KIND,
    MEET,
    STEPS,
    Orchestrator,
    entries,
    kinds,
    sound,
)
from tests.databases import Clock, Databases, Place
from watchkeeper.actions.run_cycle import run_cycle
from watchkeeper.actions.settle_attempts import bury
from watchkeeper.core.delivery import Dead, DeadReason
from watchkeeper.core.time import MINUTE, Instant
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.moves.plan_desk import CYCLE, plan_cycle
from watchkeeper.store import tenants

GATED = f"""{AUTO}
[plan_types.{KIND}]
required_facts.owner = "yes"
blocked_postures.CHURNED = "yes"
"""


@pytest.fixture
def one(place: Place) -> Iterator[Orchestrator]:
    made = Orchestrator(place.url)
    yield made
    sound(place)
    made.close()


def policy(one: Orchestrator, text: str) -> None:
    one.app.apply_policy(AUTO + text, reason="test")


def held(place: Place, plan_id: str) -> list[str]:
    """The reasons of the last time that it was held back."""
    return [told["reason"] for told in entries(place, plan_id, "PLAN_HELD")[-1]["obstacles"]]


# -- the gate ------------------------------------------------------------------------------------


@pytest.mark.req("A-03", "A-11")
def test_an_approved_plan_is_activated_and_its_first_step_started(one, place: Place) -> None:
    plan_id = one.approved()
    assert one.cycle() == {
        "activated": 1,
        "steps_started": 1,
        "completed": 0,
        "expired": 0,
        "paused": 0,
    }
    assert one.status(plan_id) == "ACTIVE"
    assert kinds(place, plan_id) == [
        "PLAN_CREATED",
        "PLAN_APPROVED",
        "PLAN_ACTIVATED",
        "STEP_STARTED",
    ]
    assert sum(one.cycle().values()) == 0


@pytest.mark.req("A-03")
def test_a_fact_is_missing_until_it_is_told(one: Orchestrator, place: Place) -> None:
    one.app.apply_policy(GATED, reason="test")
    plan_id = one.approved()
    one.cycle()
    assert one.status(plan_id) == "APPROVED"
    assert held(place, plan_id) == ["PRECONDITIONS_UNMET"]
    assert "owner" in one.get(plan_id).reason
    one.plans.tell(plan_id, {"owner": "bob"})
    one.cycle()
    assert one.status(plan_id) == "ACTIVE"
    assert one.get(plan_id).reason is None


@pytest.mark.req("A-03")
def test_a_posture_stands_in_the_way_until_it_changes(one, place: Place) -> None:
    one.app.apply_policy(GATED, reason="test")
    one.app.account(ACME, "ann", posture="CHURNED")
    plan_id = one.approved(facts={"owner": "bob"})
    one.cycle()
    assert held(place, plan_id) == ["PRECONDITIONS_UNMET"]
    one.cycle()
    assert one.status(plan_id) == "APPROVED"
    one.app.account(ACME, "ann", posture="OK")
    one.cycle()
    assert one.status(plan_id) == "ACTIVE"


@pytest.mark.req("A-03")
def test_a_risk_above_what_the_tenant_allows(one: Orchestrator, place: Place, clock: Clock) -> None:
    policy(one, f'max_risk = "medium"\n[actions.{BRIEF}]\nrisk = "high"\n')
    plan_id = one.approved()
    one.cycle()
    assert held(place, plan_id) == ["RISK_ELEVATED"]
    policy(one, "")
    clock.advance(60)
    one.cycle()
    assert one.status(plan_id) == "ACTIVE"


@pytest.mark.req("A-03")
def test_a_plan_type_and_an_order_that_policy_has_changed(one, place: Place) -> None:
    own = (
        "[plan_types.MINE]\nexpiry_hours = 9\nmax_retries_per_step = 3\n[plan_types.MINE.actions]\n"
    )
    policy(one, f"{own}{MEET} = 1\n{BRIEF} = 2\n")
    plan_id = one.approved(steps=[MEET, BRIEF], kind="MINE")
    policy(one, f"{own}{MEET} = 2\n{BRIEF} = 1\n")
    one.cycle()
    assert held(place, plan_id) == ["STEP_ORDER_VIOLATION"]
    policy(one, "")
    one.plans.tell(plan_id, {})
    one.cycle()
    assert held(place, plan_id) == ["INVALID_PLAN_TYPE"]
    policy(one, f"{own}{MEET} = 1\n")
    one.plans.tell(plan_id, {})
    one.cycle()
    assert held(place, plan_id) == ["INVALID_PLAN_TYPE"], "for one of its actions"
    policy(one, f"{own}{MEET} = 1\n{BRIEF} = 0\n")
    one.plans.tell(plan_id, {})
    one.cycle()
    assert one.status(plan_id) == "ACTIVE"


HUMAN = f'[plan_types.{KIND}]\nhuman_touch = "yes"\napproval = "policy"\n'


@pytest.mark.req("A-03")
def test_where_a_person_has_to_approve(one: Orchestrator, place: Place) -> None:
    """Policy approves the draft by itself; the gate asks for a person; then it goes on."""
    policy(one, HUMAN)
    plan_id = one.draft()
    one.cycle()
    assert one.status(plan_id) == "APPROVED"
    assert held(place, plan_id) == ["HUMAN_TOUCH_REQUIRED"]
    with pytest.raises(Conflict):
        one.plans.approve(plan_id, by="a program", is_person=False)
    one.plans.approve(plan_id, by="ann")
    one.cycle()
    assert one.status(plan_id) == "ACTIVE"
    assert one.get(plan_id).approved_by == "ann"
    with pytest.raises(Conflict):
        one.plans.approve(plan_id, by="eve")


@pytest.mark.req("A-03")
def test_what_a_person_approved_is_not_approved_twice(one: Orchestrator) -> None:
    plan_id = one.approved()
    with pytest.raises(Conflict):
        one.plans.approve(plan_id, by="eve")


@pytest.mark.req("A-01", "A-03")
def test_a_draft_that_policy_approves_is_active_after_one_cycle(one, place: Place) -> None:
    policy(one, f'[plan_types.{KIND}]\napproval = "policy"\n')
    plan_id = one.draft()
    assert one.cycle()["activated"] == 1
    assert kinds(place, plan_id)[:3] == ["PLAN_CREATED", "PLAN_APPROVED", "PLAN_ACTIVATED"]
    plan = one.get(plan_id)
    assert (plan.status, plan.approved_by) == ("ACTIVE", "policy")


@pytest.mark.req("A-03")
def test_why_it_is_held_is_told_once_as_long_as_it_is_the_same(one, place, clock: Clock) -> None:
    one.app.apply_policy(GATED, reason="test")
    plan_id = one.approved()
    for _ in range(3):
        one.cycle()
        clock.advance(60)
    assert kinds(place, plan_id).count("PLAN_HELD") == 1
    one.app.account(ACME, "ann", posture="CHURNED")
    one.cycle()
    assert held(place, plan_id) == ["PRECONDITIONS_UNMET", "PRECONDITIONS_UNMET"]
    assert kinds(place, plan_id).count("PLAN_HELD") == 2


# -- conflicts -------------------------------------------------------------------------------------


@pytest.mark.req("A-03")
def test_of_two_of_an_account_one_is_active_and_the_other_follows(one, place: Place) -> None:
    first, second = one.approved(), one.approved()
    other = one.approved("bob")
    assert one.cycle()["activated"] == 2
    states = {one.status(first), one.status(second)}
    assert states == {"ACTIVE", "APPROVED"}
    assert one.status(other) == "ACTIVE"
    active = first if one.status(first) == "ACTIVE" else second
    waiting = second if active == first else first
    assert held(place, waiting) == ["CONFLICT_ACTIVE_PLAN"]
    assert active in one.get(waiting).reason
    one.plans.abort(active, by="ann")
    one.drain()
    assert one.status(waiting) == "COMPLETED", "it was woken at once, and carried out"


@pytest.mark.req("A-03", "A-11")
def test_also_when_both_come_in_one_cycle_with_others_between(one, place, clock: Clock) -> None:
    """The first is not written yet when the second is considered."""
    policy(one, "[plans]\nper_cycle_max = 2\n")
    one.active("zoe")
    made = []
    for account in ("zoe", "ann", "ann"):
        clock.advance(1)
        made.append(one.approved(account))
    assert one.cycle()["activated"] == 1
    assert [one.status(plan_id) for plan_id in made] == ["APPROVED", "ACTIVE", "APPROVED"]
    assert held(place, made[2]) == ["CONFLICT_ACTIVE_PLAN"]


@pytest.mark.req("A-03")
@pytest.mark.parametrize("end", ["complete", "abort", "expire", "pause"])
def test_whatever_ends_the_active_one_wakes_the_next(one, clock: Clock, end: str) -> None:
    soon = clock.now + timedelta(hours=1)
    active = one.active(steps=[MEET], expires_at=soon)
    waiting = one.approved(steps=[MEET])
    one.cycle()
    assert one.status(waiting) == "APPROVED"
    match end:
        case "complete":
            one.act()
        case "abort" | "pause":
            getattr(one.plans, end)(active, by="ann")
        case "expire":
            clock.advance(hours=1)
            one.cycle()
    one.cycle()
    assert one.status(waiting) == "ACTIVE"


@pytest.mark.req("A-01", "A-03")
def test_who_was_paused_cannot_resume_while_another_is_active(one, place: Place) -> None:
    first = one.active()
    one.plans.pause(first, by="ann")
    second = one.active()
    with pytest.raises(Conflict, match="CONFLICT_ACTIVE_PLAN"):
        one.plans.resume(first, by="ann")
    assert one.status(first) == "PAUSED"
    one.plans.abort(second, by="ann")
    one.plans.resume(first, by="ann")
    assert one.status(first) == "ACTIVE"


# -- how many, and who waits ---------------------------------------------------------------------


@pytest.mark.req("A-11")
def test_a_cycle_takes_no_more_than_its_limit_and_the_rest_follow(one, place: Place) -> None:
    policy(one, "[plans]\nper_cycle_max = 3\n")
    for n in range(8):
        one.approved(f"a{n}")
    found = [one.cycle() for _ in range(4)]
    assert [told["activated"] for told in found] == [3, 3, 2, 0]
    assert [told["steps_started"] for told in found] == [3, 3, 2, 0]


@pytest.mark.req("A-11")
def test_the_rest_follow_at_once_without_being_asked(one: Orchestrator) -> None:
    policy(one, "[plans]\nper_cycle_max = 2\n")
    made = [one.approved(f"a{n}", [MEET]) for n in range(9)]
    one.drain()
    assert {one.status(plan_id) for plan_id in made} == {"COMPLETED"}


@pytest.mark.req("A-11")
def test_who_has_waited_longest_comes_first_though_others_keep_coming(one, clock: Clock) -> None:
    policy(one, "[plans]\nper_cycle_max = 1\n")
    made = []
    for n in range(5):
        for name in "xy":
            clock.advance(1)
            made.append(one.approved(f"{name}{n}"))
        one.cycle()
        assert [one.status(plan_id) for plan_id in made].count("ACTIVE") == n + 1
        assert {one.status(plan_id) for plan_id in made[: n + 1]} == {"ACTIVE"}


@pytest.mark.req("A-11")
def test_plans_with_nothing_to_do_take_nobodys_place(one: Orchestrator, clock: Clock) -> None:
    """More are held back than a cycle takes: one that can go on does so in the first cycle."""
    policy(one, "[plans]\nper_cycle_max = 2\n")
    one.active("ann")
    for _ in range(10):
        one.approved("ann")
    clock.advance(1)
    free = one.approved("bob")
    assert one.cycle()["activated"] == 1
    assert one.status(free) == "ACTIVE"


@pytest.mark.req("A-11")
def test_nor_do_those_whose_action_is_switched_off(one: Orchestrator, clock: Clock) -> None:
    policy(one, "[plans]\nper_cycle_max = 2\n")
    one.draft()
    one.app.kill("action", MEET, reason="test", tenant_id=ACME)
    for n in range(10):
        one.approved(f"a{n}")
    for _ in range(5):
        one.cycle()
    clock.advance(30)
    free = one.approved("bob", [BRIEF])
    one.cycle()
    clock.advance(60)
    assert one.cycle()["steps_started"] <= 2
    assert one.steps(free) == ["AUTO_EXECUTED"]


@pytest.mark.req("A-11")
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(
    most=st.integers(1, 4),
    blocked=st.integers(0, 8),
    ready=st.integers(1, 8),
    order=st.randoms(use_true_random=False),
)
def test_no_plan_waits_for_longer_than_its_turn(databases: Databases, most, blocked, ready, order):
    """So many cycles as it takes to consider everybody once, whatever the limit is."""
    with databases.fresh("sqlite") as place:
        one = Orchestrator(place.url, f"{AUTO}[plans]\nper_cycle_max = {most}\n")
        accounts = ["ann"] * blocked + [f"a{n}" for n in range(ready)]
        order.shuffle(accounts)
        one.active("ann")
        made = [one.approved(account) for account in accounts]
        cycles = -(-len(made) // most)
        for _ in range(cycles):
            found = one.cycle()
            assert found["activated"] <= most
            assert found["steps_started"] <= most
        statuses = [one.status(plan_id) for plan_id in made]
        assert statuses.count("ACTIVE") == ready
        assert [s for s, a in zip(statuses, accounts, strict=True) if a == "ann"] == [
            "APPROVED"
        ] * blocked
        sound(place)
        one.close()


@pytest.mark.req("A-11")
def test_a_cycle_out_of_turn_leaves_one_planned(one: Orchestrator, place: Place) -> None:
    one.active()
    one.later()
    one.drain()
    before = place.execute(f"select id from outbox where topic = '{CYCLE}'")
    assert len(before) == 1
    for _ in range(5):
        one.cycle()
    assert place.execute(f"select id from outbox where topic = '{CYCLE}'") == before


@pytest.mark.req("A-12")
def test_a_cycle_that_comes_twice_does_nothing_the_second_time(one, place: Place) -> None:
    one.approved()
    [message] = one.claim(CYCLE)
    ended, topic = [Ended(message, message, DELIVERED)], one.app.registry.of(message)
    assert topic.finish(one.db, ended) == {message.id}
    before = kinds(place)
    assert topic.finish(one.db, ended) == {message.id}
    assert kinds(place) == before


@pytest.mark.req("A-12")
def test_a_cycle_whose_message_is_lost_comes_again(one: Orchestrator, place: Place, clock) -> None:
    plan_id = one.approved(steps=[MEET])
    [message] = one.claim(CYCLE)
    dead = Dead(DeadReason.REJECTED, "lost")
    assert bury(one.db, one.app.registry, [(message, dead)]) == {message.id}
    sound(place, slack_us=MINUTE)
    one.drain()
    assert one.status(plan_id) == "APPROVED"
    clock.advance(60)
    one.drain()
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-12")
def test_the_loss_of_an_old_one_moves_nothing(one: Orchestrator, place: Place, clock) -> None:
    one.approved()
    [message] = one.claim(CYCLE)
    one.cycle()
    before = place.execute("select due_at from plan_cycles")
    clock.advance(1)
    bury(one.db, one.app.registry, [(message, Dead(DeadReason.REJECTED, "lost"))])
    assert place.execute("select due_at from plan_cycles") == before


@pytest.mark.req("A-11", "A-15")
def test_all_tenants_or_one(one: Orchestrator) -> None:
    for tenant in ("acme", "bolt", "cork"):
        one.approved(tenant=tenant)
    assert one.plans.run_cycle("bolt")["activated"] == 1
    assert one.plans.run_cycle()["activated"] == 2
    with pytest.raises(NotFound):
        one.plans.run_cycle("nobody")


@pytest.mark.req("A-02", "A-15")
def test_tenants_are_met_when_they_come(one: Orchestrator) -> None:
    plan_id = one.approved(tenant="never-seen", steps=[MEET])
    one.drain()
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-02")
def test_an_edit_keeps_what_it_does_not_name(one: Orchestrator, place: Place) -> None:
    plan_id = one.draft(correlation_id="c-1")
    one.plans.edit(plan_id, "ann", KIND, list(STEPS[1:]))
    assert one.get(plan_id).correlation_id == "c-1"
    rows = place.execute(f"select correlation_id from ledger where subject = '{plan_id}'")
    assert rows == [("c-1",)] * 2


@pytest.mark.req("A-03", "A-11")
def test_a_posture_that_changes_wakes_what_it_held_back(one: Orchestrator, clock: Clock) -> None:
    """However long it has waited: it is looked at less and less often, unless there is news."""
    policy(one, f'[plan_types.{KIND}.blocked_postures]\nDORMANT = "yes"\n')
    one.app.account("acme", "ann", posture="DORMANT")
    plan_id = one.approved()
    one.drain()
    clock.advance(days=2)
    one.drain()
    assert one.status(plan_id) == "APPROVED"
    later = one.get(plan_id).next_at
    assert later is not None
    assert later - clock.now == timedelta(hours=1)
    one.app.account("acme", "ann", posture="OK")
    one.drain()
    assert one.status(plan_id) != "APPROVED"


@pytest.mark.req("A-12")
def test_one_message_waits_for_the_next_cycle_however_often_it_was_planned(
    one: Orchestrator, place: Place, clock: Clock
) -> None:
    """What takes its place takes it away: they are for days ahead, and would pile up."""
    for _ in range(5):
        one.approved()
        one.drain()
        clock.advance(60)
        sound(place, slack_us=MINUTE)
        assert waiting(place) == [("pending",)]


@pytest.mark.req("A-12")
def test_a_cycle_that_somebody_has_is_left_to_him_and_no_longer_meant(
    one: Orchestrator, place: Place, clock: Clock
) -> None:
    plan_id = one.approved()
    [message] = one.claim(CYCLE)
    with one.db.begin(ACME) as tx:
        tenants.lock(tx)
        plan_cycle(tx, Instant(tx.now + MINUTE))
    assert sorted(waiting(place)) == [("pending",), ("processing",)]
    planned_at = Instant(json.loads(message.payload)["due_at"])
    assert not any(run_cycle(one.app.carrier, ACME, planned_at).values())
    assert one.status(plan_id) == "APPROVED"
    clock.advance(60)
    one.drain()
    assert one.status(plan_id) == "COMPLETED"


def waiting(place: Place) -> list[tuple[str]]:
    return place.execute(f"select status from outbox where topic = '{CYCLE}' and done_at is null")
