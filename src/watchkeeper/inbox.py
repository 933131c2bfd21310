"""For programs that receive events: each is applied once, in a transaction of theirs.

Delivery is at least once, so a consumer will be handed some events twice. The inbox is a
table in the consumer's own database that holds the key of every event it has applied. The
key is taken in the transaction that applies the event: both are committed, or neither is.

It stands alone. Connections of sqlite3, psycopg and SQLAlchemy are known by the names of
their classes, so that none of the three has to be installed for the sake of another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from watchkeeper.errors import Conflict, Invalid

Connection: TypeAlias = Any
"""A SQLAlchemy connection or session, or a connection of psycopg or sqlite3."""

KEY_BYTES_MAX = 2000
"""Of scope and key together: an index entry of PostgreSQL has room for little more."""

FINGERPRINT_LENGTH_MAX = 128
FORGET_AFTER_MIN = timedelta(days=1)
FORGET_MAX = 10_000

_TABLE = re.compile(r"[a-z_][a-z0-9_]{0,49}")
_IDLE = 0  # of libpq's transaction states
_SAVEPOINT = "watchkeeper_inbox"

Engine: TypeAlias = Literal["postgresql", "sqlite"]
Rows: TypeAlias = list[Any]

_NOW: dict[Engine, str] = {  # of the consumer's database, in microseconds
    "postgresql": "(extract(epoch from clock_timestamp()) * 1000000)::bigint",
    "sqlite": "cast(strftime('%s', 'now') as integer) * 1000000",
}
_CREATE: dict[Engine, tuple[str, ...]] = {
    # Two that create at once would both find nothing there: the second waits for the first.
    # It looks before it creates, so that who may not create can still call it.
    "postgresql": (
        """do $$ begin
            perform pg_advisory_xact_lock(hashtextextended('watchkeeper inbox {table}', 0));
            if to_regclass('"{table}"') is null then
                create table "{table}" (
                    scope text collate "C" not null, key text collate "C" not null,
                    fingerprint text, taken_at bigint not null, primary key (scope, key));
                create index "{table}_taken" on "{table}" (taken_at);
            end if;
        end $$""",
    ),
    "sqlite": (
        """create table if not exists "{table}" (
            scope text not null, key text not null,
            fingerprint text, taken_at integer not null, primary key (scope, key)) without rowid""",
        """create index if not exists "{table}_taken" on "{table}" (taken_at)""",
    ),
}
_TAKE = """insert into "{table}" (scope, key, fingerprint, taken_at) values (?, ?, ?, {now})
    on conflict (scope, key) do nothing returning 1"""
_DIFFERS = 'select 1 from "{table}" where scope = ? and key = ? and fingerprint <> ?'
_FORGET: dict[Engine, str] = {
    "postgresql": """with old as materialized (
        select scope, key from "{table}" where taken_at < {now} - ?
        order by taken_at limit ? for update skip locked)
    delete from "{table}" t using old where (t.scope, t.key) = (old.scope, old.key) returning 1""",
    "sqlite": """delete from "{table}" where (scope, key) in (
        select scope, key from "{table}" where taken_at < {now} - ? order by taken_at limit ?)
    returning 1""",
}


class Inbox:
    """Which events have been applied, in a table of the consumer's database.

    An object holds nothing but the table's name: it may be shared by threads, each of which
    brings a connection of its own.
    """

    def __init__(self, table: str = "inbox") -> None:
        if not isinstance(table, str) or not _TABLE.fullmatch(table):
            raise Invalid.at("table", "must be up to 50 small letters, digits and underscores")
        self.table = table

    def create(self, connection: Connection) -> None:
        """Make the table unless it is there; commit it with whatever else you do."""
        theirs = _known(connection)
        for statement in _CREATE[theirs.engine]:
            theirs.run(self._sql(theirs, statement))

    def first(
        self,
        connection: Connection,
        key: str,
        *,
        scope: str = "",
        fingerprint: str | None = None,
    ) -> bool:
        """Whether the event is new; if so its key is taken in your open transaction.

        Who asks for a key that another transaction has just taken waits for its end, and is
        told True if that was a rollback. Roll back when the event could not be applied: a key
        that is committed without its event is an event lost.

        A key is one event's within its `scope`. With a `fingerprint` of the event, a key that
        comes again with another one raises `Conflict`, since skipping it would lose an event.
        """
        _check(scope, key, fingerprint)
        theirs = _in_transaction(connection)
        if theirs.run(self._sql(theirs, _TAKE), scope, key, fingerprint):
            return True
        if fingerprint is not None and theirs.run(
            self._sql(theirs, _DIFFERS), scope, key, fingerprint
        ):
            raise Conflict(f"the key {key} was taken by an event with other content", key=key)
        return False

    def apply_once(
        self,
        connection: Connection,
        key: str,
        apply: Callable[[], object],
        *,
        scope: str = "",
        fingerprint: str | None = None,
    ) -> bool:
        """Call `apply` if the event is new; whether it was called.

        When `apply` raises, all it wrote is undone and the key is free again, also if you catch
        the error and commit what else your transaction holds.
        """
        _check(scope, key, fingerprint)
        with _in_transaction(connection).savepoint():
            is_first = self.first(connection, key, scope=scope, fingerprint=fingerprint)
            if is_first:
                apply()
        return is_first

    def forget(self, connection: Connection, *, older_than: timedelta, limit: int = 1000) -> int:
        """Remove up to `limit` keys taken longer ago, the oldest first; how many these were.

        A forgotten event that is delivered once more is applied once more: keep keys for
        longer than anybody may still redrive a message.
        """
        if not isinstance(older_than, timedelta) or older_than < FORGET_AFTER_MIN:
            raise Invalid.at("older_than", "must be a day or more: it may be delivered again")
        if not 1 <= limit <= FORGET_MAX:
            raise Invalid.at("limit", f"must be from 1 to {FORGET_MAX}")
        theirs = _known(connection)
        age = older_than // timedelta(microseconds=1)
        return len(theirs.run(self._sql(theirs, _FORGET[theirs.engine]), age, limit))

    def _sql(self, theirs: _Theirs, statement: str) -> str:
        sql = statement.format(table=self.table, now=_NOW[theirs.engine])
        return sql if theirs.engine == "sqlite" else sql.replace("?", "%s")


def _check(scope: object, key: object, fingerprint: object) -> None:
    """Refuse what one of the databases would not keep, or not keep as it is."""
    named = {"scope": scope, "key": key}
    if fingerprint is not None:
        named["fingerprint"] = fingerprint
    for place, value in named.items():
        if not isinstance(value, str) or not value.isprintable():
            raise Invalid.at(place, "must be printable text")
    if not key:
        raise Invalid.at("key", "is empty")
    if len(f"{scope}{key}".encode()) > KEY_BYTES_MAX:
        raise Invalid.at("key", f"is longer than {KEY_BYTES_MAX} bytes, with its scope")
    if fingerprint is not None and not 1 <= len(str(fingerprint)) <= FINGERPRINT_LENGTH_MAX:
        raise Invalid.at("fingerprint", f"must be 1 to {FINGERPRINT_LENGTH_MAX} characters")


# -- what they may bring -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Theirs:
    """A connection of the consumer's, as far as the inbox uses it."""

    engine: Engine
    driver: Any  # the connection of sqlite3 or psycopg below
    call: Callable[[str, tuple[object, ...]], Rows]
    savepoint: Callable[[], AbstractContextManager[object]]

    def run(self, sql: str, *parameters: object) -> Rows:
        return self.call(sql, parameters)


