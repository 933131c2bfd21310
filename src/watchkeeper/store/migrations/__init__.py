"""Bringing a database to the newest schema.

Each version is a pair of SQL files, one for each engine: what a database holds is
what these files say, word for word. A test compares the result with `tables.py`.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, make_url

from watchkeeper.store.postgres import APP_ROLE, WORKER_ROLE

HERE = Path(__file__).parent
HEAD = "0008"
MIGRATION_LOCK = 7_305_118_211  # any number: only one process migrates at a time


def migrate(url: str, *, grant_to: str | None = None) -> None:
    """Upgrade to the newest schema; a database that has it already is left alone.

    On PostgreSQL this also makes the two roles and lets `grant_to` (the user that the
    server and the workers log in as; by default the one in the URL) take them.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    engine = create_engine(parsed)
    try:
        upgrade(engine, grant_to=grant_to)
    finally:
        engine.dispose()


def upgrade(engine: Engine, *, grant_to: str | None = None) -> None:
    """The same on an engine that is open: a database in memory has no other."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(HERE))
    with engine.begin() as conn:
        if engine.dialect.name == "postgresql":
            conn.exec_driver_sql(f"select pg_advisory_xact_lock({MIGRATION_LOCK})")
        config.attributes["connection"] = conn
        command.upgrade(config, "head")
        if engine.dialect.name == "postgresql":
            _grant_roles(conn, grant_to)


def version_of(engine: Engine) -> str | None:
    """The schema's version, or None for a database that was never migrated."""
    from sqlalchemy.exc import DatabaseError

    try:
        with engine.connect() as conn:
            found = conn.exec_driver_sql("select version_num from alembic_version").scalar()
    except DatabaseError:
        return None
    return None if found is None else str(found)


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


def _grant_roles(conn: Connection, grant_to: str | None) -> None:
    from psycopg import sql

    driver: Any = conn.connection.driver_connection
    user = driver.execute("select current_user").fetchone()[0] if grant_to is None else grant_to
    driver.execute(f"grant select on alembic_version to {APP_ROLE}, {WORKER_ROLE}")
    driver.execute(
        sql.SQL("grant {}, {} to {}").format(
            sql.Identifier(APP_ROLE), sql.Identifier(WORKER_ROLE), sql.Identifier(user)
        )
    )
