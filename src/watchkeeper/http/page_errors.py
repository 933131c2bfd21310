"""Errors for people: pages that say what went wrong and under which id the log has the rest.

Of what is not one of our own errors nothing is told. The headers of every page are here too.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from watchkeeper.core.redaction import redacted
from watchkeeper.errors import WatchkeeperError
from watchkeeper.failures import traceback_of
from watchkeeper.http.problems import (
    RETRY_SECONDS,
    STATUS,
    TITLES,
    Refused,
    foreseen,
    is_worth_repeating,
)
from watchkeeper.http.render import rendered

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# The origin of a form is told to us, and to nobody else.
HEADERS = {
    "Content-Security-Policy": CSP,
    "Vary": "Cookie, X-Live",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}

log = structlog.get_logger("watchkeeper.http")


def error_alone(request: Request, error: Exception) -> Response:
    """An error for a browser of which nothing is known."""
    return alone(request, told_of(error))


def alone(request: Request, told: Told) -> Response:
    html = rendered("alone.html", {"told": told, "request_id": request.state.request_id})
    headers = {**HEADERS, **told.headers}
    return Response(html, told.status, headers, "text/html; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Told:
    """What a person is told of an error; the rest is in the log, under the request's id."""

    status: int
    title: str
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)


def told_of(error: Exception) -> Told:
    error = foreseen(error)
    match error:
        case Refused():
            title = TITLES.get(error.code) or HTTPStatus(error.status).phrase
            return Told(error.status, title, redacted(error.detail), error.headers)
        case WatchkeeperError():
            status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
            title = TITLES.get(error.code, HTTPStatus(status).phrase)
            return Told(status, title, redacted(str(error)), _again(error))
        case HTTPException():
            detail = {404: "there is nothing at this address"}.get(error.status_code, "")
            return Told(error.status_code, HTTPStatus(error.status_code).phrase, detail)
        case RequestValidationError():
            return Told(422, TITLES["invalid"], "the address names something that cannot be")
        case _:
            log.error("internal_error", exception=traceback_of(error))
            return Told(500, TITLES["internal"], "the log has the details under this id")


def _again(error: Exception) -> dict[str, str]:
    return {"Retry-After": str(RETRY_SECONDS)} if is_worth_repeating(error) else {}


def for_browsers(request: Request, error: Exception) -> Response | None:
    """The page, where somebody with a browser went astray; None where a program did."""
    is_page = not request.scope["path"].startswith("/v1/")
    wants = "text/html" in request.headers.get("accept", "")
    return error_alone(request, error) if is_page and wants else None


class OpenRoute(APIRoute):
    """A route that needs no session. Its errors are pages too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        respond = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await respond(request)
            except ClientDisconnect:
                raise
            except Exception as error:
                return error_alone(request, error)

        return handle
