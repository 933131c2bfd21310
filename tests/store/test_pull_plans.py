"""Looking on PostgreSQL: what a tick, a signal or a slice reads does not grow with the tables.

Plans are made while there is nothing, by statistics that say so, and are kept: the worst that
can happen to a table that fills up before anybody has measured it again.
"""

from collections.abc import Callable

import pytest

from tests.actions.test_pull_ticks import due
from tests.actions.test_sweep_heat import sweep_round
from tests.databases import Clock, Place
from tests.looking import Lookout
from watchkeeper.core.heat import Tier
from watchkeeper.core.time import Instant
from watchkeeper.store.database import Database

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.brand_new,
    pytest.mark.parametrize("engine", ["postgresql"]),
]

TABLES = ("heats", "next_pulls", "pulls", "accounts", "connectors", "connector_states")
TIMES, EACH = 12, 100


@pytest.fixture(params=["unmeasured", "measured"])
def lookout(request: pytest.FixtureRequest, db: Database, place: Place, clock: Clock) -> Lookout:
    made = Lookout(db, clock)
    made.connector()
    made.budget(100_000)
    if request.param == "measured":
        for table in TABLES:
            place.execute(f"vacuum analyze {table}")
    return made


@pytest.fixture
def read(db: Database, place: Place) -> Callable[[], dict[str, int]]:
    """Closes the database, and tells what was read by index and by scan, by table."""

    def found() -> dict[str, int]:
        db.close()  # a connection reports what it did when it ends
        rows = place.execute(
            "select relname, sum(coalesce(idx_tup_read, 0))::bigint from pg_stat_user_indexes"
            f" where relname in {TABLES} group by 1"
        )
        scans = place.execute(
            f"select relname, seq_tup_read from pg_stat_user_tables where relname in {TABLES}"
        )
        return {table: dict(rows).get(table, 0) + dict(scans).get(table, 0) for table in TABLES}

    return found


@pytest.mark.req("P-05", "P-07")
def test_a_tick_finds_ids_by_their_key(
    lookout: Lookout, place: Place, read: Callable[[], dict[str, int]]
) -> None:
    due(place, {f"a{n}": (Tier.HOT, 0) for n in range(TIMES * EACH)})
    for _ in range(TIMES):
        assert len(lookout.tick()) == EACH
    found = read()
    assert found["pulls"] < 3 * TIMES * EACH, found
    assert found["next_pulls"] < 15 * TIMES * EACH, found
    assert found["connectors"] < 10 * TIMES, found


@pytest.mark.req("P-06", "P-15")
def test_by_hand_an_id_is_found_by_its_key(
    lookout: Lookout, read: Callable[[], dict[str, int]]
) -> None:
    for n in range(2 * EACH):
        assert lookout.ask(f"a{n}").is_scheduled
    found = read()
    assert found["pulls"] < 3 * 2 * EACH, found
    assert found["heats"] < 3 * 2 * EACH, found


@pytest.mark.req("P-02", "P-05")
def test_a_signal_finds_its_accounts_by_their_key(
    lookout: Lookout, read: Callable[[], dict[str, int]]
) -> None:
    for part in range(TIMES):
        names = [f"a{part}-{n}" for n in range(EACH)]
        lookout.signal(*names)
        lookout.signal(*names)
    found = read()
    assert found["heats"] < 5 * TIMES * EACH, found
    assert found["next_pulls"] < 5 * TIMES * EACH, found


@pytest.mark.req("P-02")
def test_a_slice_reads_its_own_accounts(
    lookout: Lookout, place: Place, clock: Clock, read: Callable[[], dict[str, int]]
) -> None:
    for part in range(TIMES):
        lookout.signal(*[f"a{part}-{n}" for n in range(EACH)])
    rounds = 3
    for _ in range(rounds):
        clock.set(Instant(clock.at + 24 * 3_600_000_000))
        sweep_round(lookout, place, EACH)
    found = read()
    seen = rounds * TIMES * EACH
    assert found["heats"] < 7 * seen, found
    assert found["accounts"] < 5 * seen, found
    assert found["next_pulls"] < 5 * seen, found
    assert found["connectors"] < 10 * rounds * TIMES, "it is asked for once in a slice"
