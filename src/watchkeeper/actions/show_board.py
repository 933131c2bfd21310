"""The board of plans: what waits for a person, and every status with its newest plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from watchkeeper.core.approvals import Risk
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plan_types import PlanType
from watchkeeper.core.plans import ENDED, Intent, Plan, PlanStatus, Step
from watchkeeper.store import action_types, plan_board, plans
from watchkeeper.store.database import Database
from watchkeeper.store.plan_board import COUNTED_MAX, SCANNED_MAX, Paged
from watchkeeper.store.plans import Loaded
from watchkeeper.store.transaction import Tx

__all__ = ["COUNTED_MAX", "SCANNED_MAX", "Asking", "Board", "list_board", "show_board", "waiting"]

COLUMN_MAX = 8
WAITING_MAX = 25


@dataclass(frozen=True, slots=True)
class Asking:
    """An intent that waits for an answer, with what it would do if that is yes."""

    intent: Intent
    plan: Plan
    step: Step
    risk: Risk


class Example(NamedTuple):
    """The shortest plan that can be written."""

    type: str
    step: str


@dataclass(frozen=True, slots=True)
class Board:
    """`counts` and `waiting_count` stop one above COUNTED_MAX."""

    waiting: tuple[Asking, ...]
    waiting_count: int
    plans: Mapping[PlanStatus, list[Loaded]]
    counts: Mapping[PlanStatus, int]
    types: tuple[str, ...]  # that policy knows
    example: Example | None  # of a plan that policy takes

    @property
    def ended(self) -> list[Loaded]:
        """The newest of all that are over."""
        found = [one for status in ENDED for one in self.plans[status]]
        return sorted(found, key=lambda one: one.plan.plan_id, reverse=True)[:COLUMN_MAX]


def show_board(db: Database, tenant_id: TenantId, filters: Mapping[str, str]) -> Board:
    """The filters, by account and type, are of the plans; what waits is shown whatever they are."""
    with db.read(tenant_id) as tx:
        rules = db.policies.exact(tx).rules.act
        return Board(
            waiting=_waiting(tx, rules.risks),
            waiting_count=plan_board.count_waiting(tx),
            plans=plan_board.newest(tx, filters, COLUMN_MAX),
            counts=plan_board.count(tx, filters),
            types=tuple(sorted(rules.types)),
            example=_example(rules.types),
        )


def list_board(
    db: Database, tenant_id: TenantId, filters: Mapping[str, str], *, before: str | None, limit: int
) -> Paged:
    """Plans of one status or of all, the newest first."""
    with db.read(tenant_id) as tx:
        return plan_board.page(tx, filters, before=before, limit=limit)


def waiting(db: Database, tenant_id: TenantId) -> tuple[Asking, ...]:
    """What waits for an answer, the longest first, up to WAITING_MAX."""
    with db.read(tenant_id) as tx:
        return _waiting(tx, db.policies.exact(tx).rules.act.risks)


def _example(types: Mapping[str, PlanType]) -> Example | None:
    for name, kind in sorted(types.items()):
        for action in sorted(kind.actions, key=lambda one: (kind.actions[one], one)):
            return Example(name, action)
    return None


def _waiting(tx: Tx, of_policy: Mapping[str, Risk]) -> tuple[Asking, ...]:
    asked = plan_board.waiting(tx, WAITING_MAX)
    if not asked:
        return ()
    risks = {**action_types.risks(tx), **of_policy}
    found = plans.load(tx, {intent.plan_id for intent in asked})
    asking = []
    for intent in asked:
        loaded = found[intent.plan_id]
        step = next(step for step in loaded.steps if step.step_id == intent.step_id)
        risk = risks.get(intent.action_type, Risk.HIGH)
        asking.append(Asking(intent, loaded.plan, step, risk))
    return tuple(asking)
