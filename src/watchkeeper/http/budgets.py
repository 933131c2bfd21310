"""/v1/budgets/pull: what a tenant may pull in a UTC day, and what it has pulled."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from watchkeeper.actions.set_pull_budget import set_pull_budget, show_pull_budget
from watchkeeper.core.ids import TenantId
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import TenantQuery, answer, nothing
from watchkeeper.http.context import Context, Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes_perceive import PullBudgetOut
from watchkeeper.perceive_inputs import Day, PullBudgetIn

routes = router("budgets")


@routes.put("/v1/budgets/pull", response_model=PullBudgetOut)
@needs(Access.ADMINISTER)
def put_pull_budget(body: PullBudgetIn, ctx: Ctx) -> Response:
    """Set how many units may be pulled in a UTC day. Units pulled today count."""
    whose = ctx.tenant_to_write(body.tenant_id)
    set_pull_budget(
        ctx.db, whose, body.budget(), by=ctx.caller.name, makes_tenant=ctx.makes_tenants
    )
    return answer(_shown(ctx, whose))


@routes.get("/v1/budgets/pull", response_model=PullBudgetOut)
@needs(Access.READ)
def get_pull_budget(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    date: Annotated[Day | None, Query(description="UTC day. Default: today.")] = None,
) -> Response:
    """Show the units pulled on a day, in total and by connector, and those left of the budget."""
    return answer(_shown(ctx, ctx.tenant(tenant_id), date))


@routes.delete("/v1/budgets/pull", status_code=204)
@needs(Access.ADMINISTER)
def delete_pull_budget(ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Remove the pull budget. Nothing is pulled for the tenant until it has one again."""
    set_pull_budget(ctx.db, ctx.tenant(tenant_id), None, by=ctx.caller.name)
    return nothing()


def _shown(ctx: Context, whose: TenantId, day: int | None = None) -> dict[str, Any]:
    return {"tenant_id": whose, **show_pull_budget(ctx.db, whose, day).shown().to_json()}
