"""Bringing a database to the newest schema.

Each version is a pair of SQL files, one for each engine: what a database holds is
what these files say, word for word. An upgrade is one transaction that takes the write
lock first, and its last step compares the database with `tables.py`: a process that dies
on the way leaves the database as it was, and others that start meanwhile wait.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Engine, create_engine, inspect, make_url

from watchkeeper.core.ids import SYSTEM
from watchkeeper.errors import Unavailable
from watchkeeper.store import sqlite
from watchkeeper.store.migrations.compare import differences
from watchkeeper.store.migrations.grants import grant_roles
from watchkeeper.store.postgres import sqlstate_of, with_driver
from watchkeeper.store.statement import same

if TYPE_CHECKING:
    from watchkeeper.store.database import Database

HERE = Path(__file__).parent
HEAD = "0011"
MIGRATION_LOCK = 7_305_118_211  # any number: only one process migrates at a time
DIFFERENCES_SHOWN_MAX = 5

_ABSENT = frozenset({"42P01", "22023"})  # the table, or the role that may read it
_REFUSED = "42501"
_TAKEN = frozenset({"42P07", "42701", "42710", "42723"})
_TAKEN_WORDS = ("already exists", "duplicate column name", "no such trigger")
_UNHURRIED = (
    "select set_config(name, '0', true) from unnest(array['statement_timeout', 'lock_timeout',"
    " 'idle_in_transaction_session_timeout']) name"
)
_VERSION = same("select version_num from alembic_version")

_log = logging.getLogger("watchkeeper.migrations")
_turn = threading.Lock()


def migrate(
    url: str, *, grant_to: str | None = None, journal: sqlite.Journal = "auto"
) -> str | None:
    """Upgrade to the newest schema; a database that has it already is left alone.

    On PostgreSQL this also makes the two roles and lets `grant_to` (the user that the
    server and the workers log in as; by default the one in the URL) take them. Returns what
    is left to do where that user has the rights of the roles without taking them. A user that
    does not exist is refused with Invalid, and nothing is changed.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        engine = sqlite.open_writer(parsed, journal)
    else:
        engine = create_engine(with_driver(parsed))
    try:
        return upgrade(engine, grant_to=grant_to)
    finally:
        engine.dispose()


def upgrade(engine: Engine, *, grant_to: str | None = None) -> str | None:
    """The same on an engine that is open: a database in memory has no other."""
    advice = None
    with _turn, _explaining(engine.url), _locked(engine) as conn:
        before = _version_under_lock(conn)
        if before is not None and before > HEAD:
            raise Unavailable(newer(_shown(engine.url), before))
        if before != HEAD:
            _run_versions(conn)
        _refuse_differences(conn)
        if engine.dialect.name == "postgresql":
            advice = grant_roles(conn, grant_to)
    if before != HEAD:
        _log.info("database migrated from schema %s to %s", before or "none", HEAD)
    return advice


def ensure(db: Database, *, migrate_url: str | None = None) -> None:
    """Upgrade a database that is not of the newest schema, as its owner where `migrate_url` says.

    A `migrate_url` that names another database is not used.
    """
    try:
        if version_of(db) == HEAD:
            return
    except Unavailable as error:
        if error.__cause__ is None or sqlstate_of(error.__cause__) != _REFUSED:
            raise
    url = db.writer.url
    if migrate_url is not None and _place(make_url(migrate_url)) == _place(url):
        migrate(migrate_url, grant_to=url.username)
    else:
        upgrade(db.writer)


def version_of(db: Database) -> str | None:
    """The schema's version, or None for a database that was never migrated.

    Raises whatever else keeps it from being read: a locked file, a server that does not
    answer, a login that may not take its role.
    """
    file = db.writer.url.database
    if db.engine == "sqlite" and not db.is_in_memory and file and not Path(file).exists():
        return None
    with _explaining(db.writer.url):
        try:
            with db.read(SYSTEM) as tx:
                rows = tx.rows(_VERSION)
        except Exception as error:
            if not _is_absent(error):
                raise
            return None
    return str(rows[0][0]) if rows else None


def newer(shown: str, version: str) -> str:
    """The words for a database that a later release has migrated."""
    return (
        f"{shown} has schema {version}, this program knows {HEAD}:"
        " it was migrated by a newer release, use that one"
    )


