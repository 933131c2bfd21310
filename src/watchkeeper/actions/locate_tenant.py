"""Whose is it? For keys of all tenants, which may name one object without its tenant."""

from __future__ import annotations

from collections.abc import Callable

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
from watchkeeper.store.transaction import ReadTx

TENANTS_SEARCHED_MAX = 100
"""Names that people chose are looked for tenant by tenant; with more of them one must be named."""


def tenant_of_decision(db: Database, decision_id: str) -> TenantId:
    found = None
    if is_uuid(decision_id):
        with db.read_system() as tx:
            found = ledger.tenant_of(tx, decision_id)
    if found is None:
        raise NotFound(f"there is no decision {decision_id}", decision_id=decision_id)
    return TenantId(found)


def tenant_of_report(db: Database, report_id: str) -> TenantId:
    """By its line in the ledger, which has the same id."""
    found = None
    if is_uuid(report_id):
        with db.read_system() as tx:
            found = ledger.tenant_of(tx, report_id)
    if found is None:
        raise NotFound(f"there is no report {report_id}", report_id=report_id)
    return TenantId(found)


def tenant_of_message(db: Database, message_id: str) -> TenantId:
    found = None
    if is_uuid(message_id):
        with db.read_system() as tx:
            found = outbox_counts.tenant_of(tx, message_id)
    if found is None:
        raise NotFound(f"there is no message {message_id}", message_id=message_id)
    return TenantId(found)


def tenant_of_turn(db: Database, turn_id: str) -> TenantId:
    with db.read_system() as tx:
        found = turns.owners(tx, turn_id)
    return _only(found, f"there is no turn {turn_id}")


def tenant_of_plan(db: Database, plan_id: str) -> TenantId:
    found = None
    if is_uuid(plan_id):
        with db.read_system() as tx:
            found = plans.owner(tx, plan_id)
    if found is None:
        raise NotFound(f"there is no plan {plan_id}", plan_id=plan_id)
    return found


def tenant_of_intent(db: Database, intent_id: str) -> TenantId:
    found = None
    if is_uuid(intent_id):
        with db.read_system() as tx:
            found = intents.owner(tx, intent_id)
    if found is None:
        raise NotFound(f"there is no intent {intent_id}", intent_id=intent_id)
    return found


def tenant_of_account(db: Database, account_id: AccountId) -> TenantId:
    found = _owners(db, lambda tx: accounts.get(tx, account_id) is not None)
    return _only(found, f"there is no account {account_id}")


def tenant_of_pull(db: Database, pull_job_id: str) -> TenantId:
    found = _owners(db, lambda tx: pulls.get(tx, pull_job_id) is not None)
    return _only(found, f"there is no pull {pull_job_id}")


def tenant_of_schedule(db: Database, schedule_id: ScheduleId) -> TenantId:
    found = _owners(db, lambda tx: schedules.get(tx, schedule_id) is not None)
    return _only(found, f"there is no schedule {schedule_id}")


def _owners(db: Database, has_it: Callable[[ReadTx], bool]) -> list[TenantId]:
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


def _only(owners: list[TenantId], otherwise: str) -> TenantId:
    if not owners:
        raise NotFound(otherwise)
    if len(owners) > 1:
        raise Invalid.at("tenant_id", "is required: several tenants have one of this name")
    return owners[0]
