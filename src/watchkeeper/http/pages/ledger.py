"""The ledger: its newest entries as they come, older ones by page, and whether its seals hold."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from watchkeeper.actions.search_ledger import Search, search_ledger
from watchkeeper.actions.show_seals import show_seals
from watchkeeper.actions.verify_ledger import ChainReport, verify_ledger
from watchkeeper.core.ledger import Kind, Stage
from watchkeeper.http import asked
from watchkeeper.http.access import Access, needs
from watchkeeper.http.links import with_query
from watchkeeper.http.page import Page, Shown, pages
from watchkeeper.http.told import told_of

LISTED = 50
VERIFIED = 10_000
"""Of the newest entries, so many are compared with their seals at a click."""

routes = pages()


@routes.get("/ledger")
@needs(Access.READ)
def get_ledger(page: Shown) -> Response:
    return page.show("ledger.html", **_ledger(page), report=None, verified=VERIFIED)


@routes.get("/ledger/verify")
@needs(Access.READ)
def get_ledger_verify(page: Shown) -> Response:
    """What a reload of the page below shows: it is not verified again by itself."""
    return page.back("/ledger")


@routes.post("/ledger/verify")
@needs(Access.OPERATE)
def post_ledger_verify(page: Shown) -> Response:
    """Compute the chain of the newest entries again, and show what was found."""
    report: ChainReport = verify_ledger(page.server.db, page.tenant, newest=VERIFIED)
    return page.show("ledger.html", **_ledger(page), report=report, verified=VERIFIED)


def _ledger(page: Page) -> dict[str, Any]:
    given = {
        "stage": asked.one_of(page, "stage", tuple(Stage)),
        "kind": asked.one_of(page, "kind", tuple(Kind)),
        "subject": asked.text(page, "subject"),
    }
    filters = {name: str(value) for name, value in given.items() if value is not None}
    found = search_ledger(
        page.server.db, page.tenant, Search(filters), before=asked.place(page), limit=LISTED
    )
    return {
        "groups": [[told_of(one)] for one in found.entries],
        "given": given,
        "stages": tuple(Stage),
        "kinds": tuple(Kind),
        "here": with_query("/ledger", **given),
        "older": found.next_before,
        "is_first": "cursor" not in page.request.query_params,
        "seals": show_seals(page.server.db, page.tenant),
    }
