"""The reconciliation is audited: each contradiction is planted, and each must be named."""

from collections.abc import Callable

import pytest

from tests.actions.test_verify import json_text, ledger_copy
from tests.databases import Clock, Place
from tests.usage import ACME, Billing, event_of, unguarded
from tests.verify_clean import assert_verified, broken
from watchkeeper.actions.keep_desk import discard_message
from watchkeeper.actions.reconcile import Reconciliation, reconcile
from watchkeeper.actions.tidy_outbox import sweep_delivered
from watchkeeper.core.ids import TenantId
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.ids import new_id
from watchkeeper.store.database import Database
from watchkeeper.store.question import ROWS_MAX
from watchkeeper.store.questions_settle import ATTENTION, LATE_US, SETTLE_QUESTIONS

BOLT = TenantId("bolt")
WEEK = 7


@pytest.fixture
def billing(db: Database, clock: Clock) -> Billing:
    """A sound history: events that were swept, delivered, discarded, that wait, and two turns."""
    billing = Billing(db)
    billing.settle("swept", user_id="u")
    billing.settle("swept", tenant_id=BOLT)
    billing.deliver()
    clock.advance(days=WEEK + 1)
    assert sweep_delivered(db, WEEK) == 2
    billing.settle("delivered", user_id="u")
    billing.deliver()
    discard_message(db, billing.registry, ACME, event_of(billing.settle("discarded")))
    billing.settle("waiting", user_id="u")
    billing.reserve("running", user_id="u")
    billing.reserve("other")
    billing.settle("waiting", tenant_id=BOLT)
    assert found(reconcile(db)) == {}
    assert_verified(db)
    return billing


def found(reconciliation: Reconciliation) -> dict[str, list[dict]]:
    """What does not hold, and what waits for somebody, with the rows."""
    told = (*reconciliation.findings, *reconciliation.attention)
    return {one.invariant: list(one.rows) for one in told if one.rows}


def event(name: str, table: str = "outbox") -> str:
    return f"{table}.tenant_id = 'acme' and {table}.dedupe_key = 'acme/t-{name}/r-{name}'"


def turn(name: str) -> str:
    return f"tenant_id = 'acme' and turn_id = 't-{name}'"


def copy_event(place: Place, where: str, **changes: str) -> None:
    columns = ["tenant_id", "id", "namespace", "topic", "dedupe_key", "payload", "next_attempt_at"]
    columns += ["created_at", "updated_at"]
    kind = "uuid" if place.engine == "postgresql" else "text"
    values = {name: name for name in columns} | {"id": f"cast('{new_id()}' as {kind})"} | changes
    picked = ", ".join(values[name] for name in columns)
    unguarded(
        place,
        f"insert into outbox ({', '.join(columns)}) select {picked} from outbox where {where}",
    )


def an_event_that_is_gone(place: Place) -> None:
    unguarded(place, f"delete from outbox where {event('waiting')}")


def a_delivered_event_that_is_gone(place: Place) -> None:
    unguarded(place, f"delete from outbox_delivered where {event('delivered', 'outbox_delivered')}")


def a_swept_event_that_left_no_note(place: Place) -> None:
    unguarded(
        place, f"update turns set event_fate = null, event_fate_at = null where {turn('swept')}"
    )


def an_event_under_another_topic(place: Place) -> None:
    unguarded(place, f"update outbox set topic = 'other' where {event('waiting')}")


def an_event_of_no_turn(place: Place) -> None:
    payload = json_text(place, "payload", "t-waiting", "t-none")
    key = "'acme/t-none/r-none'"
    copy_event(place, event("waiting"), dedupe_key=key, payload=payload)


def an_event_of_a_turn_that_runs(place: Place) -> None:
    payload = json_text(place, "payload", "-waiting", "-running")
    key = "'acme/t-running/r-running'"
    copy_event(place, event("waiting"), dedupe_key=key, payload=payload)


