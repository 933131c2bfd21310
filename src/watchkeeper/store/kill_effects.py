"""What kill switches have refused since a moment: counted hours, and the rest of the ledger.

Hours that are counted cost a row each; of what is not counted yet, and of the hour in which the
switch was thrown, at most SCANNED_MAX entries are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from watchkeeper.core.admission import Reason
from watchkeeper.core.ledger import Kind
from watchkeeper.core.time import Instant, hour_of
from watchkeeper.store import tallies
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

SCANNED_MAX = 10_000

_OF = f"reason = '{Reason.KILL_SWITCH.value}'"
_HOURS = same(
    "select coalesce(cast(sum(entries) as bigint), 0) from tallies"
    f" where tenant_id = %s and hour > %s and kind = %s and {_OF}"
)
_CUT = same(
    "select coalesce(cast(sum(entries) as bigint), 0), min(first_seq), max(last_seq), min(first_at)"
    f" from tallies where tenant_id = %s and hour = %s and kind = %s and {_OF}"
)
_ENTRIES = same(
    "select kind, at from (select kind, reason, at from ledger where tenant_id = %s"
    f" and seq >= %s and seq <= %s order by seq limit %s) x where {_OF}"
)
_LAST = same("select seq from ledger where tenant_id = %s order by seq desc limit 1")


class Refused(NamedTuple):
    """`is_more`: not all that there is was read; it is at least so many."""

    verdicts: int
    pulls: int
    is_more: bool


class Tail(NamedTuple):
    """What was refused behind the place up to which the ledger is counted."""

    refused: list[tuple[str, Instant]]
    is_more: bool


def tail(tx: Tx) -> Tail:
    place, last = tallies.place(tx), tx.rows(_LAST, (tx.tenant_id,))
    end = int(last[0][0]) if last else 0
    return Tail(_read(tx, place + 1, end), is_more=end - place > SCANNED_MAX)


def refused(tx: Tx, tail: Tail, since: Instant) -> Refused:
    """Triggers and pulls of the tenant that any kill switch has refused."""
    verdicts, more = _refused(tx, Kind.VERDICT, tail, since)
    pulls, more_pulls = _refused(tx, Kind.PULL_DECIDED, tail, since)
    return Refused(verdicts, pulls, tail.is_more or more or more_pulls)


def _refused(tx: Tx, kind: Kind, tail: Tail, since: Instant) -> tuple[int, bool]:
    hour = hour_of(since)
    [(count,)] = tx.rows(_HOURS, (tx.tenant_id, hour, kind.value))
    [(entries, first, last, first_at)] = tx.rows(_CUT, (tx.tenant_id, hour, kind.value))
    found = int(count) + _since(tail.refused, kind, since)
    if not entries:
        return found, False
    if first_at >= since:
        return found + int(entries), False
    again = _since(_read(tx, first, last), kind, since)
    return found + again, last - first >= SCANNED_MAX


def _since(refused: Sequence[tuple[str, Instant]], kind: Kind, since: Instant) -> int:
    return sum(one == kind and at >= since for one, at in refused)


def _read(tx: Tx, first: int, last: int) -> list[tuple[str, Instant]]:
    rows = tx.rows(_ENTRIES, (tx.tenant_id, first, last, SCANNED_MAX))
    return [(kind, Instant(at)) for kind, at in rows]
