"""/v1/policy"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response

from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.plan_policy import plan_policy
from watchkeeper.actions.tenant_tiers import policy_warnings
from watchkeeper.actions.views import view_policy
from watchkeeper.core.policy import Policy
from watchkeeper.errors import Invalid
from watchkeeper.http.access import JSON, Access, needs
from watchkeeper.http.answers import TenantQuery, answer
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import Body, router
from watchkeeper.http.shapes import AppliedOut, PolicyOut
from watchkeeper.http.shapes_trust import PolicyPlanOut
from watchkeeper.input_types import PRINTABLE
from watchkeeper.trust_inputs import parse_span

routes = router("policy")

TOML = "application/toml"
VERSION_MAX = 2**31 - 1
OUTSIDE_ABOVE = 50_000
"""Entries that are replayed in the server's own process, beside its requests."""

BODY = {
    "requestBody": {
        "required": True,
        "content": {
            TOML: {"schema": {"type": "string"}},
            JSON: {"schema": {"type": "object"}},
        },
    }
}


@routes.put("/v1/policy", response_model=AppliedOut, openapi_extra=BODY)
@needs(Access.ADMINISTER, all_tenants=True, media=(TOML, JSON))
def put_policy(
    request: Request,
    ctx: Ctx,
    reason: Annotated[str, Query(min_length=1, max_length=1000, pattern=PRINTABLE)] = "-",
) -> Response:
    """Apply a policy to every later decision. Each mistake is named by its line.

    A document that drops a tier which tenants have is a conflict. `warnings` name tenants that
    the document mentions and that do not exist.
    """
    policy = apply_policy(ctx.db, document_of(request), author=ctx.caller.name, reason=reason)
    warnings = policy_warnings(ctx.db, policy)
    return answer({"version": policy.version, "hash": policy.hash, "warnings": warnings})


@routes.post("/v1/policy/plan", response_model=PolicyPlanOut, openapi_extra=BODY)
@needs(Access.ADMINISTER, all_tenants=True, media=(TOML, JSON))
def post_policy_plan(
    request: Request,
    ctx: Ctx,
    since: Annotated[
        str, Query(max_length=16, description="Time to replay, such as 12h or 30d.")
    ] = "30d",
    tenant_id: TenantQuery = None,
) -> Response:
    """Replay the recorded events under a policy and list the verdicts that differ. Changes nothing.

    A long history is gone through in a process of its own.
    """
    span = parse_span(since, "query.since")
    document, whose = document_of(request), ctx.tenant_if_named(tenant_id)
    only = None if whose is None else [whose]
    plan = plan_policy(
        ctx.db, document, since_us=span, tenant_ids=only, outside_above=OUTSIDE_ABOVE
    )
    return answer(plan.to_json())


@routes.get("/v1/policy", response_model=PolicyOut)
@needs(Access.READ)
def get_policy(ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show the policy in force; a tenant sees its own merged view of it."""
    return answer(_view(view_policy(ctx.db, ctx.tenant_if_named(tenant_id))))


@routes.get("/v1/policy/{version}", response_model=PolicyOut)
@needs(Access.READ)
def get_policy_version(
    version: Annotated[int, Path(ge=0, le=VERSION_MAX)], ctx: Ctx, tenant_id: TenantQuery = None
) -> Response:
    """Show a version of the policy; a tenant sees its own merged view of it."""
    return answer(_view(view_policy(ctx.db, ctx.tenant_if_named(tenant_id), version)))


def document_of(request: Request) -> str | dict[str, object]:
    """The policy document that was sent."""
    body: Body = request.state.body
    document = body.value
    if not isinstance(document, str | dict) or (body.media == JSON and isinstance(document, str)):
        raise Invalid("the body must be a policy document: TOML text, or a JSON object")
    return document


def _view(policy: Policy) -> dict[str, object]:
    return {"version": policy.version, "hash": policy.hash, "document": policy.text}
