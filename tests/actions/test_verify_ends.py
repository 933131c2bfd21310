"""The audit of ends is audited: state without its entry, an entry without its state, both found."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.actions.test_verify import json_text, ledger_copy
from tests.databases import Clock, Place
from tests.tampering import Intruder
from tests.verify_clean import assert_verified, broken
from watchkeeper import App, Decision
from watchkeeper.act_results import Action, Outcome
from watchkeeper.actions.generate_report import count_ledger
from watchkeeper.actions.keep_desk import redrive_messages
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY, SECOND, Instant, from_datetime
from watchkeeper.ids import new_id
from watchkeeper.results import Pull, Run
from watchkeeper.store.outbox_desk import Filter
from watchkeeper.store.questions_ends import ENDS_QUESTIONS

pytestmark = pytest.mark.req("T-30")

ACME = TenantId("acme")
KIND = "RENEWAL_DEFENSE"
MEET, BRIEF = "REQUEST_RENEWAL_MEETING", "PREP_RENEWAL_BRIEF"


def policy(attempts_max: int) -> str:
    return f"""
[reports.milestones.AUTO_14H]
after_hours = 14
[autonomy]
mode = "auto_low_risk"
auto_per_day_max = 50
[actions.{MEET}]
risk = "low"
[actions.{BRIEF}]
risk = "low"
[plan_types.{KIND}]
max_retries_per_step = {attempts_max}
"""


@pytest.fixture
def app(place: Place, clock: Clock) -> Iterator[App]:
    """A sound database: runs, pulls and attempts that went well and badly, some of them again."""
    app = App(place.url, migrate=False)
    app.apply_policy(policy(3), reason="test")
    _runs(app)
    _pulls(app)
    _plans(app)
    clock.advance(hours=20)
    app.drain()
    for number, at in enumerate(("2030-01-31T23:59:59.999999", "2030-02-01T00:00:00")):
        clock.set(from_datetime(datetime.fromisoformat(at).replace(tzinfo=UTC)))
        reserve(app, f"t{number}")
    app.drain()
    assert_verified(app.db)
    yield app
    app.close()


def _runs(app: App) -> None:
    calls: list[str] = []

    @app.decision
    def decide(run: Run) -> Decision:
        calls.append(run.account_id)
        if run.account_id == "bad" or (calls[-1:] == ["again"] and calls.count("again") == 1):
            raise RuntimeError("no")
        return Decision(note="done")

    for account in ("good", "again"):
        app.signal(ACME, account, "mail")
    app.drain()
    assert redrive_messages(app.db, app.registry, ACME, Filter(), by="ann") == 1
    app.signal(ACME, "bad", "mail")
    app.drain()
    assert calls == ["good", "again", "again", "bad"]


def _pulls(app: App) -> None:
    @app.connector("crm", cadence=False)
    def look(pull: Pull) -> None:
        if pull.account_id == "bad":
            raise RuntimeError("no")

    app.set_pull_budget(ACME, 100)
    for account in ("good", "bad"):
        app.pull(ACME, account, "crm", "SHALLOW", pull_job_id=f"p-{account}")
    app.drain()
    app.clock.advance(hours=30)
    app.pull(ACME, "good", "crm", "SHALLOW", pull_job_id="p-good")
    app.drain()


def _plans(app: App) -> None:
    app.action(MEET)(lambda _action: Outcome.success())

    @app.action(BRIEF)
    def brief(_action: Action) -> Outcome:
        return Outcome.failure("not yet")

    plan = app.plans.create("acme", "stuck", KIND, [MEET, BRIEF])
    app.plans.approve(plan.plan_id, by="ann")
    app.clock.advance(hours=2)
    assert app.plans.get(plan.plan_id).status == "PAUSED"
    for attempts_max in (3, 1, 2):
        app.apply_policy(policy(attempts_max), reason="test")
        app.plans.resume(plan.plan_id, by="ann")
        app.clock.advance(hours=2)
        assert app.plans.get(plan.plan_id).status == "PAUSED"
    assert len(app.intents.list("acme", plan_id=plan.plan_id)) == 1 + 3 + 3 + 1 + 2


def reserve(app: App, name: str) -> None:
    app.reserve_turn(
        ACME,
        request_id=name,
        turn_id=name,
        model="standard",
        estimated_input_tokens=1,
        max_output_tokens=1,
        user_id="kim",
    )


def unsaid(place: Place, where: str) -> None:
    Intruder(place).run(f"update ledger set kind = 'account.changed' where {where}")


def a_run_that_failed_in_silence(place: Place) -> None:
    unsaid(place, "kind = 'run.ended' and subject = 'bad'")


def a_run_that_ended_otherwise(place: Place) -> None:
    Intruder(place).run("update runs set state = 'FAILED' where account_id = 'good'")


def a_run_whose_end_was_taken_back(place: Place) -> None:
    Intruder(place).run(
        "update runs set state = 'RUNNING', ended_at = null where account_id = 'again'"
    )


def an_end_of_no_run(place: Place) -> None:
    [(id,)] = place.execute("select decision_id from runs where account_id = 'good'")
    data = json_text(place, "data", str(id), new_id())
    ledger_copy(place, "kind = 'run.ended' and subject = 'good'", data=data)


def a_run_that_ended_twice(place: Place) -> None:
    ledger_copy(place, "kind = 'run.ended' and subject = 'good'")


def a_pull_that_failed_in_silence(place: Place) -> None:
    unsaid(place, "kind = 'pull.ended' and subject = 'bad'")


def a_pull_id_used_again_in_silence(place: Place) -> None:
    last = "(select max(seq) from ledger where kind = 'pull.ended' and subject = 'good')"
    unsaid(place, f"seq = {last}")


def a_pull_that_ended_otherwise(place: Place) -> None:
    Intruder(place).run("update pulls set state = 'SUCCEEDED' where account_id = 'bad'")


def a_pull_whose_end_was_taken_back(place: Place) -> None:
    Intruder(place).run(
        "update pulls set state = 'RUNNING', ended_at = null where account_id = 'bad'"
    )


def a_pull_that_ended_twice(place: Place) -> None:
    ledger_copy(place, "kind = 'pull.ended' and subject = 'bad'")


def an_end_of_no_pull(place: Place) -> None:
    data = json_text(place, "data", "p-bad", "p-none")
    ledger_copy(place, "kind = 'pull.ended' and subject = 'bad'", data=data)


def an_attempt_that_failed_in_silence(place: Place) -> None:
    unsaid(place, "kind = 'STEP_FAILED' and cast(data as text) like '%\"attempt\":2,%'")


def an_attempt_that_succeeded_in_silence(place: Place) -> None:
    unsaid(place, "kind = 'STEP_COMPLETED'")


def an_attempt_that_ended_otherwise(place: Place) -> None:
    Intruder(place).run(
        f"update intents set state = 'SUCCEEDED' where action_type = '{BRIEF}' and attempt = 1"
    )


def an_attempt_that_failed_twice(place: Place) -> None:
    ledger_copy(place, "kind = 'STEP_FAILED' and cast(data as text) like '%\"attempt\":2,%'")


def an_end_of_no_attempt(place: Place) -> None:
    data = json_text(place, "data", '"attempt":1,', '"attempt":77,')
    ledger_copy(place, "kind = 'STEP_COMPLETED'", data=data)


def one_attempt_more(place: Place) -> None:
    """Two were allowed after the last resume; without it, the second of them is the third."""
    last = "(select max(seq) from ledger where kind = 'PLAN_RESUMED')"
    unsaid(place, f"seq = {last}")


def the_day_before(place: Place) -> None:
    Intruder(place).run(
        f"update turns set day_start_at = day_start_at - {DAY} where turn_id = 't1'"
    )


def the_month_before(place: Place) -> None:
    Intruder(place).run(
        "update turns set month_start_at = (select month_start_at from turns"
        " where turn_id = 't0') where turn_id = 't1'"
    )


def a_forged_marker(place: Place) -> None:
    """The application's role may insert one; no right beyond that is needed."""
    place.execute(
        "insert into milestones (tenant_id, milestone, outcome, report_id, marked_at)"
        " values ('acme', 'AUTO_48H', 'MISSED', null, 1)"
    )


