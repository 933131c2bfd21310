"""/v1/kill-switches"""

from __future__ import annotations

from contextlib import suppress

from fastapi import Response

from watchkeeper.actions.answer_once import AlreadyDone
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.views import list_kill_switches
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.errors import Forbidden, Invalid
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import TenantQuery, answer
from watchkeeper.http.context import Context, Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import KillSwitchInForceOut, KillSwitchOut, Page
from watchkeeper.inputs import KillSwitchIn

routes = router("kill switches")


@routes.post("/v1/kill-switches", response_model=KillSwitchOut)
@needs(Access.OPERATE)
def post_kill_switch(body: KillSwitchIn, ctx: Ctx) -> Response:
    """Turn a kill switch on or off. Every later verdict and handler call sees it."""
    tenant_id, target = whom(body, ctx)
    with suppress(AlreadyDone):
        set_kill_switch(
            ctx.db,
            tenant_id,
            body.scope,
            target,
            on=body.on,
            reason=body.reason,
            set_by=ctx.caller.name,
            makes_tenant=ctx.makes_tenants,
            once=ctx.once,
        )
    return answer(
        {
            "tenant_id": views.owner(tenant_id),
            "scope": body.scope,
            "id": target,
            "on": body.on,
            "reason": body.reason,
        }
    )


@routes.get("/v1/kill-switches", response_model=Page[KillSwitchInForceOut])
@needs(Access.READ)
def get_kill_switches(ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """List the kill switches that are on for the tenant, those for all tenants included."""
    named = ctx.tenant_if_named(tenant_id)
    found = list_kill_switches(ctx.db, SYSTEM if named is None else named)
    switches = [views.kill_switch(switch) for switch in found]
    return answer({"items": switches, "next_cursor": None})


def whom(body: KillSwitchIn, ctx: Context) -> tuple[TenantId, str | None]:
    """Whose switch it is, and what it stops. A tenant may also be named by `id`."""
    if body.scope == "all":
        if ctx.caller.tenant_id is not None:
            raise Forbidden("only a key for all tenants may stop all of them")
        if body.tenant_id is not None:
            raise Invalid.at("tenant_id", "must be absent: this switch is for all tenants")
        return SYSTEM, body.id
    if body.scope == "tenant":
        if None not in (body.id, body.tenant_id) and body.id != body.tenant_id:
            raise Invalid.at("id", "names another tenant than tenant_id")
        return ctx.tenant_to_write(body.id or body.tenant_id), None
    if body.tenant_id is None and ctx.caller.tenant_id is None:
        return SYSTEM, body.id
    return ctx.tenant_to_write(body.tenant_id), body.id
