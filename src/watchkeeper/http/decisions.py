"""/v1/decisions: verdicts, why they were given, and the runs they caused."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from watchkeeper.actions.explain_decision import explain_decision
from watchkeeper.actions.export_bundle import export_bundle
from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.actions.report_outcome import Outcome, report_outcome
from watchkeeper.actions.show_turn import turns_of_decision
from watchkeeper.actions.views import OLDEST, list_decisions, view_decision
from watchkeeper.core.admission import Reason, Result
from watchkeeper.core.ids import DecisionId, TenantId
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import (
    LIMIT,
    Cursor,
    Limit,
    TenantQuery,
    Text,
    answer,
    page,
    position,
)
from watchkeeper.http.context import Context, Ctx, identifier
from watchkeeper.http.route import router
from watchkeeper.http.shapes import DecisionOut, ExplainOut, Page, ShownDecisionOut
from watchkeeper.http.shapes_trust import BundleOut
from watchkeeper.input_types import Moment
from watchkeeper.inputs import OutcomeIn
from watchkeeper.turn_methods import usage_of

routes = router("decisions")


@routes.get("/v1/decisions", response_model=Page[DecisionOut])
@needs(Access.READ)
def get_decisions(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    account_id: Text = None,
    result: Result | None = None,
    reason: Reason | None = None,
    trigger_type: Text = None,
    correlation_id: Text = None,
    since: Annotated[
        Moment | None, Query(description="Only decisions at or after this time.")
    ] = None,
    until: Annotated[Moment | None, Query(description="Only decisions before this time.")] = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List decisions that match every filter, newest first."""
    whose = ctx.tenant(tenant_id)
    wanted = {
        "subject": account_id,
        "result": result,
        "reason": reason,
        "trigger_type": trigger_type,
        "correlation_id": correlation_id,
    }
    found = list_decisions(
        ctx.db,
        whose,
        {name: str(value) for name, value in wanted.items() if value is not None},
        before=position(cursor, "decisions", OLDEST),
        since=since,
        until=until,
        limit=limit,
    )
    last = found[-1].seq if found else None
    return page("decisions", [views.decision(one, whose) for one in found], limit, last)


@routes.get("/v1/decisions/{decision_id}", response_model=ShownDecisionOut)
@needs(Access.READ)
def get_decision(decision_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a decision, with its run and the turns that metered it."""
    name = identifier(decision_id, "decision")
    return _shown(ctx, ctx.tenant_of(Thing.DECISION, name, tenant_id), DecisionId(name))


@routes.get("/v1/decisions/{decision_id}/explain", response_model=ExplainOut)
@needs(Access.READ)
def get_explanation(decision_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Explain a decision: each check, the one that decided, what would pass; and show its run."""
    name = identifier(decision_id, "decision")
    whose = ctx.tenant_of(Thing.DECISION, name, tenant_id)
    return answer(explain_decision(ctx.db, whose, name).to_json())


@routes.get("/v1/decisions/{decision_id}/bundle", response_model=BundleOut)
@needs(Access.READ)
def get_bundle(decision_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Export all that a decision depended on. Replaying the document gives the same bytes."""
    name = identifier(decision_id, "decision")
    return answer(export_bundle(ctx.db, ctx.tenant_of(Thing.DECISION, name, tenant_id), name))


@routes.post("/v1/decisions/{decision_id}/outcome", response_model=ShownDecisionOut)
@needs(Access.INGEST)
def post_outcome(decision_id: str, body: OutcomeIn, ctx: Ctx) -> Response:
    """Report how a run that was delivered to a webhook ended. Idempotent.

    With what it used, its turn is settled in the same transaction.
    """
    name = DecisionId(identifier(decision_id, "decision"))
    whose = ctx.tenant_of(Thing.DECISION, name, body.tenant_id)
    outcome = Outcome(body.succeeded, body.detail, usage_of(body.usage))
    report_outcome(ctx.db, whose, name, outcome, ctx.server.turns.namespace)
    return _shown(ctx, whose, name)


def _shown(ctx: Context, whose: TenantId, name: DecisionId) -> Response:
    view = view_decision(ctx.db, whose, name)
    return answer(views.shown_decision(view, whose, turns_of_decision(ctx.db, whose, name)))
