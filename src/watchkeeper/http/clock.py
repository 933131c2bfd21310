"""/v1/clock: the virtual clock, for development and tests."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.advance_clock import advance_clock, clock_now
from watchkeeper.core.time import to_iso
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import answer
from watchkeeper.http.context import Ctx
from watchkeeper.http.route import router
from watchkeeper.http.shapes import AdvancedOut, ClockOut
from watchkeeper.inputs import ClockIn

routes = router("clock")


@routes.get("/v1/clock", response_model=ClockOut)
@needs(Access.READ)
def get_clock(ctx: Ctx) -> Response:
    """Show the time on the database, and whether its clock is virtual."""
    now, is_virtual = clock_now(ctx.db)
    return answer({"now": to_iso(now), "virtual": is_virtual})


@routes.post("/v1/clock/advance", response_model=AdvancedOut)
@needs(Access.ADMINISTER, all_tenants=True)
def post_clock_advance(body: ClockIn, ctx: Ctx) -> Response:
    """Advance the virtual clock through every due instant. Answers when all due work is done."""
    workers = ctx.server.workers
    drain = None if workers is None else workers.drain
    done = advance_clock(ctx.db, body.seconds, drain, ctx.server.turns, ctx.once)
    return answer({"now": to_iso(done.now_at), "steps": done.steps, "ran": dict(done.ran)})
