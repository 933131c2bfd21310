"""Looking for entries and decisions, newest first, by what they are, without an end of patience.

The ledger is indexed by place and by subject. Whatever else is asked for is looked for among a
bounded number of entries, then further back where the hourly counts say that there is some; a
page may so hold less than it could, and says where to go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from watchkeeper.actions.scan_ledger import MARGIN, SCANNED
from watchkeeper.actions.views import DecisionView, view_of
from watchkeeper.core.admission import Result
from watchkeeper.core.ids import DecisionId, TenantId
from watchkeeper.core.ledger import Kind, Recorded
from watchkeeper.core.time import Instant
from watchkeeper.store import ledger, runs, tallies
from watchkeeper.store.database import Database
from watchkeeper.store.transaction import ReadTx

SCANS_MAX = 3


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for: columns that have a value, entries of a stretch of time."""

    filters: Mapping[str, str]
    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Entries, newest first; where to go on, if there may be more."""

    entries: Sequence[Recorded]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class FoundDecisions:
    decisions: Sequence[DecisionView]
    next_before: int | None


def search_ledger(
    db: Database, tenant_id: TenantId, wanted: Search, *, before: int, limit: int
) -> Found:
    with db.read(tenant_id) as tx:
        return _search(tx, wanted, before, limit)


def search_decisions(
    db: Database, tenant_id: TenantId, wanted: Search, *, before: int, limit: int
) -> FoundDecisions:
    verdicts = {**wanted.filters, "kind": Kind.VERDICT.value}
    with db.read(tenant_id) as tx:
        found = _search(tx, Search(verdicts, wanted.since, wanted.until), before, limit)
        allowed = [one.entry.entry_id for one in found.entries if one.entry.result == Result.ALLOW]
        started = runs.started(tx, [DecisionId(name) for name in allowed])
    views = [view_of(one, started.get(DecisionId(one.entry.entry_id))) for one in found.entries]
    return FoundDecisions(views, found.next_before)


def _search(tx: ReadTx, wanted: Search, before: int, limit: int) -> Found:
    low, high = 0, before
    if wanted.since is not None:
        low = ledger.place_at(tx, Instant(wanted.since - MARGIN)) - 1
    if wanted.until is not None:
        high = min(high, ledger.place_at(tx, Instant(wanted.until + MARGIN)))
    found: list[Recorded] = []
    for _ in range(SCANS_MAX):
        floor = max(low, ledger.place_back(tx, high, SCANNED, wanted.filters.get("subject")) - 1)
        found += ledger.newest(
            tx,
            wanted.filters,
            before=high,
            after=floor,
            since=wanted.since,
            until=wanted.until,
            limit=limit + 1 - len(found),
        )
        if len(found) > limit:
            return Found(found[:limit], found[limit - 1].seq)
        further = _further(tx, wanted.filters, floor + 1) if floor > low else None
        if further is None or further <= low + 1:
            return Found(found, None)
        high = further
    return Found(found, high)


def _further(tx: ReadTx, filters: Mapping[str, str], before: int) -> int | None:
    """Before which place to go on; None where the counts know that there are no more."""
    kind = filters.get("kind")
    if kind is None or "subject" in filters or before > tallies.place(tx):
        return before
    alike = {name: filters[name] for name in ("result", "reason") if name in filters}
    return tallies.newest_place(tx, before, kind, alike)
