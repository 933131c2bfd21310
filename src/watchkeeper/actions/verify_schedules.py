"""Completeness of schedules: what should have fired is matched with what did, one to one."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from watchkeeper.actions.zone_data import zone_data
from watchkeeper.core.ids import ScheduleId
from watchkeeper.core.schedule import parse_cron
from watchkeeper.core.schedule_history import Gap, Standing, Told, gaps
from watchkeeper.core.time import to_iso
from watchkeeper.errors import Invalid
from watchkeeper.store import schedules
from watchkeeper.store.question import ROWS_MAX
from watchkeeper.store.schedules import Schedule
from watchkeeper.store.transaction import Tx

HISTORY_MAX = 10_000
"""Of each tenant the newest so many lines about schedules are looked at."""
PAGE = 500


class Incomplete(NamedTuple):
    """Rows that are wrong, and rows that other time zone data explain."""

    rows: list[dict[str, object]]
    notices: list[dict[str, object]]


def incomplete_schedules(tx: Tx, after_seq: int, most: int = HISTORY_MAX) -> Incomplete:
    """Firings that are missing, doubled or not explained, with the schedule and the moment.

    What is stored is read before and after the history: a schedule that fired in between is
    compared by its history alone.
    """
    before = _stored(tx)
    lines, is_whole = schedules.history(tx, after_seq, most)
    after = _stored(tx)
    told: dict[ScheduleId, list[Told]] = defaultdict(list)
    for schedule_id, line in lines:
        told[schedule_id].append(line)
    found = Incomplete([], [])
    for schedule_id in sorted({*told, *after} if is_whole else told):
        now = after.get(schedule_id)
        is_settled = now == before.get(schedule_id)
        try:
            lines_of = told[schedule_id]
            named = list(gaps(lines_of, _standing(now), zone_data, is_settled=is_settled))
        except (Invalid, KeyError, TypeError, ValueError) as error:
            named = [Gap(None, f"its history cannot be read: {error}")]
        for gap in named:
            (found.notices if gap.is_notice else found.rows).append(_row(schedule_id, gap))
        if len(found.rows) >= ROWS_MAX:
            break
    return Incomplete(found.rows[:ROWS_MAX], found.notices[:ROWS_MAX])


def _stored(tx: Tx) -> dict[ScheduleId, Schedule]:
    found: dict[ScheduleId, Schedule] = {}
    last = ""
    while page := schedules.page(tx, last, PAGE):
        found |= {one.schedule_id: one for one in page}
        last = page[-1].schedule_id
    return found


def _standing(one: Schedule | None) -> Standing | None:
    if one is None:
        return None
    return Standing(parse_cron(one.cron, one.timezone), one.catch_up, one.next_fire_at)


def _row(schedule_id: ScheduleId, gap: Gap) -> dict[str, object]:
    at = None if gap.at is None else to_iso(gap.at)
    return {"schedule_id": schedule_id, "fires_at": at, "why": gap.why, "seq": gap.seq}
