"""What follows from a transaction about plans: actions that it began are carried out here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from watchkeeper.act_results import Action
from watchkeeper.actions.plans import Plans
from watchkeeper.core.time import SECOND
from watchkeeper.handlers.registry import Follow
from watchkeeper.moves.plan_case import Begun
from watchkeeper.moves.plan_desk import Desk
from watchkeeper.store.plan_ends import Expected, Found, Guess

SLICE = 50
"""So many plans are judged before the first of them are written, while more are judged."""


def room_left(follow: Follow | None) -> Follow | None:
    """The same, for the next of several transactions."""
    return None if follow is None else replace(follow, room=follow.room - len(follow.begun))


def hand_on(follow: Follow | None, begun: Sequence[Begun]) -> None:
    """These were committed as begun: their handlers are to be called."""
    if follow is not None:
        follow.begun += [(one.message, action_of(one.detail)) for one in begun]


def remember(carrier: Plans, desk: Desk, found: Found | Expected, at: float) -> None:
    """What was committed, for the outcomes of what was begun.

    `at` says when it was the time of the desk, on the process's own clock.
    """
    carrier.recall.keep(desk.begun, found.row)
    if not found.is_steady:
        return
    now = desk.now
    if isinstance(found, Expected):  # it was waited for
        now, at = found.now, at + (found.now - now) / SECOND
    context = desk.context_after._replace(has_waiting=found.context.has_waiting)
    carrier.recall.learn(desk.tx.tenant_id, Guess(context, desk.tenant.tier, now, at))


def action_of(detail: Mapping[str, Any]) -> Action:
    return Action(
        intent_id=detail["intent_id"],
        tenant_id=detail["tenant_id"],
        account_id=detail["account_id"],
        action_type=detail["action_type"],
        plan_id=detail["plan_id"],
        plan_type=detail["plan_type"],
        step_id=detail["step_id"],
        attempt=detail["attempt"],
        idempotency_key=detail["idempotency_key"],
        objective=detail["objective"],
        data=detail["data"],
        correlation_id=detail.get("correlation_id"),
    )
