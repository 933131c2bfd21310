"""A schedule is set or removed. Its next firing is a message in the outbox, due then."""

from __future__ import annotations

from dataclasses import dataclass, replace

from watchkeeper.actions.first_use import begun
from watchkeeper.actions.zone_data import zone_data
from watchkeeper.core import envelope
from watchkeeper.core.ids import AccountId, MessageId, ScheduleId, TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.schedule import CatchUp, next_fire_at, parse_cron
from watchkeeper.core.time import Instant
from watchkeeper.errors import NotFound
from watchkeeper.ids import new_id
from watchkeeper.store import ledger, outbox, schedules, tenants
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.schedules import Schedule
from watchkeeper.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """What a person says of a schedule. Without an account it is for all of the tenant."""

    trigger_type: str
    cron: str
    timezone: str = "UTC"
    account_id: AccountId | None = None
    catch_up: CatchUp = CatchUp.FIRE_ONCE
    spread_seconds: int | None = None


def set_schedule(
    db: Database,
    tenant_id: TenantId,
    schedule_id: ScheduleId,
    new: NewSchedule,
    *,
    makes_tenant: bool = False,
) -> Schedule:
    """Put it in force: the timer of what stood there before no longer counts."""
    cron = parse_cron(new.cron, new.timezone)

    def deed() -> Schedule:
        with begun(db, tenant_id, makes_tenant=makes_tenant) as tx:
            tenant = tenants.lock(tx)
            old = schedules.get(tx, schedule_id)
            schedule = Schedule(
                schedule_id=schedule_id,
                account_id=new.account_id,
                trigger_type=new.trigger_type,
                cron=cron.expression,
                timezone=cron.timezone,
                catch_up=new.catch_up,
                spread_seconds=new.spread_seconds,
                next_fire_at=next_fire_at(cron, tx.now),
                generation=1 if old is None else old.generation + 1,
                updated_at=tx.now,
            )
            schedules.put(tx, schedule)
            set_timer(tx, schedule)
            ledger.append_and_save(tx, tenant, [_entry(tx, schedule, Kind.SCHEDULE_SET)])
            return schedule

    return db.retrying(deed)


def remove_schedule(db: Database, tenant_id: TenantId, schedule_id: ScheduleId) -> None:
    def deed() -> None:
        with db.begin(tenant_id) as tx:
            tenant = tenants.lock(tx)
            old = schedules.get(tx, schedule_id)
            if old is None:
                raise NotFound(f"there is no schedule {schedule_id}", schedule_id=schedule_id)
            schedules.delete(tx, schedule_id)
            ledger.append_and_save(tx, tenant, [_entry(tx, old, Kind.SCHEDULE_REMOVED)])

    db.retrying(deed)


def set_timer(tx: Tx, schedule: Schedule) -> None:
    """The next firing, as a message: whichever worker is there then will see to it."""
    payload = {
        "fire_at": schedule.next_fire_at,
        "generation": schedule.generation,
        "schedule_id": schedule.schedule_id,
    }
    message = NewMessage(
        topic=envelope.SCHEDULE_DUE,
        payload=dumps(payload),
        due_at=schedule.next_fire_at,
        id=MessageId(new_id()),
    )
    outbox.enqueue_plain(tx, [message])


def advanced(tx: Tx, schedule: Schedule, at: Instant) -> Schedule:
    """The schedule with its next firing moved on, written, and its timer set."""
    later = replace(schedule, next_fire_at=at)
    schedules.advance(tx, schedule.schedule_id, later.next_fire_at)
    set_timer(tx, later)
    return later


def _entry(tx: Tx, schedule: Schedule, kind: Kind) -> Entry:
    return Entry(
        entry_id=new_id(),
        at=tx.now,
        stage=Stage.DECIDE,
        kind=kind,
        subject=schedule.schedule_id,
        trigger_type=schedule.trigger_type,
        data=dumps(
            {
                "account_id": schedule.account_id,
                "catch_up": schedule.catch_up,
                "cron": schedule.cron,
                "generation": schedule.generation,
                "next_fire_at": schedule.next_fire_at,
                "spread_seconds": schedule.spread_seconds,
                "timezone": schedule.timezone,
                "zone_data": zone_data(schedule.timezone),
            }
        ),
    )
