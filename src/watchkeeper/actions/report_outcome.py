"""A run that was delivered outside has ended, and whoever ran it says how."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.actions.meter_runs import fail_runs, settle_runs
from watchkeeper.core.ids import DecisionId, MessageId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.redaction import redacted
from watchkeeper.core.turns import TurnState, Usage
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, outbox_desk, runs, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.runs import RunStatus, StoredRun
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is told of a run. Its usage settles its turn; without one nothing is known of it."""

    succeeded: bool
    detail: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class _Delivered:
    """The message of a run; what delivered ones are kept for may be over by now."""

    id: MessageId
    generation: int


def report_outcome(
    db: Database,
    tenant_id: TenantId,
    decision_id: DecisionId,
    outcome: Outcome,
    usage_namespace: str,
) -> None:
    """Write the end of a running run and settle its turn, once, in one transaction.

    The same report again changes nothing.
    """
    state = RunStatus.SUCCEEDED if outcome.succeeded else RunStatus.FAILED
    told = None if outcome.detail is None else redacted(outcome.detail)

    def deed() -> None:
        with db.begin(tenant_id) as tx:
            tenant = tenants.lock(tx)
            run = _reportable(tx, decision_id, state)
            if run is None:
                return
            note, error = (told, None) if outcome.succeeded else (None, told)
            runs.end(
                tx, decision_id, run.account_id, run.trigger_type, state, note=note, error=error
            )
            entry = Entry(
                entry_id=new_id(),
                at=tx.now,
                stage=Stage.DECIDE,
                kind=Kind.RUN_ENDED,
                subject=run.account_id,
                trigger_type=run.trigger_type,
                result=state,
                data=dumps({"decision_id": decision_id, "error": error, "state": state}),
            )
            ledger.append(tx, tenant, [entry])
            _settle(tx, tenant, db, decision_id, outcome, usage_namespace)
            tenants.save_seq(tx, tenant)

    db.retrying(deed)


def _settle(
    tx: Tx,
    tenant: LockedTenant,
    db: Database,
    decision_id: DecisionId,
    outcome: Outcome,
    namespace: str,
) -> None:
    if not outcome.succeeded and outcome.usage is None:
        fail_runs(tx, tenant, namespace, [decision_id])
        return
    message = outbox_desk.get(tx, MessageId(decision_id))
    run = _Delivered(MessageId(decision_id), 0 if message is None else message.generation)
    told = None if outcome.usage is None else outcome.usage._asdict()
    how = TurnState.COMPLETED if outcome.succeeded else TurnState.FAILED
    settle_runs(tx, tenant, db.policies, namespace, [(run, told)], how)


def _reportable(tx: Tx, decision_id: DecisionId, state: RunStatus) -> StoredRun | None:
    """The run, while it runs; None when it has ended this way already."""
    run = runs.get(tx, decision_id)
    if run is None:
        if ledger.by_ids(tx, [decision_id]):
            raise Conflict("this decision has no run that was started", decision_id=decision_id)
        raise NotFound(f"there is no decision {decision_id}", decision_id=decision_id)
    if run.state is state:
        return None
    if run.state is not RunStatus.RUNNING:
        raise Conflict(f"the run has ended already: {run.state}", state=run.state)
    return run
