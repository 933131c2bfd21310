"""Schedules are due: their accounts ask for runs, each once.

A timer is claimed by any worker. Firing reads the schedule under the tenant's lock,
moves it on to its next firing, sets that timer and records what fired and what was
missed, in one transaction; a timer that comes again finds the schedule moved on. A
firing for all accounts goes through them in slices, and each account's event waits
for its own second of the spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.set_schedule import advanced
from watchkeeper.actions.zone_data import zone_data
from watchkeeper.core import envelope
from watchkeeper.core.admission import Event
from watchkeeper.core.delivery import Delivered
from watchkeeper.core.ids import AccountId, DecisionId, MessageId, ScheduleId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.schedule import FiringPlan, due_firings, firing_key, parse_cron
from watchkeeper.core.spread import spread
from watchkeeper.core.time import SECOND, Instant, to_iso
from watchkeeper.ids import new_id
from watchkeeper.moves.admission import Asked
from watchkeeper.store import accounts, ledger, outbox, schedules, tenants
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.policies import PolicyBook
from watchkeeper.store.schedules import Schedule
from watchkeeper.store.transaction import Tx

SLICE = 500
"""Accounts of one firing that one transaction looks at."""


def fire_due(admission: Admission, tenant_id: TenantId, payload: str) -> Delivered:
    """One timer: fire what is due of its schedule."""
    timer = loads(payload)

    def prepare(tx: Tx) -> Sequence[Asked]:
        tenant = tenants.lock(tx)
        schedule = schedules.get(tx, ScheduleId(timer["schedule_id"]))
        if schedule is None or schedule.generation != timer["generation"]:
            return []  # removed or replaced since
        if schedule.next_fire_at != timer["fire_at"]:
            return []  # fired already
        cron = parse_cron(schedule.cron, schedule.timezone)
        plan = due_firings(cron, schedule.next_fire_at, tx.now, schedule.catch_up)
        if plan.next_fire_at == schedule.next_fire_at:
            return []
        advanced(tx, schedule, plan.next_fire_at)
        ledger.append_and_save(tx, tenant, _entries(tx, schedule, plan))
        if schedule.account_id is not None:
            return [_asked(tx, schedule, schedule.account_id, at) for at in plan.fire]
        outbox.enqueue_plain(tx, [_slice(schedule, at, "") for at in plan.fire])
        return []

    admission.admit_with(tenant_id, prepare)
    return Delivered()


def fire_slice(admission: Admission, tenant_id: TenantId, payload: str) -> Delivered:
    """The next accounts of a firing for all: ask now, or at the account's second."""
    part = loads(payload)

    def prepare(tx: Tx) -> Sequence[Asked]:
        tenants.lock(tx)
        schedule = schedules.get(tx, ScheduleId(part["schedule_id"]))
        if schedule is None or schedule.generation != part["generation"]:
            return []
        fire_at = Instant(part["fire_at"])
        account_ids = accounts.ids_after(tx, part["after"], SLICE)
        seconds = _spread_seconds(admission.db.policies, tx, schedule)
        due = {a: Instant(fire_at + spread(a, seconds) * SECOND) for a in account_ids}
        later = [
            _at_its_second(tx, schedule, a, fire_at, at) for a, at in due.items() if at > tx.now
        ]
        if len(account_ids) == SLICE:
            later.append(_slice(schedule, fire_at, account_ids[-1]))
        if later:
            outbox.enqueue_plain(tx, later)
        return [_asked(tx, schedule, a, fire_at) for a, at in due.items() if at <= tx.now]

    admission.admit_with(tenant_id, prepare)
    return Delivered()


def _spread_seconds(book: PolicyBook, tx: Tx, schedule: Schedule) -> int:
    """The schedule's own, else what the policy in force says: not what it was a while ago."""
    if schedule.spread_seconds is not None:
        return schedule.spread_seconds
    return book.exact(tx).rules.spread_seconds


def _event(tx: Tx, schedule: Schedule, account_id: AccountId, at: Instant) -> Event:
    return Event(
        account_id=account_id,
        trigger_type=schedule.trigger_type,
        idempotency_key=firing_key(tx.tenant_id, account_id, schedule.trigger_type, at),
        scheduled_at=at,
    )


def _asked(tx: Tx, schedule: Schedule, account_id: AccountId, at: Instant) -> Asked:
    return Asked(DecisionId(new_id()), _event(tx, schedule, account_id, at))


def _slice(schedule: Schedule, fire_at: Instant, after: str) -> NewMessage:
    payload = {
        "after": after,
        "fire_at": fire_at,
        "generation": schedule.generation,
        "schedule_id": schedule.schedule_id,
    }
    return NewMessage(topic=envelope.SCHEDULE_SLICE, payload=dumps(payload), id=MessageId(new_id()))


def _at_its_second(
    tx: Tx, schedule: Schedule, account_id: AccountId, fire_at: Instant, due_at: Instant
) -> NewMessage:
    payload = envelope.run_decision(tx.tenant_id, _event(tx, schedule, account_id, fire_at))
    return NewMessage(
        topic=envelope.SCHEDULED,
        payload=dumps(payload),
        due_at=due_at,
        id=MessageId(new_id()),
    )


def _entries(tx: Tx, schedule: Schedule, plan: FiringPlan) -> list[Entry]:
    entries = [
        _entry(tx, schedule, Kind.SCHEDULE_FIRED, {"scheduled_at": at, "when": to_iso(at)})
        for at in plan.fire
    ]
    missed = plan.missed
    if missed is not None:
        data = {
            "count": missed.count,
            "first_at": missed.first_at,
            "is_exact": missed.is_exact,
            "last_at": missed.last_at,
        }
        entries.append(_entry(tx, schedule, Kind.SCHEDULE_MISSED, data))
    return entries


def _entry(tx: Tx, schedule: Schedule, kind: Kind, data: Mapping[str, object]) -> Entry:
    known_by = zone_data(schedule.timezone)
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.DECIDE,
        kind=kind,
        subject=schedule.schedule_id,
        trigger_type=schedule.trigger_type,
        data=dumps({**data, "account_id": schedule.account_id, "zone_data": known_by}),
    )
