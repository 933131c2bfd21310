"""POST /v1/signals: news about accounts, as plain JSON or as CloudEvents."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request, Response

from watchkeeper import telemetry
from watchkeeper.actions.ingest_signals import NewSignal, ingest_signals
from watchkeeper.core.ids import SignalId, TenantId
from watchkeeper.http import cloud_events
from watchkeeper.http.access import JSON, Access, needs
from watchkeeper.http.answers import answer
from watchkeeper.http.cloud_events import CloudEventIn
from watchkeeper.http.context import Context, Ctx
from watchkeeper.http.route import Body, router
from watchkeeper.http.shapes import ReceiptsOut
from watchkeeper.http.triggers import refuse_too_many, retry_after
from watchkeeper.inputs import SignalsIn, parse, to_signals
from watchkeeper.moves.admission import Decided
from watchkeeper.results import verdict_of

routes = router("signals")

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": {"$ref": "#/components/schemas/SignalsIn"}},
            cloud_events.EVENT: {"schema": {"$ref": "#/components/schemas/CloudEventIn"}},
            cloud_events.BATCH: {
                "schema": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/CloudEventIn"},
                }
            },
        },
    }
}

Told = list[tuple[TenantId, NewSignal]]


@routes.post("/v1/signals", status_code=202, response_model=ReceiptsOut, openapi_extra=_BODY)
@needs(Access.INGEST, media=(JSON, cloud_events.EVENT, cloud_events.BATCH))
def post_signals(request: Request, ctx: Ctx) -> Response:
    """Store signals, as plain JSON or CloudEvents. Each may cause a run of its account.

    A signal that is a repeat is not stored again.
    """
    told = _told(request, ctx)
    refuse_too_many(told, ctx, "signals")
    with telemetry.ADMISSION_SECONDS.time():
        received = _ingest(ctx, told)
    verdicts = [verdict_of(decided) for _, decided in received]
    signals = [
        {"signal_id": signal_id, "verdict": verdict.to_json()}
        for (signal_id, _), verdict in zip(received, verdicts, strict=True)
    ]
    return answer({"signals": signals}, 202, retry_after(verdicts))


def _told(request: Request, ctx: Context) -> Told:
    body: Body = request.state.body
    if body.media == cloud_events.BATCH:
        refuse_too_many(body.value if isinstance(body.value, list) else [], ctx, "")
        return _from_events(ctx, cloud_events.from_batch(body.value), batched=True)
    if body.media == cloud_events.EVENT:
        return _from_events(ctx, [parse(CloudEventIn, body.value)], batched=False)
    if "ce-specversion" in request.headers:
        event = cloud_events.from_headers(request.headers, body.value)
        return _from_events(ctx, [event], batched=False)
    plain = parse(SignalsIn, body.value)
    tenant_id = ctx.tenant_to_admit(plain.tenant_id)
    return [(tenant_id, signal) for signal in to_signals(plain.signals)]


def _from_events(ctx: Context, events: Sequence[CloudEventIn], *, batched: bool) -> Told:
    signals = cloud_events.to_signals(events, batched=batched)
    tenants = [ctx.tenant_to_admit(event.tenantid, "tenantid") for event in events]
    return list(zip(tenants, signals, strict=True))


def _ingest(ctx: Context, told: Told) -> list[tuple[SignalId, Decided]]:
    """In the order in which they came; a transaction is of one tenant, so a mix is split."""
    tenants = list(dict.fromkeys(tenant_id for tenant_id, _ in told))
    if len(tenants) > 1:
        for tenant_id in tenants:  # an unknown one refuses the whole call, before anything is done
            ctx.tenant_to_write(tenant_id)
    received = {
        tenant_id: iter(
            ingest_signals(
                ctx.server.admission,
                tenant_id,
                [signal for of, signal in told if of == tenant_id],
                once=ctx.once,
            )
        )
        for tenant_id in tenants
    }
    return [next(received[tenant_id]) for tenant_id, _ in told]
