"""What kill switches have refused since a moment: counted hours, and the rest of the ledger.

Hours that are counted cost a row each; of what is not counted yet, and of the hour in which the
switch was thrown, at most SCANNED_MAX entries are read.
"""

from __future__ import annotations

from typing import NamedTuple

from watchkeeper.core.admission import Reason
from watchkeeper.core.ledger import Kind
from watchkeeper.core.time import Instant, hour_of
from watchkeeper.store import tallies
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

SCANNED_MAX = 20_000

_OF = f"kind = %s and reason = '{Reason.KILL_SWITCH.value}'"
_HOURS = same(
    "select coalesce(cast(sum(entries) as bigint), 0) from tallies"
    f" where tenant_id = %s and hour > %s and {_OF}"
)
_CUT = same(
    "select coalesce(cast(sum(entries) as bigint), 0), min(first_seq), max(last_seq), min(first_at)"
    f" from tallies where tenant_id = %s and hour = %s and {_OF}"
)
_ENTRIES = same(
    "select count(*) from (select kind, reason, at from ledger where tenant_id = %s"
    f" and seq >= %s and seq <= %s order by seq limit {SCANNED_MAX}) x where at >= %s and {_OF}"
)
_LAST = same("select seq from ledger where tenant_id = %s order by seq desc limit 1")


class Refused(NamedTuple):
    """`is_more`: not all that there is was read; it is at least so many."""

    verdicts: int
    pulls: int
    is_more: bool


def refused(tx: Tx, since: Instant) -> Refused:
    """Triggers and pulls of the tenant that any kill switch has refused."""
    last = tx.rows(_LAST, (tx.tenant_id,))
    end = int(last[0][0]) if last else 0
    verdicts, more = _refused(tx, Kind.VERDICT, since, end)
    pulls, more_pulls = _refused(tx, Kind.PULL_DECIDED, since, end)
    return Refused(verdicts, pulls, more or more_pulls)


def _refused(tx: Tx, kind: Kind, since: Instant, end: int) -> tuple[int, bool]:
    hour, place = hour_of(since), tallies.place(tx)
    [(count,)] = tx.rows(_HOURS, (tx.tenant_id, hour, kind.value))
    [(entries, first, final, first_at)] = tx.rows(_CUT, (tx.tenant_id, hour, kind.value))
    found, is_more = int(count), False
    if entries and first_at >= since:
        found += int(entries)
    elif entries:
        found += _read(tx, kind, first, final, since)
        is_more = final - first >= SCANNED_MAX
    found += _read(tx, kind, place + 1, end, since)
    return found, is_more or end - place > SCANNED_MAX


def _read(tx: Tx, kind: Kind, first: int, last: int, since: Instant) -> int:
    [(count,)] = tx.rows(_ENTRIES, (tx.tenant_id, first, last, since, kind.value))
    return int(count)
