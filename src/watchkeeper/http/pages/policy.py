"""Policy: the document in force, its history, and a new one checked, tried and put in force.

A new document stays in the form that it was pasted into until somebody applies it: nothing of it
is kept here, so that any server may answer next. It is tried on as much of the record as one
request can go through; longer ones are for the command line.
"""

from __future__ import annotations

import threading
from typing import Any

from fastapi import Response
from pydantic import TypeAdapter

from watchkeeper.actions.apply_policy import apply_policy
from watchkeeper.actions.plan_policy import Plan, plan_policy
from watchkeeper.actions.set_shadow import list_shadows
from watchkeeper.actions.show_policy import (
    compare_document,
    compare_versions,
    meaning_of,
    policy_history,
)
from watchkeeper.actions.tenant_tiers import policy_warnings
from watchkeeper.actions.views import view_policy
from watchkeeper.core.policy import Policy
from watchkeeper.core.time import DAY, HOUR
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.http import asked
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import Page, Shown, pages
from watchkeeper.http.policy import OUTSIDE_ABOVE, VERSION_MAX
from watchkeeper.http.policy_view import mistakes_of, plan_charts, plan_facts
from watchkeeper.input_types import Words
from watchkeeper.inputs import parse_value

DOCUMENT_BYTES_MAX = 512 * 1024
ENTRIES_MAX = 300_000
"""Of the ledger, for one request: a few seconds."""
HISTORY_SHOWN = 30
WINDOWS = {"1h": HOUR, "6h": 6 * HOUR, "1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY}
VIEWS = ("written", "meaning", "tenant")

routes = pages()
_WORDS: TypeAdapter[str] = TypeAdapter(Words)
_trying = threading.Lock()


@routes.get("/policy")
@needs(Access.READ)
def get_policy(page: Shown) -> Response:
    """The document in force, as it is written, as it is meant, or as one tenant sees it."""
    view = _view(page)
    before = asked.whole(page, "cursor", VERSION_MAX)
    found = policy_history(page.server.db, before, HISTORY_SHOWN + 1)
    more = str(found[HISTORY_SHOWN - 1].version) if len(found) > HISTORY_SHOWN else None
    policy, text = _document(page, view, None)
    return page.show(
        "policy.html",
        policy=policy,
        lines=text.splitlines(),
        view=view,
        versions=found[:HISTORY_SHOWN],
        more=more,
        is_first=before is None,
        may_change=_may_change(page),
        may_look=_may_look(page),
        written=_document(page, "written", None)[1] if _may_change(page) and policy.version else "",
        shadows=list_shadows(page.server.db) if _may_change(page) else [],
    )


@routes.get("/policy/check")
@routes.get("/policy/plan")
@needs(Access.READ)
def get_draft(page: Shown) -> Response:
    """What a reload of a page below shows: a document is not sent again by itself."""
    return page.back("/policy")


@routes.get("/policy/{version}")
@needs(Access.READ)
def get_policy_version(version: int, page: Shown) -> Response:
    """One version, and how it differs from another; from the one before, unless told."""
    number = _known(version)
    against = asked.whole(page, "against", VERSION_MAX)
    against = max(0, number - 1) if against is None else against
    view, whose = _view(page), None if _may_look(page) else page.tenant
    policy, text = _document(page, view, number)
    return page.show(
        "policy_version.html",
        policy=policy,
        lines=text.splitlines(),
        view=view,
        compared=compare_versions(page.server.db, whose, against, number),
        against=against,
        change=next(iter(policy_history(page.server.db, number + 1, 1)), None) if number else None,
        may_look=_may_look(page),
        newest=view_policy(page.server.db, None).version,
    )


@routes.post("/policy/check")
@needs(Access.ADMINISTER, all_tenants=True, form_bytes_max=DOCUMENT_BYTES_MAX)
def post_check(page: Shown) -> Response:
    """What is wrong with a document, or what it would change. Changes nothing."""
    return draft(page)


@routes.post("/policy/plan")
@needs(Access.ADMINISTER, all_tenants=True, form_bytes_max=DOCUMENT_BYTES_MAX)
def post_plan(page: Shown) -> Response:
    """Try a document on what was recorded. Changes nothing."""
    since = page.form.get("since", "")
    if since not in WINDOWS:
        raise Invalid.at("since", f"must be one of {', '.join(WINDOWS)}")
    only = page.form.get("only", "")
    whose = [page.ctx.tenant(only)] if only else None
    if not _trying.acquire(blocking=False):
        raise Conflict("another document is tried on this server just now: wait for it")
    try:
        plan = plan_policy(
            page.server.db,
            page.form.get("document", ""),
            since_us=WINDOWS[since],
            tenant_ids=whose,
            outside_above=OUTSIDE_ABOVE,
            entries_max=ENTRIES_MAX,
        )
    except Invalid:
        return draft(page)
    except Conflict as error:
        return draft(page, too_long=str(error))
    finally:
        _trying.release()
    return draft(page, plan=plan)


@routes.post("/policy/apply")
@needs(Access.ADMINISTER, all_tenants=True, form_bytes_max=DOCUMENT_BYTES_MAX)
def post_apply(page: Shown) -> Response:
    """Apply, unless another one was since somebody compared the two."""
    against = page.form.get("against", "")
    if not (against.isascii() and against.isdigit() and int(against) <= VERSION_MAX):
        raise Invalid.at("against", "must be the version that it was compared with")
    document, why = page.form.get("document", ""), reason(page)
    try:
        apply_policy(
            page.server.db, document, author=page.caller.name, reason=why, against=int(against)
        )
    except Invalid:
        return draft(page)
    return page.back("/policy", "applied")


def draft(page: Page, *, plan: Plan | None = None, too_long: str = "") -> Response:
    """The page of a document that is not in force: mistakes, or changes and what to do next."""
    document = page.form.get("document", "")
    shown: dict[str, Any] = {
        "document": document,
        "windows": list(WINDOWS),
        "since": page.form.get("since") or "1d",
        "only": page.form.get("only", ""),
        "too_long": too_long,
        "entries_max": ENTRIES_MAX,
        "plan": plan,
        "mistakes": [],
        "compared": None,
        "warnings": [],
    }
    if plan is not None:
        shown |= {"charts": plan_charts(plan), "facts": plan_facts(plan)}
    try:
        compared = compare_document(page.server.db, document)
    except Invalid as error:
        return page.show("policy_draft.html", 422, **shown | {"mistakes": mistakes_of(error)})
    warnings = policy_warnings(page.server.db, compared.after)
    return page.show("policy_draft.html", **shown | {"compared": compared, "warnings": warnings})


def reason(page: Page) -> str:
    """Why, as the record will have it."""
    return parse_value(_WORDS, page.form.get("reason", ""), "reason")


def _may_look(page: Page) -> bool:
    """The whole document names every tenant: it is for keys of all of them."""
    return page.caller.tenant_id is None


def _may_change(page: Page) -> bool:
    return page.may_administer and page.caller.tenant_id is None


def _view(page: Page) -> str:
    if not _may_look(page):
        return "tenant"
    return asked.one_of(page, "view", VIEWS) or "written"


def _document(page: Page, view: str, version: int | None) -> tuple[Policy, str]:
    db = page.server.db
    if view == "tenant":
        policy = view_policy(db, page.tenant, version)
        return policy, policy.text
    policy = view_policy(db, None, version)
    return policy, meaning_of(policy) if view == "meaning" else policy.text


def _known(version: int) -> int:
    if not 0 <= version <= VERSION_MAX:
        raise NotFound(f"there is no policy version {version}")
    return version
