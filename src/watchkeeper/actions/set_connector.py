"""Connectors are made known, and limited: for everybody, or for one tenant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.actions.first_use import begun
from watchkeeper.actions.sweep_heat import sweep_now
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.ids import new_id
from watchkeeper.moves import lose_messages
from watchkeeper.store import connectors, ledger, tenants
from watchkeeper.store.connectors import Connector, ConnectorState
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.transaction import Tx

LIMITS = ("milli_per_second", "burst", "max_concurrency", "shallow_units", "deep_units")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorChange:
    """What is to be different; None leaves a value as it is, unless it is to be lifted."""

    milli_per_second: int | None = None
    burst: int | None = None
    max_concurrency: int | None = None
    shallow_units: int | None = None
    deep_units: int | None = None
    lifted: frozenset[str] = frozenset()  # limits that are to end

    def given(self) -> dict[str, int | None]:
        values = {name: getattr(self, name) for name in LIMITS}
        return {n: v for n, v in values.items() if v is not None or n in self.lifted}


def set_connector(
    db: Database, connector_id: str, change: ConnectorChange, *, by: str
) -> Connector:
    """Limit a connector for everybody, or price its depths."""

    def deed() -> Connector:
        with db.begin(SYSTEM) as tx:
            system = lose_messages.locked(tx)
            before = connectors.read(tx, [connector_id]).get(connector_id)
            given: dict[str, Any] = change.given()
            after = (before or Connector(connector_id))._replace(**given)
            connectors.put(tx, after)
            ledger.append_and_save(tx, system, [_entry(tx, connector_id, given, by)])
            return after

    return db.retrying(deed)


def register_connector(db: Database, connector: Connector) -> None:
    """A program brings its handler: from now on every account is looked at with it.

    Limits that somebody has set before stay; the program's own are for the first time.
    """

    def deed() -> bool:
        with db.begin(SYSTEM) as tx:
            system = lose_messages.locked(tx)
            before = connectors.read(tx, [connector.connector_id]).get(connector.connector_id)
            if before is not None and before.has_cadence == connector.has_cadence:
                return False
            after = (
                connector if before is None else before._replace(has_cadence=connector.has_cadence)
            )
            connectors.put(tx, after)
            told = {"has_cadence": connector.has_cadence}
            entry = _entry(tx, connector.connector_id, told, "app")
            ledger.append_and_save(tx, system, [entry])
            return True

    if db.retrying(deed) and connector.has_cadence:
        sweep_now(db)


def limit_for_tenant(
    db: Database,
    tenant_id: TenantId,
    connector_id: str,
    *,
    milli_per_second: int | None,
    burst: int,
    by: str,
    makes_tenant: bool = False,
) -> None:
    """A limit of one tenant's own, beside the one that all share; None lifts it."""

    def deed() -> None:
        with begun(db, tenant_id, makes_tenant=makes_tenant) as tx:
            tenant = tenants.lock(tx)
            state = connectors.states(tx, [connector_id]).get(connector_id)
            after = (state or ConnectorState(connector_id))._replace(
                milli_per_second=milli_per_second, burst=burst
            )
            connectors.put_states(tx, [after])
            told = {"burst": burst, "milli_per_second": milli_per_second}
            ledger.append_and_save(tx, tenant, [_entry(tx, connector_id, told, by)])

    db.retrying(deed)


def _entry(tx: Tx, connector_id: str, told: Mapping[str, object], by: str) -> Entry:
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.PERCEIVE,
        kind=Kind.CONNECTOR_SET,
        subject=connector_id,
        data=dumps({"by": by, "set": told}),
    )
