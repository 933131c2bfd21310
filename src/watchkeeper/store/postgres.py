"""How PostgreSQL is opened, and what its errors mean for a transaction."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError

from watchkeeper.errors import Unavailable

APP_ROLE = "watchkeeper_app"
WORKER_ROLE = "watchkeeper_worker"
CONNECT_TIMEOUT_SECONDS = 10
STATEMENT_TIMEOUT_MS = 60_000
LOCK_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000
PREPARED_MAX = 400
"""Statements that a connection keeps prepared: more than there are."""

NOW_SQL = (
    "coalesce((select now_at from clock),"
    " (extract(epoch from clock_timestamp()) * 1000000)::bigint)"
)
"""The shared clock, in microseconds. Written out where it is used: a function costs more."""

OPEN_SQL = "select set_config('role', %s, true), set_config('app.tenant_id', %s, true), " + NOW_SQL

_PLANNED_ANEW = ", set_config('plan_cache_mode', 'force_custom_plan', true)"
_OPEN_APP_SQL = OPEN_SQL + _PLANNED_ANEW
"""Outside of batches statements may scan, so each is planned for what the tables are by now."""

_BY_INDEX = (
    ", set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)"
)
_PLANNED_ONCE = ", set_config('plan_cache_mode', 'force_generic_plan', true)"

_OPEN_WORKER_SQL = OPEN_SQL + _BY_INDEX + _PLANNED_ONCE
"""Workers walk through indexes only: a plan made while a table was small outlives its growth.

Their statements know nothing better for one parameter than for another, and planning the claim
takes a third of its time.
"""

_IN_ORDER = ", set_config('enable_sort', 'off', true)"
_BATCH_SQL = (
    "select set_config('role', %s, true), set_config('app.tenant_id', %s, true)" + _BY_INDEX
)
"""The same for a batch, which walks through indexes too, and is told the time by what it reads."""

_BATCH_APP_SQL = _BATCH_SQL + _IN_ORDER + _PLANNED_ONCE
"""A tenant's batch takes the index that has the order it asks for: a lookup that names the order
of its key finds by that key, whatever the planner last saw of the table."""

_BATCH_WORKER_SQL = _BATCH_SQL + _PLANNED_ONCE


def open_sql(role: str) -> str:
    """The first statement of a transaction; its third column is the time."""
    return _OPEN_WORKER_SQL if role == WORKER_ROLE else _OPEN_APP_SQL


def batch_sql(role: str) -> str:
    """The first statement of a batch."""
    return _BATCH_WORKER_SQL if role == WORKER_ROLE else _BATCH_APP_SQL


def with_driver(url: URL) -> URL:
    """The URL with the driver that is used. Raises Unavailable where the driver is missing."""
    if find_spec("psycopg") is None:
        raise Unavailable('PostgreSQL needs an extra: pip install "watchkeeper[postgres]"')
    return url.set(drivername="postgresql+psycopg")


def open_engine(url: URL, pool_size: int) -> Engine:
    """Raises Unavailable, naming the extra, where the driver is not installed."""
    try:
        return _open_engine(url, pool_size)
    except ImportError as missing:
        raise Unavailable(
            f"PostgreSQL needs an extra ({missing.name or 'psycopg'} cannot be imported):"
            ' pip install "watchkeeper[postgres]"',
            extra="postgres",
        ) from missing


def _open_engine(url: URL, pool_size: int) -> Engine:
    engine = create_engine(
        with_driver(url),
        # Transactions are begun by name: the driver's own BEGIN makes a pipeline wait for it.
        isolation_level="AUTOCOMMIT",
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=30,
        pool_recycle=1800,
        pool_use_lifo=True,  # few connections stay warm, with what they have prepared
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_SECONDS,
            "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
            f" -c lock_timeout={LOCK_TIMEOUT_MS}"
            f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS}"
            " -c jit=off",
            "application_name": "watchkeeper",
        },
    )
    event.listen(engine, "connect", _configure)
    event.listen(engine, "checkout", _check_alive)
    return engine


def _configure(driver: Any, _record: object) -> None:
    from psycopg.types.string import TextLoader

    for name in ("uuid", "json"):  # as the text that was written, never as an object
        driver.adapters.register_loader(name, TextLoader)
    driver.prepare_threshold = 2
    driver.prepared_max = PREPARED_MAX


def _check_alive(driver: Any, _record: object, _lent: object) -> None:
    """Before it is lent: an idle connection with something to read has been closed, or soon is.

    After a restart of the server nobody sends anything on a connection of before it. The pool
    opens another in its stead, and gives up all that are as old.
    """
    if driver.closed or _has_ended(driver):
        raise DisconnectionError("the server has closed this connection")


def _has_ended(driver: Any) -> bool:
    poll = select.poll()
    poll.register(driver.fileno(), select.POLLIN)
    if not poll.poll(0):
        return False
    with contextlib.suppress(Exception):
        driver.pgconn.consume_input()
    return bool(driver.closed)


@contextlib.contextmanager
def pipelined(driver: Any) -> Iterator[None]:
    """A pipeline. Where its block fails, what fails after that is neither raised nor logged.

    The driver logs a warning for each; they follow from the first error, which is raised.
    """
    pipeline = driver.pipeline()
    pipeline.__enter__()
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            pipeline.__exit__(None, None, None)
        raise
    pipeline.__exit__(None, None, None)


def is_undone(driver: Any) -> bool:
    """Roll back after a failed pipeline; False where the connection must not be used again.

    With a ROLLBACK the driver forgets what it has prepared. Where no transaction is open, no
    ROLLBACK is sent, and it would go on to use statements that the server has skipped.
    """
    from psycopg.pq import TransactionStatus

    if driver.closed or driver.info.transaction_status not in (
        TransactionStatus.INTRANS,
        TransactionStatus.INERROR,
    ):
        return False
    with contextlib.suppress(Exception):
        driver.rollback()
    return not driver.closed and driver.info.transaction_status == TransactionStatus.IDLE


def sqlstate_of(error: BaseException) -> str | None:
    """The SQLSTATE of a driver's error, also when SQLAlchemy has wrapped it."""
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    return state if isinstance(state, str) else None


def commit_is_unknown(error: BaseException) -> bool:
    """Whether a COMMIT that failed this way may nevertheless have happened.

    An error that the server reported means that the transaction was rolled back, except
    when the server was going down (class 57P) while it was committing.
    """
    import psycopg

    original = getattr(error, "orig", None) or error
    if not isinstance(original, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    if isinstance(original, psycopg.errors.PipelineAborted):
        return False  # a statement before it had failed, so the server has skipped the COMMIT
    state = sqlstate_of(original)
    return state is None or state.startswith(("57P", "08"))
