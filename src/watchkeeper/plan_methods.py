"""The part of the door for Python programs that is about acting: `app.plans`, `app.intents`."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from watchkeeper import act_inputs, inputs
from watchkeeper.act_results import Asked, Intent, Plan, Proposal, intent_of, plan_of
from watchkeeper.actions import show_plan
from watchkeeper.actions.answer_once import Once
from watchkeeper.actions.dispatch import loop_of_its_own
from watchkeeper.actions.explain_act import ActExplanation, explain_intent, explain_plan
from watchkeeper.actions.locate_tenant import Thing, locate_tenant
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.propose_plan import Proposed, propose_plan
from watchkeeper.actions.run_cycle import run_cycle, run_cycles
from watchkeeper.actions.show_plan import Why
from watchkeeper.core.ids import TenantId
from watchkeeper.core.redaction import redacted
from watchkeeper.errors import Conflict, Unavailable, WatchkeeperError
from watchkeeper.failures import log_failure, words_of
from watchkeeper.handlers.attempts import Raised
from watchkeeper.handlers.plain import plain_json
from watchkeeper.handlers.registry import is_async
from watchkeeper.input_types import IntentStatus, PlanStatus
from watchkeeper.moves.plans import NewPlan
from watchkeeper.moves.steps import Ending
from watchkeeper.store.json import loads

AUTHOR = "python"
PAGE = 100
PROPOSED_STEPS_MAX = 1_000
ERROR_LENGTH_MAX = 1000

Proposer = Callable[[Asked], Any]


class ReportedOutcome(NamedTuple):
    """The intent as it stands now; `counted` is false where the outcome came late."""

    intent: Intent
    counted: bool


class PlanDoor:
    """Plans of an app: create, approve, pause, abort and show them."""

    def __init__(self, carrier: Plans, proposers: Mapping[str, Proposer]) -> None:
        self._carrier = carrier
        self._proposers = proposers

    def create(
        self,
        tenant_id: str,
        account_id: str,
        plan_type: str,
        steps: Sequence[Mapping[str, Any] | str],
        *,
        objective: str | None = None,
        expires_at: datetime | str | None = None,
        facts: Mapping[str, Any] | None = None,
        constraints: Mapping[str, Any] | None = None,
        correlation_id: str | None = None,
        by: str = AUTHOR,
    ) -> Plan:
        """Create a draft plan. A step is a mapping, or the name of its action."""
        tenant = _tenant(tenant_id)
        new = _new_plan(
            account_id, plan_type, steps, objective, expires_at, facts, constraints, correlation_id
        )
        return self.get(self._carrier.create(tenant, new, by=by), tenant_id=tenant)

    def edit(
        self,
        plan_id: str,
        account_id: str,
        plan_type: str,
        steps: Sequence[Mapping[str, Any] | str],
        *,
        objective: str | None = None,
        expires_at: datetime | str | None = None,
        facts: Mapping[str, Any] | None = None,
        constraints: Mapping[str, Any] | None = None,
        by: str = AUTHOR,
        tenant_id: str | None = None,
    ) -> Plan:
        """Replace a draft plan as a whole."""
        new = _new_plan(
            account_id, plan_type, steps, objective, expires_at, facts, constraints, None
        )
        owner = self._owner(plan_id, tenant_id)
        self._carrier.edit(owner, plan_id, new, by=by)
        return self.get(plan_id, tenant_id=owner)

    def propose(
        self,
        tenant_id: str,
        account_id: str,
        plan_type: str,
        *,
        context: Mapping[str, Any] | None = None,
        by: str = AUTHOR,
    ) -> Plan:
        """Create a draft plan from the registered proposer. Forbidden steps are dropped."""
        given = {"account_id": account_id, "plan_type": plan_type, "context": dict(context or {})}
        asked = inputs.parse(act_inputs.ProposeIn, given)
        tenant = _tenant(tenant_id)
        made = proposed(self._carrier, self._proposers, tenant, asked, by=by)
        return self.get(made.plan_id, tenant_id=tenant)

    def approve(
        self,
        plan_id: str,
        reason: str | None = None,
        *,
        by: str,
        is_person: bool = True,
        tenant_id: str | None = None,
    ) -> Plan:
        """Approve a draft plan, in the name of a person."""
        owner = self._owner(plan_id, tenant_id)
        self._carrier.approve(owner, plan_id, reason, by=by, is_person=is_person)
        return self.get(plan_id, tenant_id=owner)

    def pause(
        self, plan_id: str, reason: str | None = None, *, by: str, tenant_id: str | None = None
    ) -> Plan:
        owner = self._owner(plan_id, tenant_id)
        self._carrier.pause(owner, plan_id, reason, by=by)
        return self.get(plan_id, tenant_id=owner)

    def resume(
        self, plan_id: str, reason: str | None = None, *, by: str, tenant_id: str | None = None
    ) -> Plan:
        """Resume a plan with all its attempts."""
        owner = self._owner(plan_id, tenant_id)
        self._carrier.resume(owner, plan_id, reason, by=by)
        return self.get(plan_id, tenant_id=owner)

    def abort(
        self, plan_id: str, reason: str | None = None, *, by: str, tenant_id: str | None = None
    ) -> Plan:
        owner = self._owner(plan_id, tenant_id)
        self._carrier.abort(owner, plan_id, reason, by=by)
        return self.get(plan_id, tenant_id=owner)

    def skip(
        self, plan_id: str, step_id: str, reason: str, *, by: str, tenant_id: str | None = None
    ) -> Plan:
        """Skip a step of a plan, for a reason."""
        owner = self._owner(plan_id, tenant_id)
        self._carrier.skip(owner, plan_id, step_id, reason, by=by)
        return self.get(plan_id, tenant_id=owner)

    def tell(
        self,
        plan_id: str,
        facts: Mapping[str, Any],
        *,
        by: str = AUTHOR,
        tenant_id: str | None = None,
    ) -> Plan:
        """Add facts to a plan. They may meet its objective."""
        told = inputs.parse(act_inputs.FactsIn, {"facts": dict(facts)})
        owner = self._owner(plan_id, tenant_id)
        self._carrier.tell(owner, plan_id, loads(told.facts), by=by)
        return self.get(plan_id, tenant_id=owner)

    def get(self, plan_id: str, *, tenant_id: str | None = None) -> Plan:
        owner = self._owner(plan_id, tenant_id)
        found = show_plan.show_plan(self._carrier.db, owner, plan_id)
        return plan_of(found.plan, found.steps, found.intents, owner)

    def list(
        self,
        tenant_id: str,
        *,
        account_id: str | None = None,
        plan_type: str | None = None,
        status: PlanStatus | None = None,
        before: str | None = None,
        limit: int = PAGE,
    ) -> list[Plan]:
        """Plans of a tenant, newest first; `before` is the id of the last one seen."""
        given = {"account_id": account_id, "plan_type": plan_type, "status": status}
        filters = {name: value for name, value in given.items() if value is not None}
        tenant = _tenant(tenant_id)
        found = show_plan.list_plans(self._carrier.db, tenant, filters, before=before, limit=limit)
        return [plan_of(one.plan, one.steps, one.intents, tenant) for one in found]

    def why(self, plan_id: str, *, tenant_id: str | None = None) -> Why:
        """Show the current status of a plan, and why."""
        owner = self._owner(plan_id, tenant_id)
        return show_plan.why_plan(self._carrier.db, owner, plan_id)

    def explain(self, plan_id: str, *, tenant_id: str | None = None) -> ActExplanation:
        """Explain why its gate passed or held a plan."""
        return explain_plan(self._carrier.db, self._owner(plan_id, tenant_id), plan_id)

    def run_cycle(self, tenant_id: str | None = None) -> Counter[str]:
        """Run one cycle now, of a tenant or of all; return what it did, counted."""
        if tenant_id is None:
            return run_cycles(self._carrier)
        return run_cycle(self._carrier, _tenant(tenant_id))

    def _owner(self, plan_id: str, tenant_id: str | None) -> TenantId:
        if tenant_id is not None:
            return _tenant(tenant_id)
        return locate_tenant(self._carrier.db, Thing.PLAN, plan_id)


class IntentDoor:
    """Intents of an app: approve or reject them, report outcomes, show them."""

    def __init__(self, carrier: Plans) -> None:
        self._carrier = carrier

    def approve(
        self, intent_id: str, reason: str | None = None, *, by: str, tenant_id: str | None = None
    ) -> Intent:
        """Approve an intent: its action is carried out."""
        owner = self._owner(intent_id, tenant_id)
        self._carrier.approve_intent(owner, intent_id, reason, by=by)
        return self.get(intent_id, tenant_id=owner)

    def reject(
        self, intent_id: str, reason: str | None = None, *, by: str, tenant_id: str | None = None
    ) -> Intent:
        """Reject an intent: its step fails, and the plan pauses until a person resumes it."""
        owner = self._owner(intent_id, tenant_id)
        self._carrier.reject_intent(owner, intent_id, reason, by=by)
        return self.get(intent_id, tenant_id=owner)

    def report(
        self,
        intent_id: str,
        *,
        succeeded: bool,
        detail: str | None = None,
        tenant_id: str | None = None,
    ) -> Intent:
        """Report the outcome of an intent. A late outcome is recorded and changes nothing."""
        return self.reported(
            intent_id, succeeded=succeeded, detail=detail, tenant_id=tenant_id
        ).intent

    def reported(
        self,
        intent_id: str,
        *,
        succeeded: bool,
        detail: str | None = None,
        tenant_id: str | None = None,
    ) -> ReportedOutcome:
        """Report the outcome of an intent; return also whether it counted."""
        given = {"succeeded": succeeded, "detail": detail}
        told = inputs.parse(act_inputs.IntentOutcomeIn, given)
        owner = self._owner(intent_id, tenant_id)
        found = self._carrier.report(owner, intent_id, Ending(told.succeeded, told.detail))
        return ReportedOutcome(intent_of(found.intent, owner), counted=not found.is_late)

    def get(self, intent_id: str, *, tenant_id: str | None = None) -> Intent:
        owner = self._owner(intent_id, tenant_id)
        return intent_of(show_plan.show_intent(self._carrier.db, owner, intent_id), owner)

    def list(
        self,
        tenant_id: str,
        *,
        status: IntentStatus | None = None,
        plan_id: str | None = None,
        before: str | None = None,
        limit: int = PAGE,
    ) -> list[Intent]:
        """Intents of a tenant, newest first."""
        given = {"state": status, "plan_id": plan_id}
        filters = {name: value for name, value in given.items() if value is not None}
        tenant = _tenant(tenant_id)
        found = show_plan.list_intents(
            self._carrier.db, tenant, filters, before=before, limit=limit
        )
        return [intent_of(one, tenant) for one in found]

    def explain(self, intent_id: str, *, tenant_id: str | None = None) -> ActExplanation:
        """Explain why an action ran automatically, needed approval or was blocked."""
        return explain_intent(self._carrier.db, self._owner(intent_id, tenant_id), intent_id)

    def _owner(self, intent_id: str, tenant_id: str | None) -> TenantId:
        if tenant_id is not None:
            return _tenant(tenant_id)
        return locate_tenant(self._carrier.db, Thing.INTENT, intent_id)


def proposed(
    carrier: Plans,
    proposers: Mapping[str, Proposer],
    tenant: TenantId,
    asked: act_inputs.ProposeIn,
    *,
    by: str,
    once: Once | None = None,
) -> Proposed:
    """Ask the proposer of the plan type, or the one for all; its answer becomes a draft."""
    proposer = proposers.get(asked.plan_type) or proposers.get("")
    if proposer is None:
        raise Conflict(f"no proposer is registered in this process for {asked.plan_type}")
    kind = show_plan.plan_type(carrier.db, tenant, asked.plan_type)
    told = Asked(
        tenant_id=tenant,
        account_id=asked.account_id,
        plan_type=asked.plan_type,
        allowed_actions=tuple(sorted(kind.actions, key=lambda name: (kind.actions[name], name))),
        objective=kind.objective,
        context=loads(asked.context),
    )
    try:
        suggested = _raw(called(proposer, told))
    except BaseException as error:
        if type(error) is KeyboardInterrupt and not is_async(proposer) and _is_main_thread():
            raise
        facts = {"tenant_id": tenant, "account_id": told.account_id, "plan_type": told.plan_type}
        log_failure(error, "proposer", facts)
        if issubclass(type(error), WatchkeeperError):
            raise
        words = redacted(words_of(error))[:ERROR_LENGTH_MAX]
        raise Unavailable(f"the proposer failed: {words}") from None
    new = act_inputs.proposal_of(suggested, asked.account_id, asked.plan_type)
    return propose_plan(carrier, tenant, new, by=by, once=once)


def _new_plan(
    account_id: str,
    plan_type: str,
    steps: Sequence[Mapping[str, Any] | str],
    objective: str | None,
    expires_at: datetime | str | None,
    facts: Mapping[str, Any] | None,
    constraints: Mapping[str, Any] | None,
    correlation_id: str | None,
) -> NewPlan:
    given: dict[str, Any] = {
        "account_id": account_id,
        "plan_type": plan_type,
        "steps": [dict(step) for step in act_inputs.named_steps(steps)],
        "objective": objective,
        "expires_at": expires_at,
        "facts": dict(facts or {}),
        "constraints": dict(constraints or {}),
        "correlation_id": correlation_id,
    }
    return inputs.parse(act_inputs.PlanIn, given).plan()


def called(proposer: Proposer, asked: Asked) -> object:
    """What a proposer answers, be it sync or async."""
    if not is_async(proposer):
        return proposer(asked)

    async def answer() -> object:
        try:
            return await proposer(asked)
        except BaseException as error:
            return Raised(error)

    with loop_of_its_own() as loop:
        found = loop.run(answer())
    if isinstance(found, Raised):
        raise found.error
    return found


def _raw(value: Any) -> object:
    """What a proposer returned, as plain values: a Proposal, or a mapping of the same shape."""
    if issubclass(type(value), Proposal):
        steps = list(islice(iter(value.steps), PROPOSED_STEPS_MAX + 1))
        given = {"steps": steps, "facts": value.facts}
        value = given if value.objective is None else {**given, "objective": value.objective}
    return plain_json(value, "proposal")


def _is_main_thread() -> bool:
    """Where a KeyboardInterrupt is the person's at the keyboard."""
    return threading.current_thread() is threading.main_thread()


def _tenant(tenant_id: str) -> TenantId:
    return TenantId(inputs.parse_tenant_id(tenant_id))
