"""Refusals of a server that has no place left: cheap, and no more of them than it can afford.

A refused request is not parsed any further and not logged; how many there were is logged once a
second. Senders that come back at once are made to wait the longer the more of them there are:
otherwise the answers to them would take the time that the admitted requests need.
"""

from __future__ import annotations

import asyncio
import collections
from typing import Protocol

import orjson
import structlog
from prometheus_client import Counter
from starlette.types import Scope, Send

from watchkeeper import telemetry
from watchkeeper.errors import Overloaded
from watchkeeper.http.problems import (
    MEDIA,
    RETRY_SECONDS,
    SECURITY,
    STATUS,
    problem_document,
)
from watchkeeper.ids import new_id

REFUSALS_PER_SECOND = 400
"""Refusals that are answered in a second; what is above waits."""

HELD_SECONDS_MAX = 5.0
SUMMARY_SECONDS = 1.0

REFUSED = Counter(
    "watchkeeper_http_refusals",
    "Requests refused because the server was full.",
    ["code"],
    registry=telemetry.REGISTRY,
)

RawHeaders = list[tuple[bytes, bytes]]

HEADERS: RawHeaders = [
    *((name.lower().encode(), value.encode()) for name, value in SECURITY.items()),
    (b"content-type", MEDIA.encode()),
    (b"retry-after", str(RETRY_SECONDS).encode()),
]

log = structlog.get_logger("watchkeeper.http")


class Connected(Protocol):
    """The connection of a request, where the server tells of it in `scope["state"]`."""

    is_lost: bool
    is_spare: bool
    """Above the bound on connections: let in for health alone."""

    def refuse(self) -> None:
        """Its request is refused: where room is needed, it is the first to go."""


class Refusals:
    """Answers those for whom there is no place. For the thread of the event loop only."""

    def __init__(self) -> None:
        self._counted: collections.Counter[str] = collections.Counter()
        self.held = 0

    async def answer(self, scope: Scope, send: Send, error: Overloaded) -> None:
        """Answer 429 when it is this request's turn to be refused."""
        self._count(error.code)
        connection: Connected | None = scope["state"].get("connection")
        if connection is not None:
            connection.refuse()
        wait = min(self.held / REFUSALS_PER_SECOND, HELD_SECONDS_MAX)
        self.held += 1
        try:
            await asyncio.sleep(wait)
        finally:
            self.held -= 1
        request_id = new_id()
        document = problem_document(request_id, STATUS[Overloaded], error.code, str(error))
        body = orjson.dumps(document)
        headers: RawHeaders = [
            *HEADERS,
            (b"x-request-id", request_id.encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        if (connection is not None and connection.is_spare) or _has_body(scope):
            headers.append((b"connection", b"close"))
        status = STATUS[Overloaded]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _count(self, code: str) -> None:
        REFUSED.labels(code).inc()
        if not self._counted:
            asyncio.get_running_loop().call_later(SUMMARY_SECONDS, self.summarize)
        self._counted[code] += 1

    def summarize(self) -> None:
        """Log how many were refused since the last time."""
        counted, self._counted = self._counted, collections.Counter()
        for code, count in sorted(counted.items()):
            log.warning("requests_refused", code=code, count=count, held=self.held)


def _has_body(scope: Scope) -> bool:
    """Whether a body comes that nobody will read: then the connection is of no more use."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )
