"""/v1/connectors: how fast each may be pulled, and how it does."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.set_connector import limit_for_tenant, set_connector
from watchkeeper.actions.show_pulls import list_connectors, show_connector
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, TenantQuery, answer, page, position
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page
from watchkeeper.http.shapes_perceive import ConnectorOut
from watchkeeper.input_types import ConnectorName
from watchkeeper.perceive_inputs import ConnectorIn

routes = router("connectors")


@routes.put("/v1/connectors/{connector_id}", response_model=ConnectorOut)
@needs(Access.ADMINISTER, all_tenants=True)
def put_connector(connector_id: ConnectorName, body: ConnectorIn, ctx: Ctx) -> Response:
    """Limit a connector for all tenants together, or its rate for one tenant.

    What is absent stays as it is, null lifts a limit.
    """
    if body.tenant_id is None:
        set_connector(ctx.db, connector_id, body.change(), by=ctx.caller.name)
        return answer(show_connector(ctx.db, connector_id).to_json())
    own = body.own_rate()
    whose = ctx.tenant_to_write(body.tenant_id)
    limit_for_tenant(
        ctx.db,
        whose,
        connector_id,
        milli_per_second=own.milli_per_second,
        burst=own.burst,
        by=ctx.caller.name,
        makes_tenant=ctx.makes_tenants,
    )
    return answer(show_connector(ctx.db, connector_id, whose).to_json())


@routes.get("/v1/connectors", response_model=Page[ConnectorOut])
@needs(Access.READ)
def get_connectors(
    ctx: Ctx, tenant_id: TenantQuery = None, limit: Limit = LIMIT, cursor: Cursor = None
) -> Response:
    """List connectors that are registered or limited, each with its state for the tenant."""
    after = position(cursor, "connectors", "")
    found = list_connectors(ctx.db, ctx.tenant_if_named(tenant_id), after, limit)
    last = found[-1].connector_id if found else None
    return page("connectors", [one.to_json() for one in found], limit, last)


@routes.get("/v1/connectors/{connector_id}", response_model=ConnectorOut)
@needs(Access.READ)
def get_connector(connector_id: ConnectorName, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a connector: its limits, its slots in use, and its breaker for the tenant."""
    return answer(show_connector(ctx.db, connector_id, ctx.tenant_if_named(tenant_id)).to_json())
