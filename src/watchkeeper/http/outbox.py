"""/v1/outbox: the desk where messages are looked at, sent again, or given up."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from fastapi import Response

from watchkeeper.actions.answer_once import AlreadyDone
from watchkeeper.actions.keep_desk import (
    discard_message,
    redrive_message,
    redrive_messages,
    show_message,
)
from watchkeeper.actions.locate_tenant import Thing
from watchkeeper.actions.unhandled import is_unhandled
from watchkeeper.actions.views import list_messages
from watchkeeper.core.ids import MessageId
from watchkeeper.errors import Invalid
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import (
    LIMIT,
    Cursor,
    Limit,
    TenantQuery,
    Text,
    answer,
    nothing,
    page,
    position,
)
from watchkeeper.http.context import Context, Ctx, identifier, is_identifier
from watchkeeper.http.route import router
from watchkeeper.http.shapes import MessageOut, Page, RedrivenOut
from watchkeeper.inputs import DiscardIn, RedriveIn, RedriveManyIn
from watchkeeper.store.outbox_desk import Filter, Status, StoredMessage

routes = router("outbox")


@routes.get("/v1/outbox", response_model=Page[MessageOut])
@needs(Access.READ)
def get_messages(
    ctx: Ctx,
    tenant_id: TenantQuery = None,
    status: Status | None = None,
    namespace: Text = None,
    topic: Text = None,
    limit: Limit = LIMIT,
    cursor: Cursor = None,
) -> Response:
    """List messages that match every filter, newest first."""
    before = position(cursor, "outbox", "")
    if before and not is_identifier(before):
        raise Invalid.at("cursor", "is not a cursor of this list")
    wanted = Filter(status, namespace, topic)
    whose = ctx.tenant(tenant_id)
    found = list_messages(ctx.db, whose, wanted, MessageId(before) if before else None, limit)
    last = found[-1].id if found else None
    return page("outbox", [_shown(ctx, one) for one in found], limit, last)


@routes.get("/v1/outbox/{message_id}", response_model=MessageOut)
@needs(Access.READ)
def get_message(message_id: str, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a message: its topic, its payload, its attempts and its last error."""
    name = MessageId(identifier(message_id, "message"))
    whose = ctx.tenant_of(Thing.MESSAGE, name, tenant_id)
    return answer(_shown(ctx, show_message(ctx.db, whose, name)))


@routes.post("/v1/outbox/redrive", response_model=RedrivenOut)
@needs(Access.OPERATE)
def post_redrive_many(body: RedriveManyIn, ctx: Ctx) -> Response:
    """Redrive the dead messages that match, a few each second, with all their attempts."""
    wanted = Filter(namespace=body.namespace, topic=body.topic)
    whose = ctx.tenant(body.tenant_id)
    count = redrive_messages(
        ctx.db, ctx.server.registry, whose, wanted, by=ctx.caller.name, once=ctx.once
    )
    return answer({"redriven": count})


@routes.post("/v1/outbox/{message_id}/redrive", response_model=MessageOut)
@needs(Access.OPERATE)
def post_redrive(message_id: str, ctx: Ctx, body: RedriveIn | None = None) -> Response:
    """Redrive a dead message with all its attempts; with `force` also a delivered one."""
    asked = body or RedriveIn()
    name = MessageId(identifier(message_id, "message"))
    whose = ctx.tenant_of(Thing.MESSAGE, name, asked.tenant_id)
    message = redrive_message(
        ctx.db,
        ctx.server.registry,
        whose,
        name,
        force=asked.force,
        by=ctx.caller.name,
        once=ctx.once,
    )
    return answer(_shown(ctx, message))


@routes.post("/v1/outbox/{message_id}/discard", status_code=204)
@needs(Access.OPERATE)
def post_discard(message_id: str, ctx: Ctx, body: DiscardIn | None = None) -> Response:
    """Discard a dead or pending message for good."""
    asked = body or DiscardIn()
    name = MessageId(identifier(message_id, "message"))
    whose = ctx.tenant_of(Thing.MESSAGE, name, asked.tenant_id)
    with suppress(AlreadyDone):
        discard_message(ctx.db, ctx.server.registry, whose, name, by=ctx.caller.name, once=ctx.once)
    return nothing()


def _shown(ctx: Context, message: StoredMessage) -> dict[str, Any]:
    handlers = None if ctx.server.workers is None else ctx.server.registry
    return views.message(message, unhandled=is_unhandled(ctx.db, handlers, message))
