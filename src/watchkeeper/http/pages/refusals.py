"""One pull and one turn: how it went, or what it was refused for, drawn as checks."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.explain_refusal import Refusal, explain_refused_entry, explain_refused_turn
from watchkeeper.actions.show_pulls import show_pull
from watchkeeper.actions.show_turn import show_turn
from watchkeeper.core.ids import TenantId
from watchkeeper.errors import NotFound
from watchkeeper.http import asked
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import Shown, pages
from watchkeeper.store.database import Database
from watchkeeper.store.pulls import Pull
from watchkeeper.turn_results import Turn

routes = pages()


@routes.get("/pulls/{name:path}")
@needs(Access.READ)
def get_pull(name: str, page: Shown) -> Response:
    """A pull by its id; one that was refused by the id of its entry in the ledger."""
    db, tenant = page.server.db, page.tenant
    name = asked.checked("pull", name) or ""
    refusal = explain_refused_entry(db, tenant, name)
    pull = _pull(db, tenant, name)
    if pull is None and refusal is None:
        raise NotFound(f"there is no pull {name}; one that was refused is linked in the ledger")
    return page.show("pull.html", name=name, pull=pull, refusal=refusal)


@routes.get("/turns/{turn_id:path}")
@needs(Access.READ)
def get_turn(turn_id: str, page: Shown) -> Response:
    db, tenant = page.server.db, page.tenant
    name = asked.checked("turn", turn_id) or ""
    refusal, turn = _refused(db, tenant, name), _turn(db, tenant, name)
    if turn is None and refusal is None:
        raise NotFound(f"there is no turn {name}", turn_id=name)
    return page.show("turn.html", name=name, turn=turn, refusal=refusal)


def _pull(db: Database, tenant: TenantId, name: str) -> Pull | None:
    try:
        return show_pull(db, tenant, name)
    except NotFound:
        return None


def _turn(db: Database, tenant: TenantId, name: str) -> Turn | None:
    try:
        return show_turn(db, tenant, name)
    except NotFound:
        return None


def _refused(db: Database, tenant: TenantId, name: str) -> Refusal | None:
    try:
        return explain_refused_turn(db, tenant, name)
    except NotFound:
        return None
