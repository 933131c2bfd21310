"""The audit of plans is audited: each invariant is broken on purpose and found."""

from collections.abc import Iterator

import pytest

from tests.actions.test_verify import json_text, ledger_copy
from tests.databases import Clock, Place
from tests.verify_clean import assert_verified, broken
from watchkeeper.act_results import Action, Outcome
from watchkeeper.app import App
from watchkeeper.core.time import DAY
from watchkeeper.ids import new_id
from watchkeeper.store.questions_act import ACT_QUESTIONS

KIND = "RENEWAL_DEFENSE"
MEET, BRIEF, ESCALATE = "REQUEST_RENEWAL_MEETING", "PREP_RENEWAL_BRIEF", "ESCALATE_SUPPORT_RISK"
POLICY = f"""
[autonomy]
mode = "auto_low_risk"
auto_per_day_max = 50
[actions.{MEET}]
risk = "low"
[actions.{BRIEF}]
risk = "low"
[actions.{ESCALATE}]
risk = "medium"
"""
TABLES = ("plans", "plan_steps", "intents", "ledger")


@pytest.fixture
def app(place: Place, clock: Clock) -> Iterator[App]:
    """A sound database: done (with a failure in between), paused, waiting, aborted, a draft."""
    app = App(place.url, migrate=False)
    app.apply_policy(POLICY, reason="test")

    @app.action(MEET)
    def meet(action: Action) -> Outcome:
        return Outcome.later() if action.account_id == "late" else Outcome.success()

    @app.action(BRIEF)
    def brief(action: Action) -> Outcome:
        if action.account_id == "stuck" or action.attempt == 1:
            return Outcome.failure("not yet")
        return Outcome.success()

    @app.action(ESCALATE)
    def escalate(_action: Action) -> Outcome:
        return Outcome.success()

    def plan(account: str, *steps: str) -> str:
        made = app.plans.create("acme", account, KIND, steps)
        app.plans.approve(made.plan_id, by="ann")
        return made.plan_id

    plan("done", MEET, BRIEF)
    plan("stuck", BRIEF, ESCALATE)
    late = plan("late", MEET)
    app.drain()
    app.plans.abort(late, by="ann")
    app.clock.advance(hours=2)
    plan("waits", ESCALATE)
    plan("waits", MEET)
    answered = plan("answered", ESCALATE)
    app.plans.create("acme", "draft", KIND, [MEET])
    app.drain()
    [asked] = app.intents.list("acme", plan_id=answered)
    app.intents.approve(asked.intent_id, by="ann")
    app.kill("action", ESCALATE, reason="test", tenant_id="acme")
    app.drain()
    stands = sorted((plan.account_id, plan.status) for plan in app.plans.list("acme"))
    assert stands == [
        ("answered", "ACTIVE"),
        ("done", "COMPLETED"),
        ("draft", "DRAFT"),
        ("late", "ABORTED"),
        ("stuck", "PAUSED"),
        ("waits", "ACTIVE"),
        ("waits", "APPROVED"),
    ]
    assert_verified(app.db)
    yield app
    app.close()


def of(account: str) -> str:
    """The plan of an account; of two, the one that is active."""
    return f"(select plan_id from plans where account_id = '{account}' order by status limit 1)"


def intent_copy(place: Place, where: str, **changes: str) -> None:
    columns = [
        "tenant_id",
        "intent_id",
        "plan_id",
        "step_id",
        "attempt",
        "account_id",
        "action_type",
        "state",
        "created_at",
        "deadline_at",
        "approval",
        "decided_at",
        "decided_by",
        "executing_at",
        "ended_at",
        "is_late",
    ]
    kind = "uuid" if place.engine == "postgresql" else "text"
    values = {name: name for name in columns} | {"intent_id": f"cast('{new_id()}' as {kind})"}
    picked = ", ".join((values | changes)[name] for name in columns)
    place.execute(
        f"insert into intents ({', '.join(columns)}) select {picked} from intents where {where}"
        " limit 1"
    )


def two_active_plans(place: Place) -> None:
    place.execute("drop index plans_one_active")
    place.execute("update plans set status = 'ACTIVE' where account_id = 'waits'")


