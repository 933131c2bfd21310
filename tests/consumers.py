"""A program that consumes events: its own database, and each kind of connection it may use."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from tests.databases import Place
from watchkeeper.inbox import Inbox

KINDS = ["driver", "driver with rows of its own", "connection", "session", "scoped session"]

WAIT_SECONDS = 100

INBOX = Inbox("usage_inbox")
KEY = "acme/turn-1/r-1"


@dataclass(frozen=True)
class Applied:
    """The only rows that some connections know."""

    event: str
    told: str


class Theirs:
    """One open connection, and the things a test does with it."""

    def __init__(self, connection: Any, run: Callable[[str], Any]) -> None:
        self.connection = connection
        self.run = run

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()


@dataclass(frozen=True)
class Consumer:
    """A database with a table of what was applied, without any rule that forbids doing it twice."""

    place: Place
    kind: str

    def prepare(self) -> None:
        with self.open() as theirs:
            theirs.run("create table applied (event text, told text)")
            theirs.commit()

    def applied(self) -> list[str]:
        return [row[0] for row in self.place.execute("select event from applied order by event")]

    @contextmanager
    def open(self, **options: Any) -> Iterator[Theirs]:
        if self.kind.startswith("driver"):
            with closing(self._driver(**options)) as raw:
                yield Theirs(raw, raw.execute)
            return
        engine = self.engine()
        opened = self._opened(engine)
        try:
            yield Theirs(opened, lambda sql: opened.execute(text(sql)))
        finally:
            opened.close()
            engine.dispose()

    def _driver(self, **options: Any) -> Any:
        rows = self.kind != "driver"
        if self.place.engine == "postgresql":
            more = {"row_factory": class_row(Applied)} if rows else {}
            return psycopg.connect(self.place.owner_url, **more, **options)
        raw = sqlite3.connect(self.place.name, timeout=WAIT_SECONDS, **options)
        if rows:
            raw.row_factory = lambda _, row: Applied(*row)
            raw.text_factory = bytes
        return raw

    def engine(self, **options: Any) -> Engine:
        url = self.place.owner_url.replace("postgresql://", "postgresql+psycopg://")
        if self.place.engine == "sqlite":
            options["connect_args"] = {"timeout": WAIT_SECONDS}
        return create_engine(url, poolclass=NullPool, **options)

    def _opened(self, engine: Engine) -> Any:
        match self.kind:
            case "connection":
                return engine.connect()
            case "session":
                return Session(engine)
            case _:
                return scoped_session(sessionmaker(engine), scopefunc=threading.get_ident)


def apply(theirs: Theirs, event: str) -> None:
    """What consuming does here: one more row, and no look at those that are there."""
    theirs.run(f"insert into applied (event) values ('{event}')")


def made(place: Place, kind: str) -> Consumer:
    consumer = Consumer(place, kind)
    consumer.prepare()
    with consumer.open() as theirs:
        INBOX.create(theirs.connection)
        theirs.commit()
    return consumer


def receive(theirs: Theirs, key: str = KEY, **more: Any) -> bool:
    is_first = INBOX.first(theirs.connection, key, **more)
    if is_first:
        apply(theirs, key)
    return is_first


def kept(place: Place) -> list[str]:
    return [row[0] for row in place.execute("select key from usage_inbox order by key")]


def wait_until_blocked(place: Place, sessions: int = 1) -> None:
    """PostgreSQL says who waits for whom; on SQLite a short while must do."""
    pause = threading.Event()
    for _ in range(3000):
        if place.engine == "sqlite":
            pause.wait(0.2)
            return
        [(blocked,)] = place.execute(
            "select count(*) from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0"
            " and datname = current_database()"
        )
        if blocked >= sessions:
            return
        pause.wait(0.01)
    raise AssertionError("nobody waits")
