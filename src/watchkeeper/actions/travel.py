"""Time travel: the virtual clock is advanced, and what came due on the way is kept to be shown."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import NamedTuple

from watchkeeper.actions.advance_clock import Advanced, Drain, advance_clock, clock_now
from watchkeeper.actions.turns import Turns
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.errors import Unavailable
from watchkeeper.store import ledger, outbox_look
from watchkeeper.store.database import Database
from watchkeeper.store.outbox_look import Count, Due

KEPT_MAX = 20
ENTRIES_MAX = 5_000
"""Lines of the ledger that are counted of one travel."""


class Told(NamedTuple):
    """Entries of the ledger that are alike."""

    kind: str
    result: str
    entries: int


@dataclass(frozen=True, slots=True)
class Travel:
    """One advance. Messages and entries are of the tenant that was looked at."""

    since: Instant
    done: Advanced
    tenant_id: TenantId
    ended: tuple[Count, ...]  # messages that were delivered on the way, or died
    entries: tuple[Told, ...]
    is_more: bool  # than ENTRIES_MAX lines
    failed: str | None = None  # why it stopped on the way


@dataclass(slots=True)
class Travels:
    """Those of this process, the newest first. For development, where there is one."""

    kept: deque[Travel] = field(default_factory=lambda: deque(maxlen=KEPT_MAX))

    def advance(
        self, db: Database, by_seconds: float, drain: Drain | None, turns: Turns, whose: TenantId
    ) -> Travel:
        """Advance and remember, also where that stopped on the way."""
        since, _ = clock_now(db)
        head, failed = _head(db, whose), None
        try:
            done = advance_clock(db, by_seconds, drain, turns)
        except Unavailable as error:
            done, failed = Advanced(clock_now(db)[0]), str(error)
        with db.read(whose) as tx:
            ended = tuple(outbox_look.ended_since(tx, since))
        told, is_more = _told(db, whose, head)
        travel = Travel(since, done, whose, ended, told, is_more, failed)
        self.kept.appendleft(travel)
        return travel


def next_due(db: Database) -> list[Due]:
    """The timers that come next, of all tenants."""
    with db.read_system() as tx:
        return outbox_look.next_due(tx)


def _head(db: Database, whose: TenantId) -> int:
    with db.read(whose) as tx:
        newest = ledger.newest(tx, {}, limit=1)
    return newest[0].seq if newest else 0


def _told(db: Database, whose: TenantId, head: int) -> tuple[tuple[Told, ...], bool]:
    with db.read(whose) as tx:
        found = ledger.after(tx, head, ENTRIES_MAX + 1)
    counts = Counter((str(one.entry.kind), one.entry.result or "") for one in found[:ENTRIES_MAX])
    told = sorted(Told(kind, result, count) for (kind, result), count in counts.items())
    return tuple(told), len(found) > ENTRIES_MAX
