"""How SQLite is opened: one writer connection per process, readers beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from sqlalchemy import URL, Engine, QueuePool, create_engine, event

from watchkeeper.store.turnstile import Turnstile

T = TypeVar("T")

BUSY_TIMEOUT_MS = 30_000
POOL_SECONDS = 2 * BUSY_TIMEOUT_MS / 1000
"""For a turn on the writing connection: whoever has it may wait for other processes first."""

_RECOVERED_BY_WRITERS = (sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY)

OLDEST = (3, 38, 0)
READERS_MAX = 8
CHECKPOINT_PAGES = 8_000
"""Pages in the write-ahead log before they are copied back: hot ones are copied once for many."""


Journal = Literal["auto", "wal", "rollback"]


def has_wal_reset_bug(version: tuple[int, int, int]) -> bool:
    """Versions in which two processes that write in WAL mode can corrupt the file."""
    if version >= (3, 51, 3):
        return False
    fixed_in_branch = {(3, 50): 7, (3, 44): 6}
    patch = fixed_in_branch.get(version[:2])
    return patch is None or version[2] < patch


def library_version() -> tuple[int, int, int]:
    """Of the SQLite that this Python brings."""
    major, minor, patch = sqlite3.sqlite_version_info
    return major, minor, patch


def is_busy(error: BaseException) -> bool:
    """Whether others had the file all the time. A transaction that fails so has left nothing.

    SQLite keeps no queue. The turnstile does, but programs of others do not pass it.
    """
    original = getattr(error, "orig", None) or error
    code = getattr(original, "sqlite_errorcode", None)  # with what it says beyond, in the high bits
    return code is not None and code & 0xFF == sqlite3.SQLITE_BUSY


def needs_recovery(error: BaseException) -> bool:
    """Whether a writer died while it committed, and only a writer may put the file in order."""
    original = getattr(error, "orig", None) or error
    return getattr(original, "sqlite_errorcode", None) in _RECOVERED_BY_WRITERS


def recover(writer: Engine) -> None:
    """Roll back what the dead writer left: SQLite does so for the first that may write."""
    with writer.connect() as conn:
        driver: Any = conn.connection.driver_connection
        driver.execute("BEGIN IMMEDIATE")
        driver.rollback()


def begin_reading(
    driver: Any, writer: Engine, turnstile: Turnstile, first: Callable[[Any], T]
) -> T:
    """Begin a read transaction by its first read, which takes the lock.

    A reader that finds a crash lets the writer recover first.
    """
    try:
        return _begin_in_turn(driver, turnstile, first)
    except Exception as error:
        if not needs_recovery(error):
            raise
    recover(writer)
    return _begin_in_turn(driver, turnstile, first)


def _begin_in_turn(driver: Any, turnstile: Turnstile, first: Callable[[Any], T]) -> T:
    """Look once without waiting; who is refused goes before the writers that come later."""
    try:
        return _begin(driver, first)
    except Exception as error:
        if not is_busy(error):
            raise
    with turnstile.held():
        driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        try:
            return _begin(driver, first)
        finally:
            driver.execute("PRAGMA busy_timeout = 0")


def _begin(driver: Any, first: Callable[[Any], T]) -> T:
    try:
        driver.execute("BEGIN")
        return first(driver)
    except BaseException:
        driver.rollback()
        raise


def open_turnstile(url: URL, journal: Journal) -> Turnstile:
    """For a file with the rollback journal: in WAL mode no reader is refused."""
    is_refusing = journal_mode(journal, library_version()) != "WAL"
    return Turnstile(url.database if is_refusing else None)


def journal_mode(journal: Journal, version: tuple[int, int, int]) -> str:
    """WAL where it is safe with several processes, else the rollback journal."""
    if journal == "auto":
        journal = "rollback" if has_wal_reset_bug(version) else "wal"
    return "WAL" if journal == "wal" else "TRUNCATE"


def open_writer(url: URL, journal: Journal) -> Engine:
    """The process's only writing connection; threads take turns on it."""
    version = sqlite3.sqlite_version_info
    if version < OLDEST:
        raise RuntimeError(f"SQLite {sqlite3.sqlite_version} is older than 3.38")
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=POOL_SECONDS,
        connect_args={"check_same_thread": False},
    )
    mode = journal_mode(journal, version)

    def configure(driver: Any, _record: object) -> None:
        driver.isolation_level = None  # the driver must not open transactions of its own
        driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        driver.execute(f"PRAGMA journal_mode = {mode}")
        driver.execute("PRAGMA synchronous = FULL")
        driver.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        driver.execute("PRAGMA foreign_keys = ON")

    event.listen(engine, "connect", configure)
    return engine


def open_reader(url: URL) -> Engine:
    """Connections that cannot write. They open the file read-only."""
    engine = create_engine(
        URL.create("sqlite", database=f"file:{url.database}", query={"mode": "ro", "uri": "true"}),
        poolclass=QueuePool,
        pool_size=2,
        max_overflow=READERS_MAX - 2,
        connect_args={"check_same_thread": False},
    )

    def configure(driver: Any, _record: object) -> None:
        driver.isolation_level = None
        driver.execute("PRAGMA busy_timeout = 0")  # it waits at the turnstile, see begin_reading
        driver.execute("PRAGMA query_only = ON")

    event.listen(engine, "connect", configure)
    return engine
