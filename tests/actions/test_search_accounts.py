"""Accounts are found by the beginning of their names and by the tier they are in now."""

import pytest

from tests.databases import Clock, Place
from tests.looking import Lookout
from tests.play import ACME, event
from watchkeeper.actions import search_accounts as searching
from watchkeeper.actions.search_accounts import search_accounts
from watchkeeper.actions.show_heat import list_accounts
from watchkeeper.core.heat import Tier
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("U-31")

NAMES = ("a", "a b", "a/b", "aa", "ab", "a\U0001f600", "b", "b%", "b_", "\u00e4", "<b>")


def every(db: Database, prefix: str = "", tier: Tier | None = None, limit: int = 2) -> list[str]:
    found: list[str] = []
    after, pages = "", 0
    while after is not None:
        page = search_accounts(db, ACME, prefix=prefix, tier=tier, after=after, limit=limit)
        assert len(page.accounts) <= limit
        found += [one.account.account.account_id for one in page.accounts]
        after, pages = page.next_after, pages + 1
        assert pages < 1000
    return found


@pytest.fixture
def lookout(db: Database, clock: Clock) -> Lookout:
    return Lookout(db, clock)


@pytest.mark.parametrize(
    "prefix", ["", "a", "a/", "b", "b%", "b_", "\u00e4", "<", "zz", "a\U0001f600"]
)
def test_a_prefix_is_taken_literally(db: Database, lookout: Lookout, prefix: str) -> None:
    for name in NAMES:
        lookout.fire(event(name))
    lookout.fire(event("elsewhere"))
    wanted = sorted(name for name in (*NAMES, "elsewhere") if name.startswith(prefix))
    assert sorted(every(db, prefix)) == wanted
    assert every(db, prefix) == every(db, prefix, limit=50)


@pytest.mark.parametrize("tier", Tier)
def test_tiers_are_those_of_now(
    db: Database, lookout: Lookout, clock: Clock, tier: Tier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some have cooled down since anybody wrote it; some have no heat yet; few are looked at."""
    monkeypatch.setattr(searching, "SCANNED", 3)
    monkeypatch.setattr(searching, "SCANS_MAX", 2)
    for n in range(4):
        lookout.heat_up(f"old-{n}")
    clock.advance(days=3)
    for n in range(4):
        lookout.heat_up(f"new-{n}")
        lookout.fire(event(f"quiet-{n}"))
    wanted = [one.account.account_id for one in list_accounts(db, ACME, "", 100, tier).accounts]
    assert sorted(every(db, tier=tier)) == sorted(wanted)
    alike = [name for name in wanted if name.startswith("new-1")]
    assert every(db, "new-1", tier) == alike


def test_all_tiers_are_among_them(db: Database, lookout: Lookout, clock: Clock) -> None:
    lookout.heat_up("hot")
    lookout.fire(event("cold"))
    assert every(db, tier=Tier.HOT) == ["hot"]
    assert every(db, tier=Tier.COLD) == ["cold"]


def test_a_row_tells_the_last_verdict_and_the_next_pull(
    db: Database, lookout: Lookout, clock: Clock, place: Place
) -> None:
    lookout.connector("crm")
    lookout.signal("ann")
    lookout.fire(event("ann"))
    lookout.fire(event("bob"))
    found = search_accounts(db, ACME, prefix="", tier=None, after="", limit=9).accounts
    ann = next(one for one in found if one.account.account.account_id == "ann")
    assert ann.last_verdict is not None
    assert ann.last_verdict.entry.result in ("SKIP", "DEFER")
    newest = place.execute(
        "select max(seq) from ledger where kind = 'verdict' and subject = 'ann'"
    )[0][0]
    assert ann.last_verdict.seq == newest
    assert ann.next_pull_at is not None


def test_a_verdict_that_lies_far_back_is_not_looked_for(
    db: Database, lookout: Lookout, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookout.fire(event("ann"))
    lookout.posture("ann", "EXPAND")
    monkeypatch.setattr(searching, "VERDICT_AMONG", 1)
    [ann] = search_accounts(db, ACME, prefix="", tier=None, after="", limit=9).accounts
    assert ann.last_verdict is None or ann.last_verdict.entry.kind == "verdict"
