"""Where the driver is: every statement is a point, and may fail, wait, or be the last.

The product opens its connections itself; they are only of another class. Nothing of what it sends
is changed, but for the pipeline of PostgreSQL: here each statement waits for its answer, so that
others can come between any two of them.
"""

import sqlite3
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import psycopg
from psycopg import errors
from sqlalchemy import Engine, QueuePool, event

from tests.sim.baton import Baton, Killed, Process
from tests.sim.faults import Faults
from watchkeeper.core.time import Instant
from watchkeeper.store.backoff import pause_max
from watchkeeper.store.database import Database
from watchkeeper.store.sqlite import is_busy

BUSY_SECONDS = 0.25
PATIENCE_SECONDS = 30.0
"""As long as the product has SQLite wait for others."""

KINDS = (
    ("claim", "set status = 'processing'"),
    ("claim", "status = 'processing', locked_by"),
    ("ack", "insert into outbox_delivered"),
    ("settle", "update turns"),
    ("settle", "insert into turns"),
    ("admit", "insert into ledger"),
)


class Seam:
    """Between one process and its database."""

    def __init__(
        self, baton: Baton, faults: Faults, process: Process, told: Callable[[Instant], None]
    ) -> None:
        self.told = told
        self.baton = baton
        self.faults = faults
        self.process = process
        self.connections: list[Any] = []
        self.wrong: list[str] = []
        self.labels: dict[str, str] = {}
        process.on_kill.append(self._kill)

    def watch(self, db: Database) -> None:
        """Every connection that this database opens from now on goes through here."""
        db.pause = lambda attempt: self.baton.sleep(pause_max(attempt), "again")
        db.turnstile.pause = lambda: self.baton.sleep(BUSY_SECONDS, "turnstile")
        for engine in {db.writer, db.reader}:
            self._watch(engine)

    def _watch(self, engine: Engine) -> None:
        sqlite = engine.dialect.name == "sqlite"

        def connect(_dialect: object, _record: object, given: Any, named: Any) -> Any:
            if sqlite:
                opened = sqlite3.connect(*given, **named, factory=Connection)
                opened.create_function("sim_process", 0, lambda: self.process.id)
            else:
                if self.process.is_dead:  # nobody would close it
                    raise Killed
                named = {**named, "application_name": self.process.id}
                opened = PgConnection.connect(*given, **named)
            opened.seam = self
            self.connections.append(opened)
            return opened

        def configured(driver: Any, _record: object) -> None:
            if sqlite:
                driver.execute("PRAGMA synchronous = OFF")

        def checked_out(driver: Any, _record: object, _lent: object) -> None:
            driver.is_ready = True

        event.listen(engine, "do_connect", connect)
        event.listen(engine, "connect", configured)
        event.listen(engine, "checkout", checked_out)
        engine.pool.__class__ = Pool
        engine.pool.baton = self.baton  # type: ignore[attr-defined]

    def ask(self, connection: Any, sql: str, deed: Callable[[], Any]) -> Any:
        """One statement: the baton goes round, and then it is done, or something happens."""
        if sql.startswith("PRAGMA journal_mode"):
            return connection.carry_out(self, sql, deed)
        if not connection.is_ready or sql.startswith("PRAGMA"):
            return deed()
        self.baton.point(self._label(sql))
        self.told(self.baton.now)
        if sql.startswith("BEGIN"):
            connection.said = []
        elif sql == "COMMIT":
            return self._commit(connection, deed)
        fate = self.faults.at_statement(self.baton) if connection.said is not None else None
        if fate is not None:
            self._fail(connection, fate)
        found = connection.carry_out(self, sql, deed)
        if connection.said is not None:
            connection.said.append(sql)
        return found

    def _commit(self, connection: Any, deed: Callable[[], Any]) -> Any:
        fate = self.faults.at_commit(self.baton)
        said, connection.said = connection.said or [], None
        if fate is None:
            found = connection.carry_out(self, "COMMIT", deed)
            self.baton.settle_blocked()
            return found
        self.baton.note(f"COMMIT {fate}")
        kinds = {kind for kind, part in KINDS if any(part in sql for sql in said)}
        for kind in kinds:
            self.faults.reached[f"{fate}: {kind}"] += 1
        if fate in ("killed after", "answer lost", "stopped after"):
            found = connection.carry_out(self, "COMMIT", deed)
            self.baton.settle_blocked()
            if fate == "stopped after":
                self.baton.sleep(self.faults.long_pause(), "stopped")
                return found
            for kind in kinds:
                self.faults.reached[f"lost commit on {kind}"] += 1
        if fate.startswith("killed"):
            self.baton.die()
        self._fail(connection, "busy" if fate == "busy" else "connection lost")
        return None

    def _fail(self, connection: Any, fate: str) -> None:
        self.faults.reached[fate] += 1
        self.baton.note(f"{self.process.id} {fate}")
        connection.fail(fate)

    def _label(self, sql: str) -> str:
        label = self.labels.get(sql)
        if label is None:
            label = self.labels[sql] = " ".join(sql.split())[:48]
        return label

    def _kill(self) -> None:
        for connection in self.connections:
            connection.kill(self)


