"""Several sealers and several writers at once, in processes of their own: one chain, no gap."""

import contextlib

import pytest

from tests.databases import Clock
from tests.play import ACME
from tests.rivals import fire_all, race
from tests.verify_clean import assert_verified
from watchkeeper.actions.seal_ledger import seal_ledger
from watchkeeper.actions.verify_ledger import verify_ledger
from watchkeeper.store import seals
from watchkeeper.store.database import Database, open_database

pytestmark = pytest.mark.req("T-03")

CALLS, PER_CALL, WRITERS, SEALERS = 12, 5, 2, 2
ROUNDS_MAX = 100_000


def seal_until(url: str, last: int) -> int:
    """Seal whatever there is, again and again, until so many entries are sealed by anybody."""
    with contextlib.closing(open_database(url, pool_size=2)) as db:
        sealed = 0
        for _ in range(ROUNDS_MAX):
            sealed += seal_ledger(db)
            with db.read(ACME) as tx:
                if seals.head(tx).seq >= last:
                    return sealed
        raise AssertionError("it never came so far")


def play(url: str, part: str, number: int, last: int) -> int:
    if part == "seal":
        return seal_until(url, last)
    calls = [
        [(f"w{number}-{c}-{n}", "SIGNAL_ARRIVED", f"k{number}-{c}-{n}") for n in range(PER_CALL)]
        for c in range(CALLS)
    ]
    return len(fire_all(url, "acme", calls))


def test_one_chain_whoever_seals_and_whoever_writes(
    db: Database, clock: Clock, db_url: str
) -> None:
    fire_all(db_url, "acme", [[("first", "SIGNAL_ARRIVED", "first")]])
    last = 2 + WRITERS * CALLS * PER_CALL
    parts = [("write", n) for n in range(WRITERS)] + [("seal", n) for n in range(SEALERS)]
    done = race(play, [(db_url, part, number, last) for part, number in parts])
    assert done[:WRITERS] == [CALLS * PER_CALL] * WRITERS
    report = verify_ledger(db, ACME)
    assert report.is_clean
    assert report.entries == report.sealed.seq >= last
    assert sum(done[WRITERS:]) >= last - 1, "every entry was sealed by one of them"
    assert_verified(db)
