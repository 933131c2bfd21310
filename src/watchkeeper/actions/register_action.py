"""A program brings an action: how risky it is, is known to every process from now on."""

from __future__ import annotations

from watchkeeper.core.approvals import Risk
from watchkeeper.core.ids import SYSTEM
from watchkeeper.store import action_types
from watchkeeper.store.database import Database


def register_action(db: Database, action_type: str, risk: Risk) -> None:
    """The last program to say so wins; policy wins over all of them."""

    def deed() -> None:
        with db.begin(SYSTEM) as tx:
            if action_types.risks(tx).get(action_type) is not risk:
                action_types.put(tx, action_type, risk)

    db.retrying(deed)
