"""Schedules and the moment each fires next."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.core.ids import AccountId, ScheduleId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.schedule import CatchUp
from watchkeeper.core.schedule_history import Told
from watchkeeper.core.time import Instant
from watchkeeper.store.json import loads
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Row, Tx

_COLUMNS = (
    "schedule_id, account_id, trigger_type, cron, timezone, catch_up, spread_seconds,"
    " next_fire_at, generation, updated_at"
)
_GET = same(f"select {_COLUMNS} from schedules where tenant_id = %s and schedule_id = %s")
_LIST = same(
    f"select {_COLUMNS} from schedules where tenant_id = %s and schedule_id > %s"
    " order by schedule_id limit %s"
)
_PUT = same(
    f"insert into schedules (tenant_id, {_COLUMNS})"
    " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " on conflict (tenant_id, schedule_id) do update set account_id = excluded.account_id,"
    " trigger_type = excluded.trigger_type, cron = excluded.cron, timezone = excluded.timezone,"
    " catch_up = excluded.catch_up, spread_seconds = excluded.spread_seconds,"
    " next_fire_at = excluded.next_fire_at, generation = excluded.generation,"
    " updated_at = excluded.updated_at"
)
_ADVANCE = same("update schedules set next_fire_at = %s where tenant_id = %s and schedule_id = %s")
_HISTORY = same(
    "select subject, seq, at, kind, data from ledger where tenant_id = %s and seq > %s and kind in"
    f" ('{Kind.SCHEDULE_SET}', '{Kind.SCHEDULE_REMOVED}', '{Kind.SCHEDULE_FIRED}',"
    f" '{Kind.SCHEDULE_MISSED}') order by seq desc limit %s"
)
_DELETE = same("delete from schedules where tenant_id = %s and schedule_id = %s")


@dataclass(frozen=True, slots=True)
class Schedule:
    schedule_id: ScheduleId
    account_id: AccountId | None  # None: every account of the tenant
    trigger_type: str
    cron: str
    timezone: str
    catch_up: CatchUp
    spread_seconds: int | None
    next_fire_at: Instant
    generation: int
    updated_at: Instant


def get(tx: Tx, schedule_id: ScheduleId) -> Schedule | None:
    rows = tx.rows(_GET, (tx.tenant_id, schedule_id))
    return _schedule(rows[0]) if rows else None


def page(tx: Tx, after: str, limit: int) -> list[Schedule]:
    return [_schedule(row) for row in tx.rows(_LIST, (tx.tenant_id, after, limit))]


def put(tx: Tx, s: Schedule) -> None:
    tx.run(
        _PUT,
        (
            tx.tenant_id,
            s.schedule_id,
            s.account_id,
            s.trigger_type,
            s.cron,
            s.timezone,
            s.catch_up,
            s.spread_seconds,
            s.next_fire_at,
            s.generation,
            s.updated_at,
        ),
    )


def advance(tx: Tx, schedule_id: ScheduleId, next_fire_at: Instant) -> None:
    tx.run(_ADVANCE, (next_fire_at, tx.tenant_id, schedule_id))


def delete(tx: Tx, schedule_id: ScheduleId) -> None:
    tx.run(_DELETE, (tx.tenant_id, schedule_id))


def history(tx: Tx, after_seq: int, most: int) -> tuple[list[tuple[ScheduleId, Told]], bool]:
    """The newest lines about schedules, oldest first, and whether that is all of them."""
    rows = tx.rows(_HISTORY, (tx.tenant_id, after_seq, most))
    found = [
        (ScheduleId(subject), Told(seq, Instant(at), Kind(kind), loads(data)))
        for subject, seq, at, kind, data in reversed(rows)
    ]
    return found, after_seq == 0 and len(rows) < most


def _schedule(row: Row) -> Schedule:
    schedule_id, account_id, trigger_type, cron, timezone, catch_up, *rest = row
    return Schedule(schedule_id, account_id, trigger_type, cron, timezone, CatchUp(catch_up), *rest)
