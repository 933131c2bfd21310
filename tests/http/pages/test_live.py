"""What makes pages move: told of news, and no longer than the session lasts."""

import asyncio

import pytest

from tests.http.door import Door
from tests.http.pages.browsing import Visitor, visitor
from tests.http.test_stream import Client
from watchkeeper.actions.revoke_api_key import revoke_api_key
from watchkeeper.core.ids import TenantId
from watchkeeper.http.pages import live
from watchkeeper.http.session import COOKIE

pytestmark = pytest.mark.req("U-30")


class Looking(Client):
    """An open page of somebody."""

    def __init__(self, someone: Visitor, query: str = "") -> None:
        super().__init__(someone.door, query)
        cookie = f"{COOKIE}={someone.cookie}".encode()
        self._scope.update(path="/live", raw_path=b"/live", headers=[(b"cookie", cookie)])


def test_a_page_is_told_when_the_ledger_has_grown(door: Door, visit_quickly: None) -> None:
    someone = visitor(door, door.key(door.tenant(), "viewer"))

    async def play() -> None:
        page = Looking(someone)
        await page.start()
        assert page.status == 200
        seen = await told(page)
        door.admin.post("/v1/triggers", json={"events": [door.event()], "tenant_id": "acme"})
        while (now := await told(page)) <= seen:
            pass
        assert now > seen
        await page.leave()

    asyncio.run(play())


@pytest.mark.req("O-24")
def test_a_revoked_key_ends_it(door: Door, visit_quickly: None) -> None:
    key = door.key(door.tenant(), "viewer")
    someone = visitor(door, key)

    async def play() -> None:
        page = Looking(someone)
        await page.start()
        await told(page)
        await asyncio.to_thread(
            revoke_api_key, door.db, TenantId("acme"), key.split("_")[1], revoked_by="test"
        )
        while not page.ended:
            await page.block()
        await page.leave()

    asyncio.run(play())
    assert door.server.feed.followers == 0


async def told(page: Looking) -> int:
    while "data" not in (block := await page.block()):
        assert not page.ended
    return int(block["data"])


@pytest.fixture
def visit_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waiting for what a person would not notice."""
    monkeypatch.setattr(live, "GAP_SECONDS", 0.01)
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.05)
