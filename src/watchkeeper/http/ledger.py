"""/v1/ledger: what was decided and done, in the order of commits."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from watchkeeper.actions.views import list_ledger
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Stage
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, Text, page, position
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import EntryOut, Page
from watchkeeper.input_types import ID, INTEGER_MAX

routes = router("ledger")


@routes.get("/v1/ledger", response_model=Page[EntryOut])
@needs(Access.READ)
def get_ledger(
    ctx: Ctx,
    tenant_id: Annotated[
        str | None,
        Query(pattern=ID, description="With a key for all tenants; `_system` for their own."),
    ] = None,
    after: Annotated[int, Query(ge=0, le=INTEGER_MAX, description="Entries past this `seq`.")] = 0,
    stage: Stage | None = None,
    kind: Text = None,
    subject: Text = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """Entries, oldest first. Whoever follows by `after` misses none: places are commits."""
    whose: TenantId = SYSTEM
    if tenant_id != SYSTEM or ctx.caller.tenant_id is not None:
        whose = ctx.tenant(tenant_id)
    wanted = {"stage": stage, "kind": kind, "subject": subject}
    filters = {name: str(value) for name, value in wanted.items() if value is not None}
    start = max(after, position(cursor, "ledger", 0))
    found = list_ledger(ctx.db, whose, filters, after=start, limit=limit)
    last = found[-1].seq if found else None
    return page("ledger", [views.entry(one) for one in found], limit, last)
