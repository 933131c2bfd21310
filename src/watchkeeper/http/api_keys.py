"""/v1/api-keys"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from watchkeeper.actions.answer_once import AlreadyDone
from watchkeeper.actions.create_api_key import create_api_key, stored_key
from watchkeeper.actions.revoke_api_key import revoke_api_key
from watchkeeper.actions.views import list_api_keys
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import (
    LIMIT,
    Cursor,
    Limit,
    TenantQuery,
    answer,
    nothing,
    page,
    position,
)
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import ApiKeyOut, NewApiKeyOut, Page
from watchkeeper.inputs import ApiKeyIn

routes = router("api keys")


@routes.post("/v1/api-keys", status_code=201, response_model=NewApiKeyOut)
@needs(Access.ADMINISTER, answers_secret=True)
def post_api_key(body: ApiKeyIn, ctx: Ctx) -> Response:
    """Create an API key. Its secret is shown in this answer and never again."""
    every = body.tenant_id is None and ctx.caller.tenant_id is None
    tenant_id = None if every else ctx.tenant_to_write(body.tenant_id)
    try:
        made = create_api_key(
            ctx.db,
            tenant_id,
            body.role,
            expires_at=body.expires_at,
            created_by=ctx.caller.name,
            makes_tenant=ctx.makes_tenants,
            once=ctx.once,
        )
    except AlreadyDone as done:
        return answer({**views.api_key(stored_key(ctx.db, done.note)), "key": None}, 201)
    return answer({**views.api_key(made.stored), "key": made.key}, 201)


@routes.get("/v1/api-keys", response_model=Page[ApiKeyOut])
@needs(Access.ADMINISTER)
def get_api_keys(
    ctx: Ctx, tenant_id: TenantQuery = None, limit: Limit = LIMIT, cursor: Cursor = None
) -> Response:
    """List the tenant's API keys; all keys where a key for all tenants names none."""
    after = position(cursor, "api-keys", "")
    found = list_api_keys(ctx.db, ctx.tenant_if_named(tenant_id), after, limit)
    last = found[-1].key_id if found else None
    return page("api-keys", [views.api_key(key) for key in found], limit, last)


@routes.delete("/v1/api-keys/{key_id}", status_code=204)
@needs(Access.ADMINISTER)
def delete_api_key(
    key_id: Annotated[str, Path(pattern="^[0-9A-Za-z]{1,64}$")],
    ctx: Ctx,
    tenant_id: TenantQuery = None,
) -> Response:
    """Revoke an API key. The next request with it is refused. Idempotent."""
    revoke_api_key(ctx.db, ctx.tenant_if_named(tenant_id), key_id, revoked_by=ctx.caller.name)
    return nothing()
