"""/v1/turns: metered work, reserved before it starts, told to go on, settled once."""

from __future__ import annotations

import re
from typing import Literal

from fastapi import Response

from watchkeeper.actions.explain_refusal import explain_refused_turn
from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.actions.show_turn import list_turns, show_turn
from watchkeeper.core.time import Instant
from watchkeeper.core.turns import TurnState
from watchkeeper.errors import Invalid
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
from watchkeeper.http.shapes import Page, ReservedTurnOut, SettlementOut, ShownTurnOut, TurnOut
from watchkeeper.http.shapes_trust import RefusalOut
from watchkeeper.input_types import INTEGER_MAX, Id
from watchkeeper.inputs import FinalizeIn, ProgressIn, TurnIn
from watchkeeper.turn_methods import asked_of, usage_of
from watchkeeper.turn_results import settlement_of, turn_of

routes = router("turns")

_PLACE = re.compile(r"(\d{1,19})/([A-Za-z0-9_:-]{1,128})", re.ASCII)
State = Literal["running", "completed", "failed", "cancelled"]


@routes.post("/v1/turns", status_code=201, response_model=ReservedTurnOut)
@needs(Access.INGEST)
def post_turn(body: TurnIn, ctx: Ctx) -> Response:
    """Reserve quota before the work starts; do the work with `effective_model`.

    Where that model's tier is full the next lower one is taken; when none has room, 429. The
    same request id again is the same turn.
    """
    whose = ctx.tenant_to_admit(body.tenant_id)
    reserved = ctx.server.turns.reserve(whose, asked_of(body))
    turn = views.turn(turn_of(reserved.turn), whose)
    return answer({**turn, "existing": not reserved.is_new}, 201)


@routes.get("/v1/turns", response_model=Page[TurnOut])
@needs(Access.READ)
def get_turns(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    state: State | None = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List turns, newest first."""
    whose = ctx.tenant(tenant_id)
    found = list_turns(ctx.db, whose, state=state, before=_before(cursor), limit=limit)
    last = f"{found[-1].reserved_at}/{found[-1].turn_id}" if found else None
    return page("turns", [views.turn(turn_of(one), whose) for one in found], limit, last)


@routes.get("/v1/turns/{turn_id}", response_model=ShownTurnOut)
@needs(Access.READ)
def get_turn(turn_id: Id, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a turn: its reserve, how it was settled, and where its usage event is."""
    whose = ctx.tenant_of(Thing.TURN, turn_id, tenant_id)
    return answer(views.shown_turn(show_turn(ctx.db, whose, turn_id), whose))


@routes.get("/v1/turns/{turn_id}/explain", response_model=RefusalOut)
@needs(Access.READ)
def get_refused_turn(turn_id: Id, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Explain why a turn was refused: each model tried, the quota it lacked, what would help.

    404 for one that was not. A refused turn is an entry only: a key for all tenants names whose.
    """
    return answer(explain_refused_turn(ctx.db, ctx.tenant(tenant_id), turn_id).to_json())


@routes.post("/v1/turns/{turn_id}/progress", status_code=204)
@needs(Access.INGEST)
def post_progress(turn_id: Id, ctx: Ctx, body: ProgressIn | None = None) -> Response:
    """Report that the work of a turn goes on. 409 when the turn has ended: stop the work."""
    asked = body or ProgressIn()
    ctx.server.turns.progress(ctx.tenant_of(Thing.TURN, turn_id, asked.tenant_id), turn_id)
    return nothing()


@routes.post("/v1/turns/{turn_id}/finalize", response_model=SettlementOut)
@needs(Access.INGEST)
def post_finalize(turn_id: Id, body: FinalizeIn, ctx: Ctx) -> Response:
    """End a turn and settle it, once. A second call gets what the first one settled."""
    finalized = ctx.server.turns.finalize(
        ctx.tenant_of(Thing.TURN, turn_id, body.tenant_id),
        turn_id,
        TurnState(body.outcome),
        started=body.started,
        usage=usage_of(body.usage),
    )
    return answer({"turn_id": turn_id, **settlement_of(finalized).to_json()})


def _before(cursor: str | None) -> tuple[Instant, str] | None:
    """The place of the last turn of the page before."""
    if cursor is None:
        return None
    place = _PLACE.fullmatch(position(cursor, "turns", ""))
    if place is None or int(place[1]) > INTEGER_MAX:
        raise Invalid.at("cursor", "is not a cursor of this list")
    return Instant(int(place[1])), place[2]
