"""Plans: a board by status, one plan with its steps, and what a person may do with them."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.act_results import intent_of, plan_entry_json, plan_of
from watchkeeper.actions import show_plan
from watchkeeper.core.plans import PlanStatus
from watchkeeper.http.access import Access, needs
from watchkeeper.http.page import Page, Shown, pages

BOARD = (
    PlanStatus.DRAFT,
    PlanStatus.APPROVED,
    PlanStatus.ACTIVE,
    PlanStatus.PAUSED,
    PlanStatus.COMPLETED,
)
COLUMN_MAX = 50
WAITING_MAX = 100
LEDGER_MAX = 200

routes = pages()


@routes.get("/plans")
@needs(Access.READ)
def get_plans(page: Shown) -> Response:
    """The board, and above it what waits for a person."""
    db, tenant = page.server.db, page.tenant
    columns = []
    for status in BOARD:
        found = show_plan.list_plans(
            db, tenant, {"status": status.value}, before=None, limit=COLUMN_MAX + 1
        )
        shown = [plan_of(one.plan, one.steps, one.intents, tenant) for one in found[:COLUMN_MAX]]
        columns.append((status.value, shown, len(found) > COLUMN_MAX))
    waiting = show_plan.list_intents(
        db, tenant, {"state": "PENDING_APPROVAL"}, before=None, limit=WAITING_MAX
    )
    return page.show(
        "plans.html", columns=columns, waiting=[intent_of(one, tenant) for one in waiting]
    )


@routes.get("/plans/{plan_id}")
@needs(Access.READ)
def get_plan(plan_id: str, page: Shown) -> Response:
    db, tenant = page.server.db, page.tenant
    found = show_plan.show_plan(db, tenant, plan_id)
    why = show_plan.why_plan(db, tenant, plan_id)
    entries = show_plan.plan_ledger(db, tenant, plan_id, limit=LEDGER_MAX)
    return page.show(
        "plan.html",
        plan=plan_of(found.plan, found.steps, found.intents, tenant),
        why=why,
        entries=[plan_entry_json(one) for one in entries],
    )


@routes.post("/plans/{plan_id}/{deed}")
@needs(Access.OPERATE)
def post_plan_deed(plan_id: str, deed: str, page: Shown) -> Response:
    """Approve, pause, resume, abort; or skip a step, which the form names."""
    carrier, by, reason = page.server.carrier, page.caller.name, _reason(page)
    match deed:
        case "approve":
            carrier.approve(page.tenant, plan_id, by=by, is_person=True)
        case "pause":
            carrier.pause(page.tenant, plan_id, reason, by=by)
        case "resume":
            carrier.resume(page.tenant, plan_id, reason, by=by)
        case "abort":
            carrier.abort(page.tenant, plan_id, reason, by=by)
        case "skip":
            step_id = page.form.get("step_id", "")
            carrier.skip(page.tenant, plan_id, step_id, reason or f"skipped by {by}", by=by)
        case _:
            return page.back(f"/plans/{plan_id}")
    said = {"approve": "approved", "pause": "paused", "resume": "resumed"}
    said |= {"abort": "aborted", "skip": "skipped"}
    return page.back(f"/plans/{plan_id}", said[deed])


@routes.post("/intents/{intent_id}/{answer}")
@needs(Access.OPERATE)
def post_intent_answer(intent_id: str, answer: str, page: Shown) -> Response:
    carrier, by = page.server.carrier, page.caller.name
    intent = show_plan.show_intent(page.server.db, page.tenant, intent_id)
    if answer == "approve":
        carrier.approve_intent(page.tenant, intent_id, by=by)
    else:
        carrier.reject_intent(page.tenant, intent_id, _reason(page), by=by)
    after = page.form.get("next") or f"/plans/{intent.plan_id}"
    is_ours = after.startswith("/") and not after.startswith("//")
    said = "approved" if answer == "approve" else "rejected"
    return page.back(after if is_ours else "/plans", said)


def _reason(page: Page) -> str | None:
    return page.form.get("reason") or None
