"""How plans and intents look in answers."""

from __future__ import annotations

from typing import Any

from watchkeeper.act_results import intent_of, plan_entry_json, plan_of, step_of
from watchkeeper.actions.plans import Reported
from watchkeeper.actions.show_plan import ShownPlan, Why
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_choices import Choice, Deed
from watchkeeper.http.answers import iso
from watchkeeper.store.plans import Loaded

_CALLS = {
    Deed.EDIT: "PUT /v1/plans/{id}",
    Deed.TELL: "POST /v1/plans/{id}/facts",
    Deed.SKIP: "POST /v1/plans/{id}/steps/{step_id}/skip",
    Deed.APPROVE_INTENT: "POST /v1/intents/{id}/approve",
    Deed.REJECT_INTENT: "POST /v1/intents/{id}/reject",
    Deed.REPORT_OUTCOME: "POST /v1/intents/{id}/outcome",
}


def plan(found: ShownPlan | Loaded, tenant_id: TenantId) -> dict[str, Any]:
    return plan_of(found.plan, found.steps, found.intents, tenant_id).to_json()


def reported(found: Reported, tenant_id: TenantId) -> dict[str, Any]:
    return {**intent_of(found.intent, tenant_id).to_json(), "counted": not found.is_late}


def why(found: Why, tenant_id: TenantId) -> dict[str, Any]:
    told = found.plan
    return {
        "plan_id": told.plan_id,
        "tenant_id": tenant_id,
        "account_id": told.account_id,
        "plan_type": told.plan_type,
        "status": told.status,
        "reason": told.reason,
        "waits_for": found.waits_for,
        "until": iso(found.until),
        "expires_at": iso(told.expires_at),
        "next_step": None if found.next_step is None else step_of(found.next_step).to_json(),
        "intent": None if found.intent is None else intent_of(found.intent, tenant_id).to_json(),
        "steps": [step_of(step).to_json() for step in found.steps],
        "recent": [plan_entry_json(entry) for entry in found.recent],
        "can": [choice(one) for one in found.can],
    }


def choice(one: Choice) -> dict[str, Any]:
    call = _CALLS.get(one.deed, f"POST /v1/plans/{{id}}/{one.deed}")
    return {
        "deed": one.deed,
        "call": call.format(id=one.id, step_id=one.step_id),
        "words": one.words,
    }
