"""Why a plan is held back or active, and who had to say yes to an action: from the ledger.

A plan that was never at its gate is asked about as it stands now. Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchkeeper.core.approvals import Risk
from watchkeeper.core.explain_act import (
    ActTrail,
    ApprovalCase,
    GateCase,
    approval_trail,
    gate_trail,
    read_gate,
)
from watchkeeper.core.ids import IntentId, PlanId, TenantId
from watchkeeper.core.ledger import Kind, Recorded
from watchkeeper.core.plan_types import GateFacts
from watchkeeper.core.plans import PlanStatus
from watchkeeper.core.policy import TenantRules, rules_for
from watchkeeper.core.time import Instant, to_iso
from watchkeeper.errors import NotFound
from watchkeeper.ids import is_uuid
from watchkeeper.results import check_json
from watchkeeper.store import accounts, action_types, intents, ledger, plans, tenant_facts
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.plans import Loaded
from watchkeeper.store.transaction import ReadTx

PAGE = 500
LOOKED_THROUGH_MAX = 10_000
"""Entries of a plan that are looked through for one attempt, the newest first."""


@dataclass(frozen=True, slots=True)
class ActExplanation:
    """A decision about a plan or an action, and the trail that leads to it."""

    kind: str  # plan or intent
    id: str
    plan_id: str
    at: Instant
    entry_id: str | None  # None: as it would be decided now
    policy_version: int
    trail: ActTrail
    agrees: bool  # what was recorded follows from what was recorded with it

    def to_json(self) -> dict[str, Any]:
        """As the HTTP API gives it."""
        trail, earliest = self.trail, self.trail.earliest_pass_at
        return {
            "explained": {
                "kind": self.kind,
                "id": self.id,
                "plan_id": self.plan_id,
                "result": trail.result,
                "reason": trail.reason,
                "explanation": trail.explanation,
                "clause": trail.clause,
                "at": to_iso(self.at),
                "entry_id": self.entry_id,
                "policy_version": self.policy_version,
            },
            "checks": [check_json(check) for check in trail.checks],
            "binding_check": trail.binding_check,
            "earliest_pass_at": None if earliest is None else to_iso(earliest),
            "smallest_change": trail.smallest_change,
            "agrees": self.agrees,
        }


def explain_plan(db: Database, tenant_id: TenantId, plan_id: str) -> ActExplanation:
    """Why the gate let a plan pass or not, the last time it answered; or what it would say now."""
    with db.read(tenant_id) as tx:
        found = plans.load(tx, [plan_id]) if is_uuid(plan_id) else {}
        if plan_id not in found:
            raise NotFound(f"there is no plan {plan_id}", plan_id=plan_id)
        loaded = found[PlanId(plan_id)]
        entry = None if loaded.plan.status is PlanStatus.DRAFT else _at_the_gate(tx, plan_id)
        if entry is None:
            case, at = _as_it_stands(db, tx, loaded), tx.now
            trail = gate_trail(case)
            version = case.rules.policy_version
            return ActExplanation("plan", plan_id, plan_id, at, None, version, trail, True)
        data = loads(entry.entry.data)
        rules = _rules(db, tx, entry, data)
    trail = gate_trail(read_gate(data["gate"], rules, data["plan_type"]))
    agrees = (trail.result, trail.reason) == (_told(entry), entry.entry.reason)
    return ActExplanation(
        "plan",
        plan_id,
        plan_id,
        entry.entry.at,
        entry.entry.entry_id,
        rules.policy_version,
        trail,
        agrees,
    )


def explain_intent(db: Database, tenant_id: TenantId, intent_id: str) -> ActExplanation:
    """Explain why an action ran automatically, needed approval or was blocked."""
    with db.read(tenant_id) as tx:
        found = intents.read(tx, [intent_id]) if is_uuid(intent_id) else {}
        if intent_id not in found:
            raise NotFound(f"there is no intent {intent_id}", intent_id=intent_id)
        intent = found[IntentId(intent_id)]
        entry = _started(tx, intent.plan_id, intent_id)
        data = loads(entry.entry.data)
        rules = _rules(db, tx, entry, data)
    risk = Risk[str(data["risk"]).upper()]
    at = entry.entry.at
    case = ApprovalCase(rules, data["action_type"], risk, int(data["used_today"]), at)
    trail = approval_trail(case)
    agrees = (trail.result, trail.reason) == (data["approval"], data["approval_reason"])
    return ActExplanation(
        "intent",
        intent_id,
        intent.plan_id,
        at,
        entry.entry.entry_id,
        rules.policy_version,
        trail,
        agrees,
    )


def _told(entry: Recorded) -> str:
    return "HELD" if entry.entry.kind is Kind.PLAN_HELD else "ACTIVATED"


def _at_the_gate(tx: ReadTx, plan_id: str) -> Recorded | None:
    """The last time the gate answered, with what it was asked; older entries do not say that."""
    found = [
        one
        for kind in (Kind.PLAN_HELD, Kind.PLAN_ACTIVATED)
        for one in ledger.newest(tx, {"kind": kind, "subject": plan_id}, limit=1)
        if "gate" in loads(one.entry.data)
    ]
    return max(found, key=lambda one: one.seq, default=None)


def _started(tx: ReadTx, plan_id: str, intent_id: str) -> Recorded:
    wanted = {"kind": Kind.STEP_STARTED.value, "subject": plan_id}
    before: int | None = None
    for _ in range(0, LOOKED_THROUGH_MAX, PAGE):
        rows = ledger.newest(tx, wanted, before=before, limit=PAGE)
        for one in rows:
            if loads(one.entry.data).get("intent_id") == intent_id:
                return one
        if len(rows) < PAGE:
            break
        before = rows[-1].seq
    raise NotFound(f"what intent {intent_id} was judged by is no longer kept", intent_id=intent_id)


def _rules(db: Database, tx: ReadTx, entry: Recorded, data: dict[str, Any]) -> TenantRules:
    """The rules that it was decided by. An old entry does not name the tier: then today's."""
    ruled = data.get("policy")
    if ruled is None:
        facts = tenant_facts.get(tx)
        policy = db.policies.policy(tx, entry.entry.policy_version or 0)
        return rules_for(policy, tx.tenant_id, None if facts is None else facts.tier)
    return rules_for(db.policies.recorded(tx, **ruled), tx.tenant_id, data.get("tier"))


def _as_it_stands(db: Database, tx: ReadTx, loaded: Loaded) -> GateCase:
    plan, rules = loaded.plan, db.policies.exact(tx).rules
    pair = (plan.account_id, plan.plan_type)
    account = accounts.get(tx, plan.account_id)
    conflict = plans.active_of(tx, [pair]).get(pair)
    return GateCase(
        rules,
        plan.plan_type,
        loaded.steps,
        {**action_types.risks(tx), **rules.act.risks},
        GateFacts(
            facts=frozenset(loads(plan.facts)),
            posture=None if account is None else account.posture,
            conflict=None if conflict == plan.plan_id else conflict,
            approved_by=plan.approved_by,
            approved_by_person=plan.approved_by_person,
        ),
    )
