"""Steps carried out: started, asked for, begun once, tried again, given up, skipped."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.carrying import (
    ACME,
    AUTO,
    BRIEF,
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
from tests.databases import START, Clock, Place
from watchkeeper.act_results import Action, Outcome
from watchkeeper.actions.run_actions import start_actions
from watchkeeper.actions.settle_attempts import bury
from watchkeeper.core.delivery import Dead, DeadReason, Delivered
from watchkeeper.core.sinks import UNHANDLED, UNHANDLED_US
from watchkeeper.core.time import DAY, MINUTE, from_datetime
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.handlers.registry import Ended, NotStarted

ASK = '[autonomy]\nmode = "approve_each"\n'


@pytest.fixture
def one(place: Place) -> Iterator[Orchestrator]:
    made = Orchestrator(place.url)
    yield made
    sound(place)
    made.close()


def reasons(place: Place, plan_id: str, kind: str = "STEP_FAILED") -> list[str]:
    return [entry["reason"] for entry in entries(place, plan_id, kind)]


# -- one after the other ---------------------------------------------------------------------------


@pytest.mark.req("A-07", "A-09", "A-13")
def test_steps_come_one_after_the_other_each_with_its_lines(one, place: Place) -> None:
    plan_id = one.approved()
    one.drain()
    assert [call[1:] for call in one.calls] == [("step-1", 1), ("step-2", 1), ("step-3", 1)]
    assert kinds(place, plan_id) == [
        "PLAN_CREATED",
        "PLAN_APPROVED",
        "PLAN_ACTIVATED",
        *["STEP_STARTED", "STEP_COMPLETED"] * 3,
        "PLAN_COMPLETED",
    ]
    assert one.get(plan_id).completion_reason == "all_steps_done"


@pytest.mark.req("A-07")
def test_the_sequence_counts_and_not_the_list(one: Orchestrator) -> None:
    steps = [
        {"step_id": "last", "action_type": ESCALATE, "sequence": 9, "dependencies": ["first"]},
        {"step_id": "first", "action_type": MEET, "sequence": 1},
        {"step_id": "tie", "action_type": MEET, "sequence": 1},
    ]
    one.approved(steps=steps)
    one.drain()
    assert [call[1] for call in one.calls] == ["first", "tie", "last"]


@pytest.mark.req("A-07", "A-09")
def test_the_outcome_and_the_next_step_are_one_transaction(one, place: Place) -> None:
    plan_id = one.active()
    [message] = one.claim()
    [action] = one.start(message).values()
    before = len(messages(place))
    one.end(message, action)
    assert one.steps(plan_id) == ["DONE", "AUTO_EXECUTED", "PENDING"]
    assert len(messages(place)) == before, "one has ended, the next is asked for"


@pytest.mark.req("A-09")
def test_what_a_handler_is_told(one: Orchestrator) -> None:
    told: list[Action] = []
    one.answers[""] = lambda action: told.append(action) or Outcome.failure()
    step = {"step_id": "s", "action_type": MEET, "data": {"room": 7}}
    plan_id = one.approved(steps=[step], objective="keep them", correlation_id="c")
    one.drain()
    [action] = told
    assert action.data == {"room": 7}
    assert (action.objective, action.correlation_id, action.attempt) == ("keep them", "c", 1)
    assert action.idempotency_key == f"{plan_id}/s"
    assert (action.tenant_id, action.account_id, action.plan_type) == (ACME, "ann", KIND)


# -- tried again -----------------------------------------------------------------------------------


@pytest.mark.req("A-07", "A-09")
def test_a_failure_is_tried_again_after_a_minute_then_two_and_then_it_stops(one, place, clock):
    one.fails()
    plan_id = one.approved()
    other = one.approved("bob", [BRIEF])
    one.drain()
    assert len(one.calls) == 2
    for wait, calls in ((59, 2), (1, 4), (119, 4), (1, 6), (3600, 6)):
        clock.advance(wait)
        one.drain()
        assert len(one.calls) == calls, f"{calls} calls after {wait} more seconds"
    assert one.status(plan_id) == one.status(other) == "PAUSED"
    assert one.get(plan_id).reason == "retry_limit_exceeded"
    assert reasons(place, plan_id) == ["action_failed"] * 3 + ["retry_limit_exceeded"]
    assert kinds(place, plan_id).count("PLAN_PAUSED") == 1
    keys = {call[1] for call in one.calls if call[0] == plan_id}
    assert keys == {"step-1"}, "nothing later is started"


@pytest.mark.req("A-09")
def test_resume_gives_a_fresh_allowance(one: Orchestrator, clock: Clock, place: Place) -> None:
    one.app.apply_policy(f"{AUTO}[plan_types.{KIND}]\nmax_retries_per_step = 2\n", reason="test")
    one.fails()
    plan_id = one.approved(steps=[MEET])

    def until_it_stops() -> None:
        for _ in range(5):
            one.drain()
            clock.advance(600)
        assert one.status(plan_id) == "PAUSED"

    until_it_stops()
    one.plans.resume(plan_id, by="ann")
    until_it_stops()
    assert [call[2] for call in one.calls] == [1, 2, 3, 4], "numbers are never used again"
    one.succeeds()
    one.plans.resume(plan_id, by="ann")
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    assert kinds(place, plan_id).count("PLAN_RESUMED") == 2


NONSENSE = {
    "an exception": (lambda _: 1 / 0, "ZeroDivisionError"),
    "SystemExit": (lambda _: exec("raise SystemExit('bye')"), "SystemExit"),
    "a number": (lambda _: 7, "returned int"),
    "a mapping": (lambda _: {"succeeded": True}, "returned dict"),
    "an outcome of nothing": (lambda _: Outcome("yes"), "returned Outcome"),
    "a secret": (lambda _: Outcome.failure("password=hunter2"), "[redacted]"),
    "a lone surrogate": (lambda _: Outcome.failure("\udc80"), "?"),
    "a null": (lambda _: Outcome.failure("a\x00b"), "b"),
    "a very long word": (lambda _: Outcome.failure("x" * 100_000), "xxx"),
    "no text": (lambda _: Outcome.failure({"code": 5}), "code"),
}


@pytest.mark.req("A-09")
@pytest.mark.parametrize("name", NONSENSE)
def test_whatever_a_handler_does_is_an_outcome(one, place: Place, name: str) -> None:
    answer, words = NONSENSE[name]
    one.answers[""] = answer
    plan_id = one.approved(steps=[MEET])
    one.drain()
    assert len(one.calls) == 1
    assert reasons(place, plan_id) == ["action_failed"]
    [intent] = one.get(plan_id).intents
    assert intent.status == "FAILED"
    assert words in intent.detail
    assert len(intent.detail) <= 10_000
    assert "hunter2" not in str(place.execute("select data from ledger"))
    assert messages(place) == []


@pytest.mark.req("A-09")
def test_a_good_outcome_with_a_strange_detail_is_a_good_outcome(one, place: Place) -> None:
    one.answers[""] = lambda _: Outcome.success({"id": 5})
    plan_id = one.approved(steps=[MEET])
    one.drain()
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-09")
def test_later_is_told_by_whoever_knows(one: Orchestrator, place: Place) -> None:
    plan_id, intent = one.executing(steps=[MEET])
    assert messages(place) == []
    one.intents.report(intent, succeeded=True, detail="sent")
    assert one.status(plan_id) == "COMPLETED"
    assert one.intents.get(intent).detail == "sent"


# -- begun once ------------------------------------------------------------------------------------


@pytest.mark.req("A-05", "A-09")
def test_who_falls_silent_is_not_called_again(one, place: Place, clock: Clock) -> None:
    """The lease ends after the call: nobody knows how far it came."""
    plan_id = one.active()
    [message] = one.claim()
    [action] = one.start(message).values()
    clock.advance(61)
    [again] = one.claim()
    assert (again.id, again.attempt) == (message.id, 2)
    assert one.start(again) == {}
    assert reasons(place, plan_id) == ["outcome_unknown"]
    assert one.end(message, action, Outcome.success()) == {"fenced": 1}
    assert one.steps(plan_id)[0] == "FAILED"
    clock.advance(60)
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    assert [call[1:] for call in one.calls][:1] == [("step-1", 2)]


@pytest.mark.req("A-09")
def test_of_those_that_fell_silent_one_is_tried_at_a_time(one, place, clock: Clock) -> None:
    """The one that kills its process takes its neighbours with it once, and not again."""
    made = [one.active(account, [MEET]) for account in ("a", "b", "c")]
    one.start(*one.claim())
    clock.advance(61)
    assert one.start(*one.claim()) == {}
    assert {one.steps(plan_id)[0] for plan_id in made} == {"FAILED"}
    clock.advance(60)
    one.cycle()
    fresh = one.active("d", [MEET])
    begun = one.start(*one.claim())
    assert len(begun) == 2
    assert sum(action.plan_id in made for action in begun.values()) == 1
    assert fresh in {action.plan_id for action in begun.values()}
    assert one.claim() == [], "the others are left alone for a moment"
    clock.advance(1)
    assert len(one.start(*one.claim())) == 1


@pytest.mark.req("A-09")
def test_a_worker_that_stops_before_the_call_gives_it_back(one, place: Place) -> None:
    plan_id = one.active(steps=[MEET])
    [message] = one.claim()
    [action] = one.start(message).values()
    one.end(message, action, NotStarted())
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    assert [call[2] for call in one.calls] == [1]


@pytest.mark.req("A-09")
def test_a_worker_that_dies_before_the_call_is_replaced(one, clock: Clock) -> None:
    plan_id = one.active(steps=[MEET])
    one.claim()
    clock.advance(61)
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    assert [call[2] for call in one.calls] == [1]


@pytest.mark.req("A-09")
def test_paused_and_resumed_before_its_message_comes_it_is_called_once(one, place: Place) -> None:
    plan_id = one.active(steps=[MEET])
    for _ in range(3):
        one.plans.pause(plan_id, by="ann")
        one.plans.resume(plan_id, by="ann")
    one.later()
    one.drain()
    assert len(one.calls) == 1
    one.intents.report(one.under_way(plan_id), succeeded=True)
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-09")
def test_the_loss_of_a_message_that_no_longer_asks_changes_nothing(one, place: Place) -> None:
    plan_id = one.active(steps=[MEET])
    [old] = one.claim()
    one.plans.pause(plan_id, by="ann")
    one.plans.resume(plan_id, by="ann")
    bury(one.db, one.app.registry, [(old, Dead(DeadReason.REJECTED, "lost"))])
    assert one.steps(plan_id) == ["AUTO_EXECUTED"]
    one.drain()
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-09")
def test_the_loss_of_the_message_that_asks_is_an_unknown_outcome(one, place: Place) -> None:
    plan_id = one.active(steps=[MEET])
    [message] = one.claim()
    bury(one.db, one.app.registry, [(message, Dead(DeadReason.REJECTED, "lost"))])
    assert reasons(place, plan_id) == ["outcome_unknown"]
    assert one.steps(plan_id) == ["FAILED"]


@pytest.mark.req("A-09", "A-10")
def test_nothing_is_begun_for_a_plan_that_is_not_active(one, place: Place, clock: Clock) -> None:
    paused, aborted = one.active("ann"), one.active("bob")
    expired = one.active("cat", expires_at=START + timedelta(minutes=1))
    one.plans.pause(paused, by="ann")
    one.plans.abort(aborted, by="ann")
    clock.advance(60)  # and no cycle has noticed
    assert one.status(expired) == "ACTIVE"
    one.act()
    assert one.calls == []
    one.plans.resume(paused, by="ann")
    one.act()
    assert [call[0] for call in one.calls] == [paused]


@pytest.mark.req("A-09")
def test_an_attempt_that_waited_through_a_long_pause_is_begun_after_it(one, clock, place) -> None:
    plan_id = one.active(steps=[MEET])
    one.plans.pause(plan_id, by="ann")
    one.drain()
    clock.advance(hours=30)
    one.drain()
    one.plans.resume(plan_id, by="ann")
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    assert reasons(place, plan_id) == []


@pytest.mark.req("A-09", "A-10")
def test_a_receiver_outside_may_be_sent_it_again_until_nobody_wants_it(one, clock: Clock) -> None:
    """It is EXECUTING from before it is sent until its outcome is reported."""
    plan_id = one.active(steps=[MEET])
    [message] = one.claim()
    [sent] = start_actions(one.db, [message], None).values()
    assert one.intents.get(sent.intent_id).status == "EXECUTING"
    clock.advance(61)
    [again] = one.claim()
    assert again.attempt == 2
    assert start_actions(one.db, [again], None) == {again.id: sent}
    one.plans.abort(plan_id, by="ann")
    clock.advance(61)
    [last] = one.claim()
    [told] = start_actions(one.db, [last], None).values()
    assert isinstance(told, Ended), "it is not sent any more"


# -- who says yes ----------------------------------------------------------------------------------


@pytest.mark.req("A-08")
def test_each_is_asked_for_unless_policy_says_otherwise(one, place: Place) -> None:
    one.app.apply_policy(ASK, reason="test")
    plan_id = one.active(steps=[MEET])
    one.drain()
    assert one.calls == []
    assert one.steps(plan_id) == ["PENDING_APPROVAL"]
    one.intents.approve(one.under_way(plan_id), by="ann")
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    [started] = entries(place, plan_id, "STEP_STARTED")
    assert started["approval"] == "REQUIRE_APPROVAL"
    assert started["approval_reason"] == "APPROVE_EACH"


@pytest.mark.req("A-08")
def test_what_is_rejected_fails_pauses_and_is_not_tried_again(one, place, clock: Clock) -> None:
    one.app.apply_policy(ASK, reason="test")
    plan_id = one.active()
    intent = one.under_way(plan_id)
    one.intents.reject(intent, "not now", by="ann")
    assert one.intents.get(intent).status == "REJECTED"
    assert one.steps(plan_id)[0] == "FAILED"
    assert one.status(plan_id) == "PAUSED"
    assert one.get(plan_id).reason == "rejected: not now"
    clock.advance(hours=5)
    one.drain()
    assert kinds(place, plan_id).count("STEP_STARTED") == 1
    for deed in (one.intents.approve, one.intents.reject):
        with pytest.raises(Conflict):
            deed(intent, by="eve")
    one.plans.resume(plan_id, by="ann")
    assert one.steps(plan_id)[0] == "PENDING_APPROVAL"
    assert one.intents.get(one.under_way(plan_id)).attempt == 2


@pytest.mark.req("A-08")
def test_where_agents_may_only_propose_nothing_is_carried_out(one, place: Place, clock) -> None:
    one.app.apply_policy('[autonomy]\nmode = "propose_only"\n', reason="test")
    plan_id = one.approved()
    one.drain()
    assert one.status(plan_id) == "PAUSED"
    [intent] = one.get(plan_id).intents
    assert (intent.status, intent.reason) == ("REJECTED", "PROPOSE_ONLY")
    assert intent.clause == "autonomy.mode"
    assert reasons(place, plan_id) == ["blocked"]
    one.plans.resume(plan_id, by="ann")
    assert one.status(plan_id) == "PAUSED"
    one.app.apply_policy(AUTO, reason="test")
    one.plans.resume(plan_id, by="ann")
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    assert [call[2] for call in one.calls] == [3, 1, 1]


@pytest.mark.req("A-08")
def test_what_nobody_answers_is_rejected_at_its_deadline(one, place: Place, clock: Clock) -> None:
    one.app.apply_policy(ASK + "approval_hours = 2\n", reason="test")
    plan_id = one.active()
    intent = one.under_way(plan_id)
    clock.advance(hours=2, microseconds=-1)
    one.drain()
    assert one.status(plan_id) == "ACTIVE"
    clock.advance(microseconds=1)
    with pytest.raises(Conflict, match="too late"):
        one.intents.approve(intent, by="ann")
    one.drain()
    assert one.status(plan_id) == "PAUSED"
    assert one.intents.get(intent).status == "REJECTED"
    assert reasons(place, plan_id) == ["approval_unanswered"]


@pytest.mark.req("A-08")
def test_or_the_plan_only_pauses_and_asks_again_when_it_is_resumed(one, place, clock) -> None:
    one.app.apply_policy(ASK + 'approval_hours = 2\nunanswered = "pause"\n', reason="test")
    plan_id = one.active(steps=[MEET])
    intent = one.under_way(plan_id)
    clock.advance(hours=2)
    one.drain()
    assert one.status(plan_id) == "PAUSED"
    assert one.intents.get(intent).status == "PENDING_APPROVAL"
    with pytest.raises(Conflict, match="resume it first"):
        one.intents.approve(intent, by="ann")
    one.plans.resume(plan_id, by="ann")
    one.drain()
    assert one.status(plan_id) == "ACTIVE", "it has another two hours"
    one.intents.approve(intent, by="ann")
    one.drain()
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-08", "A-10")
def test_while_paused_nobody_is_late_with_an_answer(one, place: Place, clock: Clock) -> None:
    one.app.apply_policy(ASK + "approval_hours = 2\n", reason="test")
    plan_id = one.active(steps=[MEET])
    one.plans.pause(plan_id, by="ann")
    clock.advance(hours=9)
    one.drain()
    assert one.steps(plan_id) == ["PENDING_APPROVAL"]
    one.plans.resume(plan_id, by="ann")
    one.drain()
    one.intents.approve(one.under_way(plan_id), by="ann")


@pytest.mark.req("A-08")
def test_the_autonomy_of_a_day_is_used_up_exactly(one, place: Place, clock: Clock) -> None:
    one.app.apply_policy(AUTO + "auto_per_day_max = 2\n", reason="test")
    clock.set(from_datetime(START) + DAY - MINUTE)
    made = [one.approved(account, [MEET]) for account in ("a", "b", "c")]
    one.cycle()
    found = sorted(one.steps(plan_id)[0] for plan_id in made)
    assert found == ["AUTO_EXECUTED", "AUTO_EXECUTED", "PENDING_APPROVAL"]
    asked = next(p for p in made if one.steps(p) == ["PENDING_APPROVAL"])
    [intent] = one.get(asked).intents
    assert intent.reason == "AUTONOMY_BUDGET_USED"
    one.act()
    clock.advance(59, microseconds=999_999)
    last = one.approved("d", [MEET])
    one.cycle()
    assert one.steps(last) == ["PENDING_APPROVAL"]
    clock.advance(microseconds=1)
    fresh = [one.approved(account, [MEET]) for account in ("e", "f", "g")]
    one.cycle()
    found = sorted(one.steps(plan_id)[0] for plan_id in fresh)
    assert found == ["AUTO_EXECUTED", "AUTO_EXECUTED", "PENDING_APPROVAL"]
    assert place.execute("select used from autonomy_days order by day") == [(2,), (2,)]


@pytest.mark.req("A-08")
def test_a_person_may_still_say_yes_when_the_budget_is_used(one, clock: Clock) -> None:
    one.app.apply_policy(AUTO + "auto_per_day_max = 0\n", reason="test")
    plan_id = one.active(steps=[MEET])
    one.intents.approve(one.under_way(plan_id), by="ann")
    one.drain()
    assert one.status(plan_id) == "COMPLETED"


# -- switched off ----------------------------------------------------------------------------------


@pytest.mark.req("A-09")
@pytest.mark.parametrize("scope", [("action", MEET), ("tenant", None), ("all", None)])
def test_a_kill_switch_between_approval_and_execution(one, place, clock: Clock, scope: Any) -> None:
    plan_id = one.active(steps=[MEET])
    owner = {} if scope[0] == "all" else {"tenant_id": ACME}
    one.app.kill(*scope, reason="fire", **owner)
    one.drain()
    assert one.calls == []
    assert one.intents.get(one.under_way(plan_id)).status == "APPROVED"
    clock.advance(microseconds=UNHANDLED_US)
    one.drain()
    assert one.calls == []
    one.app.kill(*scope, reason="out", on=False, **owner)
    clock.advance(microseconds=UNHANDLED_US)
    one.drain()
    assert [call[2] for call in one.calls] == [1]
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-09")
def test_steps_are_not_started_while_their_action_is_switched_off(one, place, clock) -> None:
    one.draft("zoe")
    one.app.kill("action", MEET, reason="fire", tenant_id=ACME)
    plan_id = one.approved(steps=[MEET, BRIEF])
    for _ in range(3):
        one.drain()
        clock.advance(60)
    assert one.status(plan_id) == "ACTIVE"
    assert kinds(place, plan_id)[-1] == "PLAN_ACTIVATED"
    one.app.kill("action", MEET, reason="out", on=False, tenant_id=ACME)
    one.drain()
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-09")
def test_one_that_is_switched_off_for_a_day_is_tried_again(one, place, clock: Clock) -> None:
    plan_id = one.active(steps=[MEET])
    one.app.kill("action", MEET, reason="fire", tenant_id=ACME)
    clock.advance(hours=24)
    one.drain()
    assert reasons(place, plan_id) == ["outcome_unknown"]
    one.app.kill("action", MEET, reason="out", on=False, tenant_id=ACME)
    clock.advance(minutes=2)
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    assert [call[2] for call in one.calls] == [2]


# -- skipping --------------------------------------------------------------------------------------


@pytest.mark.req("A-06", "A-10")
def test_a_step_is_skipped_for_a_reason_and_the_next_begins(one, place: Place) -> None:
    plan_id = one.active()
    one.plans.skip(plan_id, "step-1", "they called us", by="ann")
    assert one.steps(plan_id) == ["SKIPPED", "AUTO_EXECUTED", "PENDING"]
    assert reasons(place, plan_id, "STEP_SKIPPED") == ["they called us"]
    with pytest.raises(Conflict):
        one.plans.skip(plan_id, "step-1", "again", by="ann")
    with pytest.raises(NotFound):
        one.plans.skip(plan_id, "step-9", "none", by="ann")
    one.drain()
    assert one.status(plan_id) == "COMPLETED"
    assert [call[1] for call in one.calls] == ["step-2", "step-3"]


@pytest.mark.req("A-07")
def test_a_skipped_dependency_stops_a_plan_where_policy_says_so(one, place: Place) -> None:
    one.app.apply_policy(f'{AUTO}[plan_types.{KIND}]\nskipped_counts = "no"\n', reason="test")
    steps = [
        {"step_id": "a", "action_type": MEET},
        {"step_id": "b", "action_type": BRIEF, "dependencies": ["a"]},
    ]
    plan_id = one.active(steps=steps)
    one.plans.skip(plan_id, "a", "no", by="ann")
    assert one.status(plan_id) == "PAUSED"
    assert one.get(plan_id).reason == "dependency_skipped"
    one.plans.resume(plan_id, by="ann")
    assert one.status(plan_id) == "PAUSED"
    one.plans.skip(plan_id, "b", "no", by="ann")
    one.plans.resume(plan_id, by="ann")
    assert one.status(plan_id) == "COMPLETED"


@pytest.mark.req("A-03", "A-09")
def test_a_plan_whose_type_was_taken_away_ends_with_what_it_has(one, place, clock: Clock) -> None:
    """It is approved and active: it goes on, and what fails is not tried again."""
    own = "[plan_types.MINE]\nexpiry_hours = 9\nmax_retries_per_step = 3\n"
    mine = f"{own}[plan_types.MINE.actions]\n{MEET} = 1\n{BRIEF} = 2\n"
    one.app.apply_policy(AUTO + mine, reason="test")
    good = one.active("ann", [MEET, BRIEF], kind="MINE")
    bad = one.active("bob", [MEET, BRIEF], kind="MINE")
    one.app.apply_policy(AUTO, reason="test")
    one.answers["step-1"] = lambda a: Outcome.success() if a.plan_id == good else 1 / 0
    one.drain()
    assert one.status(good) == "COMPLETED"
    assert one.status(bad) == "PAUSED"
    assert reasons(place, bad) == ["action_failed", "retry_limit_exceeded"]
    clock.advance(hours=9)
    one.drain()
    assert one.status(bad) == "EXPIRED"


@pytest.mark.req("A-04")
def test_an_objective_that_cannot_be_judged_is_not_met(one: Orchestrator) -> None:
    one.app.objective(KIND)(lambda facts: facts["missing"])
    plan_id = one.approved(steps=STEPS[:1])
    one.drain()
    assert one.get(plan_id).completion_reason == "all_steps_done"


@pytest.mark.req("A-09", "A-10")
def test_what_nobody_here_knows_waits_only_while_it_is_wanted(one: Orchestrator) -> None:
    plan_id = one.active()
    [message] = one.claim()
    [waits] = start_actions(one.app.db, [message], ()).values()
    assert (waits.result.wait_us, waits.result.why) == (UNHANDLED_US, UNHANDLED)
    one.app.plans.abort(plan_id, by="ann")
    [ends] = start_actions(one.app.db, [message], ()).values()
    assert isinstance(ends.result, Delivered), "nobody wants it any more"
