"""The dashboard: pages for people, rendered on the server, live by server-sent events."""

from fastapi import APIRouter

from watchkeeper.http.pages import budgets, connectors, live, login, overview, plans

PAGES: tuple[APIRouter, ...] = (
    login.routes,
    live.routes,
    overview.routes,
    plans.routes,
    budgets.routes,
    connectors.routes,
)