class Pool(QueuePool):
    """Threads of one process that wait for its only connection wait by the baton."""

    def _do_get(self) -> Any:
        baton: Baton = self.baton  # type: ignore[attr-defined]
        while self.checkedout() >= self.size() and baton.current is not None:
            baton.sleep(0.25, "pool")
        return super()._do_get()

    def recreate(self) -> Any:
        made = super().recreate()
        made.baton = self.baton  # type: ignore[attr-defined]
        return made


class Cursor(sqlite3.Cursor):
    def execute(self, sql: str, parameters: Any = ()) -> Any:
        connection: Any = self.connection
        if sql.startswith("PRAGMA busy_timeout"):
            sql = "PRAGMA busy_timeout = 0"
        return connection.seam.ask(
            connection, sql, lambda: sqlite3.Cursor.execute(self, sql, parameters)
        )

    def executemany(self, sql: str, parameters: Any) -> Any:
        connection: Any = self.connection
        return connection.seam.ask(
            connection, sql, lambda: sqlite3.Cursor.executemany(self, sql, parameters)
        )


class Connection(sqlite3.Connection):
    """SQLite: whoever finds the file taken tries again a little later, on the virtual clock."""

    seam: Seam
    is_ready = False
    is_closed = False
    said: list[str] | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        self.cursors: WeakSet[Cursor] = WeakSet()
        super().__init__(*given, **named)

    def cursor(self, factory: Any = Cursor) -> Any:
        if hasattr(self, "seam") and self.seam.process.is_dead:
            raise Killed
        made = super().cursor(Cursor)
        self.cursors.add(made)
        return made

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        if not hasattr(self, "seam"):
            return super().execute(sql, parameters)
        return self.cursor().execute(sql, parameters)

    def commit(self) -> None:
        if self.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        self.said = None
        if not self.seam.process.is_dead:
            super().rollback()

    def close(self) -> None:
        if not self.seam.process.is_dead:
            self.is_closed = True
            super().close()

    def carry_out(self, seam: Seam, sql: str, deed: Callable[[], Any]) -> Any:
        waited = 0.0
        while True:
            try:
                return deed()
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
                if self.in_transaction and sql != "COMMIT" and not self._only_reads:
                    seam.wrong.append(f"found the file busy inside a transaction: {sql[:60]}")
                if waited >= PATIENCE_SECONDS:
                    seam.faults.reached["file busy for too long"] += 1
                    raise
                seam.faults.reached["file busy"] += 1
                waited += BUSY_SECONDS
                seam.baton.sleep(BUSY_SECONDS, "busy")

    @property
    def _only_reads(self) -> bool:
        return bool(sqlite3.Connection.execute(self, "PRAGMA query_only").fetchone()[0])

    def fail(self, fate: str) -> None:
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        error.sqlite_errorname = "SQLITE_BUSY"
        raise error

    def kill(self, _seam: Seam) -> None:
        if self.is_closed:
            return
        for cursor in list(self.cursors):  # a statement that was not read to its end keeps a lock
            sqlite3.Cursor.close(cursor)
        if self.in_transaction:
            super().rollback()
        super().close()


class PgCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **more: Any) -> Any:
        connection: Any = self.connection
        text = query if isinstance(query, str) else str(query)
        return connection.seam.ask(
            connection, text, lambda: psycopg.Cursor.execute(self, query, params, **more)
        )

    def executemany(self, query: Any, params_seq: Any, **more: Any) -> Any:
        connection: Any = self.connection
        return connection.seam.ask(
            connection,
            str(query),
            lambda: psycopg.Cursor.executemany(self, query, params_seq, **more),
        )


class _NoPipeline:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_error: object) -> None:
        return None


class PgConnection(psycopg.Connection[Any]):
    """PostgreSQL: whoever waits for a lock really waits, and somebody else has the baton."""

    seam: Seam | None = None
    is_ready = False
    said: list[str] | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.cursor_factory = PgCursor

    def cursor(self, *given: Any, **named: Any) -> Any:
        if self.seam is not None and self.seam.process.is_dead:
            raise Killed
        return super().cursor(*given, **named)

    def pipeline(self) -> Any:
        return _NoPipeline()

    def commit(self) -> None:
        assert self.seam is not None
        if self.is_ready and self.said is not None:
            self.seam.ask(self, "COMMIT", super().commit)
        else:
            super().commit()

    def rollback(self) -> None:
        assert self.seam is not None
        self.said = None
        if not self.seam.process.is_dead:
            super().rollback()
            self.seam.baton.settle_blocked()

    def close(self) -> None:
        if self.seam is None or not self.seam.process.is_dead:
            super().close()

    def carry_out(self, seam: Seam, _sql: str, deed: Callable[[], Any]) -> Any:
        try:
            return seam.baton.asking(self.info.backend_pid, deed)
        except BaseException:
            if seam.process.is_dead and not self.closed:
                super().rollback()
                super().close()
            raise

    def fail(self, fate: str) -> None:
        if fate == "deadlock":
            raise errors.DeadlockDetected("deadlock detected")
        super().rollback()
        super().close()
        if self.seam is not None:
            self.seam.baton.settle_blocked()
        raise psycopg.OperationalError("the connection is lost")

    def kill(self, seam: Seam) -> None:
        if self.closed:
            return
        pid = self.info.backend_pid
        asked = [one for one in seam.baton.strands if one.in_db and one.pid == pid]
        if asked:
            self.cancel()
            return
        super().rollback()
        super().close()