def an_event_with_somebody_elses_key(place: Place) -> None:
    key = "'bolt/t-waiting/r-waiting'"
    unguarded(place, f"update outbox set dedupe_key = {key} where {event('waiting')}")


def two_events_of_one_key(place: Place) -> None:
    copy_event(place, event("waiting"), namespace="'elsewhere'")


def two_turns_of_one_event(place: Place) -> None:
    same = f"(select t.event_id from turns t where t.{turn('delivered')})"
    unguarded(place, f"update turns set event_id = {same} where {turn('swept')}")


def an_event_that_is_said_to_have_left(place: Place) -> None:
    unguarded(
        place,
        f"update turns set event_fate = 'delivered', event_fate_at = 1 where {turn('delivered')}",
    )


def an_event_with_another_amount(place: Place) -> None:
    [(charged,)] = place.execute(f"select charged_micro from turns where {turn('waiting')}")
    said = '"charged_credits_micro":'
    payload = json_text(place, "payload", f"{said}{charged}", f"{said}{charged + 1}")
    unguarded(place, f"update outbox set payload = {payload} where {event('waiting')}")


def an_event_with_a_word_for_an_amount(place: Place) -> None:
    payload = json_text(place, "payload", '"input_tokens":900', '"input_tokens":"many"')
    unguarded(place, f"update outbox set payload = {payload} where {event('waiting')}")


def an_event_without_its_user(place: Place) -> None:
    payload = json_text(place, "payload", '"user_id":"u"', '"user_id":"v"')
    unguarded(place, f"update outbox set payload = {payload} where {event('waiting')}")


def bucket(column: str, step: int = 1, where: str = "user_id = 'u'") -> Callable[[Place], None]:
    def crime(place: Place) -> None:
        place.execute(
            f"update quota_buckets set {column} = {column} + {step} where tenant_id = 'acme'"
            f" and period = 'monthly' and bucket = 'total' and {where}"
        )

    crime.__name__ = f"a_bucket_with_another_{column}_{where.partition(' ')[0]}"
    return crime


def a_bucket_that_is_gone(place: Place) -> None:
    place.execute("delete from quota_buckets where tenant_id = 'acme' and bucket = 'tier:premium'")


def a_bucket_of_nobody(place: Place) -> None:
    place.execute(
        "insert into quota_buckets select tenant_id, 'nobody', period, start_at, bucket,"
        " reserved_micro, spent_micro, turns_reserved, turns_settled, input_tokens, output_tokens"
        " from quota_buckets where tenant_id = 'acme' and user_id = 'u'"
    )


def a_turn_that_is_gone(place: Place) -> None:
    unguarded(place, f"delete from turns where {turn('swept')}")


def a_charge_that_was_lowered(place: Place) -> None:
    lower = "charged_micro = charged_micro - 1, is_capped = true"
    unguarded(place, f"update turns set {lower} where {turn('swept')}")


def a_reserve_without_a_line(place: Place) -> None:
    unguarded(place, "delete from ledger where kind = 'turn.reserved' and subject = 't-running'")


def a_settlement_without_a_line(place: Place) -> None:
    unguarded(
        place,
        "delete from ledger where kind = 'turn.settled' and subject = 't-swept'"
        " and tenant_id = 'acme'",
    )


def a_settlement_told_twice(place: Place) -> None:
    ledger_copy(place, "kind = 'turn.settled' and subject = 't-swept'")


def a_settlement_of_a_turn_that_runs(place: Place) -> None:
    ledger_copy(place, "kind = 'turn.settled'", subject="'t-running'")


def a_line_of_no_turn(place: Place) -> None:
    ledger_copy(place, "kind = 'turn.reserved'", subject="'t-none'")


def a_line_with_another_charge(place: Place) -> None:
    data = json_text(place, "data", '"charged_micro":', '"charged_micro":1')
    ledger_copy(place, "kind = 'turn.settled'", data=data)


