"""Counts over time for who looks: hours from the tallies, and what is not counted there yet.

Whoever looks does not count for others: it reads the entries past the place of the tallies, a
bounded number of them, and says how far it came. Minutes are read from the newest entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from watchkeeper.core.time import HOUR, MINUTE, Instant
from watchkeeper.store import tallies
from watchkeeper.store.json import encode
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Tx

ENTRIES_MAX = 20_000
"""Entries of the ledger that one look reads."""

_COUNTED = (
    "select hour, kind, result, reason, name, cast(sum(entries) as bigint),"
    " cast(sum(amount) as bigint) from tallies where tenant_id = {0} and kind = {0} and hour {1}"
    " group by hour, kind, result, reason, name"
)
# Each hour by itself, so that what else was counted in it is not read.
_HOURS = Statement(
    _COUNTED.format("%s", "= any(%s::int[])"),
    _COUNTED.format("?", "in (select value from json_each(?))"),
)
_AMOUNT = (
    "case when kind = 'pull.decided' and result = 'SCHEDULED' then"
    " cast(data ->> 'units' as bigint) when kind = 'turn.settled' then"
    " cast(data ->> 'charged_micro' as bigint) end"
)
_NAME = "case when kind in ('pull.decided', 'pull.ended') then data ->> 'connector_id' end"
_TAIL = same(
    f"select at / {HOUR}, kind, coalesce(result, ''), coalesce(reason, ''),"
    f" coalesce({_NAME}, ''), count(*), cast(coalesce(sum({_AMOUNT}), 0) as bigint) from ledger"
    " where tenant_id = %s and seq > %s and seq <= %s"
    " and kind in ('verdict', 'pull.decided', 'pull.ended', 'turn.settled')"
    " group by 1, 2, 3, 4, 5"
)
_MINUTES = same(
    f"select at / {MINUTE}, kind, coalesce(result, ''), coalesce(reason, ''), '', count(*), 0"
    " from ledger where tenant_id = %s and seq > %s and seq <= %s and kind = 'verdict'"
    " and at >= %s group by 1, 2, 3, 4"
)
_END = same("select ledger_seq from tenants where tenant_id = %s")
_AT = same("select at from ledger where tenant_id = %s and seq >= %s order by seq limit 1")


class Counted(NamedTuple):
    """Entries that are alike, in one bucket: an hour, or a minute, numbered from 1970."""

    bucket: int
    kind: str
    result: str
    reason: str
    name: str
    entries: int
    amount: int


class Tail(NamedTuple):
    """What the tallies do not have yet. `until_at` is None where all of it was read."""

    counted: tuple[Counted, ...]
    until_at: Instant | None


class Minutes(NamedTuple):
    """The newest verdicts by the minute. `since_at` is None where the whole window was read."""

    counted: tuple[Counted, ...]
    since_at: Instant | None


def hours(tx: Tx, kind: str, first: int, last: int) -> list[Counted]:
    """What was counted of a kind in these hours."""
    wanted = encode(list(range(first, last + 1)))
    asked = wanted if tx.engine == "sqlite" else f"{{{wanted[1:-1]}}}"
    return _counted(tx.rows(_HOURS, (tx.tenant_id, kind, asked)))


def tail(tx: Tx) -> Tail:
    """What has happened since the tallies were brought up to date."""
    start, end = tallies.place(tx), _end(tx)
    until = min(end, start + ENTRIES_MAX)
    counted = _counted(tx.rows(_TAIL, (tx.tenant_id, start, until))) if until > start else []
    return Tail(tuple(counted), _at(tx, until) if until < end else None)


def minutes(tx: Tx, since: Instant) -> Minutes:
    """Verdicts by the minute since then, as far back as the newest entries reach."""
    end = _end(tx)
    start = max(0, end - ENTRIES_MAX)
    counted = _counted(tx.rows(_MINUTES, (tx.tenant_id, start, end, since)))
    reached = _at(tx, start) if start else None
    return Minutes(tuple(counted), reached if reached is not None and reached > since else None)


def _end(tx: Tx) -> int:
    return sum(row[0] for row in tx.rows(_END, (tx.tenant_id,)))


def _at(tx: Tx, seq: int) -> Instant | None:
    rows = tx.rows(_AT, (tx.tenant_id, seq))
    return Instant(rows[0][0]) if rows else None


def _counted(rows: Iterable[Row]) -> list[Counted]:
    return [Counted(*row) for row in rows]
