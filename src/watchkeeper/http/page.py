"""Every page of the dashboard: session, role, form, then the page; errors are pages too.

A page is reached by a session and never by a key in a header; a form is taken from our own
pages only: it carries the token of its session, and the browser says where it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cached_property
from hmac import compare_digest
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from watchkeeper.actions.views import list_tenants, virtual_now
from watchkeeper.core.ids import TenantId
from watchkeeper.errors import Forbidden, Invalid, WatchkeeperError
from watchkeeper.http import session as sessions
from watchkeeper.http.access import ROLES, Access, Caller, need_of
from watchkeeper.http.context import Context, Server
from watchkeeper.http.problems import STATUS, TITLES, Refused
from watchkeeper.http.render import rendered
from watchkeeper.http.session import Session
from watchkeeper.store.outage import is_outage

FORM_BYTES_MAX = 64 * 1024
FIELDS_MAX = 100
TENANTS_MAX = 500
TENANT_COOKIE = "wk_tenant"
LIVE = "x-live"

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {"Content-Security-Policy": CSP, "Vary": "Cookie, X-Live"}

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True)
class Page:
    """What a page may ask for: who looks, at which tenant, and where the state is."""

    ctx: Context
    session: Session
    request: Request
    form: Mapping[str, str]

    @property
    def server(self) -> Server:
        return self.ctx.server

    @property
    def caller(self) -> Caller:
        return self.session.caller

    def may(self, access: Access) -> bool:
        return access in ROLES[self.caller.role]

    @property
    def may_operate(self) -> bool:
        return self.may(Access.OPERATE)

    @property
    def may_administer(self) -> bool:
        return self.may(Access.ADMINISTER)

    @cached_property
    def tenant(self) -> TenantId:
        """The tenant that is looked at: the key's own, or the one that was chosen."""
        if self.caller.tenant_id is not None:
            return self.caller.tenant_id
        chosen = self.request.query_params.get("tenant") or self.request.cookies.get(TENANT_COOKIE)
        if chosen:
            return self.ctx.tenant(chosen)
        known = self.tenants
        if not known:
            raise NoTenant
        return TenantId(known[0])

    @cached_property
    def tenants(self) -> list[str]:
        """Those that can be chosen; none for a tenant's own key."""
        if self.caller.tenant_id is not None:
            return []
        return [one.tenant_id for one in list_tenants(self.server.db, "", TENANTS_MAX)]

    def show(self, template: str, status: int = 200, **values: Any) -> Response:
        tenant = None if template in ("error.html", "welcome.html") else self.tenant
        known = {
            "page": self,
            "tenant": tenant,
            "tenants": self.tenants,
            "csrf": self.session.csrf,
            "said": SAID.get(self.request.query_params.get("said", "")),
            "path": self.request.url.path,
            "is_live": LIVE in self.request.headers,
            "standing": virtual_now(self.server.db) if self.server.dev else None,
        }
        html = rendered(template, {**known, **values})
        response = Response(html, status, dict(HEADERS), "text/html; charset=utf-8")
        asked = self.request.query_params.get("tenant")
        if asked and tenant is not None and self.caller.tenant_id is None:
            response.set_cookie(TENANT_COOKIE, tenant, httponly=True, samesite="strict")
        return response

    def back(self, path: str, said: str = "", **query: str) -> Response:
        """After a form: look at this, and be told that it was done."""
        given = {**query, **({"said": said} if said else {})}
        joint = "&" if "?" in path else "?"
        target = f"{path}{joint}{urlencode(given)}" if given else path
        return Response(status_code=303, headers={"Location": target, **HEADERS})


SAID = {
    "approved": "Approved.",
    "rejected": "Rejected; the plan waits for a person.",
    "paused": "Paused.",
    "resumed": "Resumed.",
    "aborted": "Aborted.",
    "skipped": "Skipped.",
    "redriven": "Put back into the outbox; it is tried again now.",
    "all_redriven": "All of them are put back into the outbox, a few each second.",
    "discarded": "Discarded.",
    "thrown": "The kill switch is on.",
    "released": "The kill switch is off.",
    "generated": "The report is ready.",
    "advanced": "Time has moved on.",
    "set": "Set.",
    "removed": "Removed.",
    "applied": "The policy is in force.",
}


