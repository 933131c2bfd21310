"""What has to be done now and then, whoever is there to do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from watchkeeper.actions.follow_shadows import follow_shadows
from watchkeeper.actions.forget_expired import forget_expired
from watchkeeper.actions.generate_report import count_ledgers
from watchkeeper.actions.tick_milestones import plan_ticks
from watchkeeper.actions.unhandled import mark_unhandled
from watchkeeper.core.ids import SYSTEM
from watchkeeper.handlers.registry import Registry
from watchkeeper.store.database import Database


def chores(db: Database, registry: Registry) -> Sequence[Callable[[], object]]:
    """For the maintenance loop of every worker: each may run on many machines at once."""
    return (
        partial(read_policy_in_force, db),
        partial(forget_expired, db),
        partial(mark_unhandled, db, registry),
        partial(count_ledgers, db),
        partial(plan_ticks, db),
        partial(follow_shadows, db),
    )


def read_policy_in_force(db: Database) -> None:
    """Learn of a new policy, for the delivery rules that need no lock to be read."""
    with db.read(SYSTEM) as tx:
        db.policies.current(tx)
