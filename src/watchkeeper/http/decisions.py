"""/v1/decisions: verdicts, why they were given, and the runs they caused."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from watchkeeper.actions.explain_decision import explain_decision
from watchkeeper.actions.report_outcome import report_outcome
from watchkeeper.actions.views import OLDEST, list_decisions, view_decision
from watchkeeper.core.admission import Reason, Result
from watchkeeper.core.ids import DecisionId
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
from watchkeeper.http.context import Ctx, identifier
from watchkeeper.http.route import router
from watchkeeper.http.shapes import DecisionOut, ExplainOut, Page
from watchkeeper.input_types import Moment
from watchkeeper.inputs import OutcomeIn

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
    since: Annotated[Moment | None, Query(description="Not before.")] = None,
    until: Annotated[Moment | None, Query(description="Before.")] = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """Decisions that match every filter, newest first."""
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


@routes.get("/v1/decisions/{decision_id}", response_model=DecisionOut)
@needs(Access.READ)
def get_decision(decision_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """One decision, with its run."""
    name = identifier(decision_id, "decision")
    whose = ctx.tenant_of_decision(name, tenant_id)
    return answer(views.decision(view_decision(ctx.db, whose, DecisionId(name)), whose))


@routes.get("/v1/decisions/{decision_id}/explain", response_model=ExplainOut)
@needs(Access.READ)
def get_explanation(decision_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Why: each check with what it compared, the one that bound, and what would have passed."""
    name = identifier(decision_id, "decision")
    whose = ctx.tenant_of_decision(name, tenant_id)
    return answer(explain_decision(ctx.db, whose, name).to_json())


@routes.post("/v1/decisions/{decision_id}/outcome", response_model=DecisionOut)
@needs(Access.INGEST)
def post_outcome(decision_id: str, body: OutcomeIn, ctx: Ctx) -> Response:
    """Say how a run ended that was delivered to a webhook. Saying it twice is saying it."""
    name = DecisionId(identifier(decision_id, "decision"))
    whose = ctx.tenant_of_decision(name, body.tenant_id)
    report_outcome(ctx.db, whose, name, succeeded=body.succeeded, detail=body.detail)
    return answer(views.decision(view_decision(ctx.db, whose, name), whose))
