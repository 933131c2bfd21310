"""A writer that died inside its commit leaves a hot journal: only a writer may roll it back.

Readers open the file read-only. They let the writer recover it and go on, in a process that has
just started and in one that was alive all the time.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import Databases, Place
from tests.verify_clean import assert_verified
from watchkeeper.app import App
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.errors import Busy
from watchkeeper.store import sqlite
from watchkeeper.store.database import Database, open_database
from watchkeeper.store.migrations import HEAD, version_of

KILLED = 9
MUCH = """create table junk as with recursive n(i) as (select 1 union all select i + 1 from n
    where i < 20000) select i, hex(randomblob(50)) h from n"""


def die_while_committing(path: str, journal: str = "truncate") -> None:
    """As another process: with a cache of one page the file is half written already."""
    child = os.fork()
    if child == 0:
        conn = sqlite3.connect(path, isolation_level=None)
        conn.execute(f"pragma journal_mode = {journal}")
        conn.execute("pragma cache_size = 1")
        conn.execute("begin immediate")
        conn.execute(MUCH)
        os._exit(KILLED)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


@pytest.fixture
def place(databases: Databases) -> Iterator[Place]:
    with databases.fresh("sqlite") as found:
        yield found


@pytest.fixture
def hot(place: Place) -> Place:
    die_while_committing(place.name)
    with contextlib.closing(sqlite3.connect(f"file:{place.name}?mode=ro", uri=True)) as reader:
        with pytest.raises(sqlite3.OperationalError) as refused:
            reader.execute("select * from clock").fetchall()
        assert sqlite.needs_recovery(refused.value)
    return place


def tables(place: Place) -> set[str]:
    return {name for (name,) in place.execute("select name from sqlite_master")}


@pytest.mark.req("O-10")
def test_a_process_that_starts_recovers_it(hot: Place) -> None:
    with contextlib.closing(open_database(hot.url)) as db:
        assert version_of(db) == HEAD
        assert_verified(db)
    assert "junk" not in tables(hot)


@pytest.mark.req("O-10")
def test_an_app_that_starts_recovers_it(hot: Place) -> None:
    with contextlib.closing(App(hot.url)) as app:
        assert app.signal("acme", "ann", "mail").verdict.result == "ALLOW"


@pytest.mark.req("O-10")
@pytest.mark.parametrize("journal", ["rollback", "wal"])
def test_a_living_process_reads_and_writes_on(place: Place, journal: sqlite.Journal) -> None:
    mode = sqlite.journal_mode(journal, sqlite.library_version())
    with contextlib.closing(open_database(place.url, journal=journal)) as db:
        _read(db)
        with db.begin(SYSTEM):
            pass
        die_while_committing(place.name, mode)
        _read(db)
        with db.begin(SYSTEM):
            pass
        assert_verified(db)
    assert "junk" not in tables(place)


@pytest.mark.req("O-10")
def test_a_write_ahead_log_is_recovered_by_who_comes_next(place: Place) -> None:
    with contextlib.closing(open_database(place.url, journal="wal")) as db, db.begin(SYSTEM):
        pass
    die_while_committing(place.name, "wal")
    assert Path(f"{place.name}-wal").stat().st_size > 0
    with contextlib.closing(open_database(place.url, journal="wal")) as db:
        assert version_of(db) == HEAD
        assert_verified(db)
    assert "junk" not in tables(place)


@pytest.mark.parametrize("text", ["select * from nowhere", "nonsense"])
def test_other_errors_are_not_taken_for_a_crash(place: Place, text: str) -> None:
    with contextlib.closing(sqlite3.connect(place.name)) as conn:
        with pytest.raises(sqlite3.OperationalError) as refused:
            conn.execute(text)
        assert not sqlite.needs_recovery(refused.value)


@pytest.mark.req("O-10")
def test_a_version_that_cannot_be_read_is_not_a_missing_one(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 1)
    with (
        contextlib.closing(sqlite3.connect(place.name, isolation_level=None)) as rival,
        contextlib.closing(open_database(place.url, journal="rollback")) as db,
    ):
        rival.execute("begin exclusive")
        with pytest.raises(Busy):
            version_of(db)


def _read(db: Database) -> None:
    with db.read(TenantId("acme")):
        pass
    with db.read_system():
        pass
