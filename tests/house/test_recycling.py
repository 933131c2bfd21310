"""A database that serves again is as good as new; one of which that is not sure is thrown away."""

import multiprocessing
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from tests.databases import Databases, Place
from tests.house.source import ROOT
from tests.messages import letter, put
from tests.postgres import Server
from tests.recycling import CATALOGS, Recycling
from tests.sim.places import set_up
from watchkeeper.store.database import open_database

pytestmark = pytest.mark.postgresql

LOOKS_INTO_STORAGE = re.compile(r"pg_stat_user_|pg_statio_|\"explain |relpages|vacuum analyze")
DATABASE = """
    SELECT datdba, encoding, datistemplate, datallowconn, datconnlimit, datacl::text,
           (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase = own.oid)
    FROM pg_database own WHERE datname = current_database()"""
SEQUENCE = "SELECT last_value, is_called FROM outbox_seq_seq"
TABLES = """
    SELECT oid::regclass::text FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"""


@pytest.fixture
def recycling(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recycling]:
    """One of the test's own, and patient: what others left in theirs is no part of it."""
    monkeypatch.setattr("tests.recycling.LEAVING_SECONDS_MAX", 60.0)
    monkeypatch.setattr("tests.recycling.ENDING_SECONDS_MAX", 60.0)
    made = Recycling(databases.server, databases.postgres_template)
    yield made
    made.close()


def everything(server: Server, database: str) -> dict[str, list[str]]:
    """Every row of every catalog, table and sequence, and what the server knows of the database."""
    with psycopg.connect(server.admin_url(database), autocommit=True) as conn:
        names = [f"pg_catalog.{name}" for (name,) in conn.execute(CATALOGS)]
        names += [name for (name,) in conn.execute(TABLES)]
        found = {
            name: sorted(row for (row,) in conn.execute(f"SELECT own::text FROM {name} own"))
            for name in names
        }
        for name, question in (("database", DATABASE), ("outbox_seq_seq", SEQUENCE)):
            found[name] = [str(row) for row in conn.execute(question)]
        return found


def live(server: Server, database: str) -> None:
    """Rows in many tables, a moved clock, used sequences, rows of the template gone."""
    set_up(server.url(database))
    db = open_database(server.url(database))
    put(db, *[letter("acme") for _ in range(3)])
    db.close()
    for statement in (
        "UPDATE clock SET now_at = 0",
        "DELETE FROM alembic_version",
        "UPDATE outbox SET payload = to_json(repeat('x', 100000))",
    ):
        server.admin(f"SET session_replication_role = replica; {statement}", database)


def exists(server: Server, database: str) -> bool:
    with psycopg.connect(server.admin_url()) as conn:
        return bool(
            conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", [database]).rowcount
        )


def test_one_that_serves_again_is_as_a_copy_is(
    recycling: Recycling, databases: Databases, server: Server
) -> None:
    with databases.fresh("postgresql", brand_new=True) as copy:
        fresh = everything(server, copy.name)
    with recycling.lent() as first:
        live(server, first)
        lived = everything(server, first)
    changed = [name for name in fresh if fresh[name] != lived[name]]
    assert len(changed) >= 12
    assert {"clock", "alembic_version", "outbox", "outbox_seq_seq"} <= set(changed)
    with recycling.lent() as second:
        assert second == first
        assert everything(server, second) == fresh
    assert recycling.doubts == []