def run_file(conn: Connection, name: str) -> None:
    """Run the SQL file of this engine, statement by statement, on Alembic's connection."""
    text = (HERE / "versions" / f"{name}_{conn.dialect.name}.sql").read_text()
    driver: Any = conn.connection.driver_connection
    if conn.dialect.name == "postgresql":
        driver.execute(text)
        return
    for statement in _statements(text):
        driver.execute(statement)


def _statements(text: str) -> list[str]:
    statements, lines = [], []
    for line in text.splitlines():
        lines.append(line)
        if sqlite3.complete_statement("\n".join(lines)):
            statements.append("\n".join(lines))
            lines = []
    return statements


@contextmanager
def _locked(engine: Engine) -> Iterator[Connection]:
    """One transaction that excludes every other migration, and on SQLite every other writer."""
    with engine.connect() as conn:
        if engine.dialect.name == "postgresql":
            conn = conn.execution_options(isolation_level="READ COMMITTED")
        with conn.begin():
            driver: Any = conn.connection.driver_connection
            if engine.dialect.name == "postgresql":
                driver.execute(_UNHURRIED)
                driver.execute(f"select pg_advisory_xact_lock({MIGRATION_LOCK})")
            else:
                driver.execute("BEGIN IMMEDIATE")
            yield conn


def _version_under_lock(conn: Connection) -> str | None:
    if not inspect(conn).has_table("alembic_version"):
        return None
    version = conn.exec_driver_sql(_VERSION.postgresql).scalar()
    return None if version is None else str(version)


def _run_versions(conn: Connection) -> None:
    with _quiet_alembic():
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(HERE))
        config.attributes["connection"] = conn
        command.upgrade(config, "head")


@contextmanager
def _quiet_alembic() -> Iterator[None]:
    """Keep Alembic's account of each step out of the log of the program around us."""
    logger = logging.getLogger("alembic")
    level = logger.level
    logger.setLevel(max(level, logging.WARNING))
    try:
        yield
    finally:
        logger.setLevel(level)


def _refuse_differences(conn: Connection) -> None:
    found = differences(conn)
    if found:
        shown = "; ".join(found[:DIFFERENCES_SHOWN_MAX])
        more = len(found) - DIFFERENCES_SHOWN_MAX
        raise Unavailable(
            f"{_shown(conn.engine.url)} is not what schema {HEAD} says: {shown}"
            + (f"; and {more} more" if more > 0 else "")
            + ". Nothing was changed. A development version made it: export what you need and"
            " begin a new database"
        )


@contextmanager
def _explaining(url: URL) -> Iterator[None]:
    """Turn what the database refuses into words about what to do."""
    try:
        yield
    except Exception as error:
        advice = _advice(url, error)
        if advice is None:
            raise
        words = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        raise Unavailable(f"{_shown(url)} cannot be used: {words}. {advice}") from error


def _advice(url: URL, error: Exception) -> str | None:
    if sqlstate_of(error) == _REFUSED:
        user = url.username or url.query.get("user") or "USER"
        return (
            f"Run `watchkeeper migrate --grant-to {user}` as the owner of the database, or set"
            " WATCHKEEPER_MIGRATE_URL to the same database as its owner"
        )
    if _is_taken(error):
        return (
            "Nothing was changed. Either another program has a table of that name: give Watchkeeper"
            " a database of its own; or a development version was stopped while it migrated:"
            " begin a new database, or restore a backup"
        )
    return None


def _is_absent(error: Exception) -> bool:
    if sqlstate_of(error) in _ABSENT:
        return True
    return isinstance(error, sqlite3.OperationalError) and "no such table" in str(error)


def _is_taken(error: Exception) -> bool:
    if sqlstate_of(error) in _TAKEN:
        return True
    words = str(error)
    return isinstance(error, sqlite3.OperationalError) and any(w in words for w in _TAKEN_WORDS)


def _shown(url: URL) -> str:
    return url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)


def _place(url: URL) -> tuple[str, object, object, str]:
    """Which database a URL names, whoever logs in."""
    backend = url.get_backend_name().replace("postgresql", "postgres")
    host = url.host or url.query.get("host")
    return backend, url.database, host, str(url.port or url.query.get("port") or 5432)
