"""Builds the server from a database and settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Response

from watchkeeper import telemetry
from watchkeeper.actions.act_topics import register_act
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.perceive_topics import register_perceive
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.tick_milestones import register_milestones
from watchkeeper.actions.topics import register_own
from watchkeeper.actions.turns import Turns
from watchkeeper.handlers.registry import Registry
from watchkeeper.http import (
    accounts,
    api_keys,
    budgets,
    clock,
    connectors,
    decisions,
    health,
    intents,
    kill_switches,
    ledger,
    openapi,
    outbox,
    plans,
    policy,
    problems,
    pulls,
    quota,
    reports,
    schedules,
    shadows,
    signals,
    sinks,
    stream,
    tenants,
    triggers,
    turns,
)
from watchkeeper.http.access import JSON
from watchkeeper.http.answers import answer
from watchkeeper.http.context import Server, Workers
from watchkeeper.http.edge import Edge
from watchkeeper.http.keys import Keyring
from watchkeeper.http.operations import operation_id
from watchkeeper.http.page_errors import for_browsers
from watchkeeper.http.pages import PAGES
from watchkeeper.http.route import GuardedRoute
from watchkeeper.moves.admission import Decided
from watchkeeper.plan_methods import Proposer
from watchkeeper.settings import Settings
from watchkeeper.store.database import Database

ROUTERS: tuple[APIRouter, ...] = (
    tenants.routes,
    api_keys.routes,
    shadows.routes,  # before the versions of the policy, which are numbers
    policy.routes,
    accounts.routes,
    signals.routes,
    triggers.routes,
    decisions.routes,
    schedules.routes,
    sinks.routes,
    turns.routes,
    quota.routes,
    pulls.routes,
    budgets.routes,
    connectors.routes,
    reports.routes,
    plans.routes,
    intents.routes,
    outbox.routes,
    ledger.routes,
    stream.routes,
    kill_switches.routes,
    clock.routes,
)


def create_app(
    db: Database,
    settings: Settings,
    *,
    dev: bool = False,
    workers: Workers | None = None,
    admission: Admission | None = None,
    turns: Turns | None = None,
    carrier: Plans | None = None,
    proposers: Mapping[str, Proposer] | None = None,
) -> FastAPI:
    """The ASGI application. In `dev` an unknown tenant is made by its first use.

    `app.state.server.stopping` is to be set when a stop begins: then `/readyz` fails
    first, while requests under way are still answered.
    """
    secret = settings.admin_key
    admission = admission or Admission(db, makes_tenants=dev)
    carrier = carrier or Plans(db, makes_tenants=dev)
    server = Server(
        db=db,
        settings=settings,
        admission=admission,
        turns=turns or Turns(db, makes_tenants=dev, namespace=settings.usage_namespace),
        registry=_own_registry(db, admission, carrier, settings.usage_namespace)
        if workers is None
        else workers.registry,
        carrier=carrier,
        proposers={} if proposers is None else proposers,
        keyring=Keyring(db, None if secret is None else secret.get_secret_value()),
        dev=dev,
        workers=workers,
    )
    server.registry.reach = server.registry.reach.widened(
        private=settings.webhooks_private, dev=dev
    )
    if count_verdicts not in admission.observers:
        admission.observers.append(count_verdicts)
    app = FastAPI(
        version=version("watchkeeper"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=operation_id,
        # Its own would write the query of a request into traces; ours are in `telemetry`.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        lifespan=_lifespan,
    )
    app.state.server = server
    app.state.guarded = _guarded_routes()
    app.state.routes = []
    for routes in (health.routes, *ROUTERS, *PAGES):  # in the order in which they are matched
        app.include_router(routes)
        app.state.routes += routes.routes
    _describe(app)
    problems.install(app, for_browsers)
    app.add_middleware(Edge, settings=settings)
    return app


def _own_registry(
    db: Database, admission: Admission, carrier: Plans, usage_namespace: str
) -> Registry:
    """Where nobody works beside the server: what the desk must know of our own topics."""
    registry = Registry(db.policies.delivery)
    register_own(registry, admission, usage_namespace)
    register_perceive(registry, db)
    register_act(registry, carrier)
    register_milestones(registry, db)
    return registry


def count_verdicts(decided: Sequence[Decided]) -> None:
    telemetry.BATCH_EVENTS.observe(len(decided))
    for one in decided:
        telemetry.count_verdict(one.verdict.result, one.verdict.reason)


def _guarded_routes() -> list[GuardedRoute]:
    found: list[GuardedRoute] = []
    for routes in ROUTERS:
        for route in routes.routes:
            if not isinstance(route, GuardedRoute):
                raise RuntimeError(f"the route {route} is not guarded: make it with router()")
            found.append(route)
    return found


def _describe(app: FastAPI) -> None:
    """What anybody may see: the description of the API."""
    described: list[bytes] = []

    @app.get("/openapi.json", include_in_schema=False)
    async def get_description() -> Response:
        if not described:
            described.append(bytes(answer(openapi.describe(app)).body))
        return Response(described[0], media_type=JSON)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    server: Server = app.state.server
    anyio.to_thread.current_default_thread_limiter().total_tokens = server.settings.threads_max
    yield
    server.stopping.set()
    await anyio.to_thread.run_sync(server.feed.close)
