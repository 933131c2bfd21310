"""Runs: what an ALLOW caused. A decision without a row here has not been started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx


class RunStatus(StrEnum):
    REQUESTED = "REQUESTED"  # never stored: the ALLOW says it
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"


@dataclass(frozen=True, slots=True)
class StoredRun:
    decision_id: DecisionId
    account_id: AccountId
    trigger_type: str
    state: RunStatus
    started_at: Instant | None
    ended_at: Instant | None
    note: str | None
    error: str | None


_START = same(
    "insert into runs (tenant_id, decision_id, account_id, trigger_type, state, started_at)"
    " values (%s, %s, %s, %s, 'RUNNING', %s)"
    " on conflict (tenant_id, decision_id) do update set state = 'RUNNING',"
    " started_at = excluded.started_at, ended_at = null, note = null, error = null"
    " where runs.state in ('FAILED', 'OUTCOME_UNKNOWN')"  # redriven by a person
    " returning decision_id"
)
_END = same(
    "insert into runs (tenant_id, decision_id, account_id, trigger_type, state, started_at,"
    " ended_at, note, error) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " on conflict (tenant_id, decision_id) do update set state = excluded.state,"
    " ended_at = excluded.ended_at, note = excluded.note, error = excluded.error"
    " where runs.state = 'RUNNING' returning decision_id"
)
_GET = same(
    "select decision_id, account_id, trigger_type, state, started_at, ended_at, note, error"
    " from runs where tenant_id = %s and decision_id = %s"
)


def start(tx: Tx, decision_id: DecisionId, account_id: AccountId, trigger_type: str) -> bool:
    """RUNNING from now on; False when it ran already and nobody asked for it again."""
    return bool(tx.rows(_START, (tx.tenant_id, decision_id, account_id, trigger_type, tx.now)))


def end(
    tx: Tx,
    decision_id: DecisionId,
    account_id: AccountId,
    trigger_type: str,
    state: RunStatus,
    *,
    note: str | None = None,
    error: str | None = None,
) -> bool:
    """Write the end of a run, once; also of one that died before it was started."""
    assert state not in (RunStatus.REQUESTED, RunStatus.RUNNING)
    values = (tx.tenant_id, decision_id, account_id, trigger_type, state, None, tx.now, note, error)
    return bool(tx.rows(_END, values))


def get(tx: Tx, decision_id: DecisionId) -> StoredRun | None:
    rows = tx.rows(_GET, (tx.tenant_id, decision_id))
    if not rows:
        return None
    decision, account_id, trigger_type, state, *rest = rows[0]
    return StoredRun(decision, account_id, trigger_type, RunStatus(state), *rest)


def started(tx: Tx, decision_ids: Sequence[DecisionId]) -> dict[DecisionId, StoredRun]:
    found = {decision_id: get(tx, decision_id) for decision_id in decision_ids}
    return {decision_id: run for decision_id, run in found.items() if run is not None}
