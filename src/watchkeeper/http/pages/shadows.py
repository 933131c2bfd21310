"""Shadow policies: asked beside the one in force, looked at, promoted or taken away."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.actions.set_shadow import (
    promote_shadow,
    remove_shadow,
    set_shadow,
    show_shadow,
)
from watchkeeper.actions.views import view_policy
from watchkeeper.core.policy import diff
from watchkeeper.core.replay_tally import label
from watchkeeper.errors import Invalid
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import Shown, pages
from watchkeeper.http.pages.policy import DOCUMENT_BYTES_MAX, draft, reason
from watchkeeper.http.policy_view import by_change
from watchkeeper.inputs import parse_sink_name

routes = pages()


@routes.post("/policy/shadows")
@needs(Access.ADMINISTER, all_tenants=True, form_bytes_max=DOCUMENT_BYTES_MAX)
def post_shadow(page: Shown) -> Response:
    """Ask this document too, of every event from now on."""
    name = parse_sink_name(page.form.get("name", ""))
    document, author = page.form.get("document", ""), page.caller.name
    why = reason(page)
    try:
        set_shadow(page.server.db, name, document, author=author, reason=why)
    except Invalid:
        return draft(page)
    return page.back(f"/policy/shadows/{name}", "set")


@routes.get("/policy/shadows/{name}")
@needs(Access.ADMINISTER, all_tenants=True)
def get_shadow(name: str, page: Shown) -> Response:
    """Where it would have gone another way since it was set."""
    shown = show_shadow(page.server.db, name)
    changes = [
        (label(pair.partition("|")[0]), label(pair.partition("|")[2]), count)
        for pair, count in shown.changes.most_common()
    ]
    in_force = view_policy(page.server.db, None)
    return page.show(
        "shadow.html",
        shadow=shown.shadow,
        found=shown,
        in_force=in_force,
        changes=diff(in_force, shown.shadow.policy),
        chart=by_change(changes),
        label=label,
        lines=shown.shadow.policy.text.splitlines(),
    )


@routes.post("/policy/shadows/{name}/promote")
@needs(Access.ADMINISTER, all_tenants=True)
def post_promotion(name: str, page: Shown) -> Response:
    """Apply; it is no shadow any more."""
    promote_shadow(page.server.db, name, author=page.caller.name, reason=reason(page))
    return page.back("/policy", "applied")


@routes.post("/policy/shadows/{name}/remove")
@needs(Access.ADMINISTER, all_tenants=True)
def post_removal(name: str, page: Shown) -> Response:
    """Ask it no more, and forget what it found."""
    remove_shadow(page.server.db, name, author=page.caller.name)
    return page.back("/policy", "removed")
