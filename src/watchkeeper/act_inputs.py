"""What comes in from outside about acting: plans, answers to intents, proposals, outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from watchkeeper.core.ids import AccountId
from watchkeeper.core.plan_types import DEPENDENCIES_MAX, STEPS_MAX
from watchkeeper.core.plans import Step
from watchkeeper.input_types import (
    TRIGGER_TYPE,
    AccountName,
    Correlation,
    Id,
    JsonObject,
    JsonText,
    Moment,
    Words,
    printable,
)
from watchkeeper.inputs import Input, OfTenant, parse
from watchkeeper.moves.plans import NewPlan
from watchkeeper.results import Decision

SEQUENCE_MAX = 1_000_000
PROPOSALS_MAX = 20

Name = Annotated[str, Field(pattern=TRIGGER_TYPE)]
Objective = Annotated[str, printable(2000)]


class StepIn(Input):
    """A step of a plan; the default id and sequence follow from its place in the list."""

    step_id: Id | None = None
    action_type: Name
    sequence: Annotated[int, Field(ge=0, le=SEQUENCE_MAX)] | None = None
    dependencies: Annotated[list[Id], Field(max_length=DEPENDENCIES_MAX)] = Field(
        default_factory=list
    )
    data: JsonObject = JsonText("{}")


Steps = Annotated[list[StepIn], Field(max_length=STEPS_MAX)]


class PlanIn(OfTenant):
    account_id: AccountName
    plan_type: Name
    objective: Objective | None = None
    steps: Steps
    expires_at: Moment | None = None
    facts: JsonObject = JsonText("{}")
    constraints: JsonObject = JsonText("{}")
    correlation_id: Correlation | None = None

    def plan(self) -> NewPlan:
        return NewPlan(
            account_id=AccountId(self.account_id),
            plan_type=self.plan_type,
            steps=steps_of(self.steps),
            objective=self.objective,
            expires_at=self.expires_at,
            facts=self.facts,
            constraints=self.constraints,
            correlation_id=self.correlation_id,
        )


class ReasonIn(OfTenant):
    reason: Words | None = None


class SkipIn(OfTenant):
    reason: Words


class FactsIn(OfTenant):
    """Facts to add to a plan; they replace facts of the same name."""

    facts: JsonObject


class ProposeIn(OfTenant):
    """A request to the registered proposer for a plan; `context` is passed to it."""

    account_id: AccountName
    plan_type: Name
    context: JsonObject = JsonText("{}")


class IntentOutcomeIn(OfTenant):
    succeeded: bool
    detail: Annotated[str, Field(max_length=10_000)] | None = None


class ProposalIn(Input):
    """A proposal as a proposer, or a decision handler, makes it."""

    objective: Objective | None = None
    steps: Annotated[list[StepIn], Field(max_length=1_000)]
    facts: JsonObject = JsonText("{}")


class DecidedPlanIn(ProposalIn):
    """One that a decision handler returns; without an account it is for the run's."""

    plan_type: Name
    account_id: AccountName | None = None


def steps_of(given: list[StepIn]) -> tuple[Step, ...]:
    taken = {step.step_id for step in given if step.step_id is not None}
    return tuple(
        Step(
            step_id=step.step_id or _free_name(f"step-{place + 1}", taken),
            action_type=step.action_type,
            position=place,
            sequence=place + 1 if step.sequence is None else step.sequence,
            dependencies=tuple(dict.fromkeys(step.dependencies)),
            data=step.data,
        )
        for place, step in enumerate(given)
    )


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"{name}-x"
    taken.add(name)
    return name


def proposal_of(raw: object, account_id: str, plan_type: str) -> NewPlan:
    """What a proposer suggested, read; Invalid names what cannot be read."""
    told = parse(ProposalIn, raw, "proposal")
    return NewPlan(
        account_id=AccountId(account_id),
        plan_type=plan_type,
        steps=steps_of(told.steps),
        objective=told.objective,
        facts=told.facts,
    )


def named_steps(steps: Iterable[Any]) -> list[Any]:
    """Steps as they are read: the name of an action stands for a step of it."""
    return [{"action_type": step} if isinstance(step, str) else step for step in steps]


def decided_plans(decision: Decision, account_id: str) -> list[NewPlan | Exception]:
    """The plans that a decision handler suggests; what cannot be read is an error in its place."""
    found: list[NewPlan | Exception] = []
    for place, raw in enumerate(list(decision.plans)[:PROPOSALS_MAX]):
        if isinstance(raw, Exception):  # it could not be copied
            found.append(raw)
            continue
        try:
            found.append(_decided_plan(raw, account_id, f"plans[{place}]"))
        except Exception as error:
            found.append(error)
    return found


def _decided_plan(raw: Mapping[str, Any], account_id: str, at: str) -> NewPlan:
    given = dict(raw)
    if isinstance(given.get("steps"), list | tuple):
        given["steps"] = named_steps(given["steps"])
    told = parse(DecidedPlanIn, given, at)
    return NewPlan(
        account_id=AccountId(told.account_id or account_id),
        plan_type=told.plan_type,
        steps=steps_of(told.steps),
        objective=told.objective,
        facts=told.facts,
    )
