"""Opening the database, and beginning the kinds of transaction.

This is the only place that knows which engine is underneath, reads a clock, or
commits. On PostgreSQL the shared clock is the database's, read by the statement
that sets the tenant for row-level security; on SQLite it is the process's, read
once the write lock is held. Where the `clock` table has a row, time is virtual
and every process on that database obeys it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine

from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.errors import Closed, CommitUnknown, Unavailable
from watchkeeper.store import postgres, sqlite
from watchkeeper.store.backoff import Pause, jittered_pause
from watchkeeper.store.database_url import parsed_url
from watchkeeper.store.keyring import Keyring
from watchkeeper.store.news import News
from watchkeeper.store.outage import Trouble, as_ours, is_outage, trouble_of
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.sinks import SinkBook
from watchkeeper.store.transaction import EngineName, ReadTx, Session, SystemTx, Tx
from watchkeeper.store.turnstile import Turnstile

TRIES_MAX = 5
SQLITE_TRIES_MAX = 2
"""Each of them has waited for as long as a busy file is waited for."""

OPENINGS_MAX = 2
"""Connections on which a transaction is begun before an outage is reported."""

RETRIED = frozenset({Trouble.CONFLICT, Trouble.STALE, Trouble.LOST})
"""Nothing was done: on PostgreSQL the whole transaction runs again."""

POOL_SIZE = 16

T = TypeVar("T")
AnyEngine: TypeAlias = Engine
"""SQLAlchemy's engine, named for those who may not import it."""

WallClock = Callable[[], Instant]


