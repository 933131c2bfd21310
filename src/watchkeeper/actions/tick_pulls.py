"""The tick: a tenant's due pulls are scheduled, the most urgent first, some at a time.

When it comes next is a message, so any number of machines tick and tenants take turns. The
tenant remembers which tick is the next: one that comes twice, or for which an earlier one was
planned since, does nothing, so that there is never more than one row of ticks.
"""

from __future__ import annotations

from functools import partial

from watchkeeper.actions.count_pulls import count_pulls
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.policy import TenantRules
from watchkeeper.core.pulls import (
    Origin,
    PullKey,
    PullReason,
    cadence_slot,
    next_day,
    next_slot,
    pull_job_id,
)
from watchkeeper.core.time import MINUTE, SECOND, Instant
from watchkeeper.moves import heat, pulls
from watchkeeper.moves.pulls import Scheduled, Wanted
from watchkeeper.store import connectors, next_pulls, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.next_pulls import NextPull
from watchkeeper.store.transaction import Tx

GAP_US = SECOND
"""Between two ticks of a tenant that is not behind."""


def tick_pulls(
    db: Database, tenant_id: TenantId, planned_at: Instant | None = None
) -> list[Scheduled]:
    """Schedule what is due, at most so many as policy says; plan the next tick.

    `planned_at` is for when the tick was planned; without one it comes out of turn.
    """

    def deed() -> list[Scheduled]:
        with db.batch(tenant_id) as tx:
            tenant = tenants.lock(tx)
            if planned_at is not None and next_pulls.tick_at(tx) != planned_at:
                return []
            rules = db.policies.exact(tx).rules
            found = next_pulls.due(tx, rules.pulls.per_tick_max)
            due = _still_pulled(tx, found)
            jobs = [_wanted(tx, rules, one) for one in due]
            answers = pulls.schedule(tx, tenant, rules, jobs)
            tenants.save_seq(tx, tenant)
            moved = [
                _moved(tx, rules, pull, answer) for pull, answer in zip(due, answers, strict=True)
            ]
            next_pulls.save(tx, moved)
            _plan(tx, is_behind=len(found) == rules.pulls.per_tick_max)
            tx.after_commit.append(partial(count_pulls, answers))
            return answers

    return db.retrying(deed)


def _plan(tx: Tx, *, is_behind: bool) -> None:
    at = next_pulls.next_due(tx)
    if at is None:
        next_pulls.forget_tick(tx)
        return
    heat.plan_tick(tx, tx.now if is_behind else Instant(max(at, tx.now + GAP_US)))


def _still_pulled(tx: Tx, due: list[NextPull]) -> list[NextPull]:
    """A connector may have lost its cadence: then its pulls end here."""
    if not due:
        return due
    names = {one.connector_id for one in connectors.with_cadence(tx)}
    next_pulls.remove(tx, [pull for pull in due if pull.connector_id not in names])
    return [pull for pull in due if pull.connector_id in names]


def _wanted(tx: Tx, rules: TenantRules, pull: NextPull) -> Wanted:
    depth = rules.heat.tiers[pull.tier].depth
    key = PullKey(tx.tenant_id, pull.account_id, pull.connector_id)
    job_id = pull_job_id(key, depth, Origin.CADENCE, cadence_slot(pull.slot_at))
    account_id = AccountId(pull.account_id)
    return Wanted(job_id, account_id, pull.connector_id, depth, Origin.CADENCE, pull.tier)


def _moved(tx: Tx, rules: TenantRules, pull: NextPull, answer: Scheduled) -> NextPull:
    """When it is looked at next, by how it went."""
    now = tx.now
    cadence_us = rules.heat.tiers[pull.tier].cadence_us
    match answer.reason:
        case None | PullReason.DUPLICATE:
            slot_at = next_slot(pull.slot_at, cadence_us, now)
            pulled_at = now if answer.reason is None else pull.pulled_at
            return pull._replace(
                slot_at=slot_at,
                due_at=slot_at,
                overdue_at=Instant(slot_at + cadence_us),
                pulled_at=pulled_at,
            )
        case PullReason.NO_BUDGET | PullReason.BUDGET_EXCEEDED:
            # Its slot stays, so that what was refused for longer than its cadence goes first.
            key = PullKey(tx.tenant_id, pull.account_id, pull.connector_id)
            return pull._replace(due_at=next_day(key, now))
        case _:
            return pull._replace(due_at=answer.retry_at or Instant(now + MINUTE))