def metered(place: Place, *names: str) -> str:
    """Say that turns metered one run; its id."""
    id = new_id()
    every = ", ".join(f"'t-{name}'" for name in names)
    unguarded(
        place,
        f"update turns set decision_id = '{id}' where tenant_id = 'acme' and turn_id in ({every})",
    )
    return id


def a_run_with_two_turns_that_run(place: Place) -> None:
    metered(place, "running", "other")


def a_run_that_was_charged_twice(place: Place) -> None:
    metered(place, "swept", "delivered")


CRIMES: dict[Callable[[Place], None], str] = {
    an_event_that_is_gone: "settlement_has_its_event",
    a_delivered_event_that_is_gone: "settlement_has_its_event",
    a_swept_event_that_left_no_note: "settlement_has_its_event",
    an_event_under_another_topic: "settlement_has_its_event",
    an_event_of_no_turn: "event_has_its_settlement",
    an_event_of_a_turn_that_runs: "event_has_its_settlement",
    an_event_with_somebody_elses_key: "event_has_its_settlement",
    two_events_of_one_key: "usage_is_told_once",
    two_turns_of_one_event: "usage_is_told_once",
    an_event_that_is_said_to_have_left: "usage_is_told_once",
    an_event_with_another_amount: "event_says_what_was_settled",
    an_event_with_a_word_for_an_amount: "event_says_what_was_settled",
    an_event_without_its_user: "event_says_what_was_settled",
    bucket("reserved_micro"): "quota_is_the_sum_of_turns",
    bucket("spent_micro", -1): "quota_is_the_sum_of_turns",
    bucket("spent_micro", where="not user_id = 'u'"): "quota_is_the_sum_of_turns",
    bucket("turns_reserved"): "quota_is_the_sum_of_turns",
    bucket("turns_settled"): "quota_is_the_sum_of_turns",
    bucket("input_tokens"): "quota_is_the_sum_of_turns",
    bucket("output_tokens"): "quota_is_the_sum_of_turns",
    a_bucket_that_is_gone: "quota_is_the_sum_of_turns",
    a_bucket_of_nobody: "quota_is_the_sum_of_turns",
    a_turn_that_is_gone: "quota_is_the_sum_of_turns",
    a_charge_that_was_lowered: "quota_is_the_sum_of_turns",
    a_reserve_without_a_line: "turn_has_its_entries",
    a_settlement_without_a_line: "turn_has_its_entries",
    a_settlement_told_twice: "turn_has_its_entries",
    a_settlement_of_a_turn_that_runs: "turn_has_its_entries",
    a_line_of_no_turn: "entry_has_its_turn",
    a_line_with_another_charge: "entry_has_its_turn",
    a_run_with_two_turns_that_run: "run_is_metered_once",
    a_run_that_was_charged_twice: "run_is_metered_once",
}


@pytest.mark.req("S-20")
@pytest.mark.parametrize("crime", CRIMES, ids=lambda crime: crime.__name__)
def test_a_contradiction_is_found(billing: Billing, place: Place, crime) -> None:
    crime(place)
    told = reconcile(billing.db)
    assert CRIMES[crime] in found(told), found(told)
    assert not told.is_clean
    assert all(row["tenant_id"] == "acme" for rows in found(told).values() for row in rows)
    assert CRIMES[crime] in broken(billing.db)
    assert reconcile(billing.db, [BOLT]).is_clean


@pytest.mark.req("S-20")
def test_every_question_has_its_crime() -> None:
    assert set(CRIMES.values()) == {question.name for question in SETTLE_QUESTIONS}


@pytest.mark.req("S-20")
def test_a_run_that_was_asked_for_again_is_charged_again(billing: Billing, place: Place) -> None:
    run = metered(place, "swept", "delivered", "running")
    assert "run_is_metered_once" in found(reconcile(billing.db))
    ledger_copy(place, "kind = 'tenant.created'", kind="'message.redriven'", subject=f"'{run}'")
    assert "run_is_metered_once" not in found(reconcile(billing.db))


