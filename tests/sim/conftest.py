"""One ground for all simulations of a test process: its databases are set up once."""

import pytest

from tests.databases import Databases
from tests.sim.places import Ground


@pytest.fixture(scope="session")
def ground(databases: Databases) -> Ground:
    return Ground(databases)
