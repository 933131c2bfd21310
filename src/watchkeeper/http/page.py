"""Every page of the dashboard: session, role, form, then the page; errors are pages too.

A page is reached by a session and never by a key in a header; a form is taken from our own
pages only: it carries the token of its session, and the browser says where it came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from watchkeeper.actions.views import list_tenants, virtual_now
from watchkeeper.core.ids import TenantId
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.http import session as sessions
from watchkeeper.http.access import ROLES, Access, Caller, need_of
from watchkeeper.http.context import Context, Server
from watchkeeper.http.form import own_path as own_path
from watchkeeper.http.form import read_form, refuse_other_sites, refuse_without_token
from watchkeeper.http.page_errors import HEADERS as HEADERS
from watchkeeper.http.page_errors import alone, error_alone, told_of
from watchkeeper.http.render import rendered
from watchkeeper.http.session import Session

TENANTS_MAX = 500
TENANT_COOKIE = "wk_tenant"
LIVE = "x-live"

_NAMED = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?")
_IN_PATH = "/:@!$&'()*+,;=~"
_IN_QUERY = _IN_PATH + "%?"

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
        asked = self.request.query_params.get("tenant")
        if asked:
            return self.ctx.tenant(asked)
        kept = self.request.cookies.get(TENANT_COOKIE)
        if kept:
            with suppress(NotFound, Invalid):  # a cookie may be of another database
                return self.ctx.tenant(kept)
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
            "path": path_of(self.request),
            "request_id": self.ctx.request_id,
            "is_live": LIVE in self.request.headers,
            "standing": virtual_now(self.server.db) if self.server.dev else None,
        }
        html = rendered(template, {**known, **values})
        response = Response(html, status, dict(HEADERS), "text/html; charset=utf-8")
        asked = self.request.query_params.get("tenant")
        if asked and tenant is not None and self.caller.tenant_id is None:
            response.set_cookie(
                TENANT_COOKIE,
                tenant,
                httponly=True,
                samesite="strict",
                secure=is_https(self.request),
            )
        return response

    def back(self, path: str, said: str = "", **query: str) -> Response:
        """After a form: look at this, and be told that it was done."""
        given = {**query, **({"said": said} if said else {})}
        joint = "&" if "?" in path else "?"
        return to(f"{path}{joint}{urlencode(given)}" if given else path)


SAID = {
    "approved": "Approved.",
    "rejected": "Rejected; the plan waits for a person.",
    "paused": "Paused.",
    "resumed": "Resumed.",
    "aborted": "Aborted.",
    "skipped": "Skipped.",
    "redriven": "The message is in the outbox again and is retried now.",
    "all_redriven": "All of these messages are redriven, a few each second.",
    "discarded": "Discarded.",
    "thrown": "The kill switch is on.",
    "released": "The kill switch is off.",
    "generated": "The report is ready.",
    "advanced": "The clock was advanced.",
    "set": "Set.",
    "removed": "Removed.",
    "applied": "The policy is in force.",
}


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
            try:
                found = await _session(request, server)
            except Exception as error:
                return error_alone(request, error)
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
                    refuse_other_sites(request)
                    request.state.form = await read_form(request, self.need.form_bytes_max)
                    refuse_without_token(request.state.form, session.csrf)
                return await respond(request)
            except NoTenant:
                return await run_in_threadpool(_welcome, request)
            except ClientDisconnect:
                raise
            except Exception as error:
                return await run_in_threadpool(_error_page, request, error)

        return handle


async def _session(request: Request, server: Server) -> Session | None:
    """The session of a request, whose place is from then on one of its tenant."""
    cookie = request.cookies.get(sessions.COOKIE)
    found = await run_in_threadpool(server.sessions.read, cookie)
    if found is not None:
        request.state.ticket.identify(found.caller)
    return found


def _welcome(request: Request) -> Response:
    try:
        return _page_of(request).show("welcome.html")
    except Exception as error:
        return _error_page(request, error)


def _seen_as(request: Request, caller: Caller) -> tuple[str | None, ...]:
    """All that a page depends on, but for the token in its forms."""
    chosen = request.cookies.get(TENANT_COOKIE)
    return (caller.role, caller.tenant_id, chosen, address(request))


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
    here = address(request)
    if opened is not None:
        response = to(here)
        keep_session(request, response, opened)
        return response
    return to(f"/login?next={quote(here, safe='')}")


def _is_local(request: Request) -> bool:
    """Asked for from this machine, by a name of it, and not on behalf of somebody else.

    By its name too: another site can point its own name here.
    """
    named = _NAMED.fullmatch(request.headers.get("host", "").lower())
    peer = request.client.host if request.client is not None else ""
    is_passed_on = any(name in request.headers for name in ("forwarded", "x-forwarded-for"))
    return named is not None and _is_loopback(peer) and not is_passed_on


def _is_loopback(peer: str) -> bool:
    try:
        return ip_address(peer).is_loopback
    except ValueError:
        return False


def address(request: Request) -> str:
    """The path and the query that were asked for, whatever bytes they are made of."""
    query = request.scope.get("query_string", b"").decode("latin-1")
    return path_of(request) + (f"?{quote(query, safe=_IN_QUERY)}" if query else "")


def path_of(request: Request) -> str:
    """As it was written: decoded, a slash within a name would be one between names."""
    written = request.scope["raw_path"].partition(b"?")[0].decode("latin-1")
    return quote(written, safe=_IN_PATH + "%")


def to(location: str) -> Response:
    """Look there next. Whatever it is made of, it is one line."""
    quoted = quote(location, safe=_IN_QUERY + "?#", errors="replace")
    return Response(status_code=303, headers={"Location": quoted, **HEADERS})


def keep_session(request: Request, response: Response, cookie: str) -> None:
    response.set_cookie(
        sessions.COOKIE,
        cookie,
        max_age=sessions.SECONDS_MAX,
        httponly=True,
        samesite="strict",
        secure=is_https(request),
    )


def is_https(request: Request) -> bool:
    """Whether the browser sees us so; a proxy before us may speak http with us.

    Who lies here makes a cookie of his own more careful.
    """
    seen = request.headers.get("x-forwarded-proto", request.scope["scheme"])
    return seen == "https" or request.headers.get("origin", "").startswith("https://")


def _error_page(request: Request, error: Exception) -> Response:
    """An error as a page with its place in the dashboard; where even that fails, on its own."""
    told = told_of(error)
    try:
        page = _page_of(request)
        response = page.show("error.html", told.status, told=told)
    except Exception:
        return alone(request, told)
    response.headers.update(told.headers)
    return response
