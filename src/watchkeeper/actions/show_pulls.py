"""Pulls and connectors, looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.time import Instant
from watchkeeper.errors import NotFound
from watchkeeper.perceive_results import ConnectorSeen, connector_of, connector_of_tenant
from watchkeeper.store import connectors, pulls
from watchkeeper.store.connectors import Connector, ConnectorState
from watchkeeper.store.database import Database
from watchkeeper.store.pulls import Pull
from watchkeeper.store.transaction import ReadTx


def show_pull(db: Database, tenant_id: TenantId, pull_job_id: str) -> Pull:
    with db.read(tenant_id) as tx:
        found = pulls.get(tx, pull_job_id)
    if found is None:
        raise NotFound(f"there is no pull {pull_job_id}", pull_job_id=pull_job_id)
    return found


def list_pulls(
    db: Database,
    tenant_id: TenantId,
    filters: Mapping[str, str],
    *,
    before: tuple[Instant, str] | None = None,
    limit: int = 100,
) -> list[Pull]:
    """Pulls that match every filter, the newest first."""
    with db.read(tenant_id) as tx:
        return pulls.page(tx, dict(filters), before=before, limit=limit)


def show_connector(
    db: Database, connector_id: str, tenant_id: TenantId | None = None
) -> ConnectorSeen:
    """A connector that somebody registered or limited; as one tenant has it, if one is named."""
    with db.read(tenant_id or SYSTEM) as tx:
        shared = connectors.read(tx, [connector_id])
        if not shared and not (tenant_id and connectors.states(tx, [connector_id])):
            raise NotFound(f"there is no connector {connector_id}", connector_id=connector_id)
        [seen] = _seen(tx, shared.values() or [Connector(connector_id)], tenant_id)
    return seen


def list_connectors(
    db: Database, tenant_id: TenantId | None, after: str, limit: int
) -> list[ConnectorSeen]:
    with db.read(tenant_id or SYSTEM) as tx:
        return _seen(tx, connectors.page(tx, limit, after), tenant_id)


def _seen(
    tx: ReadTx, found: Iterable[Connector], tenant_id: TenantId | None
) -> list[ConnectorSeen]:
    known = list(found)
    names = [one.connector_id for one in known]
    slots = connectors.slots(tx, names)
    own = {} if tenant_id is None else connectors.states(tx, names)
    seen = []
    for one in known:
        name = one.connector_id
        tenant = None
        if tenant_id is not None:
            state = own.get(name) or ConnectorState(name)
            tenant = connector_of_tenant(tenant_id, state, tx.now)
        taken = slots.get(name, 0)
        seen.append(connector_of(one, taken, tx.now, tenant))
    return seen
