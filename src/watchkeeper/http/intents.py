"""/v1/intents: what attempts ask for; answered by people, ended by whoever carries them out."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import Query, Response

from watchkeeper.act_inputs import IntentOutcomeIn, Name, ReasonIn
from watchkeeper.act_results import intent_of
from watchkeeper.actions.answer_once import AlreadyDone
from watchkeeper.actions.deeds import DEEDS, Order
from watchkeeper.actions.explain_act import explain_intent
from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.actions.show_plan import list_intents, show_intent
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_choices import Deed
from watchkeeper.errors import Invalid
from watchkeeper.http import views_act as views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, TenantQuery, answer, page, position
from watchkeeper.http.context import Context, Ctx, identifier, is_identifier
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page
from watchkeeper.http.shapes_act import ActExplainOut, IntentOut, ReportedOut
from watchkeeper.input_types import AccountName, Id, IntentStatus
from watchkeeper.moves.steps import Ending

routes = router("intents")


@routes.get("/v1/intents", response_model=Page[IntentOut])
@needs(Access.READ)
def get_intents(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    status: IntentStatus | None = None,
    plan_id: Annotated[Id | None, Query()] = None,
    account_id: Annotated[AccountName | None, Query()] = None,
    action_type: Annotated[Name | None, Query()] = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List intents that match every filter, newest first. `PENDING_APPROVAL` waits for a person."""
    given = {
        "state": status,
        "plan_id": None if plan_id is None else plan_id.lower(),
        "account_id": account_id,
        "action_type": action_type,
    }
    filters = {name: str(value) for name, value in given.items() if value is not None}
    before = position(cursor, "intents", "")
    if before and not is_identifier(before):
        raise Invalid.at("cursor", "is not a cursor of this list")
    whose = ctx.tenant(tenant_id)
    if "plan_id" in filters and not is_identifier(filters["plan_id"]):
        return page("intents", [], limit, None)
    found = list_intents(ctx.db, whose, filters, before=before or None, limit=limit)
    last = found[-1].intent_id if found else None
    return page("intents", [intent_of(one, whose).to_json() for one in found], limit, last)


@routes.get("/v1/intents/{intent_id}", response_model=IntentOut)
@needs(Access.READ)
def get_intent(intent_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show an intent: its action, who approved it, and its outcome."""
    whose, known = _named(ctx, intent_id, tenant_id)
    return answer(_shown(ctx, whose, known))


@routes.get("/v1/intents/{intent_id}/explain", response_model=ActExplainOut)
@needs(Access.READ)
def get_intent_explanation(intent_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Explain why an action ran by itself, needed approval or was blocked."""
    whose, known = _named(ctx, intent_id, tenant_id)
    return answer(explain_intent(ctx.db, whose, known).to_json())


def _deed_route(deed: Deed, words: str) -> None:
    """The route of one answer to an intent."""
    rule = DEEDS[deed]

    def post_intent_deed(intent_id: str, ctx: Ctx, body: ReasonIn | None = None) -> Response:
        asked = body or ReasonIn()
        whose, known = _named(ctx, intent_id, asked.tenant_id)
        order = Order(whose, known, ctx.caller.name, asked.reason, once=ctx.once)
        with suppress(AlreadyDone):
            rule.do(ctx.server.carrier, order)
        return answer(_shown(ctx, whose, known))

    post_intent_deed.__name__, post_intent_deed.__doc__ = f"post_intent_{rule.name}", words
    guarded = needs(Access.OPERATE)(post_intent_deed)
    routes.post(f"/v1/intents/{{intent_id}}/{rule.name}", response_model=IntentOut)(guarded)


_deed_route(
    Deed.APPROVE_INTENT,
    "Approve an intent: its action is carried out. 409 unless it is pending and its plan active.",
)
_deed_route(
    Deed.REJECT_INTENT,
    "Reject an intent: its step fails, and the plan is paused until a person resumes it.",
)


@routes.post("/v1/intents/{intent_id}/outcome", response_model=ReportedOut)
@needs(Access.OPERATE)
def post_intent_outcome(intent_id: str, body: IntentOutcomeIn, ctx: Ctx) -> Response:
    """Report the outcome of an intent's action. `counted` says whether the plan used it.

    Idempotent. 409 where nobody was asked to carry the action out.
    """
    whose, known = _named(ctx, intent_id, body.tenant_id)
    found = ctx.server.carrier.report(whose, known, Ending(body.succeeded, body.detail))
    return answer(views.reported(found, whose))


def _named(ctx: Context, intent_id: str, tenant_id: str | None) -> tuple[TenantId, str]:
    known = identifier(intent_id, "intent")
    return ctx.tenant_of(Thing.INTENT, known, tenant_id), known


def _shown(ctx: Context, whose: TenantId, intent_id: str) -> dict[str, object]:
    return intent_of(show_intent(ctx.db, whose, intent_id), whose).to_json()
