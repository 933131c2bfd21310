"""/v1/tenants"""

from __future__ import annotations

from contextlib import suppress

from fastapi import Response

from watchkeeper.actions.answer_once import AlreadyDone
from watchkeeper.actions.change_tenant import change_tenant
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.views import list_tenants, view_tenant
from watchkeeper.core.ids import TenantId
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, answer, page, position
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page, TenantOut
from watchkeeper.input_types import TenantName
from watchkeeper.inputs import TenantIn, TenantPatch

routes = router("tenants")


@routes.post("/v1/tenants", status_code=201, response_model=TenantOut)
@needs(Access.ADMINISTER, all_tenants=True)
def post_tenant(body: TenantIn, ctx: Ctx) -> Response:
    """Create a tenant. `installed_at` absent means now, null means none.

    A `tier` that the policy does not have is refused.
    """
    tenant_id = TenantId(body.tenant_id)
    with suppress(AlreadyDone):
        create_tenant(
            ctx.db,
            tenant_id,
            name=body.name,
            tier=body.tier,
            installed_at=body.installed_at,
            installed_now="installed_at" not in body.model_fields_set,
            may_exist=False,
            once=ctx.once,
        )
    headers = {"Location": f"/v1/tenants/{tenant_id}"}
    return answer(views.tenant(view_tenant(ctx.db, tenant_id)), 201, headers)


@routes.get("/v1/tenants", response_model=Page[TenantOut])
@needs(Access.READ)
def get_tenants(ctx: Ctx, limit: Limit = LIMIT, cursor: Cursor = None) -> Response:
    """List all tenants; a tenant's key sees its own."""
    after = position(cursor, "tenants", "")
    if ctx.caller.tenant_id is not None:
        return page("tenants", [views.tenant(view_tenant(ctx.db, ctx.caller.tenant_id))], 0, None)
    found = list_tenants(ctx.db, after, limit)
    last = found[-1].tenant_id if found else None
    return page("tenants", [views.tenant(one) for one in found], limit, last)


@routes.get("/v1/tenants/{tenant_id}", response_model=TenantOut)
@needs(Access.READ)
def get_tenant(tenant_id: TenantName, ctx: Ctx) -> Response:
    """Show a tenant: its name, its tenant tier, and when it was installed."""
    return answer(views.tenant(view_tenant(ctx.db, ctx.tenant(tenant_id))))


@routes.patch("/v1/tenants/{tenant_id}", response_model=TenantOut)
@needs(Access.ADMINISTER, all_tenants=True)
def patch_tenant(tenant_id: TenantName, body: TenantPatch, ctx: Ctx) -> Response:
    """Change a tenant: an absent field stays as it is, null clears it.

    A `tier` that the policy does not have is refused.
    """
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    return answer(views.tenant(change_tenant(ctx.db, TenantId(tenant_id), changes)))
