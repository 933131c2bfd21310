"""Logging in with a key, logging out, and the few files that pages are made of."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from watchkeeper.charts import stylesheet
from watchkeeper.errors import Unauthorized
from watchkeeper.http import session as sessions
from watchkeeper.http.access import ROLES, Access
from watchkeeper.http.context import Server
from watchkeeper.http.page import HEADERS, keep_session, own_path, read_form
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
NO_PAGES = "A key that only ingests has no pages to look at."

routes = APIRouter(include_in_schema=False)


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
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "cross_site", "the form came from another site")
    form = await read_form(request)
    after = own_path(form.get("next", "/"))
    try:
        cookie = await run_in_threadpool(server.sessions.open, form.get("key", ""))
    except Unauthorized:
        return _form(after, REFUSED, 401)
    opened = await run_in_threadpool(server.sessions.read, cookie)
    if opened is None or Access.READ not in ROLES[opened.caller.role]:
        return _form(after, NO_PAGES, 403)
    response = Response(status_code=303, headers={"Location": after, **HEADERS})
    keep_session(request, response, cookie)
    return response


@routes.post("/logout")
async def post_logout(request: Request) -> Response:
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "cross_site", "the form came from another site")
    response = Response(status_code=303, headers={"Location": "/login", **HEADERS})
    response.delete_cookie(sessions.COOKIE)
    return response


def _form(after: str, failed: str = "", status: int = 200) -> Response:
    html = rendered("login.html", {"next": after, "failed": failed})
    return Response(html, status, dict(HEADERS), "text/html; charset=utf-8")