def a_generated_one_without_entry(place: Place) -> None:
    unsaid(place, "kind = 'report.generated' and subject = 'AUTO_12H'")


FAULTS = [
    (a_run_that_failed_in_silence, "run_end_is_in_the_ledger"),
    (a_run_that_ended_otherwise, "run_end_is_in_the_ledger"),
    (a_run_whose_end_was_taken_back, "run_end_is_in_the_ledger"),
    (an_end_of_no_run, "run_end_is_in_the_ledger"),
    (a_run_that_ended_twice, "run_end_is_in_the_ledger"),
    (a_pull_that_failed_in_silence, "pull_end_is_in_the_ledger"),
    (a_pull_id_used_again_in_silence, "pull_end_is_in_the_ledger"),
    (a_pull_that_ended_otherwise, "pull_end_is_in_the_ledger"),
    (a_pull_whose_end_was_taken_back, "pull_end_is_in_the_ledger"),
    (a_pull_that_ended_twice, "pull_end_is_in_the_ledger"),
    (an_end_of_no_pull, "pull_end_is_in_the_ledger"),
    (an_attempt_that_failed_in_silence, "intent_end_is_in_the_ledger"),
    (an_attempt_that_succeeded_in_silence, "intent_end_is_in_the_ledger"),
    (an_attempt_that_ended_otherwise, "intent_end_is_in_the_ledger"),
    (an_end_of_no_attempt, "intent_end_is_in_the_ledger"),
    (an_attempt_that_failed_twice, "intent_end_is_in_the_ledger"),
    (one_attempt_more, "attempts_stay_within_their_limit"),
    (the_day_before, "turn_is_in_its_periods"),
    (the_month_before, "turn_is_in_its_periods"),
    (a_forged_marker, "marker_has_its_entry"),
    (a_generated_one_without_entry, "marker_has_its_entry"),
]


