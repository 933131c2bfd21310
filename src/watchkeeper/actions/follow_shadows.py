"""Shadow policies follow the ledger: every event is judged again beside the one in force.

It happens behind admission and costs it nothing. How far a shadow has come is stored in
the transaction that stores what it found, so that each event counts once, whoever
follows, however often, and wherever it is cut off.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from watchkeeper.actions.replay_tenant import Asked, switches_of
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.policy import TenantRules, rules_for
from watchkeeper.core.replay import TenantReplay
from watchkeeper.core.replay_gate import Answer
from watchkeeper.core.replay_observer import Data, Waiting
from watchkeeper.core.time import Instant
from watchkeeper.store import replay, shadows, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.replay import Places
from watchkeeper.store.shadows import Flip, Shadow
from watchkeeper.store.transaction import Tx

ENTRIES = 500
"""Entries that are followed in one transaction."""
PAGES_MAX = 200
"""Of one tenant, before the next has its turn."""


class Found:
    """What a shadow has found of a tenant so far."""

    __slots__ = ("changes", "counts", "flips")

    def __init__(self, told: dict[str, Any] | None = None) -> None:
        told = told or {}
        self.counts: Counter[str] = Counter(told.get("counts", {}))
        self.changes: Counter[str] = Counter(told.get("changes", {}))
        self.flips: list[Flip] = []

    def agreed(self, events: int, runs: int) -> None:
        """So many were judged as they were recorded."""
        self.counts["events"] += events
        self.counts["runs_before"] += runs
        self.counts["runs_after"] += runs

    def compared(
        self, seq: int, decision_id: str, _at: int, event: Data, was: Answer, now: Answer
    ) -> None:
        self.counts["events"] += 1
        self.counts["runs_before"] += was[0] == "ALLOW"
        self.counts["runs_after"] += now[0] == "ALLOW"
        if was[0] != now[0]:
            self.counts["flips"] += 1
            self.changes[f"{was[0]}|{now[0]}"] += 1
            self.flips.append(Flip(seq, decision_id, event["account_id"], was[0], now[0]))

    def passed_over(self, _decision_id: str, _at: int, _event: Data, was: Answer) -> None:
        self.counts["events"] += 1
        self.counts["runs_before"] += was[0] == "ALLOW"

    def retried(self, _waiting: Waiting, answer: Answer) -> None:
        self.counts["runs_after"] += answer[0] == "ALLOW"

    def to_json(self) -> dict[str, Any]:
        return {"counts": dict(self.counts), "changes": dict(self.changes)}


def follow_shadows(db: Database) -> int:
    """Bring every shadow to the end of every ledger, tenant by tenant; how many entries."""
    with db.read(SYSTEM) as tx:
        known = shadows.every(tx)
    if not known:
        return 0
    with db.read_system() as system:
        owners = [one for one in tenants.all_ids(system) if one != SYSTEM]
    return sum(follow(db, owner, shadow) for owner in owners for shadow in known)


def follow(db: Database, tenant_id: TenantId, shadow: Shadow) -> int:
    """One shadow through what it has not seen of a tenant's ledger."""
    total = 0
    for _ in range(PAGES_MAX):
        count = db.retrying(lambda: _follow_page(db, tenant_id, shadow))
        total += count
        if count < ENTRIES:
            break
    return total


def _follow_page(db: Database, tenant_id: TenantId, shadow: Shadow) -> int:
    with db.read(tenant_id) as reading:
        end, seen = shadows.ledger_end(reading), shadows.look(reading, shadow.name)
    if seen is not None and (seen.shadow_id, seen.seq) == (shadow.shadow_id, end):
        return 0
    switched = switches_of(db, tenant_id, Asked(shadow.policy, shadow.policy, Instant(0)))
    with db.begin(tenant_id) as tx:
        held = shadows.hold(tx, shadow.name)
        if held is None or held.shadow_id != shadow.shadow_id:
            # What was before it was set, a plan can tell.
            since = replay.places_since(tx, shadow.set_at)
            shadows.forget(tx, shadow.name)
            shadows.begin(tx, shadow, since.after)
            return ENTRIES  # to be followed at once
        places = Places(held.seq, min(held.seq + ENTRIES, shadows.ledger_end(tx)))
        found, rested = Found(held.state.get("found")), held.state.get("fold")
        fold = TenantReplay(_Rules(db, tx, shadow).of, switched, found, has_keys=False)
        if rested is not None:
            fold.go_on(rested)
        _feed(tx, shadow, fold, places)
        found.agreed(fold.agreed, fold.agreed_runs)
        shadows.save_accounts(tx, shadow.name, fold.left)
        shadows.add_flips(tx, shadow.name, found.flips)
        state = {"found": found.to_json(), "fold": fold.at_rest()}
        shadows.save(tx, shadow.name, places.until, state)
    return places.until - places.after


def _feed(tx: Tx, shadow: Shadow, fold: TenantReplay, places: Places) -> None:
    rows = replay.page(tx, places)
    lines = [(seq, entry_id, loads(data)) for seq, entry_id, data in rows if data is not None]
    touched = {data["event"]["account_id"] for _, _, data in lines}
    touched |= {one.account_id for one in fold.waiting}
    fold.left = shadows.accounts(tx, shadow.name, touched)
    for line in lines:
        fold.feed(*line)


class _Rules:
    """What ruled then, and what the shadow says."""

    def __init__(self, db: Database, tx: Tx, shadow: Shadow) -> None:
        self._db = db
        self._tx = tx
        self._shadow = shadow

    def of(self, version: int, hash: str, tier: str | None) -> tuple[TenantRules, TenantRules]:
        owner = self._tx.tenant_id
        ruled = self._db.policies.recorded(self._tx, version, hash)
        return rules_for(ruled, owner, tier), rules_for(self._shadow.policy, owner, tier)
