"""What the ledger keeps: one entry for each thing that was decided or done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from watchkeeper.core.time import Instant


class Stage(StrEnum):
    DECIDE = "decide"
    PERCEIVE = "perceive"
    SETTLE = "settle"
    REPORT = "report"
    ACT = "act"
    SYSTEM = "system"


class Kind(StrEnum):
    VERDICT = "verdict"
    RUN_ENDED = "run.ended"
    SCHEDULE_SET = "schedule.set"
    SCHEDULE_REMOVED = "schedule.removed"
    SCHEDULE_FIRED = "schedule.fired"
    SCHEDULE_MISSED = "schedule.missed"
    ACCOUNT_CHANGED = "account.changed"
    MESSAGE_DEAD = "message.dead"
    MESSAGE_REDRIVEN = "message.redriven"
    MESSAGE_DISCARDED = "message.discarded"
    TIER_CHANGED = "heat.tier_changed"
    PULL_DECIDED = "pull.decided"
    PULL_ENDED = "pull.ended"
    BUDGET_SET = "pull_budget.set"
    CONNECTOR_SET = "connector.set"
    REPORT_GENERATED = "report.generated"
    REPORT_FAILED = "report.failed"
    MILESTONE_MISSED = "milestone.missed"
    TURN_RESERVED = "turn.reserved"
    TURN_REFUSED = "turn.refused"
    TURN_SETTLED = "turn.settled"
    PLAN_CREATED = "PLAN_CREATED"
    PLAN_UPDATED = "PLAN_UPDATED"
    PLAN_APPROVED = "PLAN_APPROVED"
    PLAN_HELD = "PLAN_HELD"
    PLAN_ACTIVATED = "PLAN_ACTIVATED"
    PLAN_PAUSED = "PLAN_PAUSED"
    PLAN_RESUMED = "PLAN_RESUMED"
    PLAN_ABORTED = "PLAN_ABORTED"
    PLAN_COMPLETED = "PLAN_COMPLETED"
    PLAN_EXPIRED = "PLAN_EXPIRED"
    FACTS_TOLD = "FACTS_TOLD"
    PROPOSAL_REFUSED = "PROPOSAL_REFUSED"
    STEP_STARTED = "STEP_STARTED"
    STEP_COMPLETED = "STEP_COMPLETED"
    STEP_SKIPPED = "STEP_SKIPPED"
    STEP_FAILED = "STEP_FAILED"
    INTENT_APPROVED = "INTENT_APPROVED"
    INTENT_REJECTED = "INTENT_REJECTED"
    OUTCOME_LATE = "OUTCOME_LATE"
    SINK_SET = "sink.set"
    SINK_REMOVED = "sink.removed"
    KILL_SWITCH_SET = "kill_switch.set"
    POLICY_APPLIED = "policy.applied"
    SHADOW_SET = "policy_shadow.set"
    SHADOW_REMOVED = "policy_shadow.removed"
    TENANT_CREATED = "tenant.created"
    TENANT_CHANGED = "tenant.changed"
    API_KEY_CREATED = "api_key.created"
    API_KEY_REVOKED = "api_key.revoked"
    LEDGER_PRUNED = "ledger.pruned"


class Entry(NamedTuple):
    """One line of the ledger before it has its place there. `data` is canonical JSON text."""

    entry_id: str
    at: Instant
    stage: str  # a Stage
    kind: str  # a Kind
    subject: str
    data: str
    policy_version: int = 0
    correlation_id: str | None = None
    trigger_type: str | None = None
    result: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry as it stands in the ledger of its tenant."""

    tenant_id: str
    seq: int
    entry: Entry
