"""The tick: what a tenant's age makes due is made, once; what failed waits for its backoff.

When a tick comes next is a message, so any number of machines tick. A tick never raises: each
failure becomes state that is stored and an answer that says so, and stops no other tenant.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from watchkeeper import telemetry
from watchkeeper.actions.generate_report import (
    Hears,
    facts_of,
    generate_report,
    heard_by,
    refuse_nobody,
)
from watchkeeper.core import milestones as rule
from watchkeeper.core.delivery import AttemptResult, Delivered, Retry
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.milestones import (
    BackingOff,
    Due,
    Milestone,
    NothingDue,
    NotInstalled,
    Verdict,
)
from watchkeeper.core.policy_report import report_rules
from watchkeeper.core.redaction import redacted
from watchkeeper.core.time import Instant
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.handlers.registry import Registry
from watchkeeper.moves import reporting
from watchkeeper.moves.lose_messages import Lost
from watchkeeper.moves.reporting import TICK
from watchkeeper.store import milestones, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message
from watchkeeper.store.transaction import Tx

BATCH_MAX = 10
"""Ticks that a worker takes at once: each may count for a while."""

_log = logging.getLogger("watchkeeper.reports")


class Ticked(StrEnum):
    GENERATED = "generated"
    ALREADY = "already_done"
    NOTHING_DUE = "nothing_due"
    NOT_INSTALLED = "not_installed"
    BACKING_OFF = "backing_off"
    OUTDATED = "outdated"  # another tick is the tenant's next
    REFUSED = "refused"  # no such tenant
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TickResult:
    """What came of a tick."""

    tenant_id: TenantId
    outcome: Ticked
    milestone: str | None = None
    report_id: str | None = None
    missed: tuple[str, ...] = ()
    error: str | None = None
    is_recorded: bool = True  # False: the failure itself could not be stored


def register_milestones(registry: Registry, db: Database) -> None:
    """What Watchkeeper does by itself; the answer is for each message its own."""
    hears = heard_by(db, registry)

    def tick(at: Database, messages: list[Message]) -> Sequence[AttemptResult]:
        return [_answer(tick_message(at, one, hears=hears)) for one in messages]

    registry.handle_batch(TICK, tick, batch_max=BATCH_MAX)
    registry.when_lost(TICK, _tick_again)


def tick_message(db: Database, message: Message, *, hears: Hears) -> TickResult:
    try:
        planned_at = Instant(int(loads(message.payload)["due_at"]))
    except Exception as error:
        return _failed(message.tenant_id, None, error, is_recorded=True)
    return tick_milestones(db, message.tenant_id, planned_at, hears=hears)


def tick_milestones(
    db: Database, tenant_id: TenantId, planned_at: Instant | None = None, *, hears: Hears
) -> TickResult:
    """Make what is due for a tenant. Never raises.

    `planned_at` is for when the tick was planned; without one it comes out of turn.
    """
    milestone: str | None = None
    missed: tuple[str, ...] = ()
    try:
        refuse_nobody(tenant_id)
        verdict, missed = db.retrying(partial(_look, db, tenant_id, planned_at))
        _count(verdict, missed)
        if not isinstance(verdict, Due):
            return _not_due(tenant_id, verdict, missed)
        milestone = verdict.milestone.name
        report = generate_report(db, tenant_id, milestone, hears=hears)
        if report is None:
            db.retrying(partial(_plan_on, db, tenant_id, planned_at))
    except (Invalid, NotFound) as error:
        if milestone is None:
            return TickResult(tenant_id=tenant_id, outcome=Ticked.REFUSED, error=str(error))
        return _record(db, tenant_id, milestone, missed, error)
    except Exception as error:
        return _record(db, tenant_id, milestone, missed, error)
    return TickResult(
        tenant_id=tenant_id,
        outcome=Ticked.ALREADY if report is None else Ticked.GENERATED,
        milestone=milestone,
        report_id=None if report is None else report.header.report_id,
        missed=missed,
    )


def _look(
    db: Database, tenant_id: TenantId, planned_at: Instant | None
) -> tuple[Verdict | None, tuple[str, ...]]:
    """What is due; what has passed is recorded. None: this tick is not the tenant's next."""
    with db.begin(tenant_id) as tx:
        tenant = tenants.lock(tx)
        if planned_at is not None and milestones.tick_at(tx) != planned_at:
            return None, ()
        guess, installed_at = db.policies.exact(tx), facts_of(tx).installed_at
        rules = guess.rules.reports
        missed: tuple[Milestone, ...] = ()
        done = milestones.marks(tx)
        if installed_at is not None:
            missed = rule.missed(rules.milestones, tx.now - installed_at, done)
            reporting.miss(tx, tenant, guess, missed)
        states = milestones.states(tx)
        verdict = rule.judge(rules, installed_at, done, states, tx.now)
        if not isinstance(verdict, Due):
            reporting.plan(tx, guess, installed_at, anew=planned_at is not None)
        return verdict, tuple(one.name for one in missed)


def _plan_on(db: Database, tenant_id: TenantId, planned_at: Instant | None) -> None:
    """Somebody was quicker, or the window closed meanwhile: see to the next tick all the same."""
    with db.begin(tenant_id) as tx:
        tenants.lock(tx)
        is_next = planned_at is not None and milestones.tick_at(tx) == planned_at
        reporting.plan(tx, db.policies.exact(tx), facts_of(tx).installed_at, anew=is_next)


