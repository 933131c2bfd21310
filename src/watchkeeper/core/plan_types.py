"""Plan types: which actions a kind of plan may take, in which order, under which conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from watchkeeper.core.approvals import Autonomy, Risk
from watchkeeper.core.plans import Step, order_of
from watchkeeper.core.time import DAY, HOUR, SECOND

STEPS_MAX = 100
DEPENDENCIES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanType:
    """One kind of plan, as policy has it."""

    name: str
    actions: Mapping[str, int]  # the place of each in the default sequence; 0 is anywhere
    attempts_max: int = 3
    expiry_us: int = 30 * DAY
    objective: str = ""
    required_facts: frozenset[str] = frozenset()
    blocked_postures: frozenset[str] = frozenset()
    needs_person: bool = False  # an approval by policy alone does not activate it
    approved_by_policy: bool = False
    skipped_counts: bool = True  # a skipped step satisfies those that depend on it


@dataclass(frozen=True, slots=True, kw_only=True)
class ActRules:
    """What one tenant's plans are ruled by."""

    types: Mapping[str, PlanType] = field(default_factory=dict)
    risks: Mapping[str, Risk] = field(default_factory=dict)  # what policy says of actions
    autonomy: Autonomy = field(default_factory=Autonomy)
    per_cycle_max: int = 10
    cycle_us: int = 60 * SECOND
    outcome_timeout_us: int = 24 * HOUR
    approval_us: int = 72 * HOUR


class Mistake(NamedTuple):
    place: str
    message: str


def check_steps(kind: PlanType | None, name: str, steps: Sequence[Step]) -> list[Mistake]:
    """Everything that is wrong with the steps of a plan of this type; nothing if it is valid."""
    if kind is None:
        return [Mistake("plan_type", f"there is no plan type {name}")]
    if not steps:
        return [Mistake("steps", "a plan has at least one step")]
    if len(steps) > STEPS_MAX:
        return [Mistake("steps", f"a plan has at most {STEPS_MAX} steps")]
    return [*_mistakes(kind, steps)]


def _mistakes(kind: PlanType, steps: Sequence[Step]) -> Iterator[Mistake]:
    places = {}
    for step in steps:
        at = f"steps[{step.position}]"
        if step.step_id in places:
            yield Mistake(f"{at}.step_id", f"{step.step_id} is the id of another step")
        places[step.step_id] = step
        if step.action_type not in kind.actions:
            allowed = ", ".join(sorted(kind.actions))
            yield Mistake(
                f"{at}.action_type", f"{kind.name} may not {step.action_type}; it may {allowed}"
            )
    for step in steps:
        yield from _dependency_mistakes(step, places)
    for step in out_of_order(kind, steps):
        yield Mistake(
            f"steps[{step.position}].sequence",
            f"{step.action_type} comes earlier in the sequence of {kind.name}",
        )


def _dependency_mistakes(step: Step, steps: Mapping[str, Step]) -> Iterator[Mistake]:
    """A step depends on steps before it: so there are no circles, and nothing waits for ever."""
    for place, name in enumerate(step.dependencies):
        at = f"steps[{step.position}].dependencies[{place}]"
        if name not in steps:
            yield Mistake(at, f"there is no step {name}")
        elif name == step.step_id:
            yield Mistake(at, "a step cannot depend on itself")
        elif order_of(steps[name]) > order_of(step):
            yield Mistake(at, f"{name} comes later: steps that depend on each other cannot start")


def out_of_order(kind: PlanType, steps: Sequence[Step]) -> Iterator[Step]:
    """Steps that stand behind one that the type puts after them."""
    highest = 0
    for step in sorted(steps, key=order_of):
        place = kind.actions.get(step.action_type, 0)
        if place and place < highest:
            yield step
        highest = max(highest, place)


class Held(StrEnum):
    """Why an approved plan is not activated."""

    CONFLICT_ACTIVE_PLAN = "CONFLICT_ACTIVE_PLAN"
    PRECONDITIONS_UNMET = "PRECONDITIONS_UNMET"
    RISK_ELEVATED = "RISK_ELEVATED"
    INVALID_PLAN_TYPE = "INVALID_PLAN_TYPE"
    STEP_ORDER_VIOLATION = "STEP_ORDER_VIOLATION"
    HUMAN_TOUCH_REQUIRED = "HUMAN_TOUCH_REQUIRED"


class GateCheck(StrEnum):
    """What the gate asks, in its order."""

    CONFLICT = "no_active_plan_of_the_type"
    TYPE = "known_plan_type"
    FACTS = "required_facts"
    APPROVAL = "approved"
    POSTURE = "posture"
    PERSON = "human_touch"
    ACTIONS = "actions_allowed"
    RISK = "risk"
    ORDER = "step_order"


class Obstacle(NamedTuple):
    reason: Held
    explanation: str
    check: GateCheck


