"""Every test of store, moves and actions runs on both databases; nothing else knows which.

`db` an opened, migrated, empty database; `clock` its virtual clock, which starts at START and moves
only by `advance`; `db_url` for tests that open it themselves, or in another process; `place` for
looking behind the product's back; `both` for playing the same on two engines; `databases` for
properties and machines, which need a new one for each example.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import Clock, Databases, EngineName, Place
from tests.postgres import Server
from watchkeeper.store.database import Database

settings.register_profile("dev", max_examples=25, deadline=None, print_blob=True)
settings.register_profile(
    "ci",
    max_examples=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if "CI" in os.environ else "dev")
)

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.postgresql)


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    made = Databases()
    yield made
    made.close()


@pytest.fixture(scope="session")
def server(databases: Databases) -> Server:
    """The PostgreSQL server of this test process. Mark the test `postgresql`."""
    return databases.server


@pytest.fixture(params=["sqlite", POSTGRESQL])
def engine(request: pytest.FixtureRequest) -> EngineName:
    return request.param


@pytest.fixture
def place(engine: EngineName, databases: Databases, tmp_path: Path) -> Iterator[Place]:
    with databases.fresh(engine, tmp_path) as found:
        yield found


@pytest.fixture
def db_url(place: Place) -> str:
    return place.url


@pytest.fixture
def clock(place: Place) -> Clock:
    return Clock(place)


@pytest.fixture
def db(place: Place) -> Iterator[Database]:
    opened = place.open()
    yield opened
    opened.close()


@pytest.fixture
def both(databases: Databases) -> Iterator[dict[str, tuple[Database, Clock]]]:
    """One database of each engine, with its clock. Mark the test `postgresql`."""
    with databases.opened("sqlite") as one, databases.opened("postgresql") as other:
        yield {"sqlite": one, "postgresql": other}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Captured text may hold lone surrogates, which cannot travel between test processes."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "replace").decode()) for name, text in report.sections
    ]
    return report
