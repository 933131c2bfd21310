"""POST /v1/triggers: events ask for decision runs."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Response

from watchkeeper import telemetry
from watchkeeper.actions.fire_triggers import fire_triggers
from watchkeeper.errors import Invalid
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import answer
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import VerdictsOut
from watchkeeper.inputs import TriggersIn, to_events
from watchkeeper.results import Verdict, verdict_of

routes = router("triggers")


@routes.post("/v1/triggers", response_model=VerdictsOut)
@needs(Access.INGEST)
def post_triggers(body: TriggersIn, ctx: Ctx) -> Response:
    """Fire triggers: a verdict for each event, in order. An invalid event refuses all of them."""
    refuse_too_many(body.events, ctx, "events")
    tenant_id = ctx.tenant_to_admit(body.tenant_id)
    events = to_events(body.events)
    correlation_id = events[0].correlation_id if len(events) == 1 else None
    with telemetry.bound(correlation_id=correlation_id), telemetry.ADMISSION_SECONDS.time():
        decided = fire_triggers(ctx.server.admission, tenant_id, events, ctx.once)
    verdicts = [verdict_of(one) for one in decided]
    return answer(
        {"verdicts": [verdict.to_json() for verdict in verdicts]}, headers=retry_after(verdicts)
    )


def refuse_too_many(events: Sequence[object], ctx: Ctx, at: str) -> None:
    most = ctx.server.settings.events_per_call_max
    if len(events) > most:
        raise Invalid.at(at, f"has more than {most} entries")


def retry_after(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """A single deferred event is told when its retry comes; it need not be sent again."""
    if len(verdicts) != 1 or verdicts[0].retry_after_seconds is None:
        return {}
    return {"Retry-After": str(verdicts[0].retry_after_seconds)}
