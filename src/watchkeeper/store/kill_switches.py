"""Kill switches: a row is a switch that is on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.store.json import loads
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import ReadTx, Tx

MOVES_MAX = 10
"""Entries of one switch that are read back for the reason with which it was on."""

_ON = same(
    "insert into kill_switches (tenant_id, scope, id, reason, set_by, set_at)"
    " values (%s, %s, %s, %s, %s, %s) on conflict (tenant_id, scope, id) do update set"
    " reason = excluded.reason, set_by = excluded.set_by, set_at = excluded.set_at"
)
_OFF = same("delete from kill_switches where tenant_id = %s and scope = %s and id = %s")
_LIST = same(
    "select tenant_id, scope, id, reason, set_by, set_at from kill_switches"
    " where tenant_id in (%s, '_system') order by tenant_id, scope, id"
)
_NEWEST_BEFORE = same(
    "select data from ledger where tenant_id = %s and subject = %s and seq < %s"
    " and kind = 'kill_switch.set' order by seq desc limit 1"
)
_UNTIL = same(
    "select data from ledger where tenant_id = %s and subject = %s and at <= %s"
    f" and kind = 'kill_switch.set' order by seq desc limit {MOVES_MAX}"
)


@dataclass(frozen=True, slots=True)
class KillSwitch:
    tenant_id: TenantId
    scope: str
    id: str
    reason: str
    set_by: str
    set_at: Instant

    @property
    def name(self) -> str:
        """As verdicts name it: all, tenant, trigger:SIGNAL_ARRIVED …"""
        return f"{self.scope}:{self.id}" if self.id else self.scope


def turn_on(tx: Tx, scope: str, target: str, *, reason: str, set_by: str) -> None:
    tx.run(_ON, (tx.tenant_id, scope, target, reason, set_by, tx.now))


def turn_off(tx: Tx, scope: str, target: str) -> None:
    tx.run(_OFF, (tx.tenant_id, scope, target))


def in_force(tx: Tx) -> list[KillSwitch]:
    """The switches that are on for this tenant: its own, and those for all."""
    return [KillSwitch(*row) for row in tx.rows(_LIST, (tx.tenant_id,))]


def reason_before(tx: ReadTx, name: str, seq: int) -> str | None:
    """The reason of the tenant's own switch before an entry; None where it was not on."""
    return _reason(tx.rows(_NEWEST_BEFORE, (tx.tenant_id, name, seq)))


def reason_at(tx: ReadTx, name: str, at: Instant) -> str | None:
    """The reason with which a switch was thrown last until a moment, where it is still kept."""
    return _reason(tx.rows(_UNTIL, (tx.tenant_id, name, at)))


def _reason(rows: Sequence[tuple[str, ...]]) -> str | None:
    moves = [loads(row[0]) for row in rows]
    return next((str(move["reason"]) for move in moves if move["on"]), None)
