"""Turns on PostgreSQL: found by their keys from the first row on; buckets stay on their pages."""

from itertools import count

import pytest

from tests.databases import Place
from tests.usage import ACME, Billing
from watchkeeper.store.database import Database

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.brand_new,
    pytest.mark.parametrize("engine", ["postgresql"]),
]

TURNS = 200


@pytest.fixture
def billing(db: Database) -> Billing:
    return Billing(db)


def read_by_index(place: Place) -> dict[str, int]:
    """Index entries that were read so far, by table."""
    rows = place.execute(
        "select relname, sum(idx_tup_read)::bigint from pg_stat_user_indexes"
        " where relname in ('turns', 'quota_buckets', 'outbox', 'dedupe_keys') group by 1"
    )
    return dict(rows)


def read_by_scan(place: Place) -> int:
    [(rows,)] = place.execute(
        "select sum(seq_tup_read)::bigint from pg_stat_user_tables"
        " where relname in ('turns', 'quota_buckets')"
    )
    return rows


@pytest.mark.req("O-06")
def test_a_turn_is_found_by_its_key_in_a_table_that_was_empty_a_moment_ago(
    db: Database, place: Place, billing: Billing
) -> None:
    """Plans are made while there is nothing, and kept: reads must not grow with the table."""
    names = (f"a-{number}" for number in count())
    for _ in range(TURNS):
        turn = billing.reserve(next(names), user_id="u")
        billing.turns.progress(ACME, turn.turn_id)
        billing.finalize(turn)
    db.close()  # a connection reports what it did when it ends
    read = read_by_index(place)
    assert read["turns"] < 15 * TURNS, read
    assert read["quota_buckets"] < 40 * TURNS, read
    assert read["outbox"] < 10 * TURNS, read
    assert read_by_scan(place) == 0


@pytest.mark.req("O-06")
def test_updates_of_a_bucket_stay_on_their_page(
    db: Database, place: Place, billing: Billing
) -> None:
    """Heap-only: no index of the table grows with the traffic of a tenant."""
    for number in range(TURNS // 2):
        billing.settle(f"a-{number}", user_id="u")
    db.close()
    [(updates, hot, rows)] = place.execute(
        "select n_tup_upd, n_tup_hot_upd, n_live_tup"
        " from pg_stat_user_tables where relname = 'quota_buckets'"
    )
    assert rows == 8
    assert updates >= 8 * (TURNS - 1)
    assert hot >= 0.95 * updates