def wall_clock() -> Instant:
    return Instant(time.time_ns() // 1000)


class Database(News):
    """One database: begins transactions, and tells who waits when there is news."""

    def __init__(self, writer: Engine, reader: Engine, engine: EngineName, wall: WallClock) -> None:
        self.writer = writer
        self.reader = reader
        self.engine: EngineName = engine
        super().__init__()
        self._wall = wall
        self.policies = PolicyBook()
        self.sinks = SinkBook()
        self.keyring = Keyring()
        self.turns: dict[tuple[str, str], str] = {}
        """By namespace and topic, the tenant whose messages were claimed last."""
        self.pause: Pause = jittered_pause
        self.turnstile = Turnstile(None)
        self._is_closed = False

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
        """Run a deed that is one whole transaction; again, after a pause, where that helps.

        Serialization failures, deadlocks and connections lost before COMMIT left nothing
        behind, nor did a SQLite file that others had all the time. A COMMIT whose answer was
        lost is not among them: it raises CommitUnknown. Nor is a lock or a statement that timed
        out: it has been waited for already.
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
            self.pause(attempt)
        raise AssertionError("unreachable")

    def of_its_own(self) -> Database:
        """The same database over one connection beside the pool, for what must never queue.

        On SQLite a process has one writing connection, and that is all there is.
        """
        self.check_open()
        if self.engine == "sqlite":
            return self
        engine = postgres.open_engine(self.writer.url, 1)
        return Database(engine, engine, self.engine, self._wall)

    def check_open(self) -> None:
        """Raise Closed after `close`."""
        if self._is_closed:
            raise Closed

    def close(self) -> None:
        self._is_closed = True
        self.writer.dispose()
        if self.reader is not self.writer:
            self.reader.dispose()

    # -- inside ----------------------------------------------------------------------

    @contextmanager
    def _connected(
        self, engine: Engine, role: str, tenant_id: TenantId, *, write: bool = True
    ) -> Iterator[tuple[Connection, Any, Instant]]:
        self.check_open()
        with self._plain_errors(engine):
            conn, now = self._opened(engine, role, tenant_id, write=write)
            with conn:
                driver: Any = conn.connection.driver_connection
                try:
                    yield conn, driver, now
                except BaseException as error:
                    self._roll_back(driver)
                    if (
                        self.engine == "postgresql" and driver.closed
                    ):  # the pool would try to use it, and log that it cannot
                        conn.invalidate(error)
                    raise

    def _opened(
        self, engine: Engine, role: str, tenant_id: TenantId, *, write: bool
    ) -> tuple[Connection, Instant]:
        """A connection with a transaction begun, and the time.

        One that turns out to be lost is replaced once: nothing was sent on it yet.
        """
        for opening in range(1, OPENINGS_MAX + 1):
            conn = engine.connect()
            driver: Any = conn.connection.driver_connection
            try:
                if self.engine == "postgresql":
                    return conn, _open_postgres(driver, role, tenant_id, write=write)
                return conn, self._open_sqlite(driver, write=write)
            except BaseException as error:
                self._roll_back(driver)
                if self.engine == "postgresql":
                    conn.invalidate(error)
                conn.close()
                if opening == OPENINGS_MAX or not _is_worn(error):
                    raise
                engine.dispose()
        raise AssertionError("unreachable")

    @contextmanager
    def _batched(
        self, role: str, tenant_id: TenantId, when_sent: Callable[[], None] | None = None
    ) -> Iterator[tuple[Any, Instant]]:
        """On PostgreSQL nobody has waited for the time yet: a statement that locks brings it."""
        self.check_open()
        is_committing = False
        with self._plain_errors(self.writer), self._lent() as driver:
            try:
                with self._pipeline(driver):
                    now = self._begin_batch(driver, role, tenant_id)
                    yield driver, now
                    is_committing = True
                    self._send_commit(driver)
                    if when_sent is not None:
                        with contextlib.suppress(Exception):  # what was committed stays so
                            when_sent()
            except Exception as error:
                if is_committing and self._commit_is_unknown(error):
                    raise CommitUnknown("the connection was lost while committing") from error
                raise

    @contextmanager
    def _lent(self) -> Iterator[Any]:
        """A driver's connection for a batch, thrown away if it is not known to be as before."""
        lent = self.writer.raw_connection()
        driver: Any = lent.driver_connection
        try:
            yield driver
        except BaseException as error:
            if self.engine == "sqlite":
                self._roll_back(driver)
            elif not postgres.is_undone(driver):
                lent.invalidate(error)
            raise
        finally:
            lent.close()

    def _begin_batch(self, driver: Any, role: str, tenant_id: TenantId) -> Instant:
        if self.engine == "sqlite":
            return self._open_sqlite(driver, write=True)
        cursor = driver.cursor()
        cursor.execute("BEGIN", prepare=False)
        cursor.execute(postgres.batch_sql(role), (role, tenant_id))
        return Instant(0)

    @contextmanager
    def _plain_errors(self, engine: Engine) -> Iterator[None]:
        """Raise ours for a driver's error, with it as the cause.

        Where one connection was lost the idle ones are too: nobody else shall try them.
        """
        try:
            yield
        except Exception as error:
            if self.engine == "postgresql" and trouble_of(error) is Trouble.LOST:
                engine.dispose()
            ours = as_ours(error)
            if ours is None:
                raise
            raise ours from error

    def _pipeline(self, driver: Any) -> contextlib.AbstractContextManager[Any]:
        if self.engine == "postgresql":
            return postgres.pipelined(driver)
        return contextlib.nullcontext()

    def _open_sqlite(self, driver: Any, *, write: bool) -> Instant:
        """Begin, and read the clock."""
        if not write:
            return sqlite.begin_reading(driver, self.writer, self.turnstile, self._sqlite_now)
        with self.turnstile.passed():
            driver.execute("BEGIN IMMEDIATE")
        return self._sqlite_now(driver)

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
            if self._commit_is_unknown(error):
                raise CommitUnknown("the connection was lost while committing") from error
            raise

    def _commit_is_unknown(self, error: Exception) -> bool:
        return self.engine == "postgresql" and postgres.commit_is_unknown(error)

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
        return is_outage(error)

    def _nothing_happened(self, error: Exception) -> bool:
        if self.engine == "sqlite":
            return sqlite.is_busy(error.__cause__ or error)
        return trouble_of(error) in RETRIED


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
    parsed = parsed_url(url)
    if parsed.get_backend_name() == "sqlite":
        writer = sqlite.open_writer(parsed, journal)
        memory = parsed.database in (None, "", ":memory:")
        if memory:
            return Database(writer, writer, "sqlite", wall)
        database = Database(writer, sqlite.open_reader(parsed), "sqlite", wall)
        database.turnstile = sqlite.open_turnstile(parsed, journal)
        return database
    engine = postgres.open_engine(parsed, pool_size)
    return Database(engine, engine, "postgresql", wall)


def _open_postgres(driver: Any, role: str, tenant_id: TenantId, *, write: bool) -> Instant:
    cursor = driver.cursor()
    cursor.execute("BEGIN" if write else "BEGIN READ ONLY")
    cursor.execute(postgres.open_sql(role), (role, tenant_id))
    return Instant(cursor.fetchone()[2])


def _is_worn(error: BaseException) -> bool:
    """Whether the connection, and nothing else, is at fault."""
    return trouble_of(error) in (Trouble.LOST, Trouble.STALE)


def reachable(db: Database) -> None:
    """Raise Unavailable when the database does not answer."""
    try:
        with db.read(SYSTEM):
            pass
    except Exception as error:
        raise Unavailable("the database cannot be reached") from error