@pytest.mark.parametrize(("fault", "invariant"), FAULTS, ids=lambda v: getattr(v, "__name__", v))
def test_it_is_found(app: App, place: Place, fault, invariant: str) -> None:
    fault(place)
    found = broken(app.db)
    assert invariant in found, found
    assert all(row["tenant_id"] == "acme" for row in found[invariant])


def test_every_question_has_a_fault() -> None:
    assert {name for _, name in FAULTS} == {one.name for one in ENDS_QUESTIONS}


def test_nothing_grows_with_the_square_of_the_ledger() -> None:
    """State and entries meet in a GROUP BY: the planner cannot compare each with each."""
    joining = {one.name for one in ENDS_QUESTIONS if " join " in one.sql}
    assert joining == {"attempts_stay_within_their_limit"}, "with the limits, which are few"


def test_a_part_of_the_ledger_is_enough(app: App) -> None:
    """What the newest entries do not tell is not judged."""
    for entries in range(1, 60):
        assert broken(app.db, entries_max=entries) == {}, entries


def test_a_turn_of_any_month_is_in_its_periods(place: Place, clock: Clock) -> None:
    """The first and the last instant of each month, through a leap year."""
    app = App(place.url, migrate=False)
    for month in range(1, 60):
        year, number = 2030 + month // 12, month % 12 + 1
        first = from_datetime(datetime(year, number, 1, tzinfo=UTC))
        for at in (first - 1, first, first + 28 * DAY):
            clock.set(Instant(at))
            reserve(app, f"t{at // SECOND}")
    assert_verified(app.db)
    app.close()


def test_markers_are_counted_after_their_entries_were_pruned(app: App, place: Place) -> None:
    """A marker that says it is older than what was pruned is one more than was counted."""
    count_ledger(app.db, ACME)
    [(last,)] = place.execute("select max(seq) from ledger where tenant_id = 'acme'")
    [(newest,)] = place.execute("select max(at) from ledger where tenant_id = 'acme'")
    intruder = Intruder(place)
    id = new_id()
    intruder.run(
        "insert into ledger_prunes (tenant_id, seq, hash, newest_at, last_entry_id, pruned_at,"
        f" pruned_by) values ('acme', {last}, '00', {newest}, '{id}', 1, 'ann')"
    )
    intruder.run("delete from ledger where tenant_id = 'acme'")
    assert "marker_has_its_entry" not in broken(app.db)
    a_forged_marker(place)
    [row] = broken(app.db)["marker_has_its_entry"]
    assert row["markers"] == row["entries"] + 1
