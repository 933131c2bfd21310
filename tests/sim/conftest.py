"""One ground for all simulations of a test process; and what takes long, only where asked for."""

import os

import pytest

from tests.databases import Databases
from tests.sim.places import Ground

ALL = "SIM"


@pytest.fixture(scope="session")
def ground(databases: Databases) -> Ground:
    return Ground(databases)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every mutant and every death take minutes: `SIM=all pytest tests/sim` plays them."""
    if ALL in os.environ:
        return
    long = [one for one in items if "tests/sim" in str(one.path) and "stress" in one.keywords]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [one for one in items if one not in long]