def own_path(path: str, otherwise: str = "/") -> str:
    """Where to go afterwards: a page of ours, whatever the form or the address says."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_ours else otherwise


class NoTenant(Exception):
    """There is nothing to look at yet."""


class PageRoute(APIRoute):
    """A route for a browser. It says what it needs, like every other."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.need = need_of(endpoint)
        options["include_in_schema"] = False
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Handler:
        respond = super().get_route_handler()

        async def handle(request: Request) -> Response:
            server: Server = request.app.state.server
            cookie = request.cookies.get(sessions.COOKIE)
            found = await run_in_threadpool(server.sessions.read, cookie)
            if found is None:
                return _to_login(request, server)
            request.state.caller = found.caller
            request.state.session = found
            request.state.form = {}
            if request.method == "GET" and LIVE in request.headers:
                key = _seen_as(request, found.caller)
                return await server.glances.answer(key, found.csrf, lambda: show(request, found))
            return await show(request, found)

        async def show(request: Request, session: Session) -> Response:
            try:
                self.need.check(session.caller)
                if request.method == "POST":
                    request.state.form = await _form(request, session)
                return await respond(request)
            except NoTenant:
                return await run_in_threadpool(_page_of(request).show, "welcome.html")
            except Exception as error:
                return await run_in_threadpool(_error_page, request, error)

        return handle


def _seen_as(request: Request, caller: Caller) -> tuple[str | None, ...]:
    """All that a page depends on, but for the token in its forms."""
    chosen = request.cookies.get(TENANT_COOKIE)
    url = request.url
    return (caller.role, caller.tenant_id, chosen, url.hostname, url.path, url.query)


def pages() -> APIRouter:
    return APIRouter(route_class=PageRoute)


async def page_of(request: Request) -> Page:
    return _page_of(request)


def _page_of(request: Request) -> Page:
    server: Server = request.app.state.server
    state = request.state
    ctx = Context(server, state.caller, state.request_id)
    return Page(ctx, state.session, request, state.form)


Shown = Annotated[Page, Depends(page_of)]


def _to_login(request: Request, server: Server) -> Response:
    """Where to log in; in development, on this machine, one is."""
    if request.method != "GET" or LIVE in request.headers:
        return Response(status_code=401, headers=dict(HEADERS))
    opened = server.sessions.open_dev() if _is_local(request) else None
    here = _as_asked(request)
    if opened is not None:
        response = Response(status_code=303, headers={"Location": here, **HEADERS})
        keep_session(request, response, opened)
        return response
    target = f"/login?next={quote(here, safe='')}"
    return Response(status_code=303, headers={"Location": target, **HEADERS})


def _as_asked(request: Request) -> str:
    """The address as it was written: decoded, a slash within a name would be one between names."""
    path = request.scope["raw_path"].partition(b"?")[0].decode("ascii")
    return path + (f"?{request.url.query}" if request.url.query else "")


def _is_local(request: Request) -> bool:
    """Asked for by a name of this machine: another site cannot point its own name here."""
    return (request.url.hostname or "") in ("localhost", "127.0.0.1", "::1")


def keep_session(request: Request, response: Response, cookie: str) -> None:
    response.set_cookie(
        sessions.COOKIE,
        cookie,
        max_age=sessions.SECONDS_MAX,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


async def _form(request: Request, session: Session) -> dict[str, str]:
    """The fields of a form of ours. Anything else is refused before it is looked at."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "cross_site", "the form came from another site")
    form = await read_form(request)
    if not compare_digest(form.get("csrf", ""), session.csrf):
        raise Refused(403, "csrf", "the form is too old: load the page again")
    return form


async def read_form(request: Request) -> dict[str, str]:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-www-form-urlencoded":
        raise Refused(415, "media_type", "a form is wanted")
    raw = await request.body()
    if len(raw) > FORM_BYTES_MAX:
        raise Refused(413, "body_too_large", "the form is too large")
    try:
        pairs = parse_qsl(
            raw.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"
        )
    except ValueError:
        raise Invalid("the form cannot be read") from None
    return {name: value.strip() for name, value in pairs}


def _error_page(request: Request, error: Exception) -> Response:
    status, title, detail = _told(error)
    page = _page_of(request)
    return page.show(
        "error.html", status, title=title, detail=detail, request_id=request.state.request_id
    )


def _told(error: Exception) -> tuple[int, str, str]:
    match error:
        case Refused():
            return error.status, HTTPStatus(error.status).phrase, error.detail
        case Forbidden():
            return 403, TITLES["forbidden"], str(error)
        case WatchkeeperError():
            status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
            return status, TITLES.get(error.code, HTTPStatus(status).phrase), str(error)
        case HTTPException():
            return error.status_code, HTTPStatus(error.status_code).phrase, str(error.detail)
        case RequestValidationError():
            return 422, TITLES["invalid"], "the address names something that cannot be"
        case _ if is_outage(error):
            return 503, TITLES["unavailable"], "the database cannot be reached"
        case _:
            raise error
