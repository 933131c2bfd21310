"""A Chromium, a server with workers on each engine, and a page of somebody who is logged in.

Whatever goes wrong in a page (an error, a violation of its policy, a lost request, a dialog) fails
the test at its end. The browser lasts for one module: while it is there, its thread has an event
loop that runs, and tests of other modules make their own.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.bridge import Bridge, built
from tests.browser.chromium import launched
from tests.browser.watcher import Watcher
from tests.conftest import POSTGRESQL
from tests.databases import Databases
from watchkeeper.http.session import COOKIE

PATIENCE_MS = 30_000
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module", params=["sqlite", POSTGRESQL])
def bridge(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Bridge]:
    with built(databases, request.param) as made:
        yield made


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    made = Watcher()
    yield made
    assert made.complaints() == []


@pytest.fixture
def context(chromium: Browser, bridge: Bridge, watcher: Watcher) -> Iterator[BrowserContext]:
    """Nobody yet."""
    made = chromium.new_context(base_url=bridge.address, viewport={"width": 1280, "height": 860})
    made.set_default_timeout(PATIENCE_MS)
    watcher.follow(made)
    yield made
    made.close()


@pytest.fixture
def enter(context: BrowserContext, bridge: Bridge) -> Open:
    """`enter("/plans")`, `enter("/", tenant=None, role="viewer")`: a page of somebody."""

    def open_page(path: str, tenant: str | None = "acme", role: str = "admin") -> Page:
        cookie = bridge.cookie(tenant, role)
        context.add_cookies([{"name": COOKIE, "value": cookie, "url": bridge.address}])
        page = context.new_page()
        page.goto(path)
        return page

    return open_page


@pytest.fixture
def chief(enter: Open) -> Page:
    """A page of somebody who may do everything, for every tenant, and looks at acme."""
    return enter("/plans?tenant=acme", tenant=None)