def back_to_a_draft(place: Place) -> None:
    place.execute(f"update plans set status = 'DRAFT' where plan_id = {of('answered')}")


def a_plan_that_woke_up(place: Place) -> None:
    ledger_copy(place, "kind = 'PLAN_RESUMED' or kind = 'PLAN_ACTIVATED'", subject=subject("late"))


def completed_twice(place: Place) -> None:
    ledger_copy(place, "kind = 'PLAN_COMPLETED'")


def a_line_that_says_something_else(place: Place) -> None:
    place.execute("update ledger set result = 'ACTIVE' where kind = 'PLAN_PAUSED'")


def never_created(place: Place) -> None:
    place.execute(f"delete from ledger where kind = 'PLAN_CREATED' and subject = {subject('late')}")


def subject(account: str) -> str:
    return f"cast({of(account)} as text)"


def a_gap(place: Place) -> None:
    place.execute(
        f"update intents set attempt = attempt + 1 where plan_id = {of('stuck')} and attempt = 3"
    )


def a_counter_too_high(place: Place) -> None:
    place.execute(f"update plan_steps set attempts = 9 where plan_id = {of('done')}")


def an_attempt_of_no_step(place: Place) -> None:
    intent_copy(place, f"plan_id = {of('done')}", step_id="'nowhere'")


def two_under_way(place: Place) -> None:
    place.execute("drop index intents_under_way")
    intent_copy(place, f"plan_id = {of('answered')}", attempt="2")


def begun_before_the_other_ended(place: Place) -> None:
    place.execute(
        f"update intents set created_at = 1 where plan_id = {of('stuck')} and attempt = 2"
    )


def left_open(place: Place) -> None:
    place.execute("update intents set is_late = false where account_id = 'late'")


def long_overdue(place: Place) -> None:
    place.execute(
        "update intents set state = 'EXECUTING', ended_at = null,"
        f" executing_at = created_at - {3 * DAY} where account_id = 'late'"
    )


def no_cycle(place: Place) -> None:
    place.execute("delete from plan_cycles")


def a_cycle_too_late(place: Place) -> None:
    place.execute(f"update plan_cycles set due_at = due_at + {DAY}")


def a_cycle_nobody_runs(place: Place) -> None:
    place.execute("delete from outbox where topic = 'plan.cycle'")


def a_start_of_nothing(place: Place) -> None:
    place.execute(
        f"update ledger set data = {json_text(place, 'data', 'step-1', 'step-9')}"
        f" where kind = 'STEP_STARTED' and subject = {subject('waits')}"
    )


def an_intent_that_nobody_started(place: Place) -> None:
    place.execute(f"delete from ledger where kind = 'STEP_STARTED' and subject = {subject('done')}")


def completed_too_soon(place: Place) -> None:
    place.execute(
        f"update plan_steps set status = 'PENDING' where plan_id = {of('done')}"
        " and step_id = 'step-2'"
    )


def a_pause_out_of_nowhere(place: Place) -> None:
    place.execute(
        "update ledger set reason = 'action_failed' where kind = 'STEP_FAILED'"
        " and reason = 'retry_limit_exceeded'"
    )


def under_way_without_attempt(place: Place) -> None:
    place.execute(f"update plan_steps set status = 'AUTO_EXECUTED' where plan_id = {of('stuck')}")


def done_without_success(place: Place) -> None:
    place.execute(f"update plan_steps set status = 'DONE' where plan_id = {of('late')}")


def carried_out_unasked(place: Place) -> None:
    place.execute("delete from ledger where kind = 'INTENT_APPROVED'")
    place.execute("update intents set executing_at = decided_at where account_id = 'answered'")


def carried_out_though_blocked(place: Place) -> None:
    place.execute("update intents set approval = 'BLOCK' where account_id = 'late'")


def never_sent(place: Place) -> None:
    place.execute("delete from outbox where topic = 'action.requested'")


def one_more_than_counted(place: Place) -> None:
    place.execute("update autonomy_days set used = used - 1")


