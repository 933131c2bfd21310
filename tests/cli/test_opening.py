"""What commands say of a database that they cannot use as it is, and what they mend."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import UNREACHABLE, WRONG, CommandLine
from tests.cli.processes import ask, started
from tests.databases import Databases, Place
from tests.postgres import LOGIN
from tests.store.test_hot_journal import die_while_committing
from tests.store.test_upgrades import kept
from watchkeeper.app import App
from watchkeeper.errors import Unavailable
from watchkeeper.store.migrations import HEAD, migrate

ADMIN_KEY = "an-admin-key-for-tests-" + "x" * 20
SIGNALS = b'{"tenant_id": "acme", "signals": [{"account_id": "a", "type": "mail"}]}'
READING = [
    ("verify",),
    ("reconcile",),
    ("ledger", "tail"),
    ("ledger", "verify"),
    ("outbox", "list"),
    ("kill", "list"),
    ("tenants", "list"),
    ("policy", "show"),
]

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


@pytest.mark.req("O-10")
@on_sqlite
@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_command_recovers_a_crash(wk: CommandLine, place: Place, words: tuple[str, ...]) -> None:
    die_while_committing(place.name)
    wk(*words)


@pytest.mark.req("O-10")
@on_sqlite
def test_a_server_that_was_alive_goes_on_after_a_crash(place: Place, tmp_path: Path) -> None:
    environ = {"WATCHKEEPER_DATABASE_URL": place.url, "WATCHKEEPER_ADMIN_KEY": ADMIN_KEY}
    place.execute("insert into tenants (tenant_id, created_at) values ('acme', 1)")
    with started("serve", "--port", "0", folder=tmp_path, **environ) as serve:
        address = serve.wait_for(r"server started at (\S+)")[1]
        assert ask(address, "/v1/tenants", ADMIN_KEY) == 200
        die_while_committing(place.name)
        assert ask(address, "/readyz") == 200
        assert ask(address, "/v1/tenants", ADMIN_KEY) == 200
        die_while_committing(place.name)
        assert ask(address, "/v1/signals", ADMIN_KEY, SIGNALS) == 202
        serve.tell()
        assert serve.end() == 0, serve.errors


@pytest.mark.req("O-10")
@on_sqlite
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_process_that_starts_after_a_crash(place: Place, tmp_path: Path, command: str) -> None:
    die_while_committing(place.name)
    environ = {"WATCHKEEPER_DATABASE_URL": place.url, "WATCHKEEPER_PORT": "0"}
    with started(command, folder=tmp_path, **environ) as process:
        process.wait_for("(server started|worker started)")
        process.tell()
        assert process.end() == 0, process.errors


@pytest.mark.req("O-13", "U-21")
def test_an_earlier_schema_is_named_with_the_command_that_upgrades_it(
    engine, databases: Databases, tmp_path: Path, bare: CommandLine
) -> None:
    with kept("0005", engine, databases, tmp_path) as old:
        grant_as_before(old)
        told = bare("verify", "--db", old.url, exits=UNREACHABLE).stderr
        assert f"has schema 0005, this program needs {HEAD}: run `watchkeeper migrate" in told
        bare("migrate", "--db", old.owner_url, "--grant-to", LOGIN)
        bare("verify", "--db", old.url)


@pytest.mark.req("O-13", "U-21")
def test_a_schema_of_a_newer_release_is_named(wk: CommandLine, place: Place) -> None:
    place.execute("update alembic_version set version_num = '9999'")
    told = wk("verify", exits=UNREACHABLE).stderr
    assert "has schema 9999" in told
    assert "newer release" in told
    assert "newer release" in wk("migrate", "--db", place.owner_url, exits=UNREACHABLE).stderr


@pytest.mark.req("U-21")
def test_a_schema_that_is_not_ours_is_named_by_migrate(wk: CommandLine, place: Place) -> None:
    place.execute("alter table intents add column odd text")
    told = wk("migrate", "--db", place.owner_url, exits=UNREACHABLE).stderr
    assert "intents: column odd TEXT is unknown" in told
    assert "Traceback" not in told


@pytest.mark.req("U-21")
def test_a_file_that_is_no_database_is_named(bare: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("These are notes, of more than a few words. " * 40)
    for words in (("verify",), ("migrate",)):
        told = bare(*words, "--db", "sqlite:///notes.db", exits=UNREACHABLE).stderr
        assert "its file is not a database" in told


@pytest.mark.req("O-21")
@pytest.mark.postgresql
def test_the_login_sees_nothing_before_it_takes_its_role(databases: Databases) -> None:
    """A path that forgot its role is refused, on a new installation and on an upgraded one."""
    with (
        databases.fresh("postgresql", brand_new=True) as new,
        kept("0008", "postgresql", databases, Path()) as old,
    ):
        grant_as_before(old)
        assert readable(old) >= {"ledger", "runs"}, "as it was granted before"
        migrate(old.owner_url, grant_to=LOGIN)
        assert readable(old) == readable(new) == {"clock"}
        for place in (old, new):
            with psycopg.connect(place.url) as conn:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    conn.execute("select * from ledger")
                conn.rollback()
                conn.execute("set role watchkeeper_app")
                conn.execute("set app.tenant_id = 'nobody'")
                assert conn.execute("select * from ledger").fetchall() == []


def grant_as_before(place: Place) -> None:
    """What `migrate` granted up to 0008."""
    if place.engine == "postgresql":
        with psycopg.connect(place.owner_url) as conn:
            conn.execute(f"grant watchkeeper_app, watchkeeper_worker to {LOGIN} with inherit true")
            conn.execute("grant select on alembic_version to watchkeeper_app, watchkeeper_worker")


def readable(place: Place) -> set[str]:
    """Tables that the login may touch in any way without a role."""
    with psycopg.connect(place.url) as conn:
        rows = conn.execute(
            """select relname::text from pg_class where relkind = 'r'
            and relnamespace = 'public'::regnamespace
            and has_table_privilege(oid, 'select, insert, update, delete, truncate')"""
        ).fetchall()
    return {name for (name,) in rows}


@pytest.mark.req("O-21")
@pytest.mark.postgresql
def test_a_login_that_inherits_all_the_same_is_told_of(
    databases: Databases, bare: CommandLine
) -> None:
    """Somebody else's grant is not ours to take back."""
    with databases.fresh("postgresql", brand_new=True) as place:
        place.execute(f"grant watchkeeper_app to {LOGIN}")
        try:
            told = bare("migrate", "--db", place.owner_url, "--grant-to", LOGIN).stderr
            assert f"{LOGIN} has the rights of watchkeeper_app" in told
        finally:
            place.execute(f"revoke watchkeeper_app from {LOGIN}")
        assert "note" not in bare("migrate", "--db", place.owner_url, "--grant-to", LOGIN).stderr


