"""One plan as it is while it is on the desk."""

from __future__ import annotations

from typing import Any, NamedTuple

from watchkeeper.core.plans import OPEN, Intent, Plan, PlanStatus, Step
from watchkeeper.errors import Conflict
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message
from watchkeeper.store.plans import Loaded


class Case:
    """One plan on the desk, as it is now."""

    __slots__ = ("intents", "is_moved", "is_written", "plan", "row", "steps")

    def __init__(self, found: Loaded) -> None:
        self.plan: Plan = found.plan
        self.steps: dict[str, Step] = {step.step_id: step for step in found.steps}
        self.intents: dict[str, Intent] = {one.intent_id: one for one in found.intents}
        self.is_moved = False  # to another status than the stored one
        self.row: str | None = None  # what the plan's row is known by, where that is known
        self.is_written = False  # it has a new row, which will be known once it is committed

    @property
    def under_way(self) -> Intent | None:
        """The attempt that the plan waits for."""
        for intent in self.intents.values():
            if intent.state in OPEN and not intent.is_late:
                return intent
        return None

    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = loads(self.plan.facts)
        return facts


class Begun(NamedTuple):
    """An action that is to be carried out here once it is committed."""

    message: Message
    detail: dict[str, Any]  # of the message
    case: Case


def only(case: Case, *allowed: PlanStatus) -> None:
    """Refuse what the status of the plan does not allow; nothing has changed then."""
    if case.plan.status not in allowed:
        wanted = " or ".join(allowed)
        raise Conflict(
            f"the plan is {case.plan.status}; it has to be {wanted}", status=case.plan.status
        )