def _not_due(tenant_id: TenantId, verdict: Verdict | None, missed: tuple[str, ...]) -> TickResult:
    told = partial(TickResult, tenant_id=tenant_id, missed=missed)
    match verdict:
        case None:
            return told(outcome=Ticked.OUTDATED)
        case NotInstalled():
            return told(outcome=Ticked.NOT_INSTALLED)
        case BackingOff(milestone=milestone):
            return told(outcome=Ticked.BACKING_OFF, milestone=milestone.name)
        case _:
            return told(outcome=Ticked.NOTHING_DUE)


def _record(
    db: Database,
    tenant_id: TenantId,
    milestone: str | None,
    missed: tuple[str, ...],
    error: Exception,
) -> TickResult:
    """Store the failure of a milestone, with its backoff; it may have come out well after all."""
    if milestone is None:
        return _failed(tenant_id, None, error, is_recorded=False)
    told = redacted(f"{type(error).__name__}: {error}")

    def deed() -> bool:
        with db.begin(tenant_id) as tx:
            tenant = tenants.lock(tx)
            guess = db.policies.exact(tx)
            is_done = milestone in milestones.marks(tx)
            if not is_done:
                reporting.fail(tx, tenant, guess, milestone, told)
            reporting.plan(tx, guess, facts_of(tx).installed_at, anew=True)
            return is_done

    try:
        is_done = db.retrying(deed)
    except Exception as worse:
        return _failed(tenant_id, milestone, worse, is_recorded=False)
    if is_done:
        return TickResult(
            tenant_id=tenant_id, outcome=Ticked.ALREADY, milestone=milestone, missed=missed
        )
    _log.warning("the report %s of %s failed: %s", milestone, tenant_id, told)
    return _failed(tenant_id, milestone, error, is_recorded=True, missed=missed)


def _failed(
    tenant_id: TenantId,
    milestone: str | None,
    error: Exception,
    *,
    is_recorded: bool,
    missed: tuple[str, ...] = (),
) -> TickResult:
    return TickResult(
        tenant_id=tenant_id,
        outcome=Ticked.FAILED,
        milestone=milestone,
        missed=missed,
        error=redacted(f"{type(error).__name__}: {error}"),
        is_recorded=is_recorded,
    )


def _answer(result: TickResult) -> AttemptResult:
    """A failure that is stored has its own backoff; one that is not comes with the message."""
    return Delivered() if result.is_recorded else Retry(result.error or "the tick failed")


def _count(verdict: Verdict | None, missed: Sequence[str]) -> None:
    match verdict:
        case Due(milestone=milestone) | BackingOff(milestone=milestone):
            decided = "due" if isinstance(verdict, Due) else "backing_off"
            telemetry.MILESTONE_DECISIONS.labels(decided, milestone.name).inc()
        case NothingDue() | NotInstalled():
            telemetry.MILESTONE_DECISIONS.labels("nothing_due", "").inc()
        case None:
            telemetry.MILESTONE_DECISIONS.labels("outdated", "").inc()
    for name in missed:
        telemetry.MILESTONES_MISSED.labels(name).inc()


# -- ticks that are not there ----------------------------------------------------------------------


def plan_ticks(db: Database) -> int:
    """A chore: see to the ticks of tenants who lost theirs, or whose policy is another now."""
    with db.read_system() as tx:
        policy = db.policies.current(tx)
        before = Instant(tx.now - report_rules(policy.effective).tick_us)
        found = milestones.unticked(tx, before, policy.version)
    for tenant_id in found:
        if tenant_id == SYSTEM:
            continue
        try:
            db.retrying(partial(_plan_anew, db, tenant_id, before))
        except Exception as error:
            _log.warning("the next tick of %s was not planned: %s", tenant_id, error)
    return len(found)


def _plan_anew(db: Database, tenant_id: TenantId, before: Instant) -> None:
    with db.begin(tenant_id) as tx:
        tenants.lock(tx)
        planned_at = milestones.tick_at(tx)
        is_lost = planned_at is not None and planned_at < before
        reporting.plan(tx, db.policies.exact(tx), facts_of(tx).installed_at, anew=is_lost)


def incomplete(db: Database, tx: Tx) -> list[dict[str, object]]:
    """A tick that is not planned for when the rules say, though they were asked last: then
    something that is due would not come, or has come too often.
    """
    planned, guess = milestones.tick(tx), db.policies.exact(tx)
    if planned is None or planned[1] != guess.version:
        return []
    done, states = milestones.marks(tx), milestones.states(tx)
    due_at = rule.next_tick(guess.rules.reports, facts_of(tx).installed_at, done, states)
    return [] if planned[0] == due_at else [{"planned_at": planned[0], "due_at": due_at}]


def _tick_again(tx: Tx, lost: Sequence[Lost]) -> None:
    """A tick died or was discarded: the chore plans another, since none is known any more."""
    planned_at = milestones.tick_at(tx)
    if planned_at is not None and any(_due_at(one) == planned_at for one in lost):
        milestones.set_tick(tx, None, policy_version=LOST)


def _due_at(one: Lost) -> object:
    return loads(one.payload).get("due_at")


LOST = -1
"""A policy version that there is not: whatever was planned under it is planned again."""
