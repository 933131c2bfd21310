"""/v1/stream: entries of the ledger as server-sent events, as they are committed.

The id of an event is the place to go on from. Of one tenant that is the entry's `seq`; of all
tenants it is the place in each of their ledgers, as long as they are few enough for a header.
Places are dense and in the order of commits: nothing is missed, and nothing comes twice.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

import anyio.to_thread
import orjson
from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from watchkeeper.actions.follow_ledger import PAGE, Feed, Follower, Line
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Stage
from watchkeeper.errors import Invalid, WatchkeeperError
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import Text
from watchkeeper.http.context import Context, Ctx, Server
from watchkeeper.http.ledger import Whose, owner_of
from watchkeeper.http.route import router
from watchkeeper.input_types import INTEGER_MAX

HEARTBEAT_SECONDS = 15.0
RETRY_MS = 2_000
TENANTS_IN_ID_MAX = 50
ID_LENGTH_MAX = 8_192
LAST_ID = "Last-Event-ID"

_PLACE = re.compile(r"[0-9]{1,18}")

routes = router("ledger")


@routes.get(
    "/v1/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
@needs(Access.READ)
async def get_stream(
    ctx: Ctx,
    request: Request,
    tenant_id: Whose = None,
    after: Annotated[
        int | None,
        Query(
            ge=0, le=INTEGER_MAX, description="Start after this `seq`. Default: only new entries."
        ),
    ] = None,
    stage: Stage | None = None,
    kind: Text = None,
    follow: Annotated[
        bool, Query(description="True: wait for new entries. False: end at the newest entry.")
    ] = True,
    last_event_id: Annotated[
        str | None,
        Header(
            alias=LAST_ID,
            max_length=ID_LENGTH_MAX,
            description="Id of the last event received; the stream continues after it.",
        ),
    ] = None,
) -> Response:
    """Follow ledger entries as they are committed, one event each, of a tenant or of all."""
    server = ctx.server
    whose = await anyio.to_thread.run_sync(_owner, ctx, tenant_id)
    stream = Stream(server, request, whose, _filters(stage, kind), follow)
    await anyio.to_thread.run_sync(stream.start, last_event_id, after)
    if follow:
        server.feed.join(stream.follower)
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(stream.events(), headers=headers, media_type="text/event-stream")


def _owner(ctx: Context, named: str | None) -> TenantId | None:
    """None: all tenants, and what belongs to none of them."""
    if named is None and ctx.caller.tenant_id is None:
        return None
    return owner_of(ctx, named)


def _filters(stage: Stage | None, kind: str | None) -> dict[str, str]:
    given = {"stage": None if stage is None else stage.value, "kind": kind}
    return {name: value for name, value in given.items() if value is not None}


@dataclass
class Stream:
    """One follower: where it is, and what it has been sent."""

    server: Server
    request: Request
    tenant_id: TenantId | None
    filters: Mapping[str, str]
    follow: bool
    places: dict[TenantId, int] = field(default_factory=dict)
    until: dict[TenantId, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._checked_at = self._loop.time()
        party = self.request.state.caller.party
        self.follower = Follower(self.tenant_id, self._wake, party=party)

    @property
    def feed(self) -> Feed:
        return self.server.feed

    def start(self, last_id: str | None, after: int | None) -> None:
        """Find the place to begin at, or say what is wrong with the one that was given."""
        self.until = self.feed.heads(self.tenant_id)
        if last_id is not None:
            self.places = self._places_of(last_id)
        elif after is not None and self.tenant_id is not None:
            self.places = {self.tenant_id: after}
        elif after is not None:
            raise Invalid.at("after", "is of one tenant: name it")
        else:
            self.places = dict(self.until)
        name = LAST_ID if last_id is not None else "after"
        for tenant_id, place in self.places.items():
            end = self.until.get(tenant_id, 0)
            if place > end and (last_id is not None or after is not None):
                raise Invalid.at(name, f"the ledger of {tenant_id} ends at {end}")

    def _places_of(self, last_id: str) -> dict[TenantId, int]:
        if self.tenant_id is not None:
            if not _PLACE.fullmatch(last_id):
                raise Invalid.at(LAST_ID, "must be the id of an event of this tenant")
            return {self.tenant_id: int(last_id)}
        pairs = [pair.partition("=") for pair in last_id.split(",")]
        if not all(_PLACE.fullmatch(place) for _, _, place in pairs):
            raise Invalid.at(LAST_ID, "must be the id of an event of all tenants")
        return {TenantId(name): int(place) for name, _, place in pairs}

    # -- events -------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[bytes]:
        """Until the client leaves, its key is revoked or the server stops."""
        try:
            yield f"retry: {RETRY_MS}\n{self._id()}\n".encode()
            while not self.feed.is_ended:
                self._news.clear()
                sent = False
                if self._is_due() and not await self._may_stay():
                    return
                for tenant_id in self._behind():
                    text = await self._next(tenant_id)
                    sent = True
                    if text:
                        yield text
                if sent:
                    continue
                if not self.follow:
                    return
                if not await self._waited():
                    yield b":\n\n"
        finally:
            self.feed.leave(self.follower)

    def _behind(self) -> list[TenantId]:
        """Whose entries are to be sent; those that were there at the start come first."""
        behind = [one for one, end in self.until.items() if end > self.places.get(one, 0)]
        if behind or not self.follow:
            return sorted(behind)
        return self.feed.news(self.places, self.tenant_id)

    async def _next(self, tenant_id: TenantId) -> bytes:
        """The next entries of one tenant, as events; the place moves past them."""
        place = self.places.get(tenant_id, 0)
        lines = self.feed.lines(tenant_id, place)
        if not lines:
            lines = await anyio.to_thread.run_sync(
                self.feed.read, tenant_id, place, PAGE, limiter=self.server.feed_threads
            )
        if not lines:  # all that was to come was pruned
            self.places[tenant_id] = max(
                place, self.until.get(tenant_id, 0), self.feed.head(tenant_id)
            )
            return b""
        told = [] if lines[0].seq == place + 1 else [_pruned(tenant_id, lines[0].seq - 1)]
        for line in lines:
            self.places[tenant_id] = line.seq
            if self._is_wanted(line):
                told.append(f"{self._id()}data: ".encode() + line.body + b"\n\n")
        return b"".join(told)

    def _is_wanted(self, line: Line) -> bool:
        wanted = self.filters
        return wanted.get("kind", line.kind) == line.kind and (
            wanted.get("stage", line.stage) == line.stage
        )

    def _id(self) -> str:
        """The line that says where we are; nothing where that would be too long to send back."""
        if self.tenant_id is not None:
            return f"id: {self.places.get(self.tenant_id, 0)}\n"
        if not 0 < len(self.places) <= TENANTS_IN_ID_MAX:
            return ""
        return f"id: {','.join(f'{name}={seq}' for name, seq in sorted(self.places.items()))}\n"

    # -- waiting ------------------------------------------------------------------------

    def _wake(self) -> None:
        """From the thread that looks; a loop that has ended has nobody to wake."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    async def _waited(self) -> bool:
        """Whether there was news before it was time for a sign of life."""
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    def _is_due(self) -> bool:
        return self._loop.time() >= self._checked_at + HEARTBEAT_SECONDS

    async def _may_stay(self) -> bool:
        """Whether somebody still listens, with a key that is still good."""
        self._checked_at = self._loop.time()
        if await self.request.is_disconnected():
            return False
        header = self.request.headers.get("authorization")
        try:
            caller = await anyio.to_thread.run_sync(self.server.keyring.caller, header)
        except WatchkeeperError:
            return False
        return caller.tenant_id in (None, self.tenant_id)


def _pruned(tenant_id: TenantId, seq: int) -> bytes:
    """What stands in for entries that were asked for and are gone."""
    body = orjson.dumps({"tenant_id": tenant_id, "pruned_to": seq})
    return b"event: pruned\ndata: " + body + b"\n\n"
