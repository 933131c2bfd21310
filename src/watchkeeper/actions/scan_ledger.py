"""Filtered reads of the ledger, a part of it in each read transaction.

The ledger is indexed by place and by subject. A filter on anything else may match nothing in
millions of entries, and on SQLite with the rollback journal nobody commits while somebody reads.
"""

from __future__ import annotations

from collections.abc import Mapping

from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.store import ledger
from watchkeeper.store.database import Database

SCANNED = 5_000
"""Entries that one transaction looks through."""

MARGIN = 2 * SECOND
"""A verdict is dated to the next whole second, so moments are not quite in the order of places."""


def entries_after(
    db: Database, tenant_id: TenantId, filters: Mapping[str, str], *, after: int, limit: int
) -> list[Recorded]:
    """Entries that follow a place and match every filter, oldest first."""
    found: list[Recorded] = []
    place = after
    is_over = False
    while not is_over and len(found) < limit:
        with db.read(tenant_id) as tx:
            end = ledger.last_place(tx)
            start = max(place, ledger.first_place(tx) - 1)
            place = end if "subject" in filters else min(start + SCANNED, end)
            found += ledger.after(tx, start, limit - len(found), filters, until=place)
        is_over = place >= end
    return found


def newest_entries(
    db: Database,
    tenant_id: TenantId,
    filters: Mapping[str, str],
    *,
    before: int | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    limit: int,
) -> list[Recorded]:
    """Entries that match every filter, newest first, before a place and within a time."""
    with db.read(tenant_id) as tx:
        high = ledger.last_place(tx) + 1 if before is None else before
        low = ledger.first_place(tx) - 1
        if since is not None:
            low = max(low, ledger.place_at(tx, Instant(since - MARGIN)) - 1)
        if until is not None:
            high = min(high, ledger.place_at(tx, Instant(until + MARGIN)))
        high = min(high, ledger.last_place(tx) + 1)
    found: list[Recorded] = []
    while high > low + 1 and len(found) < limit:
        floor = low if "subject" in filters else max(low, high - 1 - SCANNED)
        with db.read(tenant_id) as tx:
            found += ledger.newest(
                tx,
                filters,
                before=high,
                after=floor,
                since=since,
                until=until,
                limit=limit - len(found),
            )
        high = floor + 1
    return found
