"""The outermost layer: what holds for every request, before and after its route.

It gives each request a place and an id, bounds what it may send, answers whatever nobody
foresaw, and puts the same headers on every answer. A client that hangs up is not an error.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import NamedTuple

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from watchkeeper import telemetry
from watchkeeper.core.shares import NoPlace
from watchkeeper.errors import Overloaded
from watchkeeper.failures import traceback_of
from watchkeeper.http.gate import Gate, Ticket, error_of
from watchkeeper.http.problems import SECURITY, Refused, answer_to
from watchkeeper.http.refusals import Connected, Refusals
from watchkeeper.ids import new_id
from watchkeeper.settings import Settings

HEALTH = frozenset({"/healthz", "/readyz", "/metrics"})
STREAMS = frozenset({"/v1/stream", "/live"})
"""Stay open for as long as somebody follows: how many there may be is counted there."""
BATCHES = frozenset({"/v1/signals", "/v1/triggers"})
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
HEADER_BYTES_MAX = 16 * 1024
CLOSE: Mapping[str, str] = {"Connection": "close"}
CLIENT_CLOSED = "client_closed"
"""The status of a request whose client hung up before it was answered."""

log = structlog.get_logger("watchkeeper.http")


class Edge:
    """ASGI middleware. Requests have a place while they are under way; health needs none."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._gate = Gate(settings.requests_max, settings.anonymous_max)
        self._refusals = Refusals()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] in HEALTH:
            await self._answer(scope, receive, send, None)
            return
        connection: Connected | None = scope.setdefault("state", {}).get("connection")
        if connection is not None and connection.is_spare:
            await self._refusals.answer(scope, send, Overloaded("too many connections are open"))
            return
        ticket = self._gate.enter(scope)
        if isinstance(ticket, NoPlace):
            await self._refusals.answer(scope, send, error_of(ticket))
            return
        telemetry.HTTP_IN_FLIGHT.set(self._gate.under_way)
        try:
            await self._answer(scope, receive, send, ticket)
        finally:
            ticket.leave()
            telemetry.HTTP_IN_FLIGHT.set(self._gate.under_way)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, ticket: Ticket | None
    ) -> None:
        request_id = new_id()
        state = scope.setdefault("state", {})
        state["request_id"], state["ticket"] = request_id, ticket
        headers = Headers(scope=scope)
        streaming = ticket if scope["path"] in STREAMS else None
        answered = _Answered(scope, send, request_id, streaming)
        parent = headers.get("traceparent")
        started = time.perf_counter()
        with telemetry.bound(request_id=request_id), telemetry.span("http", parent):
            try:
                await self._serve(scope, headers, receive, answered, ticket)
            except ClientDisconnect:
                answered.is_client_gone = True
            except Exception as error:
                await _tell(error, scope, receive, answered)
            finally:
                if ticket is not None and answered.status == 401:
                    ticket.disown()
                _report(scope, answered, time.perf_counter() - started)

    async def _serve(
        self,
        scope: Scope,
        headers: Headers,
        receive: Receive,
        answered: _Answered,
        ticket: Ticket | None,
    ) -> None:
        if ticket is None:
            await self._app(scope, receive, answered.send)
            return
        bounds = self._bounds(scope)
        _refuse_malformed(headers, bounds)
        await self._app(scope, _Body(receive, ticket, bounds).receive, answered.send)

    def _bounds(self, scope: Scope) -> Bounds:
        settings = self._settings
        is_batch = scope["path"] in BATCHES
        size = settings.batch_bytes_max if is_batch else settings.body_bytes_max
        return Bounds(size, settings.body_seconds_max)


class Bounds(NamedTuple):
    """The largest body of a request, and the longest time it may take to come."""

    bytes_max: int
    seconds_max: float


ANONYMOUS = Bounds(8 * 1024, 5.0)
"""Bounds of a body that is read before its sender is known: of the login and the logout."""


class _Body:
    """The body as it comes, counted, whatever its Content-Length said, and against time."""

    def __init__(self, receive: Receive, ticket: Ticket, bounds: Bounds) -> None:
        self._receive = receive
        self._ticket = ticket
        self._bounds = bounds
        self._begun_at = time.monotonic()
        self._taken = 0
        self._is_ended = False

    async def receive(self) -> Message:
        if self._is_ended:  # what is still to come is the end of the connection: no hurry
            return await self._receive()
        bounds = self._bounds if self._ticket.is_identified else _smaller(self._bounds, ANONYMOUS)
        try:
            async with asyncio.timeout(self._begun_at + bounds.seconds_max - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            raise Refused(
                408, "too_slow", f"the body took longer than {bounds.seconds_max:g} seconds", CLOSE
            ) from None
        self._taken += len(message.get("body", b""))
        self._is_ended = not message.get("more_body", False)
        if self._taken > bounds.bytes_max:
            raise _too_large(bounds)
        return message


def _smaller(bounds: Bounds, other: Bounds) -> Bounds:
    return Bounds(
        min(bounds.bytes_max, other.bytes_max), min(bounds.seconds_max, other.seconds_max)
    )


def _too_large(bounds: Bounds) -> Refused:
    detail = f"the body is larger than {bounds.bytes_max} bytes"
    return Refused(413, "body_too_large", detail, CLOSE)


class _Answered:
    """Sends an answer on, with our headers, and remembers its status.

    `ticket` is given back when the answer begins: a stream counts among the followers from then.
    """

    def __init__(self, scope: Scope, send: Send, request_id: str, ticket: Ticket | None) -> None:
        self._connection: Connected | None = scope["state"].get("connection")
        self._send = send
        self._ticket = ticket
        self.request_id = request_id
        self.status: int | None = None
        self.is_client_gone = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._begin()
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self.request_id
        await self._send(message)

    def _begin(self) -> None:
        if self._ticket is not None:
            self._ticket.leave()
        if self._connection is not None and self._connection.is_lost:
            self.is_client_gone = True


async def _tell(error: Exception, scope: Scope, receive: Receive, answered: _Answered) -> None:
    if answered.status is None:
        await answer_to(error, answered.request_id)(scope, receive, answered.send)
    elif not answered.is_client_gone:
        log.error("answer_cut_short", exception=traceback_of(error))


def _refuse_malformed(headers: Headers, bounds: Bounds) -> None:
    """Refuse a request by its head alone."""
    if sum(len(name) + len(value) for name, value in headers.raw) > HEADER_BYTES_MAX:
        raise Refused(431, "headers_too_large", "the headers are too large", CLOSE)
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refused(415, "content_encoding", "send the body as it is")
    length = headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 18 or int(length) > bounds.bytes_max):
        raise _too_large(bounds)


def _report(scope: Scope, answered: _Answered, seconds: float) -> None:
    """One line and one count per request. Neither holds the query, which may hold anything."""
    method = scope["method"] if scope["method"] in METHODS else "other"
    route = getattr(scope.get("route"), "path", "unmatched")
    status = CLIENT_CLOSED if answered.is_client_gone else str(answered.status or 0)
    telemetry.HTTP_REQUESTS.labels(method, route, status).inc()
    telemetry.HTTP_SECONDS.labels(route).observe(seconds)
    if route in HEALTH:
        return
    caller = scope["state"].get("caller")
    log.info(
        "request",
        method=method,
        path=scope["path"],
        status=CLIENT_CLOSED if answered.is_client_gone else answered.status,
        milliseconds=round(seconds * 1000, 1),
        caller=None if caller is None else caller.name,
    )
