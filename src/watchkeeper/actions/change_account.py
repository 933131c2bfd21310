"""An account is told something new: its posture, its lifecycle state, its attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchkeeper.actions.admit import Admission
from watchkeeper.core.admission import Event
from watchkeeper.core.canonical import sha256_hex
from watchkeeper.core.ids import AccountId, DecisionId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.ids import new_id
from watchkeeper.moves.admission import Asked, Decided
from watchkeeper.moves.heat import told_posture
from watchkeeper.moves.plan_desk import plan_cycle
from watchkeeper.store import accounts, ledger, plans, tenants
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.transaction import Tx

LIFECYCLE_STATE_CHANGE = "LIFECYCLE_STATE_CHANGE"
POSTURE_CHANGE = "POSTURE_CHANGE"
CHANGES = (LIFECYCLE_STATE_CHANGE, POSTURE_CHANGE)


@dataclass(frozen=True, slots=True)
class AccountChange:
    """What is to be different; None leaves a value as it is. `attributes` is JSON text."""

    posture: str | None = None
    lifecycle_state: str | None = None
    attributes: str | None = None


def change_account(
    admission: Admission,
    tenant_id: TenantId,
    account_id: AccountId,
    change: AccountChange,
    *,
    correlation_id: str | None = None,
) -> list[Decided]:
    """Write the change and answer the triggers it is. A change that changes nothing is none."""

    # Made before the first try, so that after a lost COMMIT the change finds itself.
    entry_id = new_id()
    decision_ids = {name: DecisionId(new_id()) for name in CHANGES}

    def prepare(tx: Tx) -> Sequence[Asked]:
        book = admission.db.policies
        version, types = _changed(tx, book, entry_id, account_id, change, correlation_id)
        return [
            _asked(tx, decision_ids[name], account_id, version, name, correlation_id)
            for name in types
        ]

    return admission.admit_with(tenant_id, prepare)


def _changed(
    tx: Tx,
    book: PolicyBook,
    entry_id: str,
    account_id: AccountId,
    change: AccountChange,
    correlation_id: str | None,
) -> tuple[int, list[str]]:
    """Write the change, once: the account's new version and the triggers that it is."""
    tenant = tenants.lock(tx)
    if tx.recovering and (done := ledger.by_ids(tx, [entry_id])):
        data = loads(done[entry_id].entry.data)
        return data["version"], _triggers(data["changed"])
    old = accounts.get(tx, account_id)
    was = (None, None, "{}") if old is None else (old.posture, old.lifecycle_state, old.attributes)
    posture = was[0] if change.posture is None else change.posture
    lifecycle_state = was[1] if change.lifecycle_state is None else change.lifecycle_state
    attributes = was[2] if change.attributes is None else change.attributes
    if old is not None and (posture, lifecycle_state, attributes) == was:
        return old.version, []
    version = 1 if old is None else old.version + 1
    accounts.put(
        tx,
        account_id,
        posture=posture,
        lifecycle_state=lifecycle_state,
        attributes=attributes,
        version=version,
    )
    if posture != was[0]:
        told_posture(tx, tenant, book, account_id, posture)
        if plans.wake_account(tx, account_id):
            plan_cycle(tx, tx.now)
    changed = {"lifecycle_state": [was[1], lifecycle_state], "posture": [was[0], posture]}
    entry = Entry(
        entry_id=entry_id,
        at=tx.now,
        stage=Stage.DECIDE,
        kind=Kind.ACCOUNT_CHANGED,
        subject=account_id,
        correlation_id=correlation_id,
        data=dumps({"changed": changed, "version": version}),
    )
    ledger.append_and_save(tx, tenant, [entry])
    return version, _triggers(changed)


def _triggers(changed: Mapping[str, Sequence[str | None]]) -> list[str]:
    places = zip(CHANGES, ("lifecycle_state", "posture"), strict=True)
    return [name for name, place in places if changed[place][0] != changed[place][1]]


def _asked(
    tx: Tx,
    decision_id: DecisionId,
    account_id: AccountId,
    version: int,
    trigger_type: str,
    correlation_id: str | None,
) -> Asked:
    key = sha256_hex(["account", tx.tenant_id, account_id, version, trigger_type])
    event = Event(account_id, trigger_type, f"account:{key}", correlation_id=correlation_id)
    return Asked(decision_id, event)
