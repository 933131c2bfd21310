"""/v1/sinks: topics that are delivered outside."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from watchkeeper.actions.set_sink import (
    NewSink,
    Terms,
    list_sinks,
    owner_of_sink,
    remove_sink,
    set_sink,
    show_sink,
)
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.sinks import SinkKind, shown_url
from watchkeeper.http import views
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import (
    LIMIT,
    Cursor,
    Limit,
    TenantQuery,
    answer,
    iso,
    nothing,
    page,
    position,
)
from watchkeeper.http.context import Context, Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import Page, SinkOut, SinkSetOut
from watchkeeper.input_types import SinkName
from watchkeeper.inputs import SinkIn
from watchkeeper.store.sinks import Sink

routes = router("sinks")


@routes.put("/v1/sinks/{name}", response_model=SinkSetOut)
@needs(Access.ADMINISTER, answers_secret=True)
def put_sink(name: SinkName, body: SinkIn, ctx: Ctx) -> Response:
    """Deliver a topic outside, of the tenant or of all. A missing secret is made and shown once."""
    is_for_all = body.tenant_id is None and ctx.caller.tenant_id is None
    owner = SYSTEM if is_for_all else ctx.tenant_to_write(body.tenant_id)
    new = NewSink(body.topic, body.url, SinkKind(body.kind), body.namespace, body.secret)
    done = set_sink(ctx.db, owner, name, new, _terms(ctx), makes_tenant=ctx.makes_tenants)
    return answer({**_shown(done.sink), "secret": done.secret, "warning": done.warning})


@routes.get("/v1/sinks", response_model=Page[SinkOut])
@needs(Access.ADMINISTER)
def get_sinks(
    ctx: Ctx, tenant_id: TenantQuery = None, limit: Limit = LIMIT, cursor: Cursor = None
) -> Response:
    """List the tenant's sinks; all sinks where a key for all tenants names none."""
    owner, _, name = position(cursor, "sinks", "").rpartition("/")
    found = list_sinks(ctx.db, ctx.tenant_if_named(tenant_id), (owner, name), limit)
    last = f"{found[-1].tenant_id}/{found[-1].name}" if found else None
    return page("sinks", [_shown(sink) for sink in found], limit, last)


@routes.get("/v1/sinks/{name}", response_model=SinkOut)
@needs(Access.ADMINISTER)
def get_sink(name: SinkName, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Show a sink, without its secret."""
    return answer(_shown(show_sink(ctx.db, _owner(ctx, name, tenant_id), name)))


@routes.delete("/v1/sinks/{name}", status_code=204)
@needs(Access.ADMINISTER)
def delete_sink(name: SinkName, ctx: Ctx, tenant_id: TenantQuery = None) -> Response:
    """Delete a sink. Its messages go to another sink or handler of their topic, or wait."""
    remove_sink(ctx.db, _owner(ctx, name, tenant_id), name, _terms(ctx))
    return nothing()


def _owner(ctx: Context, name: str, named: str | None) -> TenantId:
    if named is None and ctx.caller.tenant_id is None:
        return owner_of_sink(ctx.db, name)
    return ctx.tenant(named)


def _terms(ctx: Context) -> Terms:
    return Terms(
        by=ctx.caller.name,
        reach=ctx.server.registry.reach,
        usage_namespace=ctx.server.turns.namespace,
        is_tenant=ctx.caller.tenant_id is not None,
    )


def _shown(sink: Sink) -> dict[str, Any]:
    """Never a secret, nor what a URL may hide."""
    return {
        "name": sink.name,
        "tenant_id": views.owner(sink.tenant_id),
        "namespace": sink.namespace,
        "topic": sink.topic,
        "kind": sink.kind,
        "url": shown_url(sink.url),
        "old_secret_until": iso(sink.old_secret_until_at),
        "set_by": sink.set_by,
        "created_at": iso(sink.created_at),
        "updated_at": iso(sink.updated_at),
    }
