"""Plans: a board by status, one plan with its steps, and what a person may do with them."""

from __future__ import annotations

from fastapi import Response

from watchkeeper.act_inputs import ReasonIn
from watchkeeper.act_results import intent_of, plan_entry_json, plan_of, step_of
from watchkeeper.actions import show_board, show_plan
from watchkeeper.actions.deeds import DEEDS, OF_INTENTS, OF_PLANS, DeedRule, Order
from watchkeeper.actions.show_board import COUNTED_MAX, SCANNED_MAX, Asking
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_choices import Deed
from watchkeeper.core.plans import ENDED, OVER, PlanStatus
from watchkeeper.errors import NotFound
from watchkeeper.http import asked
from watchkeeper.http.access import Access, needs
from watchkeeper.http.answers import cursor_of, position
from watchkeeper.http.context import identifier
from watchkeeper.http.page import Page, Shown, own_path, pages
from watchkeeper.http.plan_chart import plan_chart
from watchkeeper.inputs import parse
from watchkeeper.store.plans import Loaded

BOARD = (PlanStatus.DRAFT, PlanStatus.APPROVED, PlanStatus.ACTIVE, PlanStatus.PAUSED)
LISTED_MAX = 50
ENTRIES_MAX = 50

routes = pages()


@routes.get("/plans")
@needs(Access.READ)
def get_plans(page: Shown) -> Response:
    """The board, and above it what waits for a person; with a status, the list of those."""
    status = asked.one_of(page, "status", PlanStatus)
    filters = _filters(page)
    if status is not None:
        return _listed(page, status, filters)
    found = show_board.show_board(page.server.db, page.tenant, filters)
    columns = [(one.value, _plans(page, found.plans[one]), found.counts[one]) for one in BOARD]
    return page.show(
        "plans.html",
        columns=columns,
        ended=_plans(page, found.ended),
        ended_counts=[(one.value, found.counts[one]) for one in PlanStatus if one in ENDED],
        waiting=[_asking(one, page.tenant) for one in found.waiting],
        waiting_count=found.waiting_count,
        counted_max=COUNTED_MAX,
        scanned_max=SCANNED_MAX,
        filters=filters,
        types=found.types,
        example=found.example,
        here=asked.address("/plans", account=filters.get("account_id"), type=_type(filters)),
        reject=DEEDS[Deed.REJECT_INTENT],
        words=_words,
    )


def _listed(page: Page, status: PlanStatus, filters: dict[str, str]) -> Response:
    before = asked.behind(page, "plans")
    given = {**filters, "status": status.value}
    found = show_board.list_board(
        page.server.db, page.tenant, given, before=before, limit=LISTED_MAX
    )
    same = {"account": filters.get("account_id"), "type": _type(filters)}
    return page.show(
        "plans_listed.html",
        wanted=status.value,
        statuses=[one.value for one in PlanStatus],
        plans=_plans(page, found.plans),
        is_cut=found.is_cut,
        filters=filters,
        scanned_max=SCANNED_MAX,
        here=asked.address("/plans", status=status.value, **same),
        board=asked.address("/plans", **same),
        more=None if found.next is None else cursor_of("plans", found.next),
    )


@routes.get("/plans/{plan_id}")
@needs(Access.READ)
def get_plan(plan_id: str, page: Shown) -> Response:
    """One plan: why it stands where it stands, its steps and attempts, and all that happened."""
    db, tenant, known = page.server.db, page.tenant, identifier(plan_id, "plan")
    before = position(page.request.query_params.get("cursor") or None, "plan_entries", 0) or None
    found = show_plan.show_plan(db, tenant, known)
    why = show_plan.why_plan(db, tenant, known)
    entries = show_plan.plan_history(db, tenant, known, before=before, limit=ENTRIES_MAX)
    plan = plan_of(found.plan, found.steps, found.intents, tenant)
    is_live = found.plan.status not in ENDED and found.plan.status is not PlanStatus.DRAFT
    return page.show(
        "plan.html",
        plan=plan,
        why=why,
        can=[(DEEDS[one.deed], one) for one in why.can if one.deed in DEEDS],
        others=[one for one in why.can if one.deed not in DEEDS],
        next_step=None if why.next_step is None else step_of(why.next_step),
        skippable={one.step_id for one in found.steps if is_live and one.status not in OVER},
        skip=DEEDS[Deed.SKIP],
        attempts={
            step.step_id: [one for one in plan.intents if one.step_id == step.step_id]
            for step in plan.steps
        },
        chart=plan_chart(found),
        entries=[plan_entry_json(one) for one in entries],
        more=cursor_of("plan_entries", entries[-1].seq) if len(entries) == ENTRIES_MAX else None,
        is_first=before is None,
    )


@routes.post("/plans/{plan_id}/{deed}")
@needs(Access.OPERATE)
def post_plan_deed(plan_id: str, deed: str, page: Shown) -> Response:
    """Approve, pause, resume, abort; or skip a step, which the form names."""
    rule, known = _rule(OF_PLANS, deed), identifier(plan_id, "plan")
    step_id = page.form.get("step_id") or None
    rule.do(page.server.carrier, Order(page.tenant, known, page.caller.name, _why(page), step_id))
    return page.back(own_path(page.form.get("next", ""), f"/plans/{known}"), rule.said)


@routes.post("/intents/{intent_id}/{deed}")
@needs(Access.OPERATE)
def post_intent_deed(intent_id: str, deed: str, page: Shown) -> Response:
    """Approve or reject what one attempt asks for."""
    rule, known = _rule(OF_INTENTS, deed), identifier(intent_id, "intent")
    intent = show_plan.show_intent(page.server.db, page.tenant, known)
    rule.do(page.server.carrier, Order(page.tenant, known, page.caller.name, _why(page)))
    return page.back(own_path(page.form.get("next", ""), f"/plans/{intent.plan_id}"), rule.said)


def _rule(known: dict[str, DeedRule], name: str) -> DeedRule:
    if name not in known:
        raise NotFound(f"unknown action: {name}")
    return known[name]


def _why(page: Page) -> str | None:
    return parse(ReasonIn, {"reason": page.form.get("reason") or None}).reason


def _filters(page: Page) -> dict[str, str]:
    given = {
        "account_id": asked.text(page, "account", asked.ACCOUNT),
        "plan_type": asked.text(page, "type", asked.NAME),
    }
    return {name: value for name, value in given.items() if value is not None}


def _type(filters: dict[str, str]) -> str | None:
    return filters.get("plan_type")


def _plans(page: Page, found: list[Loaded]) -> list[object]:
    return [plan_of(one.plan, one.steps, one.intents, page.tenant) for one in found]


def _asking(one: Asking, tenant: TenantId) -> dict[str, object]:
    return {
        "intent": intent_of(one.intent, tenant),
        "objective": one.plan.objective,
        "plan_type": one.plan.plan_type,
        "data": step_of(one.step).data,
        "risk": one.risk.name.lower(),
    }


def _words(count: int) -> str:
    """A count that stopped says so."""
    return f"{COUNTED_MAX:,}+" if count > COUNTED_MAX else f"{count:,}"
