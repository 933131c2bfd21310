"""Readers and writers of a SQLite file with the rollback journal take turns.

A greedy writer is played by hand: it has the file whenever the reader looks, and begins again as
soon as it has committed. Nothing here depends on how long anything takes.
"""

import contextlib
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.databases import Databases, Place
from tests.messages import letter, live
from watchkeeper.core.ids import TenantId
from watchkeeper.store import sqlite, turnstile
from watchkeeper.store.backoff import LOOK_SECONDS
from watchkeeper.store.database import Database, open_database
from watchkeeper.store.outbox import enqueue

ACME = TenantId("acme")
Begin = Callable[[Database], AbstractContextManager[Any]]

READS: dict[str, Begin] = {
    "read": lambda db: db.read(ACME),
    "read_system": lambda db: db.read_system(),
}
WRITES: dict[str, Begin] = {
    "begin": lambda db: db.begin(ACME),
    "batch": lambda db: db.batch(ACME),
    "begin_system": lambda db: db.begin_system(),
    "batch_system": lambda db: db.batch_system(),
}


class MustWait(Exception):
    """Raised in place of a pause: this writer has found the turnstile held."""


@pytest.fixture
def place(databases: Databases) -> Iterator[Place]:
    with databases.fresh("sqlite") as found:
        yield found


def opened(place: Place, journal: sqlite.Journal = "rollback") -> Any:
    return contextlib.closing(open_database(place.url, journal=journal))


@pytest.fixture
def reading(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 1)
    with opened(place) as db:
        with db.read_system():
            pass  # the schema is known from here on
        yield db


@pytest.fixture
def writing(place: Place) -> Iterator[Database]:
    with opened(place) as db:
        write(db)
        yield db


def write(db: Database) -> None:
    with db.begin_system() as tx:
        enqueue(tx, [letter()])


class Greedy:
    """A writer that has the file, and begins again as soon as it has committed."""

    def __init__(self, db: Database, begin: Begin) -> None:
        self._db = db
        self._begin = begin
        self._current = contextlib.ExitStack()
        self.begun = self.waits = 0
        db.turnstile.pause = self._wait

    def _wait(self) -> None:
        raise MustWait

    def begin(self) -> None:
        tx = self._current.enter_context(self._begin(self._db))
        tx._driver.execute("COMMIT")
        tx._driver.execute("BEGIN EXCLUSIVE")  # as while it commits
        self.begun += 1

    def begin_again(self) -> None:
        self._current.close()
        try:
            self.begin()
        except MustWait:
            self.waits += 1

    def begin_at_turnstile(self) -> None:
        """Its commit would wait for the reader, as SQLite has it; to begin waits for nobody."""
        with self._db.turnstile.passed():
            pass


def before_each_begin(engine: Engine, begin: str, deed: Callable[[], None]) -> None:
    """Do something each time that a reader or a writer is about to look."""

    def trace(sql: str) -> None:
        if sql == begin:
            deed()

    def lent(driver: Any, _record: object, _lent: object) -> None:
        driver.set_trace_callback(trace)

    event.listen(engine, "checkout", lent)


@pytest.mark.req("T-30")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("read", READS)
def test_a_refused_reader_goes_before_the_writer_that_begins_again(
    reading: Database, writing: Database, read: str, write: str
) -> None:
    greedy = Greedy(writing, WRITES[write])
    greedy.begin()
    looks: list[int] = []

    def look() -> None:
        looks.append(len(looks))
        if len(looks) > 1:
            greedy.begin_again()

    before_each_begin(reading.reader, "BEGIN", look)
    with READS[read](reading) as tx:
        assert tx.now > 0
        assert (len(looks), greedy.begun, greedy.waits) == (2, 1, 1)
        assert tx._driver.execute("PRAGMA busy_timeout").fetchone() == (0,), "next time too"
        greedy.begin_at_turnstile()


@pytest.mark.parametrize("write", WRITES)
def test_a_refused_writer_goes_before_the_writer_that_begins_again(
    place: Place, writing: Database, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 1)
    greedy = Greedy(writing, WRITES[write])
    with opened(place) as other:
        with other.begin_system():
            pass  # it is connected from here on
        greedy.begin()
        before_each_begin(other.writer, "BEGIN IMMEDIATE", greedy.begin_again)
        with WRITES[write](other):
            assert (greedy.begun, greedy.waits) == (1, 1)
            greedy.begin_at_turnstile()


def test_a_reader_that_nobody_refuses_holds_nobody_up(reading: Database, writing: Database) -> None:
    greedy = Greedy(writing, WRITES["begin_system"])
    passed: list[bool] = []

    def look() -> None:  # SQLite would swallow what is raised here
        greedy.begin_at_turnstile()
        passed.append(True)

    before_each_begin(reading.reader, "BEGIN", look)
    with reading.read_system():
        greedy.begin_at_turnstile()
    assert passed == [True]


def test_a_reader_looks_once_before_it_holds_the_turnstile(reading: Database) -> None:
    """While SQLite waited for it, writers would begin again and again."""
    with reading.read_system() as tx:
        assert tx._driver.execute("PRAGMA busy_timeout").fetchone() == (0,)


@pytest.mark.req("O-11")
def test_a_writer_goes_on_when_a_reader_holds_it_for_too_long(
    reading: Database, writing: Database, place: Place
) -> None:
    pauses: list[int] = []
    writing.turnstile.pause = lambda: pauses.append(1)
    with reading.turnstile.held():
        write(writing)
    assert len(pauses) == turnstile.LOOKS_MAX
    assert turnstile.LOOKS_MAX * LOOK_SECONDS <= 1
    assert len(live(place)) == 2


def test_a_writer_waits_until_the_last_one_lets_go(
    reading: Database, writing: Database, place: Place
) -> None:
    with contextlib.ExitStack() as first, contextlib.ExitStack() as second:
        first.enter_context(reading.turnstile.held())
        second.enter_context(reading.turnstile.held())
        pauses = iter((first.close, second.close))
        writing.turnstile.pause = lambda: next(pauses)()
        write(writing)
        assert next(pauses, None) is None
    assert len(live(place)) == 2


def lock_file(place: Place) -> Path:
    return Path(f"{place.name}{turnstile.SUFFIX}")


def test_those_may_open_it_who_may_open_the_database(place: Place, writing: Database) -> None:
    lock_file(place).unlink()
    Path(place.name).chmod(0o600)
    with writing.turnstile.held():
        assert not lock_file(place).exists(), "a reader makes no file"
    write(writing)
    assert stat.S_IMODE(lock_file(place).stat().st_mode) == 0o600


def test_a_file_that_cannot_be_opened_stops_nobody(
    place: Place, reading: Database, writing: Database
) -> None:
    lock_file(place).unlink()
    lock_file(place).symlink_to(lock_file(place))
    with reading.turnstile.held():
        write(writing)
    assert len(live(place)) == 2


def test_names_of_one_file_share_it(place: Place, writing: Database, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(Path(place.name).resolve())
    writing.turnstile.pause = Greedy(writing, WRITES["begin"])._wait
    other = turnstile.Turnstile(str(link))
    with other.held(), pytest.raises(MustWait):
        write(writing)


def test_write_ahead_logs_need_none(databases: Databases) -> None:
    with databases.fresh("sqlite") as place, opened(place, "wal") as db:
        write(db)
        lock_file(place).unlink(missing_ok=True)
        write(db)
        assert not lock_file(place).exists()
