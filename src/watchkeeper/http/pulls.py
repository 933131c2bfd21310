"""/v1/pulls: looks at accounts, asked for and seen."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fastapi import Query, Response

from watchkeeper.actions.answer_once import AlreadyDone
from watchkeeper.actions.explain_refusal import explain_refused_pull
from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.actions.request_pull import request_pull
from watchkeeper.actions.show_pulls import list_pulls, show_pull
from watchkeeper.core.heat import Depth
from watchkeeper.core.ids import AccountId
from watchkeeper.core.time import Instant
from watchkeeper.errors import Invalid
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import (
    LIMIT,
    Cursor,
    Limit,
    TenantQuery,
    answer,
    page,
    position,
)
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page
from watchkeeper.http.shapes_perceive import PullAnswerOut, PullOut
from watchkeeper.http.shapes_trust import RefusalOut
from watchkeeper.input_types import INTEGER_MAX, AccountName, ConnectorName, Id
from watchkeeper.perceive_inputs import PullIn
from watchkeeper.perceive_results import pull_answer_of, pull_json

routes = router("pulls")

_PLACE = re.compile(r"(\d{1,19})/([A-Za-z0-9_:-]{1,128})", re.ASCII)
State = Literal["REQUESTED", "RUNNING", "SUCCEEDED", "FAILED", "OUTCOME_UNKNOWN"]
Origin = Literal["cadence", "signal", "manual"]


@routes.post("/v1/pulls", response_model=PullAnswerOut)
@needs(Access.OPERATE)
def post_pull(body: PullIn, ctx: Ctx) -> Response:
    """Request one pull of an account by a connector. A refusal is an answer, with its reason.

    Where a limit says when to ask again, `Retry-After` does too.
    """
    whose = ctx.tenant_to_write(body.tenant_id)
    try:
        scheduled = request_pull(
            ctx.db,
            whose,
            AccountId(body.account_id),
            body.connector_id,
            Depth[body.depth],
            pull_job_id=body.pull_job_id,
            correlation_id=body.correlation_id,
            makes_tenant=ctx.makes_tenants,
            once=ctx.once,
        )
    except AlreadyDone as done:
        told, after = done.note
    else:
        shown = pull_answer_of(scheduled, whose)
        told, after = shown.to_json(), shown.retry_after_seconds
    return answer(told, headers={} if after is None else {"Retry-After": str(after)})


@routes.get("/v1/pulls", response_model=Page[PullOut])
@needs(Access.READ)
def get_pulls(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    account_id: Annotated[AccountName | None, Query()] = None,
    connector_id: Annotated[ConnectorName | None, Query()] = None,
    state: State | None = None,
    origin: Origin | None = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List scheduled pulls that match every filter, newest first."""
    given = {
        "account_id": account_id,
        "connector_id": connector_id,
        "state": state,
        "origin": origin,
    }
    filters = {name: str(value) for name, value in given.items() if value is not None}
    whose = ctx.tenant(tenant_id)
    found = list_pulls(ctx.db, whose, filters, before=_before(cursor), limit=limit)
    last = f"{found[-1].scheduled_at}/{found[-1].pull_job_id}" if found else None
    return page("pulls", [pull_json(one, whose) for one in found], limit, last)


@routes.get("/v1/pulls/{pull_job_id}", response_model=PullOut)
@needs(Access.READ)
def get_pull(pull_job_id: Id, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a pull: its origin, its state, and how many signals it brought."""
    whose = ctx.tenant_of(Thing.PULL, pull_job_id, tenant_id)
    return answer(pull_json(show_pull(ctx.db, whose, pull_job_id), whose))


@routes.get("/v1/pulls/{pull_job_id}/explain", response_model=RefusalOut)
@needs(Access.READ)
def get_refused_pull(pull_job_id: Id, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Explain why a pull was refused: the limit, when it would pass, and what would help.

    404 for one that was not. A refused pull is an entry only: a key for all tenants names whose.
    """
    return answer(explain_refused_pull(ctx.db, ctx.tenant(tenant_id), pull_job_id).to_json())


def _before(cursor: str | None) -> tuple[Instant, str] | None:
    """The place of the last pull of the page before."""
    return None if cursor is None else pull_place(position(cursor, "pulls", ""))


def pull_place(text: str) -> tuple[Instant, str]:
    """Where a pull stands among all of its tenant, as a cursor has it."""
    place = _PLACE.fullmatch(text)
    if place is None or int(place[1]) > INTEGER_MAX:
        raise Invalid.at("cursor", "is not a cursor of this list")
    return Instant(int(place[1])), place[2]
