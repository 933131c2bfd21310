"""Enqueueing in a transaction of the caller's own.

The message is committed with the caller's rows, or rolled back with them. No other
connection is opened and nothing is committed here; on PostgreSQL the role is borrowed
for the length of the call and put back, and the tenant that the caller may have set is
not touched. Nobody is woken: workers find the message at their next look.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.orm import scoped_session

from watchkeeper.core.ids import MessageId
from watchkeeper.core.time import Instant
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.errors import Forbidden, Invalid
from watchkeeper.store import outbox
from watchkeeper.store.database import wall_clock
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.postgres import NOW_SQL, WORKER_ROLE
from watchkeeper.store.transaction import EngineName, SystemTx

Theirs: TypeAlias = Any
"""A SQLAlchemy connection or session, or a connection of psycopg or sqlite3."""

_IDLE = 0  # of libpq's transaction states

_MAY = f"""select coalesce(current_setting('role', true), 'none'), session_user,
    coalesce((select pg_has_role(session_user, oid, 'member') from pg_roles
        where rolname = '{WORKER_ROLE}'), false),
    to_regclass('clock') is not null and to_regclass('outbox') is not null"""
_NO_TABLES = (
    "the connection is to a database without Watchkeeper's tables: use one to the app's database"
)
_SET_ROLE = "select set_config('role', %s, true)"
_NOW = f"select {NOW_SQL}"
_FAIL = "do $$ begin raise 'a usage event was refused' using errcode = '23001'; end $$"


def enqueue_on(theirs: Theirs, messages: Sequence[NewMessage]) -> list[MessageId]:
    """Write messages in the caller's open transaction; their ids, in order."""
    engine, driver = _opened(theirs)
    if engine == "sqlite":
        return _enqueue(engine, driver, _sqlite_now(driver), messages)
    with _as_worker(driver):
        now = _one(driver, _NOW)[0]
        return _enqueue(engine, driver, Instant(now), messages)


def _enqueue(
    engine: EngineName, driver: Any, now: Instant, messages: Sequence[NewMessage]
) -> list[MessageId]:
    try:
        ids = outbox.enqueue(SystemTx(engine, driver, now, None), messages)
    except Invalid:
        if any(message.topic == USAGE_SNAPSHOT for message in messages):
            _doom(engine, driver)
        raise
    return [MessageId(str(id)) for id in ids]  # their driver may give UUIDs


def _doom(engine: EngineName, driver: Any) -> None:
    """Their transaction is lost, also if they catch the error: a wrong usage event is no detail."""
    with contextlib.suppress(Exception):
        driver.cursor().execute("rollback" if engine == "sqlite" else _FAIL, ())


@contextmanager
def _as_worker(driver: Any) -> Iterator[None]:
    role, user, may, has_tables = _one(driver, _MAY)
    if not has_tables:
        raise Invalid.at("connection", _NO_TABLES)
    if not may:
        raise Forbidden(
            f"the database user {user} may not write to the outbox: grant it {WORKER_ROLE}",
            user=str(user),
        )
    driver.cursor().execute(_SET_ROLE, (WORKER_ROLE,))
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # a failed transaction forgets the role by itself
            driver.cursor().execute(_SET_ROLE, (role,))


def _one(driver: Any, sql: str) -> tuple[Any, ...]:
    cursor = driver.cursor()
    cursor.execute(sql, ())
    row: tuple[Any, ...] = tuple(cursor.fetchone())
    return row


def _sqlite_now(driver: Any) -> Instant:
    cursor = driver.cursor()
    try:
        cursor.execute("select now_at from clock", ())
    except (sqlite3.OperationalError, OperationalError) as error:
        if "no such table" not in str(error):
            raise
        raise Invalid.at("connection", _NO_TABLES) from error
    row = cursor.fetchone()
    return wall_clock() if row is None else Instant(row[0])


# -- what they may bring -----------------------------------------------------------------


