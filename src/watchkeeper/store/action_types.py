"""What programs said of their actions: how risky each is."""

from __future__ import annotations

from watchkeeper.core.approvals import Risk
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

_ALL = same("select action_type, risk from action_types order by action_type")
_PUT = same(
    "insert into action_types (action_type, risk, updated_at) values (%s, %s, %s)"
    " on conflict (action_type) do update set risk = excluded.risk,"
    " updated_at = excluded.updated_at"
)


def risks(tx: Tx) -> dict[str, Risk]:
    """By action type; there are as many as programs have handlers."""
    return {row[0]: Risk(row[1]) for row in tx.rows(_ALL)}


def put(tx: Tx, action_type: str, risk: Risk) -> None:
    tx.run(_PUT, (action_type, risk.value, tx.now))
