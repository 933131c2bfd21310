"""The overview on PostgreSQL: what it reads grows neither with ledger, accounts nor backlog."""

from collections.abc import Callable

import pytest

from tests.databases import Clock, Place
from tests.looking import Lookout
from tests.play import ACME, event
from tests.reading import Read, reading
from watchkeeper.actions.overview import Window, show_overview
from watchkeeper.actions.population import Populations
from watchkeeper.actions.show_budgets import show_budgets
from watchkeeper.actions.show_connectors import show_connectors
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import HOUR
from watchkeeper.store import outbox_backlog, tally_series
from watchkeeper.store.database import Database

pytestmark = [
    pytest.mark.brand_new,
    pytest.mark.postgresql,
    pytest.mark.parametrize("engine", ["postgresql"]),
    pytest.mark.req("U-31"),
]

TABLES = ("ledger", "heats", "outbox", "runs", "tallies", "plans", "intents", "accounts")
ENTRIES, ACCOUNTS, MESSAGES = 40_000, 20_000, 20_000
COUNTED = 1_000
READ_MAX = 12_000
"""Two thousand entries, half as many in a sample, and a thousand each of accounts and messages,
some of them by way of an index and of the table: far less than there is of any."""

LEDGER = """insert into ledger (tenant_id, seq, entry_id, at, stage, kind, subject, policy_version,
    result, trigger_type, data)
select 'acme', t.ledger_seq + n, gen_random_uuid(), {at} - {hour} + n * {hour} / {entries},
    'decide', 'verdict', 'other', 1, 'ALLOW', 'SIGNAL_ARRIVED', l.data
from tenants t, generate_series(1::bigint, {entries}) n,
    (select data from ledger where kind = 'verdict' order by seq limit 1) l
where t.tenant_id = 'acme'"""
HEATS = f"""insert into heats (tenant_id, account_id, posture, recent, tier, entered_at,
    computed_at, changes_at, heat_micro, posture_micro, recency_micro, volume_micro,
    policy_version, version, updated_at)
select 'acme', 'other-' || n, null, '[]', n % 3, 0, 0, {2**62}, 0, 0, 0, 0, 1, 1, 0
from generate_series(1, {ACCOUNTS}) n"""
OUTBOX = """insert into outbox (tenant_id, id, namespace, topic, payload, next_attempt_at, is_due,
    created_at, updated_at)
select case n % 2 when 0 then 'acme' else 'beta' end, gen_random_uuid(), 'watchkeeper',
    'topic-' || n % 4, '{{}}', {at}, true, {at}, {at}
from generate_series(1, {messages}) n"""


class Unhurried(Populations):
    def count(self, tenant_id: TenantId) -> None:
        """Not here: it is made for taking its time."""


@pytest.fixture
def lookout(db: Database, place: Place, clock: Clock) -> Lookout:
    made = Lookout(db, clock)
    made.heat_up("ann")
    made.fire(event("ann"))
    given = {"at": clock.at, "hour": HOUR, "entries": ENTRIES, "messages": MESSAGES}
    for statement in (LEDGER, HEATS, OUTBOX):
        place.execute(statement.format(**given))
    place.execute(f"update tenants set ledger_seq = ledger_seq + {ENTRIES}")
    for table in TABLES:
        place.execute(f"vacuum analyze {table}")
    return made


@pytest.fixture
def read(place: Place) -> Read:
    return reading(place, TABLES)


def test_what_an_overview_reads_is_bounded(
    lookout: Lookout,
    read: Read,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tally_series, "ENTRIES_MAX", 2 * COUNTED)
    monkeypatch.setattr(outbox_backlog, "COUNTED_MAX", COUNTED)

    def look(window: Window) -> Callable[[Database], object]:
        return lambda db: show_overview(db, Unhurried(db, counted_max=COUNTED), ACME, window)

    asked: dict[str, Callable[[Database], object]] = {one: look(one) for one in Window}
    asked["budgets"] = lambda db: show_budgets(db, ACME)
    asked["connectors"] = lambda db: show_connectors(db, ACME, "", 100)
    found = {name: read(ask) for name, ask in asked.items()}
    assert {name: rows for name, rows in found.items() if rows > READ_MAX} == {}
    assert min(ENTRIES, ACCOUNTS, MESSAGES) > READ_MAX


def test_the_estimate_of_an_hour_is_near_what_there_was(
    lookout: Lookout, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally_series, "ENTRIES_MAX", 10 * COUNTED)
    found = show_overview(db, Unhurried(db, counted_max=COUNTED), ACME, Window.HOUR).verdicts
    assert found.is_estimate
    assert abs(found.total("ALLOW") - ENTRIES) < ENTRIES // 20
    by_minute = found.series("ALLOW")[
        1:-1
    ]  # the hour begins within the first, and the last has begun
    assert all(abs(count - ENTRIES / 60) < ENTRIES / 600 for count in by_minute)
