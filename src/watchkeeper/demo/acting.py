"""The demo's act stage: plans to keep customers, suggested by runs, with actions that do nothing.

The calendar of one account is broken for good: its plan is tried, tried again and paused.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from random import Random
from typing import Any

from watchkeeper.act_results import Action, Asked, Outcome, Proposal
from watchkeeper.app import App
from watchkeeper.core.plans import ENDED, PlanStatus
from watchkeeper.demo.cast import NAMES, account_name
from watchkeeper.demo.scene import Scene
from watchkeeper.handler_types import ActionHandler
from watchkeeper.input_types import PlanStatus as StatusName
from watchkeeper.input_types import RiskName
from watchkeeper.results import Run

KIND = "RENEWAL_DEFENSE"
WORRYING = ("payment.failed", "usage.dropped", "support.ticket_opened")
BROKEN = ("globex", account_name(3))
"""The account whose calendar never answers."""

DRAFTS_MAX = 3
OPEN_MAX = 8
"""Of one tenant: more is not suggested before something has ended."""

GAP_SECONDS = 4.0
"""Between two suggestions for one tenant at the beginning, and so many times more later."""
GAP_SECONDS_MAX = 90.0

SECONDS = (0.4, 2.5)
FAILED = 0.04


class Renewals:
    """Suggests plans, and carries their actions out: each takes a moment and changes nothing."""

    def __init__(self, app: App, scene: Scene, seed: int) -> None:
        self._app = app
        self._scene = scene
        self._random = Random(f"{seed} renewals")
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    # -- what to do ------------------------------------------------------------------

    def suggest(self, run: Run) -> list[dict[str, Any]]:
        """A plan, if the news is worrying and the tenant has not enough of them already."""
        worrying = sorted({one.type for one in run.signals if one.type in WORRYING})
        if not worrying or run.tenant_id not in NAMES or self._scene.is_over:
            return []
        with self._lock:
            at = self._scene.at
            if at < self._next.get(run.tenant_id, 0.0):
                return []
            self._next[run.tenant_id] = at + min(GAP_SECONDS / self._scene.pace, GAP_SECONDS_MAX)
            if not self.has_room(run.tenant_id, run.account_id):
                return []
        return [{"plan_type": KIND, "steps": steps_for(worrying), "facts": {"worrying": worrying}}]

    def propose(self, asked: Asked) -> Proposal:
        """Asked for by a person; it is what a run would have suggested."""
        worrying = asked.context.get("worrying")
        named = worrying if isinstance(worrying, list) else [WORRYING[-1]]
        return Proposal(steps_for([str(name) for name in named]), facts={"worrying": named})

    def has_room(self, tenant_id: str, account_id: str) -> bool:
        plans = self._app.plans
        mine = plans.list(tenant_id, account_id=account_id, limit=OPEN_MAX)
        if any(PlanStatus(plan.status) not in ENDED for plan in mine):
            return False
        if len(plans.list(tenant_id, status="DRAFT", limit=DRAFTS_MAX)) >= DRAFTS_MAX:
            return False
        begun = [plans.list(tenant_id, status=name, limit=OPEN_MAX) for name in OPEN]
        return sum(map(len, begun)) < OPEN_MAX

    # -- doing it --------------------------------------------------------------------

    async def request_meeting(self, action: Action) -> Outcome:
        await self._scene.pause_async(self._random.uniform(*SECONDS))
        if (action.tenant_id, action.account_id) == BROKEN:
            return Outcome.failure("calendar.example answered 401: the account was disconnected")
        if action.attempt == 1 and self._random.random() < FAILED:
            return Outcome.failure("calendar.example did not answer within 10 s")
        day = self._random.choice(("Monday", "Tuesday", "Wednesday", "Thursday"))
        return Outcome.success(f"a meeting on {day} at {self._random.randint(9, 16)}:00")

    def write_brief(self, action: Action) -> Outcome:
        self._scene.pause(self._random.uniform(*SECONDS))
        return Outcome.success(f"two pages about {action.account_id}")

    def escalate(self, action: Action) -> Outcome:
        self._scene.pause(self._random.uniform(*SECONDS))
        case = self._random.randint(1000, 9999)
        return Outcome.success(f"case {case} of {action.account_id} is with the support lead")


OPEN: tuple[StatusName, ...] = ("APPROVED", "ACTIVE", "PAUSED")


def steps_for(worrying: list[str]) -> list[dict[str, Any]]:
    """A meeting and a brief always; support where it is part of the trouble."""
    steps: list[dict[str, Any]] = [
        {"step_id": "meeting", "action_type": "REQUEST_RENEWAL_MEETING"},
        {"step_id": "brief", "action_type": "PREP_RENEWAL_BRIEF", "dependencies": ["meeting"]},
    ]
    if WORRYING[-1] in worrying:
        steps.append({"step_id": "support", "action_type": "ESCALATE_SUPPORT_RISK"})
    return steps


def is_renewed(facts: Mapping[str, Any]) -> bool:
    return facts.get("renewed") is True


def register_actions(app: App, renewals: Renewals) -> None:
    """Those that a program of yours has registered stay yours."""
    handlers: dict[str, tuple[RiskName, ActionHandler]] = {
        "REQUEST_RENEWAL_MEETING": ("low", renewals.request_meeting),
        "PREP_RENEWAL_BRIEF": ("low", renewals.write_brief),
        "ESCALATE_SUPPORT_RISK": ("medium", renewals.escalate),
    }
    for name, (risk, handler) in handlers.items():
        if name not in app.actions:
            app.action(name, risk=risk)(handler)
    if not app.proposers:
        app.proposer(KIND)(renewals.propose)
    if KIND not in app.carrier.objectives:
        app.objective(KIND)(is_renewed)
