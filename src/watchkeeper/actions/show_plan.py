"""Plans and intents as they are shown, and why a plan stands where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from watchkeeper.core.approvals import Risk
from watchkeeper.core.ids import IntentId, PlanId, TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.plan_choices import Choice, choices
from watchkeeper.core.plan_types import PlanType
from watchkeeper.core.plans import (
    OVER,
    Intent,
    IntentState,
    Plan,
    PlanStatus,
    Start,
    Step,
    Stuck,
    Wait,
    next_step,
    order_of,
)
from watchkeeper.core.time import Instant, to_iso
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.ids import is_uuid
from watchkeeper.moves.plan_desk import killed_by
from watchkeeper.store import action_types, intents, kill_switches, ledger, plans
from watchkeeper.store.database import Database
from watchkeeper.store.plans import Loaded
from watchkeeper.store.transaction import Tx

LEDGER_MAX = 1000
RECENT_MAX = 10


@dataclass(frozen=True, slots=True)
class ShownPlan:
    plan: Plan
    steps: tuple[Step, ...]
    intents: tuple[Intent, ...]  # every attempt, by step
    now: Instant


@dataclass(frozen=True, slots=True)
class Why:
    """Current status of a plan, and why, in one screen."""

    plan: Plan
    steps: tuple[Step, ...]
    waits_for: str  # in words
    until: Instant | None  # when something happens by itself
    next_step: Step | None
    intent: Intent | None  # the attempt under way
    recent: tuple[Recorded, ...]  # the last lines of its ledger, oldest first
    can: tuple[Choice, ...]  # what a person can do now


def show_plan(db: Database, tenant_id: TenantId, plan_id: str) -> ShownPlan:
    with db.read(tenant_id) as tx:
        found = _found(tx, plan_id)
        return ShownPlan(found.plan, found.steps, tuple(intents.of_plan(tx, plan_id)), tx.now)


def list_plans(
    db: Database,
    tenant_id: TenantId,
    filters: Mapping[str, str],
    *,
    before: str | None,
    limit: int,
) -> list[Loaded]:
    with db.read(tenant_id) as tx:
        return plans.page(tx, filters, before=before, limit=limit)


def plan_ledger(
    db: Database, tenant_id: TenantId, plan_id: str, *, after: int = 0, limit: int = LEDGER_MAX
) -> list[Recorded]:
    """What happened to a plan, oldest first."""
    with db.read(tenant_id) as tx:
        _found(tx, plan_id)
        return ledger.after(tx, after, limit, {"subject": plan_id})


def plan_history(
    db: Database, tenant_id: TenantId, plan_id: str, *, before: int | None, limit: int
) -> list[Recorded]:
    """What happened to a plan, the newest first."""
    with db.read(tenant_id) as tx:
        _found(tx, plan_id)
        return ledger.newest(tx, {"subject": plan_id}, before=before, limit=limit)


def list_intents(
    db: Database,
    tenant_id: TenantId,
    filters: Mapping[str, str],
    *,
    before: str | None,
    limit: int,
) -> list[Intent]:
    with db.read(tenant_id) as tx:
        return intents.page(tx, filters, before=before, limit=limit)


def show_intent(db: Database, tenant_id: TenantId, intent_id: str) -> Intent:
    with db.read(tenant_id) as tx:
        found = intents.read(tx, [intent_id]) if is_uuid(intent_id) else {}
        if intent_id not in found:
            raise NotFound(f"there is no intent {intent_id}", intent_id=intent_id)
        return found[IntentId(intent_id)]


def plan_type(db: Database, tenant_id: TenantId, name: str) -> PlanType:
    """A plan type as it holds for a tenant."""
    with db.read(tenant_id) as tx:
        kind = db.policies.exact(tx).rules.act.types.get(name)
    if kind is None:
        raise Invalid.at("plan_type", f"there is no plan type {name}")
    return kind


def why_plan(db: Database, tenant_id: TenantId, plan_id: str) -> Why:
    """Read everything that a plan may wait for, and say which of it it does wait for."""
    with db.read(tenant_id) as tx:
        found = _found(tx, plan_id)
        rules = db.policies.exact(tx).rules
        switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
        risks = {**action_types.risks(tx), **rules.act.risks}
        recent = ledger.newest(tx, {"subject": plan_id}, limit=RECENT_MAX)
        kind = rules.act.types.get(found.plan.plan_type)
        step = _first_left(found)
        intent = next((one for one in found.intents if not one.is_late), None)
        words = _words(found, step, intent, switches, risks, kind, tx.now)
        return Why(
            plan=found.plan,
            steps=found.steps,
            waits_for=words,
            until=_until(found.plan, intent),
            next_step=step,
            intent=intent,
            recent=tuple(reversed(recent)),
            can=choices(found.plan, step, intent),
        )


def _until(plan: Plan, intent: Intent | None) -> Instant | None:
    """When something happens by itself: for an approval, when nobody waits for it any more."""
    is_asked = intent is not None and intent.state is IntentState.PENDING_APPROVAL
    if is_asked and plan.status is PlanStatus.ACTIVE:
        assert intent is not None
        return intent.deadline_at
    return plan.due_at


def _first_left(found: Loaded) -> Step | None:
    left = [step for step in found.steps if step.status not in OVER]
    return min(left, key=order_of, default=None)


def _words(
    found: Loaded,
    step: Step | None,
    intent: Intent | None,
    switches: Mapping[str, str],
    risks: Mapping[str, Risk],
    kind: PlanType | None,
    now: Instant,
) -> str:
    plan = found.plan
    match plan.status:
        case PlanStatus.DRAFT:
            return "it waits for somebody to approve it"
        case PlanStatus.APPROVED:
            return plan.reason or "it is activated in the next cycle"
        case PlanStatus.PAUSED:
            return f"it is paused until a person resumes it: {plan.reason}"
        case PlanStatus.COMPLETED:
            return f"it is completed: {plan.completion_reason}"
        case PlanStatus.ABORTED:
            return f"it was aborted: {plan.reason}"
        case PlanStatus.EXPIRED:
            return f"it expired at {to_iso(plan.expires_at)}"
        case PlanStatus.ACTIVE:
            return _active_words(found, step, intent, switches, risks, kind, now)


def _active_words(
    found: Loaded,
    step: Step | None,
    intent: Intent | None,
    switches: Mapping[str, str],
    risks: Mapping[str, Risk],
    kind: PlanType | None,
    now: Instant,
) -> str:
    if intent is not None:
        return _intent_words(intent, switches)
    if step is None:
        return "all its steps are over: it is completed in the next cycle"
    found_next = next_step(
        found.steps,
        now,
        attempts_max=1 if kind is None else kind.attempts_max,
        skipped_counts=kind is None or kind.skipped_counts,
    )
    risk = risks.get(step.action_type, Risk.HIGH).name.lower()
    match found_next:
        case Wait(until=until) if until is not None:
            wait = timedelta(microseconds=until - now)
            return f"step {step.step_id} failed ({step.reason}) and is tried again in {wait}"
        case Stuck(reason=reason):
            return f"step {step.step_id} cannot go on: {reason}"
        case Start(attempt=attempt):
            killed = killed_by(switches, step.action_type)
            if killed is not None:
                return f"step {step.step_id} is not started: {killed}"
            words = f"step {step.step_id} ({step.action_type}, {risk} risk)"
            return f"{words} is started in the next cycle, attempt {attempt}"
        case Wait():
            return "it waits for what is under way"


def _intent_words(intent: Intent, switches: Mapping[str, str]) -> str:
    what = f"attempt {intent.attempt} of step {intent.step_id} ({intent.action_type})"
    match intent.state:
        case IntentState.PENDING_APPROVAL:
            until = to_iso(intent.deadline_at)
            return f"{what} waits for an approval until {until}: {intent.explanation}"
        case IntentState.APPROVED:
            killed = killed_by(switches, intent.action_type)
            return f"{what} is approved and not yet begun{f': {killed}' if killed else ''}"
        case _:
            since = "" if intent.executing_at is None else f" since {to_iso(intent.executing_at)}"
            return f"{what} is being carried out{since}; its outcome is waited for"


def _found(tx: Tx, plan_id: str) -> Loaded:
    found = plans.load(tx, [plan_id]) if is_uuid(plan_id) else {}
    if plan_id not in found:
        raise NotFound(f"there is no plan {plan_id}", plan_id=plan_id)
    return found[PlanId(plan_id)]
