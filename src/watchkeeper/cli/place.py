"""Where a command works: the settings in force, and the database they name.

Commands that act on a database do so directly, by the same actions as the server. One
that only reads never opens SQLite for writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchkeeper.settings import Settings
    from watchkeeper.store.database import Database

AUTHOR = "command line"


def settings_of(db: str | None = None, **flags: Any) -> Settings:
    from watchkeeper.settings import load_settings

    return load_settings({"database_url": db, **flags})


@contextmanager
def opened(db: str | None) -> Iterator[Database]:
    """The database that is named by flag, environment or file; it must be there, and migrated."""
    with opened_by(settings_of(db)) as found:
        yield found


@contextmanager
def opened_by(settings: Settings) -> Iterator[Database]:
    database = open_checked(settings)
    try:
        yield database
    finally:
        database.close()


def open_checked(settings: Settings) -> Database:
    """Open it, or raise Unavailable with what to do about it."""
    from watchkeeper.errors import Unavailable
    from watchkeeper.settings import redacted_url
    from watchkeeper.store.database import open_database
    from watchkeeper.store.migrations import HEAD, version_of

    url = settings.database_url
    shown = redacted_url(url)
    file = sqlite_file(url)
    if file is not None and not file.exists():
        raise Unavailable(f"there is no database at {file}: make one with {_migrate(shown)}")
    database = open_database(url, journal=settings.sqlite_journal, pool_size=settings.pool_size)
    version = version_of(database.reader)
    if version == HEAD:
        return database
    try:
        if version is None and file is None:
            reachable_server(database)
        if version is None:
            raise Unavailable(f"{shown} is not migrated: run {_migrate(shown)}")
        raise Unavailable(
            f"{shown} has schema {version}, this program needs {HEAD}: run {_migrate(shown)}"
        )
    finally:
        database.close()


def reachable_server(database: Database) -> None:
    """Raise what the driver says when the server itself does not answer."""
    with database.reader.connect():
        pass


def sqlite_file(url: str) -> Path | None:
    """The file of an SQLite URL; None for a server, and for a database in memory."""
    scheme, _, path = url.partition(":///")
    if not scheme.startswith("sqlite") or path in ("", ":memory:"):
        return None
    return Path(path.partition("?")[0])


def as_id(text: str, what: str) -> str:
    """An id of ours as it is stored; a text that cannot be one names nothing."""
    from uuid import UUID

    from watchkeeper.errors import NotFound

    try:
        return str(UUID(text))
    except ValueError:
        raise NotFound(f"there is no {what} {text}") from None


def _migrate(shown: str) -> str:
    return f"`watchkeeper migrate --db {shown}`"
