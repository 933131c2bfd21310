"""Counts over time for who looks: hours from the tallies, and what is not counted there yet.

Whoever looks does not count for others: it reads the entries past the place of the tallies, a
bounded number of them, and says how far it came. Minutes are read from the newest entries; where
those are too many, from stretches spread evenly over the window, and said to be an estimate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from watchkeeper.core.ledger import Kind
from watchkeeper.core.sampling import Answer, Stretch, by_bucket
from watchkeeper.core.time import HOUR, MINUTE, Instant
from watchkeeper.store import tallies
from watchkeeper.store.json import encode
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Tx

ENTRIES_MAX = 20_000
"""Entries of the ledger that one look reads."""
STRETCH = 100
"""Entries of a sample that lie beside each other: they are read together."""

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
# Each stretch is a walk along the key: bounds alone would have the planner read the whole ledger.
_SAMPLE = Statement(
    """select v.seq, l.kind, coalesce(l.result, ''), coalesce(l.reason, ''), count(*), min(l.at)
    from unnest(%s::bigint[]) v (seq), lateral (select at, kind, result, reason from ledger
        where tenant_id = %s and seq > v.seq order by seq limit %s) l group by 1, 2, 3, 4""",
    """select v.value, l.kind, coalesce(l.result, ''), coalesce(l.reason, ''), count(*), min(l.at)
    from json_each(?) v cross join ledger l on l.tenant_id = ? and l.seq > v.value
        and l.seq <= v.value + ? group by 1, 2, 3, 4""",
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
    """Verdicts by the minute. An estimate where there were more than one look reads."""

    counted: tuple[Counted, ...]
    is_estimate: bool


def hours(tx: Tx, kind: str, first: int, last: int) -> list[Counted]:
    """What was counted of a kind in these hours."""
    wanted = _array(tx, range(first, last + 1))
    return _counted(tx.rows(_HOURS, (tx.tenant_id, kind, wanted)))


def tail(tx: Tx) -> Tail:
    """What has happened since the tallies were brought up to date."""
    start, end = tallies.place(tx), _end(tx)
    until = min(end, start + ENTRIES_MAX)
    counted = _counted(tx.rows(_TAIL, (tx.tenant_id, start, until))) if until > start else []
    return Tail(tuple(counted), _at(tx, until) if until < end else None)


def minutes(tx: Tx, since: Instant) -> Minutes:
    """Verdicts by the minute since then: counted, or estimated from a sample."""
    end = _end(tx)
    start = max(0, end - ENTRIES_MAX)
    reached = _at(tx, start) if start else None
    if reached is None or reached < since:
        return Minutes(tuple(_counted(tx.rows(_MINUTES, (tx.tenant_id, start, end, since)))), False)
    first = _first_since(tx, since, start)
    return Minutes(tuple(_sampled(tx, first, end, since)), True)


def _first_since(tx: Tx, since: Instant, known: int) -> int:
    """The place before the first entry that is not older, by halves: the later, the younger."""
    older, younger = 0, known
    while younger - older > 1:
        middle = (older + younger) // 2
        at = _at(tx, middle)
        if at is not None and at < since:
            older = middle
        else:
            younger = middle
    return older


def _sampled(tx: Tx, first: int, end: int, since: Instant) -> list[Counted]:
    """What stretches at even distances come to, each standing for all up to the next."""
    count = max(1, ENTRIES_MAX // (2 * STRETCH))
    places = [first + (end - first) * n // count for n in range(count)]
    begun: dict[int, Instant] = {}
    verdicts: dict[int, dict[Answer, int]] = {place: {} for place in places}
    for place, kind, result, reason, entries, at in tx.rows(
        _SAMPLE, (_array(tx, places), tx.tenant_id, STRETCH)
    ):
        begun[place] = min(begun.get(place, at), at)
        if kind == Kind.VERDICT:
            verdicts[place][result, reason] = entries
    stands_for = (end - first) / (count * STRETCH)
    stretches = [
        Stretch(begun[place], verdicts[place], stands_for) for place in places if place in begun
    ]
    found = by_bucket(stretches, since=since, until=tx.now, bucket_us=MINUTE)
    return [
        Counted(minute, Kind.VERDICT, result, reason, "", entries, 0)
        for (minute, (result, reason)), entries in found.items()
    ]


def _array(tx: Tx, numbers: Iterable[int]) -> str:
    """Whole numbers as a parameter: JSON, or PostgreSQL's text of an array."""
    text = encode(list(numbers))
    return text if tx.engine == "sqlite" else f"{{{text[1:-1]}}}"


def _end(tx: Tx) -> int:
    return sum(row[0] for row in tx.rows(_END, (tx.tenant_id,)))


def _at(tx: Tx, seq: int) -> Instant | None:
    rows = tx.rows(_AT, (tx.tenant_id, seq))
    return Instant(rows[0][0]) if rows else None


def _counted(rows: Iterable[Row]) -> list[Counted]:
    return [Counted(*row) for row in rows]
