"""A run that was delivered outside has ended, and whoever ran it says how."""

from __future__ import annotations

from watchkeeper.core.ids import DecisionId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.redaction import redacted
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, runs, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.runs import RunStatus, StoredRun
from watchkeeper.store.transaction import Tx


def report_outcome(
    db: Database,
    tenant_id: TenantId,
    decision_id: DecisionId,
    *,
    succeeded: bool,
    detail: str | None = None,
) -> None:
    """Write the end of a running run, once. The same report again changes nothing."""
    state = RunStatus.SUCCEEDED if succeeded else RunStatus.FAILED
    told = None if detail is None else redacted(detail)

    def deed() -> None:
        with db.begin(tenant_id) as tx:
            tenant = tenants.lock(tx)
            run = _reportable(tx, decision_id, state)
            if run is None:
                return
            note, error = (told, None) if succeeded else (None, told)
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
            ledger.append_and_save(tx, tenant, [entry])

    db.retrying(deed)


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