@pytest.fixture
def unmigrated(databases: Databases) -> Iterator[Place]:
    """A new database on PostgreSQL, whose login owns nothing."""
    server = databases.server
    name = server.create()
    admin, owner = server.admin_url(name), server.owner_url(name)
    yield Place("postgresql", server.url(name), admin, owner, name)
    server.drop(name)


@pytest.mark.req("U-21")
@pytest.mark.postgresql
def test_a_grant_to_a_login_that_is_not_there_is_refused(
    unmigrated: Place, bare: CommandLine
) -> None:
    given = ("--db", unmigrated.owner_url, "--grant-to", "nobody_login")
    told = bare("migrate", *given, exits=WRONG).stderr
    assert "there is no role nobody_login" in told
    assert len(told.strip().splitlines()) == 1
    assert unmigrated.execute("select to_regclass('alembic_version')") == [(None,)]


@pytest.mark.req("O-21", "U-20")
@pytest.mark.postgresql
def test_dev_migrates_as_the_owner_where_one_is_named(unmigrated: Place, tmp_path: Path) -> None:
    environ = {"WATCHKEEPER_MIGRATE_URL": unmigrated.owner_url}
    for _ in range(2):
        with started(
            "dev", "--port", "0", "--db", unmigrated.url, folder=tmp_path, **environ
        ) as dev:
            assert ask(dev.wait_for(r"address +(\S+)")[1], "/readyz") == 200
            dev.tell()
            assert dev.end() == 0, dev.errors
    with started("dev", "--port", "0", "--db", unmigrated.url, folder=tmp_path) as dev:
        dev.wait_for("address")  # nothing is left to do, so nobody needs to own anything


@pytest.mark.req("U-21")
@pytest.mark.postgresql
@pytest.mark.parametrize("words", [("dev", "--port", "0"), ("migrate",)], ids=" ".join)
def test_a_login_that_may_not_migrate_is_told_what_to_do(
    unmigrated: Place, tmp_path: Path, words: tuple[str, ...]
) -> None:
    with started(*words, "--db", unmigrated.url, folder=tmp_path) as process:
        assert process.end() == UNREACHABLE
    [told] = process.errors
    assert f"`watchkeeper migrate --grant-to {LOGIN}` as the owner" in told
    assert "WATCHKEEPER_MIGRATE_URL" in told


@pytest.mark.req("U-21")
@pytest.mark.postgresql
def test_an_app_migrates_as_the_owner_of_its_own_database_only(
    unmigrated: Place, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = databases.server.create()
    with pytest.raises(Unavailable, match="as the owner"):
        App(unmigrated.url, migrate_url=databases.server.owner_url(other))
    with psycopg.connect(databases.server.admin_url(other)) as conn:
        assert conn.execute("select to_regclass('ledger')").fetchone() == (None,)
    databases.server.drop(other)
    monkeypatch.setenv("WATCHKEEPER_MIGRATE_URL", unmigrated.owner_url)
    with contextlib.closing(App(unmigrated.url)) as app:
        assert app.signal("acme", "ann", "mail").verdict.result == "ALLOW"
    with contextlib.closing(App("sqlite://")) as app:
        assert app.signal("acme", "ann", "mail").verdict.result == "ALLOW"
