"""Every test of store, moves and actions runs on both databases; nothing else knows which.

`db` an opened, migrated, empty database; `clock` its virtual clock, which starts at START and moves
only by `advance`; `db_url` for tests that open it themselves, or in another process; `place` for
looking behind the product's back; `both` for playing the same on two engines; `databases` for
properties and machines, which need a new one for each example.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests import scratch
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

scratch.settle()

LONG = (
    "tests/sim/",
    "tests/test_plan_crashes.py",
    "tests/test_pull_crashes.py",
    "tests/test_worker_crashes.py",
    "tests/demo/",
    "tests/cli/test_processes.py",
    "tests/docs/",
)
POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.postgresql)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command that a test runs in this process sets up logging: not for the tests after it."""
    root = logging.getLogger()
    before, handlers, level = structlog.get_config(), root.handlers[:], root.level
    yield
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


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
def place(
    engine: EngineName, databases: Databases, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Place]:
    with databases.fresh(engine, tmp_path, brand_new=is_brand_new(request)) as found:
        yield found


def is_brand_new(request: pytest.FixtureRequest) -> bool:
    """Whether the test wants a database that never held a row, rather than an empty one."""
    return request.node.get_closest_marker("brand_new") is not None


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
def both(
    databases: Databases, request: pytest.FixtureRequest
) -> Iterator[dict[str, tuple[Database, Clock]]]:
    """One database of each engine, with its clock. Mark the test `postgresql`."""
    brand_new = is_brand_new(request)
    with (
        databases.opened("sqlite") as one,
        databases.opened("postgresql", brand_new=brand_new) as other,
    ):
        yield {"sqlite": one, "postgresql": other}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first, so that no worker is left alone with it in the end.

    In whatever order the rest has come; it is the same in every worker, as it must be.
    """
    items.sort(key=lambda one: not (one.nodeid.startswith(LONG) or "slow" in one.keywords))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Captured text may hold lone surrogates, which cannot travel between test processes."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "replace").decode()) for name, text in report.sections
    ]
    return report