class GateFacts(NamedTuple):
    """What the gate is told of a plan besides its steps."""

    facts: frozenset[str]  # names of those that were given
    posture: str | None
    conflict: str | None  # the id of the active plan that stands in the way
    approved_by: str | None
    approved_by_person: bool


class Gate(NamedTuple):
    obstacles: tuple[Obstacle, ...]

    @property
    def can_activate(self) -> bool:
        return not self.obstacles


def may_activate(
    rules: ActRules, type_name: str, steps: Sequence[Step], risks: Mapping[str, Risk], of: GateFacts
) -> Gate:
    """Whether an approved plan may become active now, with every reason why not."""
    return Gate(tuple(_obstacles(rules, type_name, steps, risks, of)))


def _obstacles(
    rules: ActRules, type_name: str, steps: Sequence[Step], risks: Mapping[str, Risk], of: GateFacts
) -> Iterator[Obstacle]:
    if of.conflict is not None:
        words = f"plan {of.conflict} of the same account and type is active"
        yield Obstacle(Held.CONFLICT_ACTIVE_PLAN, words, GateCheck.CONFLICT)
    kind = rules.types.get(type_name)
    if kind is None:
        words = f"policy has no plan type {type_name} any more"
        yield Obstacle(Held.INVALID_PLAN_TYPE, words, GateCheck.TYPE)
        return
    missing = sorted(kind.required_facts - of.facts)
    if missing:
        words = f"facts are missing: {', '.join(missing)}"
        yield Obstacle(Held.PRECONDITIONS_UNMET, words, GateCheck.FACTS)
    if of.approved_by is None:
        yield Obstacle(Held.PRECONDITIONS_UNMET, "nobody has approved it", GateCheck.APPROVAL)
    if of.posture is not None and of.posture in kind.blocked_postures:
        words = f"the account's posture is {of.posture}"
        yield Obstacle(Held.PRECONDITIONS_UNMET, words, GateCheck.POSTURE)
    if kind.needs_person and not of.approved_by_person:
        words = "policy approved it; a person has to"
        yield Obstacle(Held.HUMAN_TOUCH_REQUIRED, words, GateCheck.PERSON)
    yield from _step_obstacles(rules, kind, steps, risks)


def _step_obstacles(
    rules: ActRules, kind: PlanType, steps: Sequence[Step], risks: Mapping[str, Risk]
) -> Iterator[Obstacle]:
    most = rules.autonomy.risk_max
    for step in steps:
        if step.action_type not in kind.actions:
            words = f"{kind.name} may no longer {step.action_type}"
            yield Obstacle(Held.INVALID_PLAN_TYPE, words, GateCheck.ACTIONS)
        risk = risks.get(step.action_type, Risk.HIGH)
        if risk > most:
            told = f"{step.action_type} is of {risk.name.lower()} risk"
            words = f"{told}, the tenant allows {most.name.lower()}"
            yield Obstacle(Held.RISK_ELEVATED, words, GateCheck.RISK)
    for step in out_of_order(kind, steps):
        words = f"{step.step_id} ({step.action_type}) stands behind a later action"
        yield Obstacle(Held.STEP_ORDER_VIOLATION, words, GateCheck.ORDER)


class Sanitised(NamedTuple):
    """What is left of a proposal, and what was dropped, with the reason."""

    steps: tuple[Step, ...]
    dropped: tuple[Mistake, ...]


def sanitised(kind: PlanType, steps: Sequence[Step]) -> Sanitised:
    """The steps that the type allows, each once, in its order, depending on what is left."""
    kept: dict[str, Step] = {}
    dropped = []
    for step in steps:
        at = f"steps[{step.position}]"
        if step.action_type not in kind.actions:
            dropped.append(Mistake(at, f"{kind.name} may not {step.action_type}"))
        elif step.step_id in kept:
            dropped.append(Mistake(at, f"{step.step_id} is the id of another step"))
        elif len(kept) >= STEPS_MAX:
            dropped.append(Mistake(at, f"a plan has at most {STEPS_MAX} steps"))
        else:
            kept[step.step_id] = step
    order = sorted(kept.values(), key=lambda step: (kind.actions[step.action_type], order_of(step)))
    if any(out_of_order(kind, list(kept.values()))):
        kept = {one.step_id: one._replace(sequence=n) for n, one in enumerate(order, 1)}
    return Sanitised(tuple(_renumbered(list(kept.values()))), tuple(dropped))


def _renumbered(steps: Sequence[Step]) -> Iterator[Step]:
    """Places without gaps, and no dependency that could never be met."""
    numbered = [step._replace(position=place) for place, step in enumerate(steps)]
    known = {step.step_id: step for step in numbered}
    for step in numbered:
        needs = [
            name
            for name in dict.fromkeys(step.dependencies)
            if name in known and order_of(known[name]) < order_of(step)
        ]
        yield step._replace(dependencies=tuple(needs[:DEPENDENCIES_MAX]))
