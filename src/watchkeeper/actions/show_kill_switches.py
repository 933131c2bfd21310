"""Kill switches with what they do: those in force, and what was refused since each was thrown."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.core.admission import Reason
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.store import kill_effects, kill_switches, ledger
from watchkeeper.store.database import Database
from watchkeeper.store.kill_effects import Refused
from watchkeeper.store.kill_switches import KillSwitch

SWITCHES_MAX = 10
"""Switches whose effect is counted; who has thrown more has other worries."""
RECENT_MAX = 20
LOOKED_MAX = 2_000
"""Entries of the ledger that are looked through for the newest refusals."""


@dataclass(frozen=True, slots=True)
class InForce:
    """A switch, and what any switch has refused since it was thrown. None: not counted."""

    switch: KillSwitch
    refused: Refused | None


@dataclass(frozen=True, slots=True)
class Switches:
    in_force: tuple[InForce, ...]
    recent: tuple[Recorded, ...]  # refused lately, the newest first


def show_kill_switches(db: Database, tenant_id: TenantId) -> Switches:
    with db.read(tenant_id) as tx:
        found = kill_switches.in_force(tx)
        newest = ledger.newest(tx, {}, limit=1)
        start = max(0, newest[0].seq - LOOKED_MAX) if newest else 0
        wanted = {"reason": Reason.KILL_SWITCH.value}
        recent = ledger.after(tx, start, LOOKED_MAX, wanted)[-RECENT_MAX:]
        tail = kill_effects.tail(tx)
        counts = [kill_effects.refused(tx, tail, one.set_at) for one in found[:SWITCHES_MAX]]
    padded = [*counts, *[None] * (len(found) - len(counts))]
    shown = tuple(InForce(one, count) for one, count in zip(found, padded, strict=True))
    return Switches(shown, tuple(reversed(recent)))
