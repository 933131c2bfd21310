"""The daily roll-up of heat: off unless asked for, kept for so many days, then gone."""

from typing import Any

import pytest

from tests.databases import Clock
from watchkeeper.actions.forget_expired import forget_expired
from watchkeeper.actions.keep_desk import discard_message
from watchkeeper.actions.show_heat import show_account
from watchkeeper.app import App
from watchkeeper.core.ids import AccountId, MessageId, TenantId
from watchkeeper.perceive_results import heat_day_json
from watchkeeper.store.database import Database
from watchkeeper.store.statement import same

ACME = TenantId("acme")
EVERYTHING = same("select distinct day from heat_days")
ONE = 719_163
"""The first of January 1970, as Python counts days."""


@pytest.fixture
def app(db: Database, clock: Clock, db_url: str) -> Any:
    made = App(db_url, migrate=False)
    yield made
    made.close()


def days(app: App) -> list[tuple[str, str]]:
    shown = show_account(app.db, ACME, AccountId("a"))
    return [(day["date"], day["heat_tier"]) for day in map(heat_day_json, shown.days)]


@pytest.mark.req("P-02")
def test_each_day_is_kept_as_it_ended_for_as_long_as_policy_says(app: App) -> None:
    app.apply_policy("[heat]\nrollup_days = 2\n", reason="a history")
    app.account("acme", "a", posture="AT_RISK")
    for _ in range(2):
        app.signal("acme", "a", "news")
    app.clock.advance(days=1)
    assert days(app)[-1] == ("2030-01-01", "WARM"), "HOT at noon, WARM when the day ended"
    app.clock.advance(days=3)
    assert len(days(app)) <= 3, "what has expired is not shown"
    assert forget_expired(app.db) > 0
    with app.db.read(ACME) as tx:
        kept = {row[0] for row in tx.rows(EVERYTHING)}
    assert kept == {app.clock.now().toordinal() - ONE + n for n in (-2, -1, 0)}


@pytest.mark.req("P-02")
def test_nothing_is_rolled_up_unless_somebody_asked(app: App) -> None:
    app.signal("acme", "a", "news")
    app.clock.advance(days=1)
    assert days(app) == []


@pytest.mark.req("P-02")
def test_a_sweep_goes_on_though_somebody_discarded_its_message(app: App) -> None:
    app.signal("acme", "a", "news")
    [(before,)] = sweep_messages(app)
    discard_message(app.db, app.registry, ACME, MessageId(before), by="somebody")
    [(after,)] = sweep_messages(app)
    assert after != before
    app.clock.advance(days=3)
    assert app.heat("acme", "a").heat_tier == "COLD"


def sweep_messages(app: App) -> list[Any]:
    with app.db.read(ACME) as tx:
        return tx.rows(same("select id from outbox where topic = 'heat.sweep'"))
