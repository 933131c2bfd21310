"""/v1/plans: drafts, what people do with plans, and how each of them came to where it stands."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import Query, Response

from watchkeeper.act_inputs import FactsIn, Name, PlanIn, ProposeIn, ReasonIn, SkipIn
from watchkeeper.act_results import plan_entry_json
from watchkeeper.actions import show_plan
from watchkeeper.actions.answer_once import AlreadyDone
from watchkeeper.actions.deeds import DEEDS, Order
from watchkeeper.actions.explain_act import explain_plan
from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_choices import Deed
from watchkeeper.errors import Invalid
from watchkeeper.http import views_act as views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, TenantQuery, answer, page, position
from watchkeeper.http.context import Context, Ctx, identifier, is_identifier
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page
from watchkeeper.http.shapes_act import (
    ActExplainOut,
    PlanEntryOut,
    PlanOut,
    ProposedOut,
    WhyOut,
)
from watchkeeper.input_types import AccountName, Id, PlanStatus
from watchkeeper.plan_methods import proposed
from watchkeeper.store.json import loads

routes = router("plans")


@routes.post("/v1/plans", status_code=201, response_model=PlanOut)
@needs(Access.OPERATE)
def post_plan(body: PlanIn, ctx: Ctx) -> Response:
    """Create a draft plan. A plan that could not be carried out is refused, with every mistake."""
    whose = ctx.tenant_to_write(body.tenant_id)
    try:
        plan_id = ctx.server.carrier.create(whose, body.plan(), by=ctx.caller.name, once=ctx.once)
    except AlreadyDone as done:
        plan_id = done.note
    return answer(_shown(ctx, whose, plan_id), 201)


@routes.post("/v1/plans/propose", status_code=201, response_model=ProposedOut)
@needs(Access.OPERATE)
def post_proposal(body: ProposeIn, ctx: Ctx) -> Response:
    """Create a draft plan from the proposer of this process. Forbidden steps are dropped.

    409 where no proposer is registered here: then a worker has it, or nobody.
    """
    whose = ctx.tenant_to_write(body.tenant_id)
    carrier, proposers = ctx.server.carrier, ctx.server.proposers
    made = proposed(carrier, proposers, whose, body, by=ctx.caller.name, once=ctx.once)
    dropped = [{"place": one.place, "message": one.message} for one in made.dropped]
    return answer({**_shown(ctx, whose, made.plan_id), "dropped": dropped}, 201)


@routes.get("/v1/plans", response_model=Page[PlanOut])
@needs(Access.READ)
def get_plans(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    account_id: Annotated[AccountName | None, Query()] = None,
    plan_type: Annotated[Name | None, Query()] = None,
    status: PlanStatus | None = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List plans that match every filter, newest first, each with its steps."""
    given = {"account_id": account_id, "plan_type": plan_type, "status": status}
    filters = {name: str(value) for name, value in given.items() if value is not None}
    before = position(cursor, "plans", "")
    if before and not is_identifier(before):
        raise Invalid.at("cursor", "is not a cursor of this list")
    whose = ctx.tenant(tenant_id)
    found = show_plan.list_plans(ctx.db, whose, filters, before=before or None, limit=limit)
    last = found[-1].plan.plan_id if found else None
    return page("plans", [views.plan(one, whose) for one in found], limit, last)


