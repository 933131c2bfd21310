"""A decision as one document, to be decided again elsewhere."""

from __future__ import annotations

from typing import Any

from watchkeeper.actions.explain_decision import recorded_decision
from watchkeeper.core.bundle import Redecided, make_bundle, redecide
from watchkeeper.core.ids import TenantId
from watchkeeper.store import policies
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps, loads


def export_bundle(db: Database, tenant_id: TenantId, decision_id: str) -> dict[str, Any]:
    """Everything that a recorded verdict depended on. Changes nothing."""
    with db.read(tenant_id) as tx:
        found = recorded_decision(tx, decision_id)
        named = loads(found.entry.data)["policy"]
        text, effective = policies.meaning(tx, named["version"], named["hash"])
    return make_bundle(
        tenant_id=tenant_id,
        decision_id=decision_id,
        seq=found.seq,
        entry=found.entry.data,
        policy={**named, "text": text, "effective": effective},
    )


def replay_bundle(bundle: object) -> Redecided:
    """Decide it again, without any database."""
    return redecide(bundle, dumps)
