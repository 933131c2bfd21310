"""Milestones as they are kept: the markers, which are final; how it went; the next tick."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from watchkeeper.core.ids import TenantId
from watchkeeper.core.milestones import MilestoneState, Outcome
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Session, Tx

TENANTS_MAX = 1_000
"""Tenants whose ticks one look mends."""

_STATE = "milestone, last_run_at, attempts, failures, last_error, last_error_at, backoff_until_at"
_MARKS = same(
    "select milestone, outcome, report_id, marked_at from milestones"
    " where tenant_id = %s order by milestone"
)
_MARK = same(
    "insert into milestones (tenant_id, milestone, outcome, report_id, marked_at)"
    " values (%s, %s, %s, %s, %s)"
)
_STATES = same(f"select {_STATE} from milestone_states where tenant_id = %s order by milestone")
_PUT = same(
    f"insert into milestone_states (tenant_id, {_STATE})"
    " values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict (tenant_id, milestone) do update set"
    " last_run_at = excluded.last_run_at, attempts = excluded.attempts,"
    " failures = excluded.failures, last_error = excluded.last_error,"
    " last_error_at = excluded.last_error_at, backoff_until_at = excluded.backoff_until_at"
)
_TICK = same("select due_at from milestone_ticks where tenant_id = %s")
_PLANNED = same("select due_at, policy_version from milestone_ticks where tenant_id = %s")
_SET_TICK = same(
    "insert into milestone_ticks (tenant_id, due_at, policy_version) values (%s, %s, %s)"
    " on conflict (tenant_id) do update set due_at = excluded.due_at,"
    " policy_version = excluded.policy_version"
)
_UNTICKED = same(
    "select t.tenant_id from tenants t left join milestone_ticks k on k.tenant_id = t.tenant_id"
    " where t.installed_at is not null and (k.tenant_id is null or k.due_at < %s"
    f" or k.policy_version <> %s) order by t.tenant_id limit {TENANTS_MAX}"
)
_BACKING_OFF = same(
    "select milestone, count(*) from milestone_states where backoff_until_at > %s group by 1"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """What came of a milestone: for good."""

    milestone: str
    outcome: Outcome
    report_id: str | None
    marked_at: Instant


def marks(tx: Tx) -> dict[str, Mark]:
    return {
        row[0]: Mark(row[0], Outcome(row[1]), None if row[2] is None else str(row[2]), row[3])
        for row in tx.rows(_MARKS, (tx.tenant_id,))
    }


def mark(tx: Tx, milestone: str, outcome: Outcome, report_id: str | None) -> None:
    """Write the marker. One that is there already refuses this and all that goes with it."""
    tx.run(_MARK, (tx.tenant_id, milestone, outcome.value, report_id, tx.now))


def states(tx: Tx) -> dict[str, MilestoneState]:
    return {row[0]: MilestoneState(*row) for row in tx.rows(_STATES, (tx.tenant_id,))}


def put(tx: Tx, state: MilestoneState) -> None:
    tx.run(_PUT, (tx.tenant_id, *astuple(state)))


def tick_at(tx: Tx) -> Instant | None:
    """When the tenant's next tick is due, as far as one is under way."""
    rows = tx.rows(_TICK, (tx.tenant_id,))
    return rows[0][0] if rows else None


def tick(tx: Tx) -> tuple[Instant | None, int] | None:
    """When the next tick is due, and by which version of the policy; None: it was never asked."""
    rows = tx.rows(_PLANNED, (tx.tenant_id,))
    return (rows[0][0], rows[0][1]) if rows else None


def set_tick(tx: Tx, due_at: Instant | None, policy_version: int) -> None:
    tx.run(_SET_TICK, (tx.tenant_id, due_at, policy_version))


def unticked(session: Session, before: Instant, policy_version: int) -> list[TenantId]:
    """Tenants whose tick was lost, or was found under another policy."""
    return [TenantId(row[0]) for row in session.rows(_UNTICKED, (before, policy_version))]


def backing_off(session: Session) -> dict[str, int]:
    """How many tenants are left alone for now, by milestone."""
    return {row[0]: int(row[1]) for row in session.rows(_BACKING_OFF, (session.now,))}