def _opened(theirs: Theirs) -> tuple[EngineName, Any]:
    if isinstance(theirs, OrmSession | scoped_session):
        theirs = theirs.connection()
    if isinstance(theirs, Connection):
        return _sqlalchemy(theirs)
    if isinstance(theirs, sqlite3.Connection):
        return _sqlite(theirs)
    return _psycopg(theirs)


def _sqlalchemy(theirs: Connection) -> tuple[EngineName, Any]:
    name, marks = theirs.dialect.name, theirs.dialect.paramstyle
    if name != "sqlite" and not (name == "postgresql" and marks in ("pyformat", "format")):
        raise Invalid.at("connection", f"{name}+{theirs.dialect.driver} is not supported")
    theirs.exec_driver_sql("select 1")  # SQLAlchemy begins with the first statement
    _require_transaction(theirs.connection.driver_connection)
    return ("sqlite" if name == "sqlite" else "postgresql"), _SqlalchemyDriver(theirs)


def _sqlite(theirs: sqlite3.Connection) -> tuple[EngineName, Any]:
    _require_transaction(theirs)
    return "sqlite", _SqliteDriver(theirs)


def _psycopg(theirs: Any) -> tuple[EngineName, Any]:
    modules = {kind.__module__.partition(".")[0] for kind in type(theirs).__mro__}
    if type(theirs).__module__.startswith("sqlalchemy.ext.asyncio"):
        words = (
            "is async: call `await session.run_sync(lambda s: app.enqueue(s, ...))`, or"
            " `await session.run_sync(lambda s: app.signal(..., connection=s))`"
        )
        raise Invalid.at("connection", f"{type(theirs).__qualname__} {words}")
    if "psycopg" not in modules:  # it may not be installed
        raise Invalid.at("connection", f"{type(theirs).__qualname__} is not supported")
    import psycopg

    if not isinstance(theirs, psycopg.Connection):
        raise Invalid.at("connection", "an async connection is not supported")
    _require_transaction(theirs)
    return "postgresql", _PsycopgDriver(theirs)


def _require_transaction(driver: Any) -> None:
    """Refuse what commits each statement by itself and is in no transaction now."""
    if isinstance(driver, sqlite3.Connection):
        by_itself = driver.isolation_level is None or getattr(driver, "autocommit", None) is True
        alone = by_itself and not driver.in_transaction
    else:
        status = getattr(driver.info, "transaction_status", None)
        alone = bool(driver.autocommit) and int(status or 0) == _IDLE
    if alone:
        raise Invalid.at("connection", "it commits by itself: begin a transaction first")


class _SqliteDriver:
    def __init__(self, theirs: sqlite3.Connection) -> None:
        self._theirs = theirs

    def cursor(self) -> sqlite3.Cursor:
        cursor = self._theirs.cursor()
        cursor.row_factory = None  # theirs may not make tuples
        return cursor


class _PsycopgDriver:
    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def cursor(self) -> Any:
        from psycopg.rows import tuple_row

        return self._theirs.cursor(row_factory=tuple_row)


class _SqlalchemyDriver:
    """Through SQLAlchemy itself, so that it knows that a transaction has begun."""

    def __init__(self, theirs: Connection) -> None:
        self._theirs = theirs

    def cursor(self) -> _SqlalchemyCursor:
        return _SqlalchemyCursor(self._theirs)


class _SqlalchemyCursor:
    def __init__(self, theirs: Connection) -> None:
        self._theirs = theirs
        self._result: Any = None

    def execute(self, sql: str, parameters: Sequence[object]) -> None:
        self._result = self._theirs.exec_driver_sql(sql, tuple(parameters))

    def executemany(self, sql: str, parameters: Sequence[Sequence[object]]) -> None:
        self._result = self._theirs.exec_driver_sql(sql, [tuple(row) for row in parameters])

    def fetchone(self) -> Any:
        return self._result.fetchone()

    def fetchall(self) -> Any:
        return self._result.fetchall()
