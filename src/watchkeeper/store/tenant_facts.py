"""Tenants as people see them: name, tier, when they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.store.json import dumps
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Session, Tx

_COLUMNS = "tenant_id, name, tier, installed_at, created_at"
_GET = same(f"select {_COLUMNS} from tenants where tenant_id = %s")
_PAGE = same(
    f"select {_COLUMNS} from tenants where tenant_id > %s and tenant_id <> '_system'"
    " order by tenant_id limit %s"
)
_BY_TIER = same(
    "select tier, count(*) from tenants where tier is not null group by tier order by tier"
)
_KNOWN = Statement(
    """select tenant_id from tenants
    where tenant_id in (select jsonb_array_elements_text(%s::jsonb))""",
    "select tenant_id from tenants where tenant_id in (select value from json_each(?))",
)
_PUT = same("update tenants set name = %s, tier = %s, installed_at = %s where tenant_id = %s")


@dataclass(frozen=True, slots=True)
class TenantFacts:
    tenant_id: TenantId
    name: str | None
    tier: str | None
    installed_at: Instant | None
    created_at: Instant


def get(tx: Tx) -> TenantFacts | None:
    """Those of the transaction's own tenant."""
    rows = tx.rows(_GET, (tx.tenant_id,))
    return TenantFacts(*rows[0]) if rows else None


def installed_at(tx: Tx) -> Instant | None:
    facts = get(tx)
    return None if facts is None else facts.installed_at


def page(session: Session, after: str, limit: int) -> list[TenantFacts]:
    return [TenantFacts(*row) for row in session.rows(_PAGE, (after, limit))]


def by_tier(session: Session) -> dict[str, int]:
    """How many tenants have each tier, over all tenants that the transaction sees."""
    return dict(session.rows(_BY_TIER))


def known(session: Session, names: Sequence[str]) -> set[str]:
    """Those of the names that are tenants."""
    return {row[0] for row in session.rows(_KNOWN, (dumps(list(names)),))}


def put(tx: Tx, *, name: str | None, tier: str | None, installed_at: Instant | None) -> None:
    tx.run(_PUT, (name, tier, installed_at, tx.tenant_id))
