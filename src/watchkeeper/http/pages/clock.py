"""Time travel, in development only: the virtual clock is advanced, and what came due is shown."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.travel import next_due
from watchkeeper.actions.views import virtual_now
from watchkeeper.core.time import MINUTE, SECOND
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import Page, Shown, own_path, pages
from watchkeeper.inputs import ClockIn, parse

routes = pages()


@routes.get("/clock")
@needs(Access.READ)
def get_clock(page: Shown) -> Response:
    """What time it is, what came due by the latest advances, and what comes next."""
    _check(page)
    own = page.caller.tenant_id
    travels = [one for one in page.server.travels.kept if own in (None, one.tenant_id)]
    return page.show(
        "clock_page.html",
        travels=travels,
        next_due=[one for one in next_due(page.server.db) if own in (None, one.tenant_id)],
        came_from=own_path(page.request.query_params.get("from", ""), ""),
        span=_span,
    )


@routes.post("/clock/advance")
@needs(Access.ADMINISTER, all_tenants=True)
def post_clock_advance(page: Shown) -> Response:
    """Move the clock through every due instant; then show what that was."""
    _check(page)
    seconds, server = _seconds(page), page.server
    drain = None if server.workers is None else server.workers.drain
    done = server.travels.advance(server.db, seconds, drain, server.turns, page.tenant)
    came_from = own_path(page.form.get("from", ""), "")
    query = {"from": came_from} if came_from else {}
    return page.back("/clock", "" if done.failed else "advanced", **query)


def _seconds(page: Page) -> float:
    try:
        given = float(page.form.get("seconds", ""))
    except ValueError:
        raise Invalid.at("seconds", "must be a number") from None
    return parse(ClockIn, {"seconds": given}).seconds


def _check(page: Page) -> None:
    if not page.server.dev:
        raise NotFound("there is no such page: time is moved in development only")
    if virtual_now(page.server.db) is None:
        raise Conflict("time is real here: start `watchkeeper dev --virtual-clock` to move it")


def _span(length_us: int) -> str:
    """A length of time, in its two largest parts."""
    minutes, rest = divmod(length_us, MINUTE)
    days, hours = minutes // 1440, minutes // 60 % 24
    parts = [f"{days} d" if days else "", f"{hours} h" if hours else ""]
    parts += [f"{minutes % 60} min" if minutes % 60 else "", f"{rest // SECOND} s" if rest else ""]
    return " ".join([part for part in parts if part][:2]) or "0 s"
