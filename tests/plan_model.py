"""Plans as a few lines of Python understand them, for comparing with what the product does."""

from dataclasses import dataclass, field

from tests.carrying import BRIEF, ESCALATE, MEET
from watchkeeper.core.time import DAY, HOUR, MINUTE

ATTEMPTS_MAX = 3
OVER = ("DONE", "SKIPPED")
OPEN = ("PENDING_APPROVAL", "APPROVED", "EXECUTING")
LIVE = ("APPROVED", "ACTIVE", "PAUSED")
RISKS = {MEET: "low", BRIEF: "medium", ESCALATE: "low"}
APPROVAL, OUTCOME, EXPIRY = 72 * HOUR, 24 * HOUR, 5 * DAY


class Refused(Exception):
    """The model says no."""


@dataclass
class Step:
    step_id: str
    action: str
    status: str = "PENDING"
    attempts: int = 0
    spared: int = 0
    retry_at: int | None = None


@dataclass
class Intent:
    step: Step
    attempt: int
    state: str
    deadline: int
    is_begun: bool = False
    is_late: bool = False
    is_unknown: bool = False


@dataclass
class Plan:
    plan_id: str
    account: str
    steps: list[Step]
    expires_at: int
    status: str = "DRAFT"
    reason: str | None = None
    intents: list[Intent] = field(default_factory=list)
    is_met: bool = False
    has_owner: bool = False

    def under_way(self) -> Intent | None:
        return next((i for i in self.intents if i.state in OPEN and not i.is_late), None)


