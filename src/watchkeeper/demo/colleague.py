"""The demo's operator: answers what has waited longest, and keeps every desk short.

The newest questions are left to whoever watches. What somebody else was quicker with is theirs.
"""

from __future__ import annotations

from random import Random

from watchkeeper.actions import views
from watchkeeper.actions.keep_desk import discard_message, redrive_message
from watchkeeper.actions.set_pull_budget import set_pull_budget, show_pull_budget
from watchkeeper.app import App
from watchkeeper.core.envelope import EVALUATION_REQUESTED
from watchkeeper.core.plans import ENDED, PlanStatus
from watchkeeper.core.pulls import Budget
from watchkeeper.demo.acting import BROKEN, KIND
from watchkeeper.demo.cast import AUTHOR, CAST, Member
from watchkeeper.demo.scene import Every, Scene
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.store.outbox_desk import Filter, Status

NAME = "kim@demo.example"
ROUND_SECONDS = 1.0
DRAFTS_LEFT = 2
INTENTS_LEFT = 2
PAUSED_LEFT = 1
DEAD_LEFT = 3
"""Of each tenant, so many stay where they are: for whoever watches."""

CLEARED_MAX = 5
PAGE = 20
NO = 0.12
BUDGET_STEP = 25
BUDGET_MAX = 5_000
BUDGET_EVERY_SECONDS = 150.0
BROKEN_EVERY_SECONDS = 300.0


class Colleague:
    """Looks after one tenant at a time, in turn."""

    def __init__(self, app: App, scene: Scene, seed: int) -> None:
        self._app = app
        self._scene = scene
        self._random = Random(f"{seed} colleague")
        self._rounds = Every(ROUND_SECONDS, first=1.0)
        self._broken = Every(BROKEN_EVERY_SECONDS, first=4.0)
        self._budgets = {one.tenant_id: Every(BUDGET_EVERY_SECONDS, first=60.0) for one in CAST}
        self._turn = 0

    def tick(self, _seconds: float) -> None:
        if self._broken.is_due(self._scene.at):
            self._try_the_broken()
        if not self._rounds.is_due(self._scene.at):
            return
        member = CAST[self._turn % len(CAST)]
        self._turn += 1
        for visit in (self._drafts, self._intents, self._paused, self._dead, self._budget):
            try:
                visit(member)
            except (Conflict, NotFound):
                continue  # somebody else was quicker

    def _drafts(self, member: Member) -> None:
        waiting = self._app.plans.list(member.tenant_id, status="DRAFT", limit=PAGE)
        if len(waiting) <= DRAFTS_LEFT:
            return
        oldest = waiting[-1].plan_id
        if self._random.random() < NO:
            self._app.plans.abort(oldest, "not this quarter", by=NAME, tenant_id=member.tenant_id)
        else:
            self._app.plans.approve(oldest, by=NAME, tenant_id=member.tenant_id)

    def _intents(self, member: Member) -> None:
        waiting = self._app.intents.list(member.tenant_id, status="PENDING_APPROVAL", limit=PAGE)
        if len(waiting) <= INTENTS_LEFT:
            return
        oldest = waiting[-1]
        if self._random.random() < NO:
            why = "the customer was called yesterday"
            self._app.intents.reject(oldest.intent_id, why, by=NAME, tenant_id=member.tenant_id)
        elif self._random.random() < NO:
            facts = {"renewed": True}
            self._app.plans.tell(oldest.plan_id, facts, by=NAME, tenant_id=member.tenant_id)
        else:
            self._app.intents.approve(oldest.intent_id, by=NAME, tenant_id=member.tenant_id)

    def _paused(self, member: Member) -> None:
        paused = self._app.plans.list(member.tenant_id, status="PAUSED", limit=PAGE)
        if len(paused) > PAUSED_LEFT:
            why = "taken over by the account team"
            self._app.plans.abort(paused[-1].plan_id, why, by=NAME, tenant_id=member.tenant_id)

    def _dead(self, member: Member) -> None:
        """Runs get another chance, everything else is let go."""
        tenant_id, app = member.tenant_id, self._app
        dead = views.list_messages(app.db, tenant_id, Filter(status=Status.DEAD), None, PAGE)
        for message in dead[DEAD_LEFT:][-CLEARED_MAX:]:
            if message.topic == EVALUATION_REQUESTED:
                redrive_message(app.db, app.registry, tenant_id, message.id, by=NAME)
            else:
                discard_message(app.db, app.registry, tenant_id, message.id, by=NAME)

    def _budget(self, member: Member) -> None:
        """A budget that is used up is raised a little, after a while."""
        if not self._budgets[member.tenant_id].is_due(self._scene.at):
            return
        spent = show_pull_budget(self._app.db, member.tenant_id)
        if spent.budget is None or spent.budget.total > BUDGET_MAX:
            return
        if spent.remaining is not None and spent.remaining * 20 > spent.budget.total:
            return
        raised = Budget(spent.total.units + BUDGET_STEP, spent.budget.connectors)
        set_pull_budget(self._app.db, member.tenant_id, raised, by=AUTHOR)

    def _try_the_broken(self) -> None:
        """One plan that cannot go well, whenever there is none: its failures pause it."""
        tenant_id, account_id = BROKEN
        known = self._app.plans.list(tenant_id, account_id=account_id, limit=PAGE)
        if all(PlanStatus(plan.status) in ENDED for plan in known):
            plan = self._app.plans.propose(tenant_id, account_id, KIND, by=AUTHOR)
            self._app.plans.approve(plan.plan_id, by=NAME, tenant_id=tenant_id)
