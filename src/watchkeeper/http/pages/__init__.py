"""The dashboard: pages for people, rendered on the server, live by server-sent events."""

from fastapi import APIRouter

from watchkeeper.http.pages import (
    accounts,
    budgets,
    clock,
    connectors,
    decisions,
    kill_switches,
    ledger,
    live,
    login,
    outbox,
    overview,
    plans,
    policy,
    refusals,
    reports,
    shadows,
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
    accounts.routes,
    decisions.routes,
    refusals.routes,
    ledger.routes,
    policy.routes,
    shadows.routes,
)
