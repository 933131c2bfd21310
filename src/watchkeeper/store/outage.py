"""Database errors: which kind each one is, and the error of ours that a caller gets for it.

A caller never sees the driver's words: they may hold a part of a password that was not
escaped. The driver's error is chained as the cause. An error that is none of these kinds is
a bug, and stays as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from watchkeeper.errors import Busy, TimedOut, Unavailable
from watchkeeper.store.postgres import sqlstate_of


class Trouble(Enum):
    """Kinds of database errors that are not the request's fault, by what helps."""

    CONFLICT = "met another transaction: nothing was done, it may run again at once"
    BUSY = "others held a row, the file or every connection for as long as is waited for"
    TIMED_OUT = "ran longer than is allowed and was ended"
    STALE = "knows prepared statements that the server does not: use another connection"
    LOST = "the connection was lost, or cannot be made"
    OUTAGE = "the database answers, and cannot serve this now"


_STATES = {
    "25P02": Trouble.CONFLICT,
    "40001": Trouble.CONFLICT,
    "40P01": Trouble.CONFLICT,
    "55P03": Trouble.BUSY,
    "57014": Trouble.TIMED_OUT,
    "25P03": Trouble.TIMED_OUT,
    "25P04": Trouble.TIMED_OUT,
    "26000": Trouble.STALE,
    "25006": Trouble.OUTAGE,
    "3D000": Trouble.OUTAGE,
    "XX001": Trouble.OUTAGE,
    "XX002": Trouble.OUTAGE,
}
_CLASSES = {
    "08": Trouble.LOST,
    "28": Trouble.OUTAGE,
    "53": Trouble.OUTAGE,
    "57": Trouble.LOST,
    "58": Trouble.OUTAGE,
}
_CACHED_PLAN = "cached plan must not change result type"
_SQLITE = {
    "SQLITE_BUSY": Trouble.BUSY,
    "SQLITE_LOCKED": Trouble.BUSY,
    "SQLITE_FULL": Trouble.OUTAGE,
    "SQLITE_IOERR": Trouble.OUTAGE,
    "SQLITE_READONLY": Trouble.OUTAGE,
    "SQLITE_CANTOPEN": Trouble.OUTAGE,
    "SQLITE_CORRUPT": Trouble.OUTAGE,
    "SQLITE_NOTADB": Trouble.OUTAGE,
    "SQLITE_PROTOCOL": Trouble.BUSY,
}
_SQLITE_WORDS = {
    "locked": "SQLITE_BUSY",
    "disk is full": "SQLITE_FULL",
    "disk i/o": "SQLITE_IOERR",
    "readonly": "SQLITE_READONLY",
    "unable to open": "SQLITE_CANTOPEN",
    "malformed": "SQLITE_CORRUPT",
    "not a database": "SQLITE_NOTADB",
}
_REASONS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "its disk fails",
    "SQLITE_READONLY": "its file is read-only",
    "SQLITE_CANTOPEN": "its file cannot be opened",
    "SQLITE_CORRUPT": "its file is damaged",
    "SQLITE_NOTADB": "its file is not a database",
    "25006": "it takes no writes now",
    "28000": "it refuses the user",
    "28P01": "it refuses the password",
    "3D000": "the database does not exist",
    "53100": "the disk is full",
    "53200": "it is out of memory",
    "53300": "it has too many connections",
    "57P03": "it is starting or stopping",
}
_CONNECTING_WORDS = {
    "connection refused": "connection refused",
    "resolve host": "its host name cannot be resolved",
    "translate host": "its host name cannot be resolved",
    "timeout expired": "no answer in time",
    "password authentication failed": "it refuses the password",
    "no password supplied": "it asks for a password",
    "no such file": "no server listens there",
    "does not exist": "the database or the user does not exist",
    "too many": "it has too many connections",
    "starting up": "it is starting or stopping",
    "shutting down": "it is starting or stopping",
    "invalid": "a parameter of its URL is not accepted",
}
NO_REASON = "the connection was lost"
_SAID = {
    Trouble.CONFLICT: "other transactions were in the way again and again; nothing was done",
    Trouble.BUSY: "others held what is needed for too long; nothing was done",
    Trouble.TIMED_OUT: "the database ended this because it took too long; nothing was done",
    Trouble.STALE: "the connection had to be given up; nothing was done",
}


def trouble_of(error: BaseException) -> Trouble | None:
    """The kind of a database error, ours with its cause too; None for a bug and all others."""
    if isinstance(error, Unavailable):
        return None if error.__cause__ is None else trouble_of(error.__cause__)
    if isinstance(error, PoolTimeout):
        return Trouble.BUSY
    original = getattr(error, "orig", None) or error
    if isinstance(original, sqlite3.DatabaseError):
        return _SQLITE.get(_sqlite_name(original))
    if type(original).__name__ == "PipelineAborted":
        return Trouble.CONFLICT
    state = sqlstate_of(error)
    if state is not None:
        return _of_state(state, str(original))
    if isinstance(error, DBAPIError):
        is_lost = error.connection_invalidated or isinstance(
            error, OperationalError | InterfaceError
        )
    else:
        is_lost = _is_psycopg(original) and type(original).__name__ in (
            "OperationalError",
            "InterfaceError",
            "ConnectionTimeout",
        )
    return Trouble.LOST if is_lost else None


def is_outage(error: BaseException) -> bool:
    """Whether the database, and nothing in the request, is at fault: later it may succeed."""
    return isinstance(error, Unavailable) or trouble_of(error) is not None


def as_ours(error: BaseException) -> Unavailable | None:
    """The error of ours for a driver's error; None where it is a bug, or ours already."""
    if isinstance(error, Unavailable):
        return None
    trouble = trouble_of(error)
    match trouble:
        case None:
            return None
        case Trouble.CONFLICT | Trouble.BUSY | Trouble.STALE:
            return Busy(_SAID[trouble])
        case Trouble.TIMED_OUT:
            return TimedOut(_SAID[trouble])
        case Trouble.LOST | Trouble.OUTAGE:
            return Unavailable(f"the database cannot be reached: {_reason(error)}")


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise ours, with the driver's as its cause, for the database errors of this block."""
    try:
        yield
    except Exception as error:
        ours = as_ours(error)
        if ours is None:
            raise
        raise ours from error


def _of_state(state: str, words: str) -> Trouble | None:
    if state == "0A000":
        return Trouble.STALE if _CACHED_PLAN in words else None
    return _STATES.get(state) or _CLASSES.get(state[:2])


def _reason(error: BaseException) -> str:
    """Why, in words of ours: never the driver's, which may hold what somebody typed."""
    original = getattr(error, "orig", None) or error
    if isinstance(original, sqlite3.DatabaseError):
        return _REASONS.get(_sqlite_name(original), NO_REASON)
    told = _REASONS.get(sqlstate_of(error) or "")
    if told is not None:
        return told
    words = str(original).lower()
    return next((said for part, said in _CONNECTING_WORDS.items() if part in words), NO_REASON)


def _sqlite_name(error: sqlite3.DatabaseError) -> str:
    """The primary name of its code, from the words where the code is missing."""
    name = str(getattr(error, "sqlite_errorname", None) or "")
    known = next((one for one in _SQLITE if name.startswith(one)), "")
    words = str(error).lower()
    return known or next((one for part, one in _SQLITE_WORDS.items() if part in words), "")


def _is_psycopg(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] == "psycopg"
