"""All that a database holds, seen over one connection: for tests of what must change nothing."""

import contextlib
import sqlite3
from collections.abc import Iterator

import psycopg

from tests.databases import Place
from watchkeeper.store.tables import metadata

MOVING = {"clock"}
TABLES = sorted(metadata.tables.keys() - MOVING)

Rows = dict[str, list[tuple]]


class Stored:
    """What is in every table of one database."""

    def __init__(self, connection: sqlite3.Connection | psycopg.Connection) -> None:
        self._connection = connection

    def rows(self) -> Rows:
        found = {name: self._connection.execute(f'SELECT * FROM "{name}"') for name in TABLES}
        return {name: sorted(cursor.fetchall(), key=repr) for name, cursor in found.items()}


@contextlib.contextmanager
def stored_at(place: Place) -> Iterator[Stored]:
    with contextlib.closing(
        sqlite3.connect(place.name, isolation_level=None)
        if place.engine == "sqlite"
        else psycopg.connect(place.admin_url, autocommit=True)
    ) as connection:
        yield Stored(connection)


def difference(before: Rows, after: Rows) -> dict[str, list[tuple]]:
    """The rows that are new or gone, by table."""
    return {
        name: [
            row
            for row in [*before[name], *after[name]]
            if not (row in before[name] and row in after[name])
        ]
        for name in TABLES
        if before[name] != after[name]
    }
