"""The dashboard: pages for people, rendered on the server, live by server-sent events."""

from fastapi import APIRouter

from watchkeeper.http.pages import live, login, plans

PAGES: tuple[APIRouter, ...] = (
    login.routes,
    live.routes,
    plans.routes,
)
