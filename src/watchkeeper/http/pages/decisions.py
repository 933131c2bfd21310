"""Decisions: found by what was decided; one of them with every check it went through, drawn."""

from __future__ import annotations

import orjson
from fastapi import Response

from watchkeeper.actions.explain_decision import explain_decision
from watchkeeper.actions.export_bundle import export_bundle
from watchkeeper.actions.search_ledger import Search, search_decisions
from watchkeeper.actions.show_turn import turns_of_decision
from watchkeeper.actions.views import run_status, view_decision
from watchkeeper.core.admission import Reason, Result
from watchkeeper.core.ids import DecisionId
from watchkeeper.http import asked
from watchkeeper.http.access import Access, needs
from watchkeeper.http.context import identifier
from watchkeeper.http.links import with_query
from watchkeeper.http.page import HEADERS, Shown, pages
from watchkeeper.results import verdict_of

LISTED = 50

routes = pages()


@routes.get("/decisions")
@needs(Access.READ)
def get_decisions(page: Shown) -> Response:
    given = {
        "result": asked.one_of(page, "result", tuple(Result)),
        "reason": asked.one_of(page, "reason", tuple(Reason)),
        "trigger_type": asked.text(page, "trigger_type"),
        "account": asked.text(page, "account"),
    }
    since, until = asked.moment(page, "since"), asked.moment(page, "until")
    filters = {
        "subject" if name == "account" else name: str(value)
        for name, value in given.items()
        if value is not None
    }
    found = search_decisions(
        page.server.db,
        page.tenant,
        Search(filters, since, until),
        before=asked.place(page),
        limit=LISTED,
    )
    times = {name: asked.text(page, name) for name in ("since", "until")}
    return page.show(
        "decisions.html",
        found=[(one, verdict_of(one.decided), run_status(one)) for one in found.decisions],
        given={**given, **times},
        results=tuple(Result),
        reasons=tuple(Reason),
        here=with_query("/decisions", **given, **times),
        older=found.next_before,
        is_first="cursor" not in page.request.query_params,
    )


@routes.get("/decisions/{decision_id}")
@needs(Access.READ)
def get_decision(decision_id: str, page: Shown) -> Response:
    name = DecisionId(identifier(decision_id, "decision"))
    db, tenant = page.server.db, page.tenant
    view = view_decision(db, tenant, name)
    why = explain_decision(db, tenant, name)
    return page.show(
        "decision.html",
        view=view,
        event=view.decided.event,
        verdict=why.verdict,
        trail=why.trail,
        agrees=why.agrees,
        state=run_status(view),
        turns=turns_of_decision(db, tenant, name),
    )


@routes.get("/decisions/{decision_id}/bundle")
@needs(Access.READ)
def get_bundle(decision_id: str, page: Shown) -> Response:
    """The same document as over HTTP and on the command line, as a file."""
    name = identifier(decision_id, "decision")
    bundle = export_bundle(page.server.db, page.tenant, name)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="decision-{name}.json"'}
    return Response(orjson.dumps(bundle), 200, headers, "application/json")
