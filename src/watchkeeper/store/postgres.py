"""How PostgreSQL is opened, and what its errors mean for a transaction."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Engine, create_engine, event

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

RETRIED = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: nothing was done, the whole transaction may run again."""


def open_sql(role: str) -> str:
    """The first statement of a transaction; its third column is the time."""
    return _OPEN_WORKER_SQL if role == WORKER_ROLE else _OPEN_APP_SQL


def batch_sql(role: str) -> str:
    """The first statement of a batch."""
    return _BATCH_WORKER_SQL if role == WORKER_ROLE else _BATCH_APP_SQL


def open_engine(url: URL, pool_size: int) -> Engine:
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
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
    return engine


def _configure(driver: Any, _record: object) -> None:
    from psycopg.types.string import TextLoader

    for name in ("uuid", "json"):  # as the text that was written, never as an object
        driver.adapters.register_loader(name, TextLoader)
    driver.prepare_threshold = 2
    driver.prepared_max = PREPARED_MAX


def sqlstate_of(error: BaseException) -> str | None:
    """The SQLSTATE of a driver's error, also when SQLAlchemy has wrapped it."""
    original = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    return state if isinstance(state, str) else None


def is_operational(error: BaseException) -> bool:
    """The connection or the server, rather than the statement, is at fault."""
    import psycopg

    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def commit_is_unknown(error: BaseException) -> bool:
    """Whether a COMMIT that failed this way may nevertheless have happened.

    An error that the server reported means that the transaction was rolled back, except
    when the server was going down (class 57P) while it was committing.
    """
    import psycopg

    original = getattr(error, "orig", None) or error
    if not isinstance(original, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    state = sqlstate_of(original)
    return state is None or state.startswith(("57P", "08"))


def connection_is_lost(error: BaseException) -> bool:
    import psycopg

    original = getattr(error, "orig", None) or error
    if not isinstance(original, psycopg.OperationalError):
        return False
    state = sqlstate_of(original)
    return state is None or state.startswith(("57P", "08"))
