"""/v1/quota: how full the buckets are."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from watchkeeper.actions.show_turn import show_quota
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import TenantQuery, answer
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page, QuotaBucketOut
from watchkeeper.input_types import Id

routes = router("quota")


@routes.get("/v1/quota", response_model=Page[QuotaBucketOut])
@needs(Access.READ)
def get_quota(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    user_id: Annotated[
        Id | None,
        Query(description="Id of a user: show the buckets of the user, not of the tenant."),
    ] = None,
) -> Response:
    """Show each quota bucket of the current periods that has a limit or was used."""
    buckets = show_quota(ctx.db, ctx.tenant(tenant_id), user_id)
    return answer({"items": [bucket.to_json() for bucket in buckets], "next_cursor": None})
