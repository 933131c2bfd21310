"""The audit of milestones and reports: clean after what the product does, and not after this."""

from collections.abc import Iterator

import pytest

from tests.databases import START_AT, Clock, Place
from tests.play import ACME
from tests.verify_clean import assert_verified, broken
from watchkeeper import App
from watchkeeper.core.time import HOUR
from watchkeeper.ids import new_id

pytestmark = pytest.mark.req("T-30", "T-31")


@pytest.fixture
def app(db_url: str, clock: Clock) -> Iterator[App]:
    """A tenant whose first report is made and whose second is still to come."""
    made = App(db_url, migrate=False)
    made.signal(ACME, "ann", "mail")
    made.clock.advance(hours=12)
    assert_verified(made.db)
    yield made
    made.close()


def add_report(place: Place, trigger: str, hours: int) -> str:
    report_id = new_id()
    place.execute(
        "insert into reports (tenant_id, report_id, trigger_name, window_since_at, generated_at,"
        f" last_seq, document) values ('acme', '{report_id}', '{trigger}', {START_AT},"
        f" {START_AT + hours * HOUR}, 1, '{{}}')"
    )
    return report_id


def add_marker(place: Place, milestone: str, outcome: str, report_id: str | None) -> None:
    told = "null" if report_id is None else f"'{report_id}'"
    place.execute(
        "insert into milestones (tenant_id, milestone, outcome, report_id, marked_at)"
        f" values ('acme', '{milestone}', '{outcome}', {told}, {START_AT})"
    )


def add_entry(place: Place, kind: str, subject: str, data: str = "{}") -> str:
    """In the ledger, at the tenant's next place."""
    [(seq,)] = place.execute("select ledger_seq + 1 from tenants where tenant_id = 'acme'")
    entry_id = new_id()
    place.execute(
        "insert into ledger (tenant_id, seq, entry_id, at, stage, kind, subject, policy_version,"
        f" data) values ('acme', {seq}, '{entry_id}', {START_AT}, 'report', '{kind}', '{subject}',"
        f" 0, '{data}')"
    )
    place.execute(f"update tenants set ledger_seq = {seq} where tenant_id = 'acme'")
    return entry_id


def test_a_milestone_that_ended_twice(app: App, place: Place) -> None:
    add_entry(place, "report.generated", "AUTO_12H")
    found = broken(app.db)
    assert [row["milestone"] for row in found["milestone_ends_once"]] == ["AUTO_12H"]


def test_two_reports_of_one_milestone(app: App, place: Place) -> None:
    add_report(place, "AUTO_12H", 13)
    found = broken(app.db)
    assert {"milestone_ends_once", "marker_has_its_report", "report_is_in_its_window"} == set(found)


def test_an_end_that_the_marker_does_not_know(app: App, place: Place) -> None:
    add_entry(place, "milestone.missed", "AUTO_3H")
    assert set(broken(app.db)) == {"milestone_ends_once"}


def test_a_marker_without_its_report(app: App, place: Place) -> None:
    add_marker(place, "AUTO_24H", "GENERATED", new_id())
    found = broken(app.db)
    assert [row["milestone"] for row in found["marker_has_its_report"]] == ["AUTO_24H"]
    assert "milestones_are_complete" in found, "its tick is still planned"


@pytest.mark.parametrize(("hours", "is_fine"), [(23, False), (24, True), (48, True), (49, False)])
def test_a_report_that_was_made_out_of_its_window(
    app: App, place: Place, hours: int, is_fine: bool
) -> None:
    bounds = f'{{"from_us": {24 * HOUR}, "to_us": {49 * HOUR}}}'
    entry_id = add_entry(place, "report.generated", "AUTO_24H", bounds)
    place.execute(
        "insert into reports (tenant_id, report_id, trigger_name, window_since_at, generated_at,"
        f" last_seq, document) values ('acme', '{entry_id}', 'AUTO_24H', {START_AT},"
        f" {START_AT + hours * HOUR}, 1, '{{}}')"
    )
    add_marker(place, "AUTO_24H", "GENERATED", entry_id)
    assert ("report_is_in_its_window" not in broken(app.db)) == is_fine


def test_a_milestone_that_would_not_come(app: App, place: Place) -> None:
    place.execute("update milestone_ticks set due_at = null")
    assert set(broken(app.db)) == {"milestones_are_complete"}
    place.execute(f"update milestone_ticks set due_at = {START_AT + 99 * HOUR}")
    assert set(broken(app.db)) == {"milestones_are_complete", "tick_has_its_message"}


def test_a_missed_one_is_no_fault(app: App, clock: Clock) -> None:
    app.apply_policy("[reports.milestones.AUTO_14H]\nafter_hours = 14\n", reason="test")
    clock.advance(hours=20)
    assert_verified(app.db)
    app.drain()
    assert_verified(app.db)
