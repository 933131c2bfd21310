"""Where a command works: the settings in force, and the database they name.

Commands that act on a database do so directly, by the same actions as the server. One
that only reads never opens SQLite for writing, unless a crash has to be recovered from.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchkeeper.settings import Settings
    from watchkeeper.store.database import Database
    from watchkeeper.store.keyring import Keyring

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
    from watchkeeper.store.database import open_database

    url = settings.database_url
    _check_file(url)
    database = open_database(url, journal=settings.sqlite_journal, pool_size=settings.pool_size)
    database.keyring = keyring_of(settings)
    check_schema(database)
    return database


def check_schema(database: Database) -> None:
    """Close a database whose schema is not the one of this program, and raise Unavailable."""
    from watchkeeper.errors import Unavailable
    from watchkeeper.settings import redacted_url
    from watchkeeper.store.migrations import HEAD, newer, version_of

    url = database.writer.url.render_as_string(hide_password=True)
    shown = redacted_url(url.replace("postgresql+psycopg:", "postgresql:"))
    try:
        _check_file(url)
        version = version_of(database)
        if version is None:
            raise Unavailable(f"{shown} is not migrated: run {_migrate(shown)}")
        if version > HEAD:
            raise Unavailable(newer(shown, version))
        if version < HEAD:
            raise Unavailable(
                f"{shown} has schema {version}, this program needs {HEAD}: run {_migrate(shown)}"
            )
    except BaseException:
        database.close()
        raise


def _check_file(url: str) -> None:
    from watchkeeper.errors import Unavailable
    from watchkeeper.settings import redacted_url

    file = sqlite_file(url)
    if file is not None and not file.exists():
        made = _migrate(redacted_url(url))
        raise Unavailable(f"there is no database at {file}: make one with {made}")


def keyring_of(settings: Settings) -> Keyring:
    from watchkeeper.store.keyring import parse_keys

    key = settings.secrets_key
    return parse_keys(None if key is None else key.get_secret_value())


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
