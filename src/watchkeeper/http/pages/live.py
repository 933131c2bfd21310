"""What makes pages move: one event for each moment in which the ledger of a tenant has grown.

A page is not sent what is new but that something is; it asks for itself again, at most once
a second, and less often the more dashboards are open: who writes must not feel who looks. The
ledger is followed once in a process, however many there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio.to_thread
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from watchkeeper.actions.follow_ledger import Feed, Follower
from watchkeeper.core.ids import TenantId
from watchkeeper.http import session as sessions
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import HEADERS, Page, Shown, pages

GAP_SECONDS = 1.0
TOLD_PER_SECOND_MAX = 10
HEARTBEAT_SECONDS = 15.0

routes = pages()


@routes.get("/live")
@needs(Access.READ)
async def get_live(page: Shown, request: Request) -> Response:
    """Until the browser leaves, its key is revoked or the server stops."""
    watching = Watching(page, await run_in_threadpool(lambda: page.tenant))
    page.server.feed.join(watching.follower)
    headers = {**HEADERS, "X-Accel-Buffering": "no"}
    return StreamingResponse(
        watching.events(request), headers=headers, media_type="text/event-stream"
    )


class Watching:
    """One open page."""

    def __init__(self, page: Page, tenant_id: TenantId) -> None:
        self._page = page
        self._tenant_id = tenant_id
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        party = page.caller.party
        self.follower = Follower(tenant_id, self._wake, party=party, wants_lines=False)

    @property
    def _feed(self) -> Feed:
        return self._page.server.feed

    @property
    def _gap(self) -> float:
        return max(GAP_SECONDS, self._feed.followers / TOLD_PER_SECOND_MAX)

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    async def _may_stay(self, request: Request) -> bool:
        """Whether somebody still looks, in a session that is not over."""
        if self._feed.is_ended or await request.is_disconnected():
            return False
        server, cookie = self._page.server, request.cookies.get(sessions.COOKIE)
        found = await anyio.to_thread.run_sync(
            server.sessions.read, cookie, limiter=server.feed_threads
        )
        return found is not None and found.caller == self._page.caller

    async def events(self, request: Request) -> AsyncIterator[bytes]:
        seen = -1
        try:
            yield b"retry: 2000\n\n"
            while await self._may_stay(request):
                head = self._feed.head(self._tenant_id)
                if head != seen:
                    seen = head
                    yield f"event: changed\ndata: {head}\n\n".encode()
                    await asyncio.sleep(self._gap)
                    continue
                self._news.clear()
                try:
                    await asyncio.wait_for(self._news.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield b":\n\n"
        finally:
            self._feed.leave(self.follower)