def _in_transaction(connection: Connection) -> _Theirs:
    """Their connection, in a transaction that they will have to end."""
    theirs = _known(connection)
    if theirs.engine == "postgresql":
        if theirs.driver.autocommit and int(theirs.driver.info.transaction_status) == _IDLE:
            raise _commits_by_itself()
    elif not theirs.driver.in_transaction:
        if _sqlite_commits_by_itself(theirs.driver):
            raise _commits_by_itself()
        # The module would begin by itself only before an INSERT, and not before a savepoint,
        # whose release would then be a commit.
        theirs.run("begin immediate")
    return theirs


def _sqlite_commits_by_itself(driver: Any) -> bool:
    mode = getattr(driver, "autocommit", -1)  # since Python 3.12; -1 is the way it was before
    return mode is True or (mode == -1 and driver.isolation_level is None)


def _commits_by_itself() -> Invalid:
    return Invalid.at(
        "connection",
        "it commits each statement by itself, so a key could be kept without its event:"
        " begin a transaction first",
    )


def _known(connection: Connection) -> _Theirs:
    kinds = {f"{k.__module__.partition('.')[0]}.{k.__name__}" for k in type(connection).__mro__}
    if kinds & {"sqlalchemy.Session", "sqlalchemy.scoped_session"}:
        return _sqlalchemy(connection.connection(), connection)
    if "sqlalchemy.Connection" in kinds:
        return _sqlalchemy(connection, connection)
    if "sqlite3.Connection" in kinds:
        return _driver("sqlite", connection, _sqlite_cursor)
    if "psycopg.Connection" in kinds:
        return _driver("postgresql", connection, _psycopg_cursor)
    kind = type(connection)
    raise Invalid.at("connection", f"{kind.__module__}.{kind.__qualname__} is not supported")


def _sqlalchemy(connection: Any, owner: Any) -> _Theirs:
    engines: dict[str, Engine] = {"pysqlite": "sqlite", "psycopg": "postgresql"}
    dialect = connection.dialect
    if dialect.driver not in engines:
        raise Invalid.at("connection", f"{dialect.name}+{dialect.driver} is not supported")

    def run(sql: str, parameters: tuple[object, ...]) -> Rows:
        result = connection.exec_driver_sql(sql, parameters)
        return list(result) if result.returns_rows else []

    connection.exec_driver_sql("select 1")  # SQLAlchemy begins with the first statement
    driver = connection.connection.driver_connection
    return _Theirs(engines[dialect.driver], driver, run, owner.begin_nested)


def _driver(engine: Engine, connection: Any, cursor_of: Callable[[Any], Any]) -> _Theirs:
    def run(sql: str, parameters: tuple[object, ...]) -> Rows:
        cursor = cursor_of(connection)
        cursor.execute(sql, parameters)
        rows: Rows = cursor.fetchall() if cursor.description else []
        cursor.close()
        return rows

    return _Theirs(engine, connection, run, lambda: _savepoint(run))


def _sqlite_cursor(connection: Any) -> Any:
    cursor = connection.cursor()
    cursor.row_factory = None  # theirs may expect columns of their own
    return cursor


def _psycopg_cursor(connection: Any) -> Any:
    return connection.cursor(row_factory=lambda _: tuple)


@contextmanager
def _savepoint(run: Callable[[str, tuple[object, ...]], Rows]) -> Iterator[None]:
    run(f"savepoint {_SAVEPOINT}", ())
    try:
        yield
    except BaseException:
        with suppress(Exception):  # on a connection that is lost there is nothing to undo
            run(f"rollback to savepoint {_SAVEPOINT}", ())
            run(f"release savepoint {_SAVEPOINT}", ())
        raise
    run(f"release savepoint {_SAVEPOINT}", ())
