"""Kill switches: what is stopped and why, throwing one, releasing it, and what it has refused."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from watchkeeper.actions.set_kill_switch import SCOPES, WHOLE, set_kill_switch
from watchkeeper.actions.show_kill_switches import show_kill_switches
from watchkeeper.core.ids import SYSTEM
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.kill_switches import whom
from watchkeeper.http.page import Page, Shown, pages
from watchkeeper.inputs import KillSwitchIn, parse
from watchkeeper.store.json import loads

WORDS = {
    "all": (
        "Everything, of every tenant: triggers are skipped, pulls refused, turns denied,"
        " actions of plans not begun."
    ),
    "tenant": (
        "Everything of this tenant: triggers are skipped, pulls refused, turns denied,"
        " actions of plans not begun."
    ),
    "trigger": (
        "Triggers of one type are skipped, and runs of it that were allowed but not begun end."
    ),
    "connector": "One connector is not called; signals sent to the API still arrive.",
    "tier": "Models of one model tier are not used; turns get a lower tier, if there is one.",
    "action": "Actions of one type are not started; plans that need one wait.",
}
EXAMPLES = {
    "trigger": "SIGNAL_ARRIVED",
    "connector": "crm",
    "tier": "premium",
    "action": "SEND_EMAIL",
}
EVERYBODY = "everybody"

routes = pages()


@routes.get("/kill-switches")
@needs(Access.READ)
def get_kill_switches(page: Shown) -> Response:
    """What is on for the tenant, those for all tenants among them."""
    found = show_kill_switches(page.server.db, page.tenant)
    is_global = page.caller.tenant_id is None
    return page.show(
        "kill_switches.html",
        switches=found.in_force,
        recent=[
            {**views.entry(one), "switch": loads(one.entry.data).get("kill_switch")}
            for one in found.recent
        ],
        scopes=[(one, WORDS[one]) for one in SCOPES if one != "all" or is_global],
        words=WORDS,
        examples=EXAMPLES,
        system=SYSTEM,
        is_global=is_global,
    )


@routes.post("/kill-switches/throw")
@needs(Access.OPERATE)
def post_throw(page: Shown) -> Response:
    """Throw a switch, for a reason. It is seen by every later verdict and handler call."""
    _set(page, on=True)
    return page.back("/kill-switches", "thrown", **_here(page))


@routes.post("/kill-switches/release")
@needs(Access.OPERATE)
def post_release(page: Shown) -> Response:
    """Release one. What it has refused is not done afterwards."""
    _set(page, on=False)
    return page.back("/kill-switches", "released", **_here(page))


def _set(page: Page, *, on: bool) -> None:
    body = parse(KillSwitchIn, _body(page, on=on))
    tenant_id, target = whom(body, page.ctx)
    set_kill_switch(
        page.server.db,
        tenant_id,
        body.scope,
        target,
        on=on,
        reason=body.reason,
        set_by=page.caller.name,
        makes_tenant=page.ctx.makes_tenants,
    )


def _body(page: Page, *, on: bool) -> dict[str, Any]:
    """The same request as HTTP takes. Whose it is stands in the form, not in a cookie."""
    form = page.form
    scope = form.get("scope", "")
    is_own = scope != "all" and form.get("whose") != EVERYBODY
    return {
        "scope": scope,
        "id": None if scope in WHOLE else form.get("id") or None,
        "on": on,
        "reason": form.get("reason", ""),
        "tenant_id": form.get("tenant_id") or page.tenant if is_own else None,
    }


def _here(page: Page) -> dict[str, str]:
    """A key of all tenants goes on looking at the tenant that it looked at."""
    looked_at = page.form.get("tenant_id")
    return {"tenant": looked_at} if looked_at and page.caller.tenant_id is None else {}
