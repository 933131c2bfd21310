"""Opening the database, and beginning the kinds of transaction.

This is the only place that knows which engine is underneath, reads a clock, or
commits. On PostgreSQL the shared clock is the database's, read by the statement
that sets the tenant for row-level security; on SQLite it is the process's, read
once the write lock is held. Where the `clock` table has a row, time is virtual
and every process on that database obeys it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, make_url
from sqlalchemy.exc import TimeoutError as PoolTimeout

from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.errors import CommitUnknown, Invalid, Unavailable
from watchkeeper.store import postgres, sqlite
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.sinks import SinkBook
from watchkeeper.store.transaction import EngineName, ReadTx, Session, SystemTx, Tx

TRIES_MAX = 5
SQLITE_TRIES_MAX = 2
"""Each of them has waited for as long as a busy file is waited for."""

POOL_SIZE = 16

T = TypeVar("T")
AnyEngine: TypeAlias = Engine
"""SQLAlchemy's engine, named for those who may not import it."""

WallClock = Callable[[], Instant]


def wall_clock() -> Instant:
    return Instant(time.time_ns() // 1000)


class Database:
    """One database: begins transactions, and tells who waits when there is news."""

    def __init__(self, writer: Engine, reader: Engine, engine: EngineName, wall: WallClock) -> None:
        self.writer = writer
        self.reader = reader
        self.engine: EngineName = engine
        self._wall = wall
        self._news = threading.Condition()
        self._news_count = 0
        self.heard_count = 0
        self.on_news: list[Callable[[], None]] = []
        self.policies = PolicyBook()
        self.sinks = SinkBook()
        self.turns: dict[tuple[str, str], str] = {}
        """By namespace and topic, the tenant whose messages were claimed last."""

    @property
    def is_in_memory(self) -> bool:
        """Whether nobody but this process can open it."""
        return self.engine == "sqlite" and self.reader is self.writer

    # -- transactions ---------------------------------------------------------------

    @contextmanager
    def begin(self, tenant_id: TenantId) -> Iterator[Tx]:
        """A transaction of one tenant. Commits at the end of the block, or nothing happens."""
        with self._connected(self.writer, postgres.APP_ROLE, tenant_id) as (conn, driver, now):
            tx = Tx(self.engine, driver, now, conn, tenant_id)
            yield tx
            self._commit(driver)
        self._settle(tx)

    @contextmanager
    def batch(
        self,
        tenant_id: TenantId,
        *,
        recovering: bool = False,
        when_sent: Callable[[], None] | None = None,
    ) -> Iterator[Tx]:
        """The same for a move over many events: driver statements only, in a pipeline.

        `when_sent` is called while the database works.
        """
        with self._batched(postgres.APP_ROLE, tenant_id, when_sent) as (driver, now):
            tx = Tx(self.engine, driver, now, None, tenant_id, recovering)
            yield tx
        self._settle(tx)

    @contextmanager
    def batch_system(self, *, when_sent: Callable[[], None] | None = None) -> Iterator[SystemTx]:
        """The same across tenants, for workers."""
        with self._batched(postgres.WORKER_ROLE, SYSTEM, when_sent) as (driver, now):
            tx = SystemTx(self.engine, driver, now, None)
            yield tx
        self._settle(tx)

    @contextmanager
    def read(self, tenant_id: TenantId) -> Iterator[ReadTx]:
        with self._connected(self.reader, postgres.APP_ROLE, tenant_id, write=False) as found:
            conn, driver, now = found
            yield ReadTx(self.engine, driver, now, conn, tenant_id)
            self._end_reading(driver)

    @contextmanager
    def begin_system(self) -> Iterator[SystemTx]:
        """Across tenants, for workers: it sees the outbox and the list of tenants only."""
        with self._connected(self.writer, postgres.WORKER_ROLE, SYSTEM) as (conn, driver, now):
            tx = SystemTx(self.engine, driver, now, conn)
            yield tx
            self._commit(driver)
        self._settle(tx)

    @contextmanager
    def read_system(self) -> Iterator[SystemTx]:
        with self._connected(self.reader, postgres.WORKER_ROLE, SYSTEM, write=False) as found:
            conn, driver, now = found
            yield SystemTx(self.engine, driver, now, conn)
            self._end_reading(driver)

    def retrying(self, deed: Callable[[], T]) -> T:
        """Run a deed that is one whole transaction; again when the database asks for it.

        Serialization failures, deadlocks and connections lost before COMMIT left nothing
        behind, nor did a SQLite file that others had all the time. A COMMIT whose answer was
        lost is not among them: it raises CommitUnknown.
        """
        tries_max = TRIES_MAX if self.engine == "postgresql" else SQLITE_TRIES_MAX
        for attempt in range(1, tries_max + 1):
            try:
                return deed()
            except CommitUnknown:
                raise
            except Exception as error:
                if attempt == tries_max or not self._nothing_happened(error):
                    raise
        raise AssertionError("unreachable")

    # -- news: somebody enqueued something that is due ------------------------------------

    def tell(self) -> None:
        """Wake whoever waits for work in this process, and through `on_news` in others."""
        self.hear()
        for listener in self.on_news:
            with contextlib.suppress(Exception):  # it is committed: nobody may be told it failed
                listener()

    def hear(self) -> None:
        """There is, or may be, a message that nobody here has seen: wake this process only."""
        with self._news:
            self.heard_count += 1
        self.wake()

    def wake(self) -> None:
        """Wake this process only, for what it knows of already: an attempt ended, it is to stop."""
        with self._news:
            self._news_count += 1
            self._news.notify_all()

    @property
    def news_count(self) -> int:
        """What to wait beyond: taken before a look, so that nothing is missed during it."""
        return self._news_count

    def wait_for_news(self, seen: int, timeout_seconds: float) -> int:
        """Sleep until there is news that was not seen yet, or the time is over."""
        with self._news:
            if self._news_count == seen:
                self._news.wait(timeout_seconds)
            return self._news_count

    def of_its_own(self) -> Database:
        """The same database over one connection beside the pool, for what must never queue.

        On SQLite a process has one writing connection, and that is all there is.
        """
        if self.engine == "sqlite":
            return self
        engine = postgres.open_engine(self.writer.url, 1)
        return Database(engine, engine, self.engine, self._wall)

    def close(self) -> None:
        self.writer.dispose()
        if self.reader is not self.writer:
            self.reader.dispose()

    # -- inside ----------------------------------------------------------------------

    @contextmanager
    def _connected(
        self, engine: Engine, role: str, tenant_id: TenantId, *, write: bool = True
    ) -> Iterator[tuple[Connection, Any, Instant]]:
        with self._noticing_outage(engine), engine.connect() as conn:
            driver: Any = conn.connection.driver_connection
            if self.engine == "postgresql":
                now = _open_postgres(driver, role, tenant_id, write=write)
            else:
                driver.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                now = self._sqlite_now(driver)
            try:
                yield conn, driver, now
            except BaseException:
                self._roll_back(driver)
                raise

    @contextmanager
    def _batched(
        self, role: str, tenant_id: TenantId, when_sent: Callable[[], None] | None = None
    ) -> Iterator[tuple[Any, Instant]]:
        """On PostgreSQL nobody has waited for the time yet: a statement that locks brings it."""
        lent = self.writer.raw_connection()
        driver: Any = lent.driver_connection
        is_committing = False
        try:
            with self._noticing_outage(self.writer), self._pipeline(driver):
                now = Instant(0)
                if self.engine == "postgresql":
                    cursor = driver.cursor()
                    cursor.execute("BEGIN")
                    cursor.execute(postgres.batch_sql(role), (role, tenant_id))
                else:
                    driver.execute("BEGIN IMMEDIATE")
                    now = self._sqlite_now(driver)
                try:
                    yield driver, now
                except BaseException:
                    self._roll_back(driver)
                    raise
                is_committing = True
                self._send_commit(driver)
                if when_sent is not None:
                    with contextlib.suppress(Exception):  # what was committed stays so
                        when_sent()
        except BaseException as error:
            if _broken(driver):
                lent.invalidate(error)
            if is_committing and self.engine == "postgresql" and postgres.commit_is_unknown(error):
                raise CommitUnknown("the connection was lost while committing") from error
            raise
        finally:
            lent.close()

    @contextmanager
    def _noticing_outage(self, engine: Engine) -> Iterator[None]:
        """Where one connection was lost the idle ones are too: nobody else shall try them."""
        try:
            yield
        except Exception as error:
            # No name is kept for the cause: with its traceback it would refer to itself.
            if self.engine == "postgresql" and postgres.connection_is_lost(
                (isinstance(error, CommitUnknown) and error.__cause__) or error
            ):
                engine.dispose()
            raise

    def _pipeline(self, driver: Any) -> contextlib.AbstractContextManager[Any]:
        if self.engine == "postgresql":
            pipeline: contextlib.AbstractContextManager[Any] = driver.pipeline()
            return pipeline
        return contextlib.nullcontext()

    def _sqlite_now(self, driver: Any) -> Instant:
        row = driver.execute("SELECT now_at FROM clock").fetchone()
        return self._wall() if row is None else Instant(row[0])

    def _send_commit(self, driver: Any) -> None:
        """In a pipeline it is only sent: the pipeline's end waits for it and what went before."""
        if self.engine == "postgresql":
            driver.execute("COMMIT", prepare=False)
        else:
            driver.execute("COMMIT")

    def _commit(self, driver: Any) -> None:
        if self.engine == "sqlite":
            driver.execute("COMMIT")
            return
        try:
            driver.commit()
        except Exception as error:
            if postgres.commit_is_unknown(error):
                raise CommitUnknown("the connection was lost while committing") from error
            raise

    def _end_reading(self, driver: Any) -> None:
        """On PostgreSQL without a ROLLBACK: with it the driver forgets all that it has prepared.

        Whoever gets the connection next would have its statements parsed and planned again.
        """
        if self.engine == "postgresql":
            driver.execute("END")
        else:
            driver.rollback()

    def _roll_back(self, driver: Any) -> None:
        with contextlib.suppress(Exception):  # a broken connection has rolled back already
            driver.rollback()

    def _settle(self, tx: Session) -> None:
        if tx.has_news:
            self.tell()
        for look in tx.after_commit:
            with contextlib.suppress(Exception):
                look()

    def is_in_trouble(self, error: BaseException) -> bool:
        """Whether an error says that the database, not what was asked of it, is the matter."""
        if isinstance(error, Unavailable | PoolTimeout):
            return True
        original = getattr(error, "orig", None) or error
        if self.engine == "sqlite":
            return isinstance(original, sqlite3.OperationalError)
        return postgres.sqlstate_of(error) in postgres.RETRIED or postgres.is_operational(original)

    def _nothing_happened(self, error: Exception) -> bool:
        if self.engine == "sqlite":
            return sqlite.is_busy(error)
        return postgres.sqlstate_of(error) in postgres.RETRIED or postgres.connection_is_lost(error)


def open_database(
    url: str | Engine,
    *,
    journal: sqlite.Journal = "auto",
    pool_size: int = POOL_SIZE,
    wall: WallClock = wall_clock,
) -> Database:
    """Open a database by its URL: sqlite:///FILE, sqlite:// (in memory) or postgresql://…

    Given an engine of somebody else's, it opens the same database with connections of its own.
    """
    try:
        parsed = url.url if isinstance(url, Engine) else make_url(url)
    except Exception:
        raise Invalid.at("database_url", "it is not a database URL") from None
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        writer = sqlite.open_writer(parsed, journal)
        memory = parsed.database in (None, "", ":memory:")
        return Database(writer, writer if memory else sqlite.open_reader(parsed), "sqlite", wall)
    if backend in ("postgresql", "postgres"):
        engine = postgres.open_engine(parsed, pool_size)
        return Database(engine, engine, "postgresql", wall)
    raise Invalid.at("database_url", f"{backend} is not supported: use sqlite or postgresql")


def _open_postgres(driver: Any, role: str, tenant_id: TenantId, *, write: bool) -> Instant:
    cursor = driver.cursor()
    cursor.execute("BEGIN" if write else "BEGIN READ ONLY")
    cursor.execute(postgres.open_sql(role), (role, tenant_id))
    return Instant(cursor.fetchone()[2])


def _broken(driver: Any) -> bool:
    return bool(getattr(driver, "closed", False))


def reachable(db: Database) -> None:
    """Raise Unavailable when the database does not answer."""
    try:
        with db.read(SYSTEM):
            pass
    except Exception as error:
        raise Unavailable("the database cannot be reached") from error
