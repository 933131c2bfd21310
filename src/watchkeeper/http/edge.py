"""The outermost layer: what holds for every request, before and after its route.

It gives each request an id, bounds how many there are at once and what each may send,
answers whatever nobody foresaw, and puts the same headers on every answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

import structlog
from fastapi import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from watchkeeper import telemetry
from watchkeeper.http.problems import RETRY_SECONDS, Refused, answer_to, problem
from watchkeeper.ids import new_id
from watchkeeper.settings import Settings

HEALTH = frozenset({"/healthz", "/readyz", "/metrics"})
STREAMS = frozenset({"/v1/stream", "/live"})
"""Stay open for as long as somebody follows: how many there may be is counted there."""
BATCHES = frozenset({"/v1/signals", "/v1/triggers"})
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
HEADER_BYTES_MAX = 16 * 1024

SECURITY: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

log = structlog.get_logger("watchkeeper.http")


class Edge:
    """ASGI middleware. `requests_max` bounds what is under way; health is always answered."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = new_id()
        scope.setdefault("state", {})["request_id"] = request_id
        headers = Headers(scope=scope)
        answered = _Answered(send, request_id)
        parent = headers.get("traceparent")
        started = time.perf_counter()
        with telemetry.bound(request_id=request_id), telemetry.span("http", parent):
            try:
                await self._serve(scope, headers, receive, answered)
            except Exception as error:
                if answered.status is None:
                    await answer_to(error, request_id)(scope, receive, answered.send)
                else:
                    log.error("answer_cut_short", exception=telemetry.traceback_of(error))
            finally:
                _report(scope, answered.status, time.perf_counter() - started)

    async def _serve(
        self, scope: Scope, headers: Headers, receive: Receive, answered: _Answered
    ) -> None:
        if scope["path"] in HEALTH:
            await self._app(scope, receive, answered.send)
            return
        refused = self._refusal(scope, headers, answered.request_id)
        if refused is not None:
            await refused(scope, receive, answered.send)
            return
        counted = 0 if scope["path"] in STREAMS else 1
        self._under_way += counted
        telemetry.HTTP_IN_FLIGHT.set(self._under_way)
        try:
            await self._app(scope, self._bounded(scope, receive), answered.send)
        finally:
            self._under_way -= counted
            telemetry.HTTP_IN_FLIGHT.set(self._under_way)

    def _refusal(self, scope: Scope, headers: Headers, request_id: str) -> Response | None:
        if self._under_way >= self._settings.requests_max:
            wait = {"Retry-After": str(RETRY_SECONDS)}
            return problem(
                request_id, 429, "overloaded", "too many requests are under way", headers=wait
            )
        if sum(len(name) + len(value) for name, value in headers.raw) > HEADER_BYTES_MAX:
            return problem(request_id, 431, "headers_too_large", "the headers are too large")
        if headers.get("content-encoding", "identity").strip().lower() != "identity":
            return problem(request_id, 415, "content_encoding", "send the body as it is")
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > self._limit(scope)):
            return self._too_large(scope, request_id)
        return None

    def _limit(self, scope: Scope) -> int:
        settings = self._settings
        return settings.batch_bytes_max if scope["path"] in BATCHES else settings.body_bytes_max

    def _too_large(self, scope: Scope, request_id: str) -> Response:
        detail = f"the body is larger than {self._limit(scope)} bytes"
        return problem(request_id, 413, "body_too_large", detail, headers={"Connection": "close"})

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """The body as it comes, counted, whatever its Content-Length said, and against time."""
        limit = self._limit(scope)
        seconds = self._settings.body_seconds_max
        deadline = time.monotonic() + seconds
        taken = 0
        ended = False

        async def bounded() -> Message:
            nonlocal taken, ended
            if ended:  # what is still to come is the end of the connection: no hurry
                return await receive()
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise Refused(
                    408, "too_slow", f"the body took longer than {seconds:g} seconds"
                ) from None
            taken += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if taken > limit:
                raise Refused(
                    413,
                    "body_too_large",
                    f"the body is larger than {limit} bytes",
                    {"Connection": "close"},
                )
            return message

        return bounded


class _Answered:
    """Sends an answer on, with our headers, and remembers its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY.items():
                headers.setdefault(name, value)
            headers["X-Request-Id"] = self.request_id
        await self._send(message)


def _report(scope: Scope, status: int | None, seconds: float) -> None:
    """One line and one count per request. Neither holds the query, which may hold anything."""
    method = scope["method"] if scope["method"] in METHODS else "other"
    route = getattr(scope.get("route"), "path", "unmatched")
    telemetry.HTTP_REQUESTS.labels(method, route, str(status or 0)).inc()
    telemetry.HTTP_SECONDS.labels(route).observe(seconds)
    if route in HEALTH:
        return
    caller = scope["state"].get("caller")
    log.info(
        "request",
        method=method,
        path=scope["path"],
        status=status,
        milliseconds=round(seconds * 1000, 1),
        caller=None if caller is None else caller.name,
    )
