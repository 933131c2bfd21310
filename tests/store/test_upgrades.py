"""Databases of every earlier schema are upgraded with their rows, and compared with the tables."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import Databases, EngineName, Place
from tests.house.test_schema import shape
from tests.kept_schemas import load_postgres, load_sqlite, versions
from tests.postgres import LOGIN
from tests.verify_clean import assert_verified
from watchkeeper.app import App
from watchkeeper.errors import Unavailable
from watchkeeper.store.migrations import HEAD, migrate, version_of

TRIGGERS = {
    "sqlite": "select name, sql from sqlite_master where type = 'trigger' order by name",
    "postgresql": """select tgname, pg_get_triggerdef(oid), pg_get_functiondef(tgfoid)
        from pg_trigger where not tgisinternal order by tgname""",
}


@contextlib.contextmanager
def kept(version: str, engine: EngineName, databases: Databases, folder: Path) -> Iterator[Place]:
    """A database of an earlier schema, with its rows."""
    if engine == "sqlite":
        path = folder / f"kept-{version}.db"
        load_sqlite(version, path)
        url = f"sqlite:///{path}"
        yield Place("sqlite", url, url, url, str(path))
        return
    server = databases.server
    name = load_postgres(version, server)
    try:
        admin, owner = server.admin_url(name), server.owner_url(name)
        yield Place("postgresql", server.url(name), admin, owner, name)
    finally:
        server.drop(name)


def upgrade(place: Place) -> None:
    migrate(place.owner_url, grant_to=LOGIN)


@pytest.mark.req("O-13")
@pytest.mark.parametrize("version", versions())
def test_an_earlier_database_is_upgraded_with_its_rows(
    version: str, place: Place, databases: Databases, tmp_path: Path
) -> None:
    with kept(version, place.engine, databases, tmp_path) as old:
        entries = old.execute("select count(*) from ledger")
        upgrade(old)
        assert shape(old.owner_url) == shape(place.owner_url)
        assert old.execute(TRIGGERS[old.engine]) == place.execute(TRIGGERS[old.engine])
        assert old.execute("select count(*) from ledger") == entries != [(0,)]
        with contextlib.closing(App(old.url, migrate=False)) as app:
            assert version_of(app.db) == HEAD
            assert_verified(app.db)
            app.decision(lambda _: None)
            old.execute("update clock set now_at = now_at + 3600000000")
            app.signal("acme", "new", "mail.received")
            app.drain()
            assert_verified(app.db)


EDITED = {
    "alter table intents drop column message_id": "intents: column message_id .* is missing",
    "alter table intents add column odd text": "intents: column odd TEXT is unknown",
    "drop index ledger_subject": r"ledger: index ledger_subject \(.*\) is missing",
    "drop table sweeps": "table sweeps is missing",
}


@pytest.mark.req("O-13")
@pytest.mark.parametrize("edit", EDITED)
@pytest.mark.parametrize("version", ["0004", versions()[-1]])
def test_a_database_of_an_edited_schema_is_refused_and_left_alone(
    edit: str, version: str, engine: EngineName, databases: Databases, tmp_path: Path
) -> None:
    with kept(version, engine, databases, tmp_path) as old:
        old.execute(edit)
        before = shape(old.owner_url)
        with pytest.raises(Unavailable, match=EDITED[edit]):
            upgrade(old)
        assert shape(old.owner_url) == before
        assert old.execute("select version_num from alembic_version") == [(version,)]


@pytest.mark.req("O-13")
def test_tables_of_others_do_not_matter(place: Place) -> None:
    place.execute("create table theirs (id integer primary key, note varchar(7))")
    upgrade(place)


@pytest.mark.req("O-13")
def test_a_name_that_is_taken_is_told_with_what_to_do(
    engine: EngineName, databases: Databases, tmp_path: Path
) -> None:
    """By another program's table, or by an earlier release that was stopped half-way."""
    with kept("0001", engine, databases, tmp_path) as old:
        old.execute("create table quota_buckets (id integer primary key)")
        with pytest.raises(
            Unavailable, match=r"quota_buckets.* already exists.*database of its own"
        ):
            upgrade(old)
        old.execute("drop table quota_buckets")
        upgrade(old)


@pytest.mark.req("O-13")
def test_a_database_of_a_newer_release_is_refused(place: Place) -> None:
    place.execute("update alembic_version set version_num = '9999'")
    with pytest.raises(Unavailable, match=r"schema 9999.*newer release"):
        upgrade(place)
    with pytest.raises(Unavailable, match="newer release"):
        App(place.owner_url)


@pytest.mark.req("O-13")
@pytest.mark.postgresql
def test_an_app_upgrades_in_one_transaction(databases: Databases, tmp_path: Path) -> None:
    """Its own connections commit each statement; the upgrade does not."""
    with kept("0004", "postgresql", databases, tmp_path) as old:
        old.execute("create table ledger_seals (id integer primary key)")
        with pytest.raises(Unavailable, match="ledger_seals"):
            App(old.owner_url)
        assert old.execute("select to_regclass('reports')") == [(None,)], "that came before"
        assert old.execute("select version_num from alembic_version") == [("0004",)]