@routes.get("/v1/plans/{plan_id}", response_model=PlanOut)
@needs(Access.READ)
def get_plan(plan_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a plan: its steps, and every attempt of them."""
    whose, known = _named(ctx, plan_id, tenant_id)
    return answer(_shown(ctx, whose, known))


@routes.put("/v1/plans/{plan_id}", response_model=PlanOut)
@needs(Access.OPERATE)
def put_plan(plan_id: str, body: PlanIn, ctx: Ctx) -> Response:
    """Replace a draft plan as a whole. 409 for a plan that is not a draft."""
    whose, known = _named(ctx, plan_id, body.tenant_id)
    ctx.server.carrier.edit(whose, known, body.plan(), by=ctx.caller.name)
    return answer(_shown(ctx, whose, known))


def _deed_route(deed: Deed, words: str) -> None:
    """The route of one deed on a whole plan."""
    rule = DEEDS[deed]

    def post_plan_deed(plan_id: str, ctx: Ctx, body: ReasonIn | None = None) -> Response:
        asked = body or ReasonIn()
        whose, known = _named(ctx, plan_id, asked.tenant_id)
        order = Order(whose, known, ctx.caller.name, asked.reason, once=ctx.once)
        with suppress(AlreadyDone):
            rule.do(ctx.server.carrier, order)
        return answer(_shown(ctx, whose, known))

    post_plan_deed.__name__, post_plan_deed.__doc__ = f"post_plan_{rule.name}", words
    guarded = needs(Access.OPERATE)(post_plan_deed)
    routes.post(f"/v1/plans/{{plan_id}}/{rule.name}", response_model=PlanOut)(guarded)


_deed_route(
    Deed.APPROVE, "Approve a draft plan as a person. It is activated as soon as its gate passes."
)
_deed_route(Deed.PAUSE, "Pause a plan: no step is started until it is resumed. It still expires.")
_deed_route(
    Deed.RESUME,
    "Resume a plan with all its attempts. 409 while another plan has its place.",
)
_deed_route(Deed.ABORT, "Abort a plan for good. Steps that have not started are cancelled.")


@routes.post("/v1/plans/{plan_id}/steps/{step_id}/skip", response_model=PlanOut)
@needs(Access.OPERATE)
def post_step_skip(plan_id: str, step_id: Id, body: SkipIn, ctx: Ctx) -> Response:
    """Skip a step of a plan, for a reason."""
    whose, known = _named(ctx, plan_id, body.tenant_id)
    order = Order(whose, known, ctx.caller.name, body.reason, step_id, ctx.once)
    with suppress(AlreadyDone):
        DEEDS[Deed.SKIP].do(ctx.server.carrier, order)
    return answer(_shown(ctx, whose, known))


@routes.post("/v1/plans/{plan_id}/facts", response_model=PlanOut)
@needs(Access.OPERATE)
def post_facts(plan_id: str, body: FactsIn, ctx: Ctx) -> Response:
    """Add facts to a plan, over those known. They may open its gate or meet its objective."""
    whose, known = _named(ctx, plan_id, body.tenant_id)
    with suppress(AlreadyDone):
        ctx.server.carrier.tell(whose, known, loads(body.facts), by=ctx.caller.name, once=ctx.once)
    return answer(_shown(ctx, whose, known))


@routes.get("/v1/plans/{plan_id}/ledger", response_model=Page[PlanEntryOut])
@needs(Access.READ)
def get_plan_ledger(
    plan_id: str,
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List the ledger entries of a plan, oldest first."""
    after = position(cursor, "plan_ledger", 0)
    whose, known = _named(ctx, plan_id, tenant_id)
    found = show_plan.plan_ledger(ctx.db, whose, known, after=after, limit=limit)
    last = found[-1].seq if found else None
    return page("plan_ledger", [plan_entry_json(one) for one in found], limit, last)


@routes.get("/v1/plans/{plan_id}/why", response_model=WhyOut)
@needs(Access.READ)
def get_plan_why(plan_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show why a plan is in its state, until when, and what a person can do."""
    whose, known = _named(ctx, plan_id, tenant_id)
    return answer(views.why(show_plan.why_plan(ctx.db, whose, known), whose))


@routes.get("/v1/plans/{plan_id}/explain", response_model=ActExplainOut)
@needs(Access.READ)
def get_plan_explanation(plan_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Explain why its gate passed or held a plan: each check, and what would change it."""
    whose, known = _named(ctx, plan_id, tenant_id)
    return answer(explain_plan(ctx.db, whose, known).to_json())


def _named(ctx: Context, plan_id: str, tenant_id: str | None) -> tuple[TenantId, str]:
    known = identifier(plan_id, "plan")
    return ctx.tenant_of(Thing.PLAN, known, tenant_id), known


def _shown(ctx: Context, whose: TenantId, plan_id: str) -> dict[str, object]:
    return views.plan(show_plan.show_plan(ctx.db, whose, plan_id), whose)
