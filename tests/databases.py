"""Databases for tests: each one migrated, empty, and at the same virtual instant.

Migrating takes a second, copying a few hundredths: so each engine is migrated once per test
process, into a template, and every test gets a copy of it: one that nobody else has seen, or on
PostgreSQL one that is as the template again (tests/recycling.py).
"""

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

import psycopg

from tests.postgres import LOGIN, Server, running
from tests.recycling import Recycling
from watchkeeper.core.time import Instant, from_datetime, to_datetime
from watchkeeper.store.database import Database, open_database

START = datetime(2030, 1, 1, tzinfo=UTC)
START_AT: Instant = from_datetime(START)

EngineName = Literal["sqlite", "postgresql"]

SET_CLOCK = "INSERT INTO clock VALUES (true, {now})"
MOVE_CLOCK = "UPDATE clock SET now_at = {now}"
STOP_CLOCK = "DELETE FROM clock"
READ_CLOCK = "SELECT now_at FROM clock"


def migrate(url: str) -> None:
    # Imported late: tests that need no database need not wait for the migrations' library.
    from watchkeeper.store.migrations import migrate

    migrate(url, grant_to=None if url.startswith("sqlite") else LOGIN)


@dataclass(frozen=True)
class Place:
    """Where one test's database is: for the product (`url`) and for those who may do anything."""

    engine: EngineName
    url: str
    admin_url: str
    owner_url: str
    name: str

    def execute(self, statement: str) -> list[tuple]:
        """One statement of the test's own, above every policy, committed at once."""
        if self.engine == "sqlite":
            with contextlib.closing(sqlite3.connect(self.name, timeout=90)) as conn, conn:
                return conn.execute(statement).fetchall()
        with psycopg.connect(self.admin_url, autocommit=True) as conn:
            cursor = conn.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def open(self, **options: object) -> Database:
        return open_database(self.url, **options)


@dataclass(frozen=True)
class Clock:
    """The database's virtual clock. It stands still; a test moves it."""

    place: Place

    @property
    def at(self) -> Instant:
        return Instant(self.place.execute(READ_CLOCK)[0][0])

    @property
    def now(self) -> datetime:
        return to_datetime(self.at)

    def advance(self, seconds: float = 0, **more: float) -> Instant:
        """`advance(90)`, `advance(hours=12)`: forward, or backward to play a clock that jumped."""
        step = timedelta(seconds=seconds, **more) // timedelta(microseconds=1)
        return self.set(Instant(self.at + step))

    def set(self, at: Instant) -> Instant:
        self.place.execute(MOVE_CLOCK.format(now=int(at)))
        return at

    def make_real(self) -> None:
        """From here on this database goes by real time."""
        self.place.execute(STOP_CLOCK)


class Databases:
    """Makes databases, and takes them away again; a test process has one of these."""

    def __init__(self) -> None:
        self._ending = contextlib.ExitStack()

    @cached_property
    def server(self) -> Server:
        # Nobody looks at tables behind a test's back, nor changes how they are read.
        return self._ending.enter_context(running(settings={"autovacuum": "off"}))

    @cached_property
    def folder(self) -> Path:
        folder = Path(mkdtemp(prefix="wkdb-"))
        self._ending.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder

    @cached_property
    def sqlite_template(self) -> Path:
        path = self.folder / "template.db"
        migrate(f"sqlite:///{path}")
        with contextlib.closing(sqlite3.connect(path)) as conn, conn:
            conn.execute(SET_CLOCK.format(now=int(START_AT)))
        return path

    @cached_property
    def postgres_template(self) -> str:
        name = self.server.make_template(migrate)
        self._ending.callback(self.server.drop, name)
        self.server.admin(SET_CLOCK.format(now=int(START_AT)), name)
        return name

    @cached_property
    def recycling(self) -> Recycling:
        made = Recycling(self.server, self.postgres_template)
        self._ending.callback(made.close)
        return made

    @contextlib.contextmanager
    def fresh(
        self, engine: EngineName, folder: Path | None = None, *, brand_new: bool = False
    ) -> Iterator[Place]:
        """A database for the length of the block: for each example of a property, say.

        One that is `brand_new` has never held a row: for who looks at plans and counters.
        """
        if engine == "sqlite":
            with self._fresh_sqlite(folder) as place:
                yield place
        elif brand_new:
            with self._copied_postgres() as name:
                yield self._place(name)
        else:
            with self.recycling.lent() as name:
                yield self._place(name)

    @contextlib.contextmanager
    def opened(
        self, engine: EngineName, *, brand_new: bool = False, **options: object
    ) -> Iterator[tuple[Database, Clock]]:
        """The same, opened, with its clock."""
        with self.fresh(engine, brand_new=brand_new) as place:
            db = place.open(**options)
            try:
                yield db, Clock(place)
            finally:
                db.close()

    @contextlib.contextmanager
    def _fresh_sqlite(self, folder: Path | None) -> Iterator[Place]:
        home = Path(mkdtemp(dir=folder or self.folder))
        path = home / "watchkeeper.db"
        shutil.copy(self.sqlite_template, path)
        url = f"sqlite:///{path}"
        try:
            yield Place("sqlite", url, url, url, str(path))
        finally:
            if folder is None:
                shutil.rmtree(home, ignore_errors=True)

    @contextlib.contextmanager
    def _copied_postgres(self) -> Iterator[str]:
        name = self.server.create(self.postgres_template)
        try:
            yield name
        finally:
            self.server.drop(name)

    def _place(self, name: str) -> Place:
        server = self.server
        admin, owner = server.admin_url(name), server.owner_url(name)
        return Place("postgresql", server.url(name), admin, owner, name)

    def close(self) -> None:
        self._ending.close()
