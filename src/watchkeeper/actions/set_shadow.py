"""A policy is set beside the one in force, looked at, promoted, or taken away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.actions.answer_once import AlreadyDone, Once, change_once, remember
from watchkeeper.actions.apply_policy import is_in_force, put_in_force, read_policy
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.policy import Policy
from watchkeeper.core.replay_tally import label
from watchkeeper.core.time import to_iso
from watchkeeper.errors import Conflict, NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, shadows, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.shadows import Flip, Shadow
from watchkeeper.store.tenants import LockedTenant
from watchkeeper.store.transaction import Tx

SHADOWS_MAX = 20
FLIPS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ShownShadow:
    """A shadow, and where it would have gone another way since it was set."""

    shadow: Shadow
    counts: Counter[str]
    changes: Counter[str]
    tenants: tuple[tuple[str, int, int], ...]  # events and flips
    flips: tuple[tuple[str, Flip], ...]  # the newest of each tenant, with its tenant

    def to_json(self) -> dict[str, Any]:
        """As the HTTP API gives it."""
        return {
            **shadow_json(self.shadow),
            "document": self.shadow.policy.text,
            "divergence": {
                "events": self.counts["events"],
                "flips": self.counts["flips"],
                "runs_before": self.counts["runs_before"],
                "runs_after": self.counts["runs_after"],
                "by_change": [_change(pair, count) for pair, count in self.changes.most_common()],
                "tenants": [
                    {"tenant_id": name, "events": events, "flips": flips}
                    for name, events, flips in self.tenants
                ],
                "newest": [_flip(tenant_id, flip) for tenant_id, flip in self.flips],
            },
        }


def shadow_json(shadow: Shadow) -> dict[str, Any]:
    return {
        "name": shadow.name,
        "hash": shadow.policy.hash,
        "author": shadow.author,
        "reason": shadow.reason,
        "set_at": to_iso(shadow.set_at),
    }


def set_shadow(
    db: Database, name: str, document: str | Mapping[str, object], *, author: str, reason: str
) -> Shadow:
    """Ask this policy too, of every event from now on. One of that name begins again."""
    policy = read_policy(document)

    def deed() -> Shadow:
        with db.begin(SYSTEM) as tx:
            tenants.create(tx, name=None, tier=None, installed_at=None)
            tenant = tenants.lock(tx)
            known = {one.name for one in shadows.every(tx)}
            if name not in known and len(known) >= SHADOWS_MAX:
                raise Conflict(f"there are {SHADOWS_MAX} shadows already")
            shadow = Shadow(name, new_id(), policy, author, reason, tx.now)
            shadows.put(tx, shadow)
            told = {"author": author, "hash": policy.hash, "name": name, "reason": reason}
            ledger.append_and_save(tx, tenant, [_entry(tx, Kind.SHADOW_SET, name, told)])
            return shadow

    return db.retrying(deed)


def remove_shadow(db: Database, name: str, *, author: str) -> None:
    """Ask it no more, and forget what it found."""

    def deed() -> None:
        with db.begin(SYSTEM) as tx:
            if shadows.get(tx, name) is None:
                raise _none(name)
            _remove(tx, tenants.lock(tx), name, author)

    db.retrying(deed)
    _forget(db, name)


def _remove(tx: Tx, tenant: LockedTenant, name: str, author: str) -> None:
    shadows.remove(tx, name)
    told = {"author": author, "name": name}
    ledger.append_and_save(tx, tenant, [_entry(tx, Kind.SHADOW_REMOVED, name, told)])


def _forget(db: Database, name: str) -> None:
    with db.read_system() as system:
        owners = tenants.all_ids(system)
    for owner in owners:
        with db.begin(owner) as tx:
            shadows.forget(tx, name)


def promote_shadow(
    db: Database, name: str, *, author: str, reason: str, once: Once | None = None
) -> Policy:
    """Apply a shadow policy and remove the shadow, in one transaction."""

    def deed(tx: Tx) -> Policy:
        shadow = shadows.get(tx, name)
        if shadow is None:
            raise _none(name)
        tenant, current = tenants.lock(tx), db.policies.current(tx)
        policy, why = read_policy(shadow.policy.text), f"{reason} (shadow {name})"
        if is_in_force(current, policy):
            policy = current
        else:
            policy = put_in_force(
                tx, tenant, db.policies, current, policy, author=author, reason=why
            )
        _remove(tx, tenant, name, author)
        remember(tx, once, policy.version)
        return policy

    try:
        policy = change_once(db, SYSTEM, deed, once)
    except AlreadyDone as done:
        with db.read(SYSTEM) as tx:
            return db.policies.policy(tx, done.note)
    _forget(db, name)
    return policy


def list_shadows(db: Database) -> list[Shadow]:
    with db.read(SYSTEM) as tx:
        return shadows.every(tx)


def show_shadow(db: Database, name: str) -> ShownShadow:
    """A shadow with what it found so far, over all tenants."""
    with db.read(SYSTEM) as tx:
        shadow = shadows.get(tx, name)
    if shadow is None:
        raise _none(name)
    with db.read_system() as system:
        owners = [one for one in tenants.all_ids(system) if one != SYSTEM]
    counts: Counter[str] = Counter()
    changes: Counter[str] = Counter()
    told, newest = [], []
    for owner in owners:
        with db.read(owner) as tx:
            followed = shadows.look(tx, name)
            if followed is None or followed.shadow_id != shadow.shadow_id:
                continue
            newest += [(str(owner), flip) for flip in shadows.newest_flips(tx, name, FLIPS_SHOWN)]
        found = followed.state.get("found", {"counts": {}, "changes": {}})
        counts.update(found["counts"])
        changes.update(found["changes"])
        own = Counter(found["counts"])
        told.append((str(TenantId(owner)), own["events"], own["flips"]))
    told.sort(key=lambda one: -one[2])
    return ShownShadow(shadow, counts, changes, tuple(told), tuple(newest[:FLIPS_SHOWN]))


def _entry(tx: Tx, kind: Kind, name: str, data: Mapping[str, object]) -> Entry:
    return Entry(new_id(), tx.now, Stage.SYSTEM, kind, name, dumps(data))


def _none(name: str) -> NotFound:
    return NotFound(f"there is no shadow policy {name}", name=name)


def _change(pair: str, count: int) -> dict[str, Any]:
    was, now = pair.split("|")
    return {"was": label(was), "now": label(now), "count": count}


def _flip(tenant_id: str, flip: Flip) -> dict[str, Any]:
    return {
        "tenant_id": tenant_id,
        "seq": flip.seq,
        "decision_id": flip.decision_id,
        "account_id": flip.account_id,
        "was": label(flip.was),
        "now": label(flip.would_be),
    }
