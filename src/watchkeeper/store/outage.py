"""Which errors mean that the database cannot serve now, and nothing is wrong with the request."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from watchkeeper.store.postgres import sqlstate_of

_CLASSES = ("08", "53", "57")  # connection, resources, operator intervention (timeouts too)
_STATES = frozenset({"40001", "40P01", "55P03", "25P03"})
_SQLITE = frozenset({"SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR"})
_SQLITE_WORDS = ("locked", "disk is full", "disk i/o", "unable to open", "readonly")


def is_outage(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    if isinstance(error, PoolTimeout):
        return True
    original = getattr(error, "orig", None) or error
    if isinstance(original, sqlite3.OperationalError):
        return _is_sqlite_outage(original)
    state = sqlstate_of(error)
    if state is not None:
        return state[:2] in _CLASSES or state in _STATES
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)
    return type(original).__module__.startswith("psycopg") and type(original).__name__ in (
        "OperationalError",
        "InterfaceError",
        "ConnectionTimeout",
    )


def _is_sqlite_outage(error: sqlite3.OperationalError) -> bool:
    name: str | None = getattr(error, "sqlite_errorname", None)
    if name is not None and any(name.startswith(known) for known in _SQLITE):
        return True
    return any(word in str(error).lower() for word in _SQLITE_WORDS)
