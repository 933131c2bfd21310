"""Whose is it? For keys of all tenants, which may name one object without its tenant."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from watchkeeper.core.ids import AccountId, ScheduleId, TenantId
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.ids import is_uuid
from watchkeeper.store import (
    accounts,
    intents,
    ledger,
    outbox_counts,
    plans,
    pulls,
    schedules,
    tenants,
    turns,
)
from watchkeeper.store.database import Database
from watchkeeper.store.transaction import ReadTx, SystemTx

TENANTS_SEARCHED_MAX = 100
"""Names that people chose are looked for tenant by tenant; with more of them one must be named."""


class Thing(StrEnum):
    """What has an id of its own."""

    ACCOUNT = "account"
    DECISION = "decision"
    INTENT = "intent"
    MESSAGE = "message"
    PLAN = "plan"
    PULL = "pull"
    REPORT = "report"
    SCHEDULE = "schedule"
    TURN = "turn"


_BY_OUR_ID: dict[Thing, Callable[[SystemTx, str], str | None]] = {
    Thing.DECISION: ledger.tenant_of,
    Thing.REPORT: ledger.tenant_of,  # its line in the ledger has the same id
    Thing.MESSAGE: outbox_counts.tenant_of,
    Thing.PLAN: plans.owner,
    Thing.INTENT: intents.owner,
}
_BY_CHOSEN_NAME: dict[Thing, Callable[[ReadTx, str], object | None]] = {
    Thing.ACCOUNT: lambda tx, name: accounts.get(tx, AccountId(name)),
    Thing.PULL: pulls.get,
    Thing.SCHEDULE: lambda tx, name: schedules.get(tx, ScheduleId(name)),
}


def locate_tenant(db: Database, thing: Thing, name: str, named: str | None = None) -> TenantId:
    """The tenant that was named, or the only one that has it."""
    if named is not None:
        return TenantId(named)
    owners = _owners(db, thing, name)
    if not owners:
        raise NotFound(f"there is no {thing} {name}", **{f"{thing}_id": name})
    if len(owners) > 1:
        raise Invalid.at("tenant_id", "is required: several tenants have one of this name")
    return owners[0]


def _owners(db: Database, thing: Thing, name: str) -> list[TenantId]:
    if thing is Thing.TURN:
        with db.read_system() as tx:
            return turns.owners(tx, name)
    if thing in _BY_CHOSEN_NAME:
        return _searched(db, lambda tx: _BY_CHOSEN_NAME[thing](tx, name) is not None)
    if not is_uuid(name):
        return []
    with db.read_system() as tx:
        found = _BY_OUR_ID[thing](tx, name)
    return [] if found is None else [TenantId(found)]


def _searched(db: Database, has_it: Callable[[ReadTx], bool]) -> list[TenantId]:
    with db.read_system() as tx:
        known = tenants.all_ids(tx)
    if len(known) > TENANTS_SEARCHED_MAX:
        raise Invalid.at("tenant_id", "is required: there are too many tenants to look through")
    owners = []
    for tenant_id in known:
        with db.read(tenant_id) as read:
            if has_it(read):
                owners.append(tenant_id)
    return owners