FAULTS = [
    (two_active_plans, "one_active_plan"),
    (back_to_a_draft, "plan_is_where_the_ledger_says"),
    (a_plan_that_woke_up, "plan_went_allowed_ways"),
    (completed_twice, "plan_went_allowed_ways"),
    (a_line_that_says_something_else, "plan_went_allowed_ways"),
    (never_created, "plan_went_allowed_ways"),
    (a_gap, "attempts_are_numbered"),
    (a_counter_too_high, "attempts_are_numbered"),
    (an_attempt_of_no_step, "attempts_are_numbered"),
    (two_under_way, "one_attempt_at_a_time"),
    (begun_before_the_other_ended, "one_attempt_at_a_time"),
    (left_open, "an_ended_plan_asks_for_nothing"),
    (long_overdue, "outcomes_are_not_waited_for_for_ever"),
    (no_cycle, "a_due_plan_has_its_cycle"),
    (a_cycle_too_late, "a_due_plan_has_its_cycle"),
    (a_cycle_nobody_runs, "a_due_plan_has_its_cycle"),
    (a_start_of_nothing, "a_start_has_its_intent"),
    (an_intent_that_nobody_started, "a_start_has_its_intent"),
    (completed_too_soon, "a_completed_plan_did_its_steps"),
    (a_pause_out_of_nowhere, "the_limit_of_attempts_is_told"),
    (under_way_without_attempt, "a_step_is_where_its_attempt_is"),
    (done_without_success, "a_step_is_where_its_attempt_is"),
    (carried_out_unasked, "nothing_is_done_unasked"),
    (carried_out_though_blocked, "nothing_is_done_unasked"),
    (never_sent, "an_approved_action_is_on_its_way"),
    (one_more_than_counted, "autonomy_is_counted"),
]


@pytest.mark.req("A-01", "A-03", "A-05", "A-08", "A-09", "A-13")
@pytest.mark.parametrize(("fault", "invariant"), FAULTS, ids=lambda v: getattr(v, "__name__", v))
def test_it_is_found(app: App, place: Place, fault, invariant: str) -> None:
    if place.engine == "postgresql":
        for table in TABLES:
            place.execute(f"alter table {table} disable trigger all")
    else:
        for (name,) in place.execute("select name from sqlite_master where type = 'trigger'"):
            place.execute(f"drop trigger {name}")
    fault(place)
    found = broken(app.db)
    assert invariant in found
    assert all(row["tenant_id"] == "acme" for row in found[invariant])


def test_every_question_has_a_fault() -> None:
    assert {name for _, name in FAULTS} == {one.name for one in ACT_QUESTIONS}


def test_a_part_of_the_ledger_is_enough(app: App) -> None:
    """What the newest entries do not tell is not judged."""
    for entries in range(1, 60):
        assert broken(app.db, entries_max=entries) == {}, entries


def test_what_comes_late_breaks_nothing(app: App) -> None:
    """The outcome of an aborted plan, an expiry, an approval that nobody gave."""
    [held] = app.plans.list("acme", status="APPROVED")
    [answered] = app.plans.list("acme", account_id="answered")
    for plan in (held, answered):  # what looks about it every minute
        app.plans.abort(plan.plan_id, by="ann")
    [late] = app.intents.list("acme", status="EXECUTING")
    assert late.is_late
    app.intents.report(late.intent_id, succeeded=True)
    assert_verified(app.db)
    app.kill("action", ESCALATE, reason="test", tenant_id="acme", on=False)
    app.drain()
    for _ in range(4):
        app.clock.advance(days=8)
        assert_verified(app.db)
    assert {plan.status for plan in app.plans.list("acme")} <= {
        "DRAFT", "COMPLETED", "ABORTED", "EXPIRED",
    }  # fmt: skip


@pytest.mark.req("A-03")
def test_a_person_who_approves_after_policy_is_no_way_back(app: App) -> None:
    policy = f'[plan_types.{KIND}]\napproval = "policy"\nhuman_touch = "yes"\n'
    app.apply_policy(POLICY + policy, reason="test")
    plan = app.plans.create("acme", "touched", KIND, [MEET])
    app.drain()
    why = app.plans.why(plan.plan_id)
    assert "HUMAN_TOUCH_REQUIRED" in why.waits_for
    assert why.can[0].deed == "approve"
    app.plans.approve(plan.plan_id, by="ann")
    app.drain()
    assert app.plans.get(plan.plan_id).status == "COMPLETED"
    assert_verified(app.db)
