"""What a tenant may pull in a UTC day, and what it has pulled. Under the tenant's lock."""

from __future__ import annotations

from collections.abc import Mapping

from watchkeeper.core.pulls import Budget, Consumed
from watchkeeper.store.json import dumps, encode, loads
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Tx

_GET = same("select max_units_per_day, max_per_connector from pull_budgets where tenant_id = %s")
_PUT = same(
    "insert into pull_budgets (tenant_id, max_units_per_day, max_per_connector, updated_at)"
    " values (%s, %s, %s, %s) on conflict (tenant_id) do update set"
    " max_units_per_day = excluded.max_units_per_day,"
    " max_per_connector = excluded.max_per_connector, updated_at = excluded.updated_at"
)
_REMOVE = same("delete from pull_budgets where tenant_id = %s")
_DAY = same("select connector_id, units, pulls from pull_days where tenant_id = %s and day = %s")
_ADD = Statement(
    """insert into pull_days (tenant_id, day, connector_id, units, pulls)
    select %s, %s, v.c, v.u, v.p from jsonb_to_recordset(%s::jsonb) as v (c text, u bigint, p int)
    on conflict (tenant_id, day, connector_id) do update set
        units = pull_days.units + excluded.units, pulls = pull_days.pulls + excluded.pulls""",
    """insert into pull_days (tenant_id, day, connector_id, units, pulls)
    values (?, ?, ?, ?, ?) on conflict (tenant_id, day, connector_id) do update set
        units = units + excluded.units, pulls = pulls + excluded.pulls""",
)


def get(tx: Tx) -> Budget | None:
    rows = tx.rows(_GET, (tx.tenant_id,))
    return Budget(rows[0][0], loads(rows[0][1])) if rows else None


def put(tx: Tx, budget: Budget) -> None:
    tx.run(_PUT, (tx.tenant_id, budget.total, dumps(dict(budget.connectors)), tx.now))


def remove(tx: Tx) -> bool:
    return tx.changed(_REMOVE, (tx.tenant_id,)) > 0


def consumed(tx: Tx, day: int) -> dict[str, Consumed]:
    """By connector; the total is under the empty name."""
    return {row[0]: Consumed(row[1], row[2]) for row in tx.rows(_DAY, (tx.tenant_id, day))}


def add(tx: Tx, day: int, added: Mapping[str, Consumed]) -> None:
    if not added:
        return
    rows = sorted(added.items())
    if tx.engine == "sqlite":
        tx.run_many(_ADD, [(tx.tenant_id, day, name, *used) for name, used in rows])
        return
    told = [{"c": name, "u": used.units, "p": used.pulls} for name, used in rows]
    tx.run(_ADD, (tx.tenant_id, day, encode(told)))
