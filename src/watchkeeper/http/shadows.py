"""/v1/policy/shadows: policies that are asked beside the one in force, and never act."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from watchkeeper.actions.set_shadow import (
    list_shadows,
    promote_shadow,
    remove_shadow,
    set_shadow,
    shadow_json,
    show_shadow,
)
from watchkeeper.actions.tenant_tiers import policy_warnings
from watchkeeper.http.access import JSON, Access, needs
from watchkeeper.http.answers import answer
from watchkeeper.http.context import Ctx
from watchkeeper.http.policy import BODY, TOML, document_of
from watchkeeper.http.route import router
from watchkeeper.http.shapes import AppliedOut, Page
from watchkeeper.http.shapes_trust import ShadowOut, ShownShadowOut
from watchkeeper.input_types import PRINTABLE, SinkName

routes = router("policy")

Reason = Annotated[str, Query(min_length=1, max_length=1000, pattern=PRINTABLE)]


@routes.get("/v1/policy/shadows", response_model=Page[ShadowOut])
@needs(Access.ADMINISTER, all_tenants=True)
def get_shadows(ctx: Ctx) -> Response:
    """List all shadow policies."""
    found = [shadow_json(one) for one in list_shadows(ctx.db)]
    return answer({"items": found, "next_cursor": None})


@routes.put("/v1/policy/shadows/{name}", response_model=ShadowOut, openapi_extra=BODY)
@needs(Access.ADMINISTER, all_tenants=True, media=(TOML, JSON))
def put_shadow(name: SinkName, request: Request, ctx: Ctx, reason: Reason = "-") -> Response:
    """Evaluate this policy too, for every event from now on. A shadow of that name starts over."""
    author, document = ctx.caller.name, document_of(request)
    return answer(shadow_json(set_shadow(ctx.db, name, document, author=author, reason=reason)))


@routes.get("/v1/policy/shadows/{name}", response_model=ShownShadowOut)
@needs(Access.ADMINISTER, all_tenants=True)
def get_shadow(name: SinkName, ctx: Ctx) -> Response:
    """Show a shadow policy, and where its verdicts have differed since it was set."""
    return answer(show_shadow(ctx.db, name).to_json())


@routes.delete("/v1/policy/shadows/{name}", status_code=204)
@needs(Access.ADMINISTER, all_tenants=True)
def delete_shadow(name: SinkName, ctx: Ctx) -> Response:
    """Delete a shadow policy and what it found."""
    remove_shadow(ctx.db, name, author=ctx.caller.name)
    return Response(status_code=204)


@routes.post("/v1/policy/shadows/{name}/promote", response_model=AppliedOut)
@needs(Access.ADMINISTER, all_tenants=True)
def post_promotion(name: SinkName, ctx: Ctx, reason: Reason = "-") -> Response:
    """Apply a shadow policy and remove the shadow."""
    policy = promote_shadow(ctx.db, name, author=ctx.caller.name, reason=reason, once=ctx.once)
    warnings = policy_warnings(ctx.db, policy)
    return answer({"version": policy.version, "hash": policy.hash, "warnings": warnings})
