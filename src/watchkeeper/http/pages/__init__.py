"""The dashboard: pages for people, rendered on the server, live by server-sent events."""

from fastapi import APIRouter

from watchkeeper.http.pages import (
    budgets,
    clock,
    connectors,
    kill_switches,
    live,
    login,
    outbox,
    overview,
    plans,
    reports,
)

PAGES: tuple[APIRouter, ...] = (
    login.routes,
    live.routes,
    overview.routes,
    plans.routes,
    budgets.routes,
    connectors.routes,
    outbox.routes,
    reports.routes,
    kill_switches.routes,
    clock.routes,
)
