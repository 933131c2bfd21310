"""/v1/ledger: what was decided and done, in the order of commits."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from watchkeeper.actions.verify_ledger import verify_ledger
from watchkeeper.actions.views import list_ledger
from watchkeeper.core.chain import Checkpoint
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Stage
from watchkeeper.core.time import Instant
from watchkeeper.errors import Invalid
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import LIMIT, Cursor, Limit, Text, answer, page, position
from watchkeeper.http.context import Context, Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import ChainOut, EntryOut, Page
from watchkeeper.input_types import ID, INTEGER_MAX

NEWEST = 100_000
NEWEST_MAX = 1_000_000

routes = router("ledger")

Whose = Annotated[
    str | None,
    Query(
        pattern=ID,
        description="Id of the tenant, with a key for all tenants; `_system`: the shared ledger.",
    ),
]


def owner_of(ctx: Context, named: str | None) -> TenantId:
    """Whose ledger is asked for; that of the system is for keys of all tenants."""
    if named == SYSTEM and ctx.caller.tenant_id is None:
        return SYSTEM
    return ctx.tenant(named)


@routes.get("/v1/ledger", response_model=Page[EntryOut])
@needs(Access.READ)
def get_ledger(
    ctx: Ctx,
    tenant_id: Whose = None,
    after: Annotated[
        int, Query(ge=0, le=INTEGER_MAX, description="Only entries after this `seq`.")
    ] = 0,
    stage: Stage | None = None,
    kind: Text = None,
    subject: Text = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List ledger entries, oldest first. Reading on by `after` misses none."""
    whose = owner_of(ctx, tenant_id)
    wanted = {"stage": stage, "kind": kind, "subject": subject}
    filters = {name: str(value) for name, value in wanted.items() if value is not None}
    start = max(after, position(cursor, "ledger", 0))
    found = list_ledger(ctx.db, whose, filters, after=start, limit=limit)
    last = found[-1].seq if found else None
    return page("ledger", [views.entry(one) for one in found], limit, last)


@routes.get("/v1/ledger/verify", response_model=ChainOut)
@needs(Access.READ)
def get_ledger_verify(
    ctx: Ctx,
    tenant_id: Whose = None,
    newest: Annotated[
        int, Query(ge=1, le=NEWEST_MAX, description="Number of the newest entries to verify.")
    ] = NEWEST,
    checkpoint_seq: Annotated[
        int | None,
        Query(ge=1, le=INTEGER_MAX, description="Value of `seq` of a checkpoint to compare with."),
    ] = None,
    checkpoint_hash: Annotated[
        str | None,
        Query(pattern=r"^[0-9a-f]{64}$", description="Value of `hash` of the checkpoint."),
    ] = None,
) -> Response:
    """Verify the hash chain of the ledger: `clean`, or the first entry that is wrong."""
    whose = owner_of(ctx, tenant_id)
    known = None
    if checkpoint_seq is not None and checkpoint_hash is not None:
        known = Checkpoint(whose, checkpoint_seq, checkpoint_hash, Instant(0))
    elif checkpoint_seq is not None or checkpoint_hash is not None:
        other = "checkpoint_hash" if checkpoint_hash is None else "checkpoint_seq"
        raise Invalid.at(other, "a checkpoint is both its seq and its hash")
    return answer(verify_ledger(ctx.db, whose, checkpoint=known, newest=newest).to_json())
