"""Pages on PostgreSQL: what one reads does not grow with the ledger nor with the accounts."""

import pytest

from tests.databases import START_AT, Clock, Place
from tests.looking import Lookout
from tests.play import ACME, event
from tests.reading import Read, reading
from watchkeeper.actions.search_accounts import search_accounts
from watchkeeper.actions.search_ledger import SCANNED, SCANS_MAX, Search, search_ledger
from watchkeeper.actions.show_seals import show_seals
from watchkeeper.actions.show_timeline import READ, show_timeline
from watchkeeper.actions.views import OLDEST
from watchkeeper.core.heat import Tier
from watchkeeper.core.ids import AccountId
from watchkeeper.core.ledger import Stage
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.store.database import Database

pytestmark = [
    pytest.mark.brand_new,
    pytest.mark.postgresql,
    pytest.mark.parametrize("engine", ["postgresql"]),
    pytest.mark.req("U-31"),
]

TABLES = ("ledger", "accounts", "heats", "turns", "plans", "intents", "signals", "next_pulls")
ENTRIES = 60_000
OTHERS = 20_000
MORE = 2_000
"""What is read beside: policies are elsewhere, some rows are read by two indexes."""

FILL = f"""
insert into ledger (tenant_id, seq, entry_id, at, stage, kind, subject, policy_version, result,
    trigger_type, data)
select 'acme', t.ledger_seq + n, gen_random_uuid(), {START_AT} + n * {SECOND}, 'decide', 'verdict',
    case n % 3 when 0 then 'busy' else 'other-' || n % {OTHERS} end, 1, 'ALLOW',
    'SIGNAL_ARRIVED', l.data
from tenants t, generate_series(1::bigint, {ENTRIES}) n,
    (select data from ledger where kind = 'verdict' order by seq limit 1) l
where t.tenant_id = 'acme';
"""
ACCOUNTS = f"""
insert into accounts (tenant_id, account_id, created_at, updated_at)
select 'acme', 'other-' || n, {START_AT}, {START_AT} from generate_series(1, {OTHERS}) n
"""
HEATS = f"""
insert into heats (tenant_id, account_id, posture, recent, tier, entered_at, computed_at,
    changes_at, heat_micro, posture_micro, recency_micro, volume_micro, policy_version, version,
    updated_at)
select 'acme', 'other-' || n, null, '[]', 0, {START_AT}, {START_AT}, {2**62}, 0, 0, 0, 0, 1, 1,
    {START_AT} from generate_series(1, {OTHERS}) n
"""


@pytest.fixture
def lookout(db: Database, place: Place, clock: Clock) -> Lookout:
    made = Lookout(db, clock)
    made.heat_up("ann")
    made.fire(event("ann"))
    place.execute(FILL)
    place.execute(f"update tenants set ledger_seq = ledger_seq + {ENTRIES}")
    place.execute(ACCOUNTS)
    place.execute(HEATS)
    made.fire(event("ann"))
    for table in TABLES:
        place.execute(f"vacuum analyze {table}")
    return made


@pytest.fixture
def read(place: Place) -> Read:
    return reading(place, TABLES)


READS = {
    "timeline": lambda db: (
        show_timeline(db, ACME, AccountId("ann"), before=OLDEST, stage=None, limit=50).entries
    ),
    "timeline of who is busy": lambda db: (
        show_timeline(db, ACME, AccountId("busy"), before=OLDEST, stage=None, limit=50).entries
    ),
    "timeline of who has none of a stage": lambda db: (
        show_timeline(
            db, ACME, AccountId("busy"), before=OLDEST, stage=Stage.ACT, limit=50
        ).next_before
    ),
    "timeline of a stage": lambda db: (
        show_timeline(
            db, ACME, AccountId("ann"), before=OLDEST, stage=Stage.PERCEIVE, limit=50
        ).entries
    ),
    "accounts": lambda db: (
        search_accounts(db, ACME, prefix="", tier=None, after="", limit=50).accounts
    ),
    "accounts by name": lambda db: (
        search_accounts(db, ACME, prefix="ann", tier=None, after="", limit=50).accounts
    ),
    "accounts by a rare tier": lambda db: (
        search_accounts(db, ACME, prefix="", tier=Tier.HOT, after="", limit=50).accounts
    ),
    "accounts by a common tier": lambda db: (
        search_accounts(db, ACME, prefix="", tier=Tier.COLD, after="", limit=50).accounts
    ),
    "seals": lambda db: show_seals(db, ACME).last_seq,
    "ledger": lambda db: search_ledger(db, ACME, Search({}), before=OLDEST, limit=50).entries,
    "ledger of a subject": lambda db: (
        search_ledger(db, ACME, Search({"subject": "ann"}), before=OLDEST, limit=50).entries
    ),
    "ledger of a moment": lambda db: (
        search_ledger(
            db,
            ACME,
            Search({}, Instant(START_AT + 1000 * SECOND), Instant(START_AT + 1100 * SECOND)),
            before=OLDEST,
            limit=50,
        ).entries
    ),
}


def test_a_page_reads_what_it_needs(lookout: Lookout, read: Read) -> None:
    found = {name: read(ask) for name, ask in READS.items()}
    assert {name: rows for name, rows in found.items() if rows > 4 * READ + MORE} == {}
    wanted = Search({"kind": "verdict", "reason": "KILL_SWITCH"})
    given_up = read(lambda db: search_ledger(db, ACME, wanted, before=OLDEST, limit=50).next_before)
    assert given_up < 2 * SCANNED * SCANS_MAX + MORE < ENTRIES
