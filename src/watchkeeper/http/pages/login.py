"""Logging in with a key, logging out, and the few files that pages are made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from watchkeeper.charts import stylesheet
from watchkeeper.errors import Unauthorized
from watchkeeper.http import session as sessions
from watchkeeper.http.access import ROLES, Access
from watchkeeper.http.context import Server
from watchkeeper.http.failed_logins import address_of
from watchkeeper.http.form import own_path, read_form, refuse_other_sites, refuse_without_token
from watchkeeper.http.page import HEADERS, keep_session, to
from watchkeeper.http.page_errors import OpenRoute
from watchkeeper.http.problems import Refused
from watchkeeper.http.render import rendered

STATIC = Path(__file__).parent.parent / "static"
FILES = {
    "style.css": "text/css; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "theme.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
HELD_SECONDS = 300
REFUSED = "This key is not accepted."
TOO_MANY = "Too many wrong keys. Try again in {seconds} seconds."
NO_PAGES = "A key of the role ingest cannot open the dashboard."

routes = APIRouter(include_in_schema=False, route_class=OpenRoute)


@routes.get("/static/{name}")
async def get_static(name: str) -> Response:
    kept = {"Cache-Control": f"public, max-age={HELD_SECONDS}"}
    if name == "charts.css":
        return Response(stylesheet(), headers=kept, media_type=FILES["style.css"])
    if name not in FILES:
        raise Refused(404, "not_found", "there is no such file")
    body = await run_in_threadpool((STATIC / name).read_bytes)
    return Response(body, headers=kept, media_type=FILES[name])


@routes.get("/login")
async def get_login(request: Request) -> Response:
    return _form(own_path(request.query_params.get("next", "/")))


@routes.post("/login")
async def post_login(request: Request) -> Response:
    """Open a session with a key. The key is never written anywhere, nor shown again."""
    server: Server = request.app.state.server
    refuse_other_sites(request)
    form = await read_form(request)
    after, address = own_path(form.get("next", "/")), address_of(request)
    seconds = server.failed_logins.begin(address)
    if seconds:
        return _form(after, TOO_MANY.format(seconds=seconds), 429, {"Retry-After": str(seconds)})
    try:
        cookie = await run_in_threadpool(server.sessions.open, form.get("key", ""))
    except Unauthorized:
        return _form(after, REFUSED, 401)
    server.failed_logins.succeeded(address)
    opened = await run_in_threadpool(server.sessions.read, cookie)
    if opened is None or Access.READ not in ROLES[opened.caller.role]:
        return _form(after, NO_PAGES, 403)
    response = to(after)
    keep_session(request, response, cookie)
    return response


@routes.post("/logout")
async def post_logout(request: Request) -> Response:
    """The browser forgets its session. The key it was opened with stays good."""
    server: Server = request.app.state.server
    refuse_other_sites(request)
    opened = await run_in_threadpool(server.sessions.read, request.cookies.get(sessions.COOKIE))
    if opened is not None:
        request.state.ticket.identify(opened.caller)
        refuse_without_token(await read_form(request), opened.csrf)
    response = to("/login")
    response.delete_cookie(sessions.COOKIE, httponly=True, samesite="strict")
    return response


def _form(
    after: str, failed: str = "", status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    html = rendered("login.html", {"next": after, "failed": failed})
    return Response(html, status, {**HEADERS, **(headers or {})}, "text/html; charset=utf-8")
