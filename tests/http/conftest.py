"""A server on each engine: `door` as in `serve`, `dev_door` as in `dev`; `door_sqlite` for what
the database has no part in; `doors` for comparing the engines."""

from collections.abc import Iterator

import pytest

from tests.databases import Clock, Databases
from tests.http.door import Door, opened
from watchkeeper.store.database import Database


@pytest.fixture
def door(db: Database, clock: Clock) -> Iterator[Door]:
    with opened(db, clock) as made:
        yield made


@pytest.fixture
def dev_door(db: Database, clock: Clock) -> Iterator[Door]:
    with opened(db, clock, dev=True) as made:
        yield made


@pytest.fixture
def door_sqlite(databases: Databases) -> Iterator[Door]:
    with databases.opened("sqlite") as (db, clock), opened(db, clock) as made:
        yield made


@pytest.fixture
def doors(both: dict[str, tuple[Database, Clock]]) -> Iterator[dict[str, Door]]:
    """One server on each engine. Mark the test `postgresql`."""
    with opened(*both["sqlite"]) as one, opened(*both["postgresql"]) as other:
        yield {"sqlite": one, "postgresql": other}
