"""The one place where an error becomes an answer: problem details (RFC 9457).

An answer says what the client can do, and carries the id under which the log has the
rest. What is not one of our own errors is a bug or an outage; of those nothing is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from watchkeeper.core.redaction import redacted
from watchkeeper.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Overloaded,
    Problem,
    QuotaExceeded,
    TimedOut,
    Unauthorized,
    Unavailable,
    WatchkeeperError,
)
from watchkeeper.failures import traceback_of
from watchkeeper.inputs import invalid
from watchkeeper.store.outage import as_ours, trouble_of

MEDIA = "application/problem+json"
RETRY_SECONDS = 1

STATUS: Mapping[type[WatchkeeperError], int] = {
    NotFound: 404,
    Conflict: 409,
    Invalid: 422,
    QuotaExceeded: 429,
    Unauthorized: 401,
    Forbidden: 403,
    Overloaded: 429,
    TimedOut: 504,
    Unavailable: 503,
}
TITLES = {
    "not_found": "Not found",
    "conflict": "Conflict with the current state",
    "invalid": "The request is not valid",
    "quota_exceeded": "No quota is left",
    "unauthorized": "A valid API key is required",
    "forbidden": "This API key may not do that",
    "unavailable": "Not now",
    "overloaded": "Too many requests",
    "tenant_overloaded": "Too many requests of this tenant",
    "busy": "The database is busy",
    "timed_out": "The statement timed out",
    "closed": "The server is stopping",
    "outcome_unknown": "The outcome is unknown",
    "internal": "Internal error",
}
SECURITY: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every answer."""

_BODY_PARTS = ("body", "query", "path", "header")

log = structlog.get_logger(__name__)


class Place(BaseModel):
    """A mistake in the request."""

    place: str = Field(description="Place of the mistake, such as `events[3].idempotency_key`.")
    message: str


class ProblemOut(BaseModel):
    """An error, as problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="Error code, stable.")
    errors: list[Place]
    request_id: str


class Refused(Exception):
    """A request that is refused before it is understood: its form, its size, its pace."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})


def problem(
    request_id: str,
    status: int,
    code: str,
    detail: str,
    *,
    errors: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    body = problem_document(request_id, status, code, redacted(detail), errors)
    return Response(orjson.dumps(body), status, dict(headers or {}), MEDIA)


def problem_document(
    request_id: str, status: int, code: str, detail: str, errors: Sequence[Problem] = ()
) -> dict[str, object]:
    """The body of an answer that refuses."""
    return {
        "type": f"urn:watchkeeper:problem:{code}",
        "title": TITLES.get(code) or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "errors": [{"place": e.place, "message": e.message} for e in errors],
        "request_id": request_id,
    }


def answer_to(error: Exception, request_id: str) -> Response:
    """The answer that an error is. Anything unforeseen is logged here, and only there."""
    error = foreseen(error)
    match error:
        case Refused():
            return problem(
                request_id, error.status, error.code, error.detail, headers=error.headers
            )
        case WatchkeeperError():
            return _ours(error, request_id)
        case RequestValidationError():
            return _ours(_validation(error), request_id)
        case HTTPException():
            return _framework(error, request_id)
        case _:
            log.error("internal_error", exception=traceback_of(error))
            return problem(request_id, 500, "internal", "the log has the details under this id")


def foreseen(error: Exception) -> Exception:
    """The same, or the error of ours that a database's error is, which is logged."""
    ours = as_ours(error) or error
    if isinstance(ours, Unavailable) and trouble_of(error) is not None:
        log.warning("database_unavailable", code=ours.code, error=str(ours))
    return ours


def install(app: FastAPI, shown: Callable[[Request, Exception], Response | None]) -> None:
    """`shown` may have a page for it, where a person looks."""

    async def render(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == 405:
            error.headers = {"Allow": _methods_of(request)}
        return shown(request, error) or answer_to(error, request.state.request_id)

    for kind in (Refused, WatchkeeperError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, render)


def _ours(error: WatchkeeperError, request_id: str) -> Response:
    status = next(code for kind, code in STATUS.items() if isinstance(error, kind))
    headers: dict[str, str] = {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if is_worth_repeating(error):
        headers["Retry-After"] = str(RETRY_SECONDS)
    if isinstance(error, QuotaExceeded) and error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    problems = error.problems if isinstance(error, Invalid) else ()
    return problem(request_id, status, error.code, str(error), errors=problems, headers=headers)


def is_worth_repeating(error: Exception) -> bool:
    """Whether the same request may succeed a moment later; one that took too long will again."""
    return isinstance(error, Unavailable) and not isinstance(error, TimedOut)


def _validation(error: RequestValidationError) -> Invalid:
    found: list[Any] = []
    for one in error.errors():
        path = tuple(one["loc"])
        if path and path[0] in _BODY_PARTS:
            path = path[1:]
        found.append({**one, "loc": path})
    return invalid(found)


def _methods_of(request: Request) -> str:
    """The methods of every route of this path, where the framework names those of one."""
    routes: list[Route] = request.app.state.routes
    found = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for route in found for method in route.methods or ()}))


def _framework(error: HTTPException, request_id: str) -> Response:
    """Refusals of the framework: no such path, no such method."""
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
    detail = {
        404: "there is nothing at this path",
        405: "this path does not take this method",
    }.get(error.status_code, HTTPStatus(error.status_code).phrase)
    return problem(request_id, error.status_code, code, detail, headers=error.headers)