@pytest.mark.req("S-20")
def test_a_turn_over_midnight_belongs_to_the_day_of_its_reserve(
    billing: Billing, clock: Clock
) -> None:
    running = billing.reserve("late", user_id="u")
    clock.advance(days=40)
    assert reconcile(billing.db, [ACME]).is_clean
    billing.finalize(running)
    assert reconcile(billing.db, [ACME]).is_clean


@pytest.mark.req("S-20")
def test_only_the_newest_turns_are_looked_at(billing: Billing, place: Place, clock: Clock) -> None:
    """A bucket that began before them accuses nobody; asked for all, it is found."""
    bucket("spent_micro")(place)
    clock.advance(days=32)
    for number in range(5):
        clock.advance(1)
        billing.settle(f"new-{number}", user_id="u")
    for newest in range(1, 5):
        assert reconcile(billing.db, newest=newest).is_clean
    assert "quota_is_the_sum_of_turns" in found(reconcile(billing.db, newest=100))


@pytest.mark.req("S-20")
def test_few_rows_are_told_of_many(billing: Billing, place: Place) -> None:
    for number in range(ROWS_MAX + 3):
        billing.settle(f"many-{number}")
    unguarded(place, f"delete from outbox where topic = '{USAGE_SNAPSHOT}'")
    assert len(found(reconcile(billing.db))["settlement_has_its_event"]) == ROWS_MAX


@pytest.mark.req("S-20")
def test_an_empty_database_is_reconciled(db: Database) -> None:
    assert found(reconcile(db)) == {}
    assert found(reconcile(db, [ACME])) == {}


# -- what waits for somebody ----------------------------------------------------------------------


def assert_waits(billing: Billing, name: str, *subjects: str) -> None:
    """It is listed, and nothing is wrong because of it."""
    told = reconcile(billing.db, [ACME])
    assert told.is_clean
    rows = [row for one in told.attention if one.invariant == name for row in one.rows]
    assert sorted(str(row.get("turn_id") or row["topic"]) for row in rows) == sorted(subjects)


@pytest.mark.req("S-20")
def test_a_dead_event_waits_for_somebody(billing: Billing) -> None:
    billing.is_kind = False
    billing.deliver()
    assert_waits(billing, "dead_usage_events", "t-waiting")


@pytest.mark.req("S-20")
def test_a_late_event_waits_for_somebody(billing: Billing, clock: Clock) -> None:
    clock.advance(LATE_US // 1_000_000)
    assert_waits(billing, "late_usage_events")
    clock.advance(1)
    assert_waits(billing, "late_usage_events", "t-waiting")
    billing.deliver()
    assert_waits(billing, "late_usage_events")


@pytest.mark.req("S-20")
def test_a_stuck_lease_waits_for_somebody(billing: Billing, place: Place) -> None:
    place.execute(
        "update outbox set status = 'processing', attempts = 1, is_due = true,"
        f" locked_by = '{new_id()}', locked_until = 1 where {event('waiting')}"
    )
    assert_waits(billing, "stuck_leases", USAGE_SNAPSHOT)


@pytest.mark.req("S-20")
def test_a_silent_turn_waits_for_somebody(billing: Billing, place: Place, clock: Clock) -> None:
    clock.advance(300 + 600)
    assert_waits(billing, "silent_turns")
    clock.advance(1)
    assert_waits(billing, "silent_turns", "t-other", "t-running")
    [(run,)] = place.execute(f"select id from outbox where {event('waiting')}")
    unguarded(
        place,
        f"update turns set decision_id = '{run}' where {turn('running')}",
        "update outbox set status = 'processing', attempts = 1, is_due = true, locked_by = id,"
        f" locked_until = {clock.at + 1} where {event('waiting')}",
    )
    assert_waits(billing, "silent_turns", "t-other")


@pytest.mark.req("S-20")
def test_all_that_waits_is_asked_for() -> None:
    names = {question.name for question in ATTENTION}
    assert names == {"dead_usage_events", "late_usage_events", "stuck_leases", "silent_turns"}
