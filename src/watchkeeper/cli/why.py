"""Why a plan stands where it stands: one screen for people, one document for programs."""

from __future__ import annotations

import shlex
from typing import Any

from watchkeeper.act_results import intent_of, plan_entry_json, step_of
from watchkeeper.actions.show_plan import Why
from watchkeeper.cli.output import say, say_facts, say_table
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_choices import Choice, Deed
from watchkeeper.core.time import to_iso

STEPS = ("step_id", "action_type", "status", "attempts", "reason")
ENTRIES = ("at", "kind", "step_id", "attempt", "reason")
_COMMANDS = {
    Deed.APPROVE: "plans approve {id}",
    Deed.EDIT: "plans edit {id} --file plan.json",
    Deed.RESUME: "plans resume {id}",
    Deed.PAUSE: "plans pause {id}",
    Deed.SKIP: "plans skip {id} {step_id} --reason WHY",
    Deed.TELL: "plans tell {id} --fact NAME=VALUE",
    Deed.ABORT: "plans abort {id}",
    Deed.APPROVE_INTENT: "intents approve {id}",
    Deed.REJECT_INTENT: "intents reject {id} --reason WHY",
    Deed.REPORT_OUTCOME: "intents outcome {id} --succeeded",
}


def command(one: Choice) -> str:
    """What to type; a step may have any name."""
    told = _COMMANDS[one.deed].format(id=one.id, step_id=shlex.quote(one.step_id or ""))
    return f"watchkeeper {told}"


def why_data(found: Why, owner: TenantId) -> dict[str, Any]:
    plan = found.plan
    return {
        "plan_id": plan.plan_id,
        "tenant_id": owner,
        "account_id": plan.account_id,
        "plan_type": plan.plan_type,
        "objective": plan.objective,
        "status": plan.status,
        "waits_for": found.waits_for,
        "until": None if found.until is None else to_iso(found.until),
        "expires_at": to_iso(plan.expires_at),
        "intent": None if found.intent is None else intent_of(found.intent, owner).to_json(),
        "steps": [step_of(step).to_json() for step in found.steps],
        "recent": [plan_entry_json(entry) for entry in found.recent],
        "can": [
            {"deed": one.deed, "command": command(one), "words": one.words} for one in found.can
        ],
    }


def say_why(found: Why, owner: TenantId) -> None:
    told = why_data(found, owner)
    steps, recent, can = (told.pop(name) for name in ("steps", "recent", "can"))
    told.pop("intent")
    say_facts(told)
    say()
    say_table(STEPS, [[row[c] for c in STEPS] for row in steps])
    say()
    say_table(ENTRIES, [[row[c] for c in ENTRIES] for row in recent], empty="Nothing happened.")
    say()
    rows = [(one["command"], one["words"]) for one in can]
    say_table(("you can", "and then"), rows, empty="Nothing is left to do: it has ended.")