class Model:
    """Every deed changes the model as it should change the product, or raises Refused."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.plans: dict[str, Plan] = {}

    def only(self, plan: Plan, *allowed: str) -> None:
        if plan.status not in allowed:
            raise Refused(plan.status)

    # -- what people do ---------------------------------------------------------------------

    def create(self, plan_id: str, account: str, actions: list[str], *, has_owner: bool) -> Plan:
        steps = [Step(f"step-{n}", action) for n, action in enumerate(actions, 1)]
        plan = Plan(plan_id, account, steps, self.now + EXPIRY, has_owner=has_owner)
        self.plans[plan_id] = plan
        return plan

    def edit(self, plan: Plan, actions: list[str], *, has_owner: bool) -> None:
        self.only(plan, "DRAFT")
        self.create(plan.plan_id, plan.account, actions, has_owner=has_owner)

    def approve(self, plan: Plan) -> None:
        self.only(plan, "DRAFT")
        if plan.expires_at <= self.now:
            raise Refused("expired")
        plan.status = "APPROVED"

    def pause(self, plan: Plan) -> None:
        self.only(plan, "ACTIVE")
        plan.status = "PAUSED"

    def resume(self, plan: Plan) -> None:
        self.only(plan, "PAUSED")
        if self.active(plan.account) is not None:
            raise Refused("conflict")
        plan.status = "ACTIVE"
        for step in plan.steps:
            if step.status == "FAILED":
                step.spared, step.retry_at = step.attempts, None
        waiting = plan.under_way()
        if waiting is not None and not waiting.is_begun:
            span = APPROVAL if waiting.state == "PENDING_APPROVAL" else OUTCOME
            waiting.deadline = self.now + span
        self.advance(plan)

    def abort(self, plan: Plan) -> None:
        self.only(plan, "DRAFT", *LIVE)
        self.end(plan, "ABORTED")

    def skip(self, plan: Plan, step: Step) -> None:
        self.only(plan, *LIVE)
        if step.status in OVER:
            raise Refused(step.status)
        for intent in plan.intents:
            if intent.step is step:
                self.let_go(intent)
        step.status = "SKIPPED"
        if plan.status == "ACTIVE":
            self.advance(plan)

    def tell(self, plan: Plan, *, is_met: bool) -> None:
        self.only(plan, "DRAFT", *LIVE)
        plan.has_owner = True
        plan.is_met = is_met
        if plan.status == "ACTIVE":
            self.advance(plan)

    def answer(self, plan: Plan, intent: Intent, *, yes: bool) -> None:
        if intent.state != "PENDING_APPROVAL":
            raise Refused(intent.state)
        if not yes:
            self.reject(plan, intent)
            return
        if plan.status != "ACTIVE" or min(plan.expires_at, intent.deadline) <= self.now:
            raise Refused("too late")
        intent.state, intent.deadline = "APPROVED", self.now + OUTCOME

    def report(self, plan: Plan, intent: Intent, *, succeeded: bool) -> None:
        if intent.state == ("SUCCEEDED" if succeeded else "FAILED") and not intent.is_unknown:
            return
        if not intent.is_begun:
            if intent.state != "APPROVED" or plan.status != "ACTIVE":
                raise Refused(intent.state)
            intent.state, intent.is_begun = "EXECUTING", True  # carried out by hand
            intent.deadline = self.now + OUTCOME
        if self.conclude(plan, intent, succeeded=succeeded):
            self.advance(plan)

    # -- what happens by itself -------------------------------------------------------------

    def active(self, account: str) -> Plan | None:
        found = [p for p in self.plans.values() if p.account == account and p.status == "ACTIVE"]
        return found[0] if found else None

    def eligible(self) -> dict[str, list[Plan]]:
        """By account, the plans of which one is activated by a cycle."""
        found: dict[str, list[Plan]] = {}
        for plan in self.plans.values():
            if plan.status == "APPROVED" and plan.expires_at > self.now and plan.has_owner:
                found.setdefault(plan.account, []).append(plan)
        return {account: those for account, those in found.items() if not self.active(account)}

    def cycle(self, chosen: list[Plan]) -> None:
        """`chosen` are those that were activated, one for each account that has eligible ones."""
        for plan in self.plans.values():
            if plan.status == "APPROVED" and plan.expires_at <= self.now:
                self.end(plan, "EXPIRED")
        for plan in chosen:
            plan.status = "ACTIVE"
        for plan in self.plans.values():
            if plan.status not in ("DRAFT", "APPROVED"):
                self.advance(plan)

    def advance(self, plan: Plan) -> None:
        if plan.status in LIVE and self.now >= plan.expires_at:
            self.end(plan, "EXPIRED")
            return
        if plan.status == "ACTIVE" and (self.all_over(plan) or plan.is_met):
            reason = "all_steps_done" if self.all_over(plan) else "objective_met"
            self.end(plan, "COMPLETED", reason)
            return
        for intent in plan.intents:
            self.time_out(plan, intent)
        if plan.status == "ACTIVE":
            self.go_on(plan)

    def all_over(self, plan: Plan) -> bool:
        return all(step.status in OVER for step in plan.steps)

    def time_out(self, plan: Plan, intent: Intent) -> None:
        runs = plan.status != "PAUSED" or intent.state == "EXECUTING"
        if intent.state not in OPEN or not runs or intent.deadline > self.now:
            return
        if intent.state == "PENDING_APPROVAL":
            self.reject(plan, intent)
        else:
            self.conclude(plan, intent, succeeded=False, is_unknown=True)

    def reject(self, plan: Plan, intent: Intent) -> None:
        intent.state = "REJECTED"
        intent.step.status, intent.step.retry_at = "FAILED", None
        if plan.status == "ACTIVE":
            plan.status = "PAUSED"

    def go_on(self, plan: Plan) -> None:
        if plan.under_way() is not None:
            return
        step = next(step for step in plan.steps if step.status not in OVER)
        if step.status == "FAILED":
            if step.attempts - step.spared >= ATTEMPTS_MAX:
                plan.status = "PAUSED"
                return
            if step.retry_at is not None and step.retry_at > self.now:
                return
        step.attempts += 1
        step.retry_at = None
        is_auto = RISKS[step.action] == "low"
        step.status = "AUTO_EXECUTED" if is_auto else "PENDING_APPROVAL"
        state, span = ("APPROVED", OUTCOME) if is_auto else ("PENDING_APPROVAL", APPROVAL)
        plan.intents.append(Intent(step, step.attempts, state, self.now + span))

    def begin(self, plan: Plan, intent: Intent) -> None:
        intent.state, intent.is_begun, intent.deadline = "EXECUTING", True, self.now + OUTCOME

    def conclude(
        self, plan: Plan, intent: Intent, *, succeeded: bool, is_unknown: bool = False
    ) -> bool:
        counts = intent.state in OPEN and not intent.is_late
        if intent.state in OPEN:
            intent.state = "SUCCEEDED" if succeeded else "FAILED"
            intent.is_unknown = is_unknown
        if counts:
            step = intent.step
            step.status = "DONE" if succeeded else "FAILED"
            if not succeeded:
                step.retry_at = self.now + MINUTE * 2 ** (step.attempts - step.spared - 1)
        return counts

    def let_go(self, intent: Intent) -> None:
        if intent.state in ("PENDING_APPROVAL", "APPROVED"):
            intent.state = "CANCELLED"
        elif intent.state == "EXECUTING":
            intent.is_late = True

    def end(self, plan: Plan, status: str, reason: str | None = None) -> None:
        for intent in plan.intents:
            self.let_go(intent)
        plan.status, plan.reason = status, reason