def test_what_was_counted_is_forgotten(recycling: Recycling, server: Server) -> None:
    counted = "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables"
    with recycling.lent() as first:
        live(server, first)
    with recycling.lent() as second, psycopg.connect(server.admin_url(second)) as conn:
        assert second == first
        assert conn.execute(counted).fetchone() == (0,)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE theirs (id integer)",
        "ALTER TABLE outbox RENAME TO hidden; ALTER TABLE hidden RENAME TO outbox",
        "DROP INDEX plans_one_active",
        "ALTER TABLE ledger DISABLE TRIGGER ALL",
        "ALTER POLICY {policy} ON outbox USING (true)",
        "GRANT SELECT ON outbox TO public",
        "REVOKE EXECUTE ON FUNCTION pg_catalog.now() FROM public",
        "ALTER SEQUENCE outbox_seq_seq INCREMENT 2",
        "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "COMMENT ON TABLE outbox IS 'words'",
        "CREATE TYPE mood AS ENUM ('sad')",
        "SET session_replication_role = replica; TRUNCATE outbox",
        "ANALYZE clock",
        "VACUUM clock",
        "ALTER DATABASE {database} SET work_mem = '1MB'",
        "ALTER DATABASE {database} CONNECTION LIMIT 50",
    ],
)
def test_one_whose_catalog_was_written_is_thrown_away(
    recycling: Recycling, server: Server, statement: str
) -> None:
    with recycling.lent() as name:
        with psycopg.connect(server.admin_url(name)) as conn:
            [policy] = conn.execute(
                "SELECT polname FROM pg_policy WHERE polrelid = 'outbox'::regclass LIMIT 1"
            ).fetchone() or ("",)
        server.admin(statement.format(database=name, policy=policy), name)
    assert recycling.doubts == ["a catalog was written"]
    assert not exists(server, name)


def test_one_that_has_grown_is_thrown_away(recycling: Recycling, server: Server) -> None:
    many = "INSERT INTO tenants (tenant_id, created_at) SELECT n, 0 FROM generate_series(1, 5000) n"
    with recycling.lent() as name:
        server.admin(f"SET session_replication_role = replica; {many}", name)
    assert recycling.doubts == ["grown: tenants"]
    assert not exists(server, name)


def test_one_that_somebody_is_still_in_is_thrown_away(
    recycling: Recycling, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.recycling.LEAVING_SECONDS_MAX", 0.05)
    with recycling.lent() as name:
        stays = psycopg.connect(server.url(name))
    assert recycling.doubts == ["sessions are still there"]
    assert not exists(server, name)
    stays.close()


def test_one_whose_session_was_ended_is_thrown_away(recycling: Recycling, server: Server) -> None:
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"
    with recycling.lent() as name:
        server.admin(end.format(name))
    assert len(recycling.doubts) == 1
    assert not exists(server, name)


def test_one_that_may_be_opened_later_is_thrown_away(
    recycling: Recycling, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.recycling.ENDING_SECONDS_MAX", 0.05)
    with recycling.lent() as name:
        subprocess.run([sys.executable, "-c", ""], check=True)
    assert recycling.doubts == ["a process was started"]
    assert not exists(server, name)
    ending = threading.Event()
    with recycling.lent() as name:
        thread = threading.Thread(target=ending.wait, name="one who waits")
        thread.start()
    assert recycling.doubts[1:] == ["still running: one who waits"]
    assert not exists(server, name)
    ending.set()
    thread.join()
    with recycling.lent() as name:
        process = multiprocessing.get_context("spawn").Process(
            target=time.sleep, args=(600,), name="one who sleeps", daemon=True
        )
        process.start()
    assert recycling.doubts[2:] == ["still running: one who sleeps"]
    assert not exists(server, name)
    process.kill()
    process.join()


def test_who_asks_for_a_brand_new_one_gets_it(databases: Databases) -> None:
    with databases.fresh("postgresql") as first:
        pass
    with databases.fresh("postgresql", brand_new=True) as other:
        assert other.name != first.name


@pytest.mark.brand_new
@pytest.mark.parametrize("engine", ["postgresql"])
def test_the_mark_asks_for_it(place: Place, databases: Databases) -> None:
    assert place.name not in [one.name for one in databases.recycling._idle]
    assert place.execute("SELECT pg_relation_size('outbox')") == [(0,)]


def test_tests_that_look_into_storage_ask_for_a_brand_new_one() -> None:
    looking = [
        path.name
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if LOOKS_INTO_STORAGE.search(text := path.read_text()) and "brand_new" not in text
    ]
    assert looking == []
