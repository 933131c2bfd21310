"""The overview's question: bounded whatever there is, and honest about what it left out."""

import pytest

from tests.databases import Clock
from tests.messages import letter, put
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.fire_triggers import fire_triggers
from watchkeeper.actions.generate_report import count_ledger
from watchkeeper.actions.overview import Overview, Window, show_overview
from watchkeeper.actions.population import Populations
from watchkeeper.actions.show_budgets import running_total, show_budgets
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY, HOUR, MINUTE, Instant
from watchkeeper.inputs import parse_triggers
from watchkeeper.store import outbox_backlog, tally_series
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("U-31")

ACME = TenantId("acme")


@pytest.fixture
def admission(db: Database) -> Admission:
    create_tenant(db, ACME)
    return Admission(db)


def ask(admission: Admission, *accounts: str) -> None:
    fired = [
        {"account_id": name, "trigger_type": "SIGNAL_ARRIVED", "idempotency_key": f"key-{name}"}
        for name in accounts
    ]
    fire_triggers(admission, ACME, parse_triggers(fired))


def look(db: Database, window: Window | None = Window.DAY) -> Overview:
    return show_overview(db, Populations(db), ACME, window)


def test_entries_beyond_the_bound_are_left_out_and_it_is_said_since_when(
    db: Database, clock: Clock, admission: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(admission, "a")
    clock.advance(minutes=1)
    ask(admission, "b", "c")
    with db.read(ACME) as tx:
        [(end,)] = tx.rows(tally_series._END, (ACME,))
    monkeypatch.setattr(tally_series, "ENTRIES_MAX", end)
    assert (look(db).verdicts.total("ALLOW"), look(db).verdicts.until_at) == (3, None)
    at = clock.at
    clock.advance(minutes=1)
    ask(admission, "d")
    found = look(db).verdicts
    assert (found.total("ALLOW"), found.until_at) == (3, at)
    count_ledger(db, ACME)
    assert (look(db).verdicts.total("ALLOW"), look(db).verdicts.until_at) == (4, None)


def test_who_began_today_is_looked_at_by_the_minute(
    db: Database, clock: Clock, admission: Admission
) -> None:
    assert look(db, None).verdicts.window is Window.HOUR
    clock.advance(hours=4)
    ask(admission, "a")
    assert look(db, None).verdicts.window is Window.DAY


def test_verdicts_are_counted_by_the_minute(
    db: Database, clock: Clock, admission: Admission
) -> None:
    for name in ("a", "b", "c"):
        ask(admission, name)
        clock.advance(minutes=1)
    found = look(db, Window.HOUR).verdicts
    assert (found.total("ALLOW"), found.is_estimate) == (3, False)
    assert [n for n, count in enumerate(found.series("ALLOW")) if count] == [56, 57, 58]


def test_too_many_to_count_are_estimated_from_stretches_of_the_window(
    db: Database, clock: Clock, admission: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies before the window is found by halves and left out."""
    ask(admission, *(f"old-{n}" for n in range(90)))
    clock.advance(hours=2)
    for minute in range(6):
        ask(admission, *(f"{minute}-{n}" for n in range(20)))
        clock.advance(minutes=1)
    monkeypatch.setattr(tally_series, "ENTRIES_MAX", 40)
    monkeypatch.setattr(tally_series, "STRETCH", 5)
    whole = look(db, Window.HOUR).verdicts
    assert whole.is_estimate
    assert 90 <= whole.total("ALLOW") <= 150
    drawn = [n for n, count in enumerate(whole.series("ALLOW")) if count]
    assert drawn[0] == 53
    assert drawn[-1] >= 58
    clock.advance(hours=2)
    assert look(db, Window.HOUR).verdicts.total("ALLOW") == 0


def test_a_long_backlog_is_counted_up_to_a_bound_and_its_oldest_is_seen(
    db: Database, clock: Clock, admission: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_backlog, "COUNTED_MAX", 4)
    monkeypatch.setattr(outbox_backlog, "LOOKED_AT_MIN", 1)
    put(db, *(letter(topic="a") for _ in range(6)), letter(topic="b"), letter(topic="b"))
    oldest = clock.at
    clock.advance(minutes=2)
    put(db, letter(topic="c"))
    found = look(db)
    assert [(one.topic, one.waiting) for one in found.backlog.queues] == [
        ("a", 4),
        ("b", 1),
        ("c", 1),
    ]
    assert found.backlog.is_capped
    assert (found.backlog.oldest_due_at, found.lag_us) == (oldest, 2 * MINUTE)
    monkeypatch.setattr(outbox_backlog, "COUNTED_MAX", 100)
    assert (look(db).backlog.waiting, look(db).backlog.is_capped) == (9, False)


def test_what_is_old_and_not_counted_yet_is_not_in_the_window(
    db: Database, clock: Clock, admission: Admission
) -> None:
    ask(admission, "a")
    clock.advance(days=2)
    found = look(db).verdicts
    assert (found.total("ALLOW"), sum(found.series("ALLOW"))) == (0, 0)
    assert look(db, Window.WEEK).verdicts.total("ALLOW") == 1


def test_messages_of_others_are_not_in_the_backlog(db: Database, admission: Admission) -> None:
    create_tenant(db, TenantId("beta"))
    put(db, letter("beta"), letter("beta", topic="theirs"))
    assert look(db).backlog.queues == ()


def test_the_line_of_a_day_begins_at_midnight_and_ends_at_what_is_used() -> None:
    day, used = 100, 9
    hours = [0, 2, 3] + [0] * 20 + [4]
    start = day * DAY
    assert running_total(hours, day, Instant(start + 2 * HOUR + 1), used) == [
        (start, 0), (start + HOUR, 0), (start + 2 * HOUR, 2), (start + 2 * HOUR + 1, 9),
    ]  # fmt: skip
    later = running_total(hours, day, Instant(start + 3 * DAY), used)
    assert (len(later), later[-1]) == (25, (start + DAY, 9))
    assert running_total(hours, day, Instant(start), 0) == [(start, 0)]


def test_a_budget_of_nothing_is_full_and_not_news(db: Database, admission: Admission) -> None:
    found = show_budgets(db, ACME)
    assert found.runs.percent is None
    assert not any(one.is_nearly_used for one in found.meters)
