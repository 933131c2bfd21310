"""What policy says of acting: plan types, risks of actions, autonomy, the pace of cycles."""

from __future__ import annotations

from watchkeeper.core.approvals import Autonomy, Mode, Risk, Unanswered
from watchkeeper.core.plan_types import ActRules, PlanType
from watchkeeper.core.policy_read import Document, limit, table, whole
from watchkeeper.core.time import HOUR, SECOND


def act_rules(merged: Document) -> ActRules:
    plans, autonomy = table(merged["plans"]), table(merged["autonomy"])
    return ActRules(
        types={name: _plan_type(name, table(t)) for name, t in table(merged["plan_types"]).items()},
        risks={
            name: Risk[str(table(t)["risk"]).upper()]
            for name, t in table(merged.get("actions", {})).items()
        },
        autonomy=Autonomy(
            mode=Mode(str(autonomy["mode"])),
            risk_max=Risk[str(autonomy["max_risk"]).upper()],
            auto_per_day_max=limit(autonomy, "auto_per_day_max"),
            unanswered=Unanswered(str(autonomy["unanswered"])),
        ),
        per_cycle_max=whole(plans, "per_cycle_max"),
        cycle_us=whole(plans, "cycle_seconds") * SECOND,
        outcome_timeout_us=whole(plans, "outcome_timeout_seconds") * SECOND,
        approval_us=whole(autonomy, "approval_hours") * HOUR,
    )


def _plan_type(name: str, values: Document) -> PlanType:
    actions = table(values["actions"])
    return PlanType(
        name=name,
        actions={action: whole(actions, action) for action in actions},
        attempts_max=whole(values, "max_retries_per_step"),
        expiry_us=whole(values, "expiry_hours") * HOUR,
        objective=str(values.get("objective", "")),
        required_facts=_chosen(values, "required_facts"),
        blocked_postures=_chosen(values, "blocked_postures"),
        needs_person=values.get("human_touch") == "yes",
        approved_by_policy=values.get("approval") == "policy",
        skipped_counts=values.get("skipped_counts", "yes") == "yes",
    )


def _chosen(values: Document, key: str) -> frozenset[str]:
    named = table(values.get(key, {}))
    return frozenset(name for name, is_chosen in named.items() if is_chosen == "yes")
