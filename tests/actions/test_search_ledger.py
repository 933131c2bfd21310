"""Searching is bounded, and goes on where it stopped: in the end all is found, and once."""

import pytest

from tests.databases import START_AT, Clock
from tests.play import ACME, Player, event
from watchkeeper.actions import search_ledger as searching
from watchkeeper.actions.generate_report import count_ledgers
from watchkeeper.actions.search_ledger import Search, search_decisions, search_ledger
from watchkeeper.actions.views import OLDEST
from watchkeeper.core.time import HOUR, MINUTE, Instant
from watchkeeper.store import ledger, tallies
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("U-31")


def every(db: Database, wanted: Search, limit: int = 3) -> tuple[list[int], int]:
    """The places of all that is found, and how many pages that took."""
    found: list[int] = []
    before, pages = OLDEST, 0
    while before is not None:
        page = search_ledger(db, ACME, wanted, before=before, limit=limit)
        assert len(page.entries) <= limit
        found += [one.seq for one in page.entries]
        before, pages = page.next_before, pages + 1
        assert pages < 1000
    return found, pages


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    """Long ago one account was deferred; since then there was nothing but repeats."""
    made = Player(db, clock)
    made.fire(event("ann"))
    clock.advance(minutes=2)
    made.fire(event("ann"), event("bob"))
    clock.advance(minutes=118)
    for _ in range(60):
        made.fire(event("cho", key="same"))
    return made


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "SCANNED", 7)
    monkeypatch.setattr(searching, "SCANS_MAX", 2)


SEARCHES = [
    {},
    {"kind": "verdict", "result": "DEFER"},
    {"kind": "verdict", "reason": "COOLDOWN"},
    {"kind": "verdict", "reason": "KILL_SWITCH"},
    {"result": "DEFER"},
    {"subject": "ann"},
    {"subject": "ann", "kind": "verdict", "result": "ALLOW"},
    {"subject": "cho", "result": "ALLOW"},
    {"stage": "system"},
    {"kind": "verdict", "trigger_type": "SIGNAL_ARRIVED", "result": "ALLOW"},
]


@pytest.mark.parametrize("counted", [False, True], ids=["uncounted", "counted"])
@pytest.mark.parametrize("filters", SEARCHES, ids=str)
def test_a_narrow_search_finds_what_a_wide_one_finds(
    db: Database, player: Player, narrow: None, filters: dict[str, str], counted: bool
) -> None:
    if counted:
        with db.begin(ACME) as tx:
            tallies.count_slice(tx)
    with db.read(ACME) as tx:
        whole = [one.seq for one in ledger.newest(tx, filters, limit=1000)]
    assert every(db, Search(filters))[0] == whole


def test_what_is_rare_and_long_ago_is_found_at_once_where_it_was_counted(
    db: Database, player: Player, narrow: None
) -> None:
    wanted = Search({"kind": "verdict", "result": "DEFER"})
    first = search_ledger(db, ACME, wanted, before=OLDEST, limit=3)
    assert not first.entries
    assert first.next_before is not None, "it does not look through everything"
    with db.begin(ACME) as tx:
        tallies.count_slice(tx)
    found = search_ledger(db, ACME, wanted, before=OLDEST, limit=3)
    assert [one.entry.subject for one in found.entries] == ["ann"]
    assert found.next_before is None
    none = Search({"kind": "verdict", "reason": "KILL_SWITCH"})
    assert search_ledger(db, ACME, none, before=OLDEST, limit=3).next_before is None


def test_entries_that_were_not_counted_yet_are_not_jumped_over(
    db: Database, player: Player, narrow: None, clock: Clock
) -> None:
    count_ledgers(db)
    with db.begin(ACME) as tx:
        tallies.count_slice(tx)
    clock.advance(hours=1)
    player.fire(event("dan"))
    clock.advance(minutes=2)
    player.fire(event("dan"))
    for _ in range(30):
        player.fire(event("cho", key="same"))
    wanted = Search({"kind": "verdict", "result": "DEFER"})
    with db.read(ACME) as tx:
        whole = [one.seq for one in ledger.newest(tx, wanted.filters, limit=1000)]
    assert len(whole) == 2
    assert every(db, wanted)[0] == whole


def test_a_stretch_of_time_is_found_by_place(db: Database, player: Player) -> None:
    def told(since: int | None, until: int | None) -> list[str]:
        given = [None if at is None else Instant(START_AT + at) for at in (since, until)]
        page = search_decisions(db, ACME, Search({}, *given), before=OLDEST, limit=5)
        return [one.decided.event.account_id for one in page.decisions]

    assert told(None, MINUTE) == ["ann"]
    assert sorted(told(MINUTE, 2 * HOUR)) == ["ann", "bob"]
    assert sorted(told(None, 2 * HOUR)) == ["ann", "ann", "bob"]
    assert told(2 * HOUR, None) == ["cho"] * 5
    assert told(3 * HOUR, None) == []
    assert told(None, 0) == []
    assert told(HOUR, HOUR) == []


def test_decisions_come_with_their_runs(db: Database, player: Player) -> None:
    found = search_decisions(
        db, ACME, Search({"subject": "bob", "result": "ALLOW"}), before=OLDEST, limit=5
    )
    [one] = found.decisions
    assert one.decided.verdict.result == "ALLOW"
    assert one.run is None
