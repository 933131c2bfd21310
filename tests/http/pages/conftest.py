"""People before the dashboard: `stranger`, and `viewer`, `operator`, `admin` of the tenant acme;
`chief` has a key for all tenants. `visit(tenant, role)` for others; `local` is on this machine,
before a server in development mode."""

from collections.abc import Callable

import pytest

from tests.http.door import ADMIN_KEY, Door
from tests.http.pages.browsing import LOOPBACK, Visitor, visitor

Visit = Callable[[str | None, str], Visitor]


@pytest.fixture
def visit(door: Door) -> Visit:
    def come(tenant: str | None = "acme", role: str = "viewer") -> Visitor:
        return visitor(door, door.key(None if tenant is None else door.tenant(tenant), role))

    return come


@pytest.fixture
def stranger(door: Door) -> Visitor:
    return visitor(door)


@pytest.fixture
def viewer(visit: Visit) -> Visitor:
    return visit("acme", "viewer")


@pytest.fixture
def operator(visit: Visit) -> Visitor:
    return visit("acme", "operator")


@pytest.fixture
def admin(visit: Visit) -> Visitor:
    return visit("acme", "admin")


@pytest.fixture
def chief(door: Door) -> Visitor:
    return visitor(door, ADMIN_KEY)


@pytest.fixture
def local(dev_door: Door) -> Visitor:
    return visitor(dev_door, base_url="http://localhost:8484", client=LOOPBACK)
