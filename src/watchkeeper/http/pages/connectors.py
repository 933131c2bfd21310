"""Connectors: whether each may pull now and what stops it, its limits and prices, how it went."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.show_connectors import show_connectors
from watchkeeper.actions.show_pulls import list_pulls
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import Shown, pages
from watchkeeper.http.pulls import pull_place
from watchkeeper.perceive_inputs import parse_connector_id

CONNECTORS_MAX = 100
PULLS_MAX = 50

routes = pages()


@routes.get("/connectors")
@needs(Access.READ)
def get_connectors(page: Shown) -> Response:
    """The connectors by name, and under them the newest pulls, which go back page by page."""
    asked = page.request.query_params
    after, cursor = asked.get("after", ""), asked.get("cursor")
    db, tenant = page.server.db, page.tenant
    before = None if not cursor else pull_place(cursor)
    name = parse_connector_id(after) if after else ""
    found = show_connectors(db, tenant, name, CONNECTORS_MAX + 1)
    pulls = list_pulls(db, tenant, {}, before=before, limit=PULLS_MAX + 1)
    shown, rows = found.found[:CONNECTORS_MAX], pulls[:PULLS_MAX]
    last = rows[-1] if len(pulls) > PULLS_MAX else None
    return page.show(
        "connectors.html",
        now=found.now,
        budget=found.budget,
        connectors=shown,
        more=shown[-1].shared.connector_id if len(found.found) > CONNECTORS_MAX else None,
        pulls=rows,
        next=None if last is None else f"{last.scheduled_at}/{last.pull_job_id}",
        is_first=before is None,
    )
