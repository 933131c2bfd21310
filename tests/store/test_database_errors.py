"""Database errors: each kind is told apart, answered as itself, and tried again if that helps."""

import contextlib
import logging
import pickle
import select
import sqlite3
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tests.databases import Databases, Place, migrate
from tests.postgres import Server, running
from tests.proxy import proxied
from watchkeeper import App
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.errors import Busy, TimedOut, Unavailable
from watchkeeper.store import backoff
from watchkeeper.store.database import TRIES_MAX, Database, open_database
from watchkeeper.store.outage import Trouble, as_ours, trouble_of
from watchkeeper.store.statement import same

PG = pytest.mark.parametrize("engine", ["postgresql"])
ONE = same("select 1")


def sqlite_error(code: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("words")
    error.sqlite_errorname = code
    return error


@pytest.mark.parametrize(
    ("error", "trouble", "ours"),
    [
        (errors.SerializationFailure("x"), Trouble.CONFLICT, Busy),
        (errors.DeadlockDetected("x"), Trouble.CONFLICT, Busy),
        (errors.InFailedSqlTransaction("x"), Trouble.CONFLICT, Busy),
        (errors.PipelineAborted("x"), Trouble.CONFLICT, Busy),
        (errors.LockNotAvailable("x"), Trouble.BUSY, Busy),
        (PoolTimeout("x"), Trouble.BUSY, Busy),
        (errors.QueryCanceled("x"), Trouble.TIMED_OUT, TimedOut),
        (errors.IdleInTransactionSessionTimeout("x"), Trouble.TIMED_OUT, TimedOut),
        (errors.InvalidSqlStatementName("x"), Trouble.STALE, Busy),
        (
            errors.FeatureNotSupported("cached plan must not change result type"),
            Trouble.STALE,
            Busy,
        ),
        (errors.FeatureNotSupported("another feature"), None, None),
        (psycopg.OperationalError("x"), Trouble.LOST, Unavailable),
        (psycopg.InterfaceError("x"), Trouble.LOST, Unavailable),
        (errors.AdminShutdown("x"), Trouble.LOST, Unavailable),
        (errors.ConnectionFailure("x"), Trouble.LOST, Unavailable),
        (errors.DiskFull("x"), Trouble.OUTAGE, Unavailable),
        (errors.ReadOnlySqlTransaction("x"), Trouble.OUTAGE, Unavailable),
        (errors.UndefinedColumn("x"), None, None),
        (errors.UniqueViolation("x"), None, None),
        (sqlite_error("SQLITE_BUSY_SNAPSHOT"), Trouble.BUSY, Busy),
        (sqlite_error("SQLITE_LOCKED"), Trouble.BUSY, Busy),
        (sqlite_error("SQLITE_FULL"), Trouble.OUTAGE, Unavailable),
        (sqlite_error("SQLITE_IOERR_WRITE"), Trouble.OUTAGE, Unavailable),
        (sqlite_error("SQLITE_READONLY_DBMOVED"), Trouble.OUTAGE, Unavailable),
        (sqlite_error("SQLITE_CORRUPT"), Trouble.OUTAGE, Unavailable),
        (sqlite_error("SQLITE_ERROR"), None, None),
        (sqlite3.IntegrityError("x"), None, None),
        (ValueError("locked"), None, None),
    ],
    ids=lambda value: getattr(value, "sqlite_errorname", type(value).__name__),
)
@pytest.mark.req("O-12")
def test_each_kind_of_error_has_an_error_of_ours(
    error: Exception, trouble: Trouble | None, ours: type[Unavailable] | None
) -> None:
    assert trouble_of(error) is trouble
    made = as_ours(error)
    assert type(made) is (ours or type(None))
    if made is not None:
        assert "words" not in str(made)
        assert "x" not in str(made).split()
        assert str(pickle.loads(pickle.dumps(made))) == str(made)


# -- trying again ------------------------------------------------------------------------


@pytest.fixture
def narrow(place: Place) -> Iterator[Database]:
    """With one connection, which everybody gets."""
    db = open_database(place.url, pool_size=1)
    yield db
    db.close()


@pytest.mark.postgresql
@PG
@pytest.mark.req("O-11")
@pytest.mark.parametrize("state", ["40001", "40P01", "26000"])
@pytest.mark.parametrize("how", ["begin", "batch"])
def test_a_conflict_is_tried_again_after_a_pause(narrow: Database, how: str, state: str) -> None:
    pauses: list[int] = []
    narrow.pause = pauses.append

    def deed() -> None:
        with getattr(narrow, how)(TenantId("acme")) as tx:
            if len(pauses) < TRIES_MAX - 1:
                tx.rows(same(f"do $$ begin raise exception 'no' using errcode = '{state}'; end $$"))
            tx.rows(ONE)

    narrow.retrying(deed)
    assert pauses == [1, 2, 3, 4]


@pytest.mark.postgresql
@PG
@pytest.mark.req("O-11")
@pytest.mark.parametrize("how", ["begin", "batch"])
@pytest.mark.parametrize(
    ("setting", "statement", "kind"),
    [
        ("statement_timeout", "select pg_sleep(60)", TimedOut),
        ("lock_timeout", "lock table tenants in access exclusive mode", Busy),
    ],
)
def test_what_was_waited_for_is_not_tried_again(
    narrow: Database, place: Place, how: str, setting: str, statement: str, kind: type
) -> None:
    pauses: list[int] = []
    narrow.pause = pauses.append

    def deed() -> None:
        with getattr(narrow, how)(TenantId("acme")) as tx:
            tx.rows(same("select set_config('role', 'none', true)"))
            tx.rows(same(f"select set_config('{setting}', '10ms', true)"))
            tx.run(same(statement))

    with psycopg.connect(place.admin_url) as rival:
        rival.execute("lock table tenants in share mode")
        place.execute("grant all on tenants to wk")
        with pytest.raises(kind) as failed:
            narrow.retrying(deed)
    assert type(failed.value) is kind
    assert pauses == []
    with narrow.batch(TenantId("acme")) as tx:
        assert tx.rows(ONE) == [(1,)]


@pytest.mark.postgresql
@PG
@pytest.mark.req("O-11")
def test_a_transaction_that_was_aborted_is_a_conflict(narrow: Database) -> None:
    """A statement failed, and something went on: what it meets then is not the error."""

    def go_on() -> None:
        with narrow.begin(TenantId("acme")) as tx:
            with contextlib.suppress(psycopg.Error):
                tx.rows(same("select 1 / 0"))
            tx.rows(ONE)

    with pytest.raises(Busy):
        go_on()
    with narrow.begin(TenantId("acme")) as tx:
        assert tx.rows(ONE) == [(1,)]


def test_pauses_grow_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(backoff.time, "sleep", slept.append)
    for attempt in range(1, 40):
        backoff.jittered_pause(attempt)
        assert 0 <= slept[-1] <= backoff.pause_max(attempt) <= backoff.PAUSE_SECONDS_MAX
    assert len({*slept}) > 30, "two that met do not wait for the same time"
    assert backoff.pause_max(2) == 2 * backoff.pause_max(1)


# -- pipelines that are cut ----------------------------------------------------------------


@contextlib.contextmanager
def failing_first(db: Database) -> Iterator[None]:
    """A statement fails in the pipeline before the BEGIN of the next batch."""
    lent = db.writer.raw_connection()
    driver: Any = lent.driver_connection
    lent.close()
    pipeline = driver.pipeline

    @contextlib.contextmanager
    def broken() -> Iterator[Any]:
        with pipeline() as made:
            driver.execute("select 1 / 0")
            yield made

    driver.pipeline = broken
    yield
    driver.pipeline = pipeline


@pytest.mark.postgresql
@PG
@pytest.mark.req("O-11")
@pytest.mark.parametrize("uses", [0, 1, 2, 3, 5])
def test_an_error_before_the_begin_leaves_no_poisoned_connection(
    place: Place, uses: int, caplog: pytest.LogCaptureFixture
) -> None:
    """At whatever use: from the third on the driver prepares what it sends."""
    with App(place.url, migrate=False, pool_size=1) as app, caplog.at_level(logging.WARNING):
        app.signal("acme", "a", "mail")
        for number in range(uses):
            app.signal("acme", f"a{number}", "mail")
        with failing_first(app.db), pytest.raises(errors.DivisionByZero):
            app.signal("acme", "b", "mail")
        pauses: list[int] = []
        app.db.pause = pauses.append
        for number in range(25):
            assert app.signal("acme", f"c{number}", "mail").verdict.allowed
        assert app.clock.now()
    assert pauses == [], "nothing had to be tried again"
    assert [line for line in caplog.records if line.name == "psycopg"] == []


@pytest.mark.postgresql
@PG
@pytest.mark.req("O-11")
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("sent", [0, 1, 3])
def test_a_batch_that_is_left_early_leaves_its_connection_clean(
    narrow: Database, error: type[BaseException], sent: int
) -> None:
    def leave() -> None:
        with narrow.batch_system() as tx:
            for _ in range(sent):
                tx.run(ONE)
            raise error

    for _ in range(4):
        with pytest.raises(error):
            leave()
        with narrow.batch_system() as tx:
            assert tx.rows(ONE) == [(1,)]


@pytest.mark.postgresql
@PG
@pytest.mark.req("O-11")
def test_a_batch_whose_statement_fails_is_not_logged_by_the_driver(
    narrow: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        with narrow.batch(TenantId("acme")) as tx:
            tx.run(same("select 1 / 0"))
            for _ in range(5):
                tx.run(ONE)
            tx.rows(ONE)

    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            with pytest.raises(errors.DivisionByZero):
                fail()
            with narrow.batch(TenantId("acme")) as tx:
                assert tx.rows(ONE) == [(1,)]
    assert [line for line in caplog.records if line.name == "psycopg"] == []


@pytest.mark.postgresql
@PG
@pytest.mark.req("D-12")
def test_a_commit_that_was_skipped_is_not_unknown(narrow: Database) -> None:
    """An earlier error was swallowed: the server has skipped all that came behind it."""

    def go_on() -> None:
        with narrow.batch(TenantId("acme")) as tx, contextlib.suppress(psycopg.Error):
            tx.rows(same("select 1 / 0"))

    with pytest.raises(Unavailable) as failed:
        go_on()
    assert type(failed.value) is Busy


@pytest.mark.postgresql
@PG
@pytest.mark.req("O-11")
@pytest.mark.parametrize("how", ["begin", "batch", "read"])
def test_a_connection_that_lost_its_statements_is_thrown_away(narrow: Database, how: str) -> None:
    """As behind a pooler, or after somebody's DISCARD ALL."""

    def ask() -> None:
        with getattr(narrow, how)(TenantId("acme")) as tx:
            for _ in range(4):
                tx.rows(same("select count(*) from tenants"))

    ask()
    with narrow.writer.connect() as conn:
        driver: Any = conn.connection.driver_connection
        assert driver._prepared._names
        driver.pgconn.exec_(b"deallocate all")  # behind the driver's back
    narrow.pause = lambda _attempt: None
    narrow.retrying(ask)


# -- a server that was away ------------------------------------------------------------------


@pytest.mark.postgresql
@PG
@pytest.mark.req("O-11")
@pytest.mark.parametrize("how", ["read", "read_system", "begin", "batch", "batch_system"])
def test_connections_of_before_a_cut_are_replaced_before_anything_is_sent(
    place: Place, server: Server, how: str
) -> None:
    with proxied(server.tcp_port) as proxy:
        db = open_database(server.tcp_url(place.name, port=proxy.port), pool_size=3)
        with db.begin(SYSTEM), db.begin(SYSTEM), db.begin(SYSTEM):
            pass
        for _ in range(3):
            proxy.cut_all()
            wait_for_the_end(db)
            begun = getattr(db, how)
            with begun() if "system" in how else begun(TenantId("acme")) as tx:
                assert tx.rows(ONE) == [(1,)]
        db.close()


def wait_for_the_end(db: Database) -> None:
    """Until the news that it was closed has come to every idle connection."""
    for record in list(db.writer.pool._pool.queue):  # type: ignore[attr-defined]
        poll = select.poll()
        poll.register(record.driver_connection.fileno(), select.POLLIN)
        assert poll.poll(30_000)


@pytest.mark.postgresql
@pytest.mark.req("O-11")
def test_a_restart_of_the_server_is_not_seen_by_who_asks_after_it() -> None:
    with running() as own:
        assert own.process is not None
        name = own.create()
        migrate(own.owner_url(name))
        with App(own.url(name), migrate=False, pool_size=3) as app:
            with app.db.begin(SYSTEM), app.db.begin(SYSTEM), app.db.begin(SYSTEM):
                pass
            app.signal("acme", "a", "mail")
            own.process.halt()
            with pytest.raises(Unavailable, match="the database cannot be reached"):
                app.clock.now()
            own.process.start()
            assert app.clock.now()
            own.process.halt()
            own.process.start()
            for _ in range(4):
                assert app.heat("acme", "a")
                assert app.signal("acme", "a", "mail")


def test_a_full_disk_is_unavailable(databases: Databases) -> None:
    with databases.fresh("sqlite") as place, App(place.url, migrate=False) as app:
        app.signal("acme", "a", "mail")
        with app.db.writer.connect() as conn:
            driver: Any = conn.connection.driver_connection
            driver.execute("pragma max_page_count = 1")

        def fill() -> None:
            for number in range(2_000):
                app.signal("acme", f"a{number}", "mail", data={"text": "x" * 2_000})

        with pytest.raises(Unavailable, match="the disk is full"):
            fill()


def test_a_file_that_is_no_database_is_unavailable(databases: Databases) -> None:
    with databases.fresh("sqlite") as place:
        with open(place.name, "r+b") as file:
            file.write(b"\0" * 4096)
        with pytest.raises(Unavailable, match="not a database"):
            App(place.url)
