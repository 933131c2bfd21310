"""Health, for those who ask without a key: alive, ready, measured."""

from __future__ import annotations

from contextlib import suppress

import anyio
from fastapi import APIRouter, Request, Response

from watchkeeper import telemetry
from watchkeeper.actions.measure import read_gauges
from watchkeeper.errors import NotFound
from watchkeeper.http.answers import answer
from watchkeeper.http.context import Server
from watchkeeper.http.problems import MEDIA, problem
from watchkeeper.store.database import reachable

READY_SECONDS_MAX = 2.0

routes = APIRouter(tags=["health"])


@routes.get("/healthz", include_in_schema=True)
async def get_healthz() -> Response:
    """This process runs. Nothing else is asked, so that a slow database restarts nobody."""
    return answer({"status": "ok"})


@routes.get(
    "/readyz",
    responses={
        503: {
            "description": "Stopping, or without the database.",
            "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}},
        }
    },
)
async def get_readyz(request: Request) -> Response:
    """Whether to send requests here: not while stopping, nor without the database."""
    server: Server = request.app.state.server
    if server.stopping.is_set():
        return _not_ready(request, "this server is stopping")
    if not await server.readiness.share(lambda: _is_reachable(server)):
        return _not_ready(request, "the database does not answer")
    return answer({"status": "ready"})


async def _is_reachable(server: Server) -> bool:
    try:
        with anyio.fail_after(READY_SECONDS_MAX):
            # Threads of its own: those of the requests may all be waiting for the database.
            await anyio.to_thread.run_sync(
                reachable, server.db, limiter=server.health_threads, abandon_on_cancel=True
            )
    except Exception:
        return False
    return True


@routes.get("/metrics")
async def get_metrics(request: Request) -> Response:
    """Metrics in the text format of Prometheus; on another port if `metrics_port` is set."""
    server: Server = request.app.state.server
    if server.settings.metrics_port is not None:
        raise NotFound("metrics are served on a port of their own")
    text = await server.measures.share(lambda: _measured(server))
    return Response(text, media_type=telemetry.METRICS_MEDIA)


async def _measured(server: Server) -> bytes:
    with suppress(Exception), anyio.fail_after(READY_SECONDS_MAX):
        # Without the database everything else is still told.
        await anyio.to_thread.run_sync(
            read_gauges, server.db, limiter=server.health_threads, abandon_on_cancel=True
        )
    return telemetry.exposition()


def _not_ready(request: Request, why: str) -> Response:
    return problem(request.state.request_id, 503, "not_ready", why, headers={"Retry-After": "1"})
