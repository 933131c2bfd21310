"""The virtual clock is moved: through every instant at which something is due, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from watchkeeper.core.ids import SYSTEM
from watchkeeper.core.time import Instant, seconds
from watchkeeper.errors import Conflict, Unavailable
from watchkeeper.store import clock, outbox_claim, outbox_counts
from watchkeeper.store.database import Database

STEPS_MAX = 100_000
PATIENCE_ROUNDS = 500
"""How often to look for deliveries of other processes that do not come to an end."""

PAUSE_SECONDS = 0.02

Drain = Callable[[], Counter[str]]


@dataclass(slots=True)
class Advanced:
    """What happened on the way: deliveries by topic, and where the clock stands now."""

    now_at: Instant
    steps: int = 0
    ran: Counter[str] = field(default_factory=Counter)


def start_virtual_clock(db: Database) -> None:
    """Time stands still from here on; a clock that is virtual already is left as it is."""
    with db.begin(SYSTEM) as tx:
        clock.start(tx)


def clock_now(db: Database) -> tuple[Instant, bool]:
    """What time it is on this database, and whether that is virtual."""
    with db.read(SYSTEM) as tx:
        return tx.now, clock.virtual_now(tx) is not None


def advance_clock(db: Database, by_seconds: float, drain: Drain) -> Advanced:
    """Move the clock, stop wherever a message is due, and return when all of it is done.

    `drain` delivers what is due in this process and returns how much of which topic; what
    other processes hold is waited for.
    """
    now, is_virtual = clock_now(db)
    if not is_virtual:
        raise Conflict("time is real on this database: only a virtual clock can be advanced")
    target = Instant(now + seconds(by_seconds))
    done = Advanced(now)
    _settle(db, drain, done)
    for _ in range(STEPS_MAX):
        with db.read_system() as tx:
            due_at = outbox_claim.next_due(tx)
        if due_at is None or due_at > target:
            break
        if due_at > done.now_at:
            _move(db, due_at, done)
        _settle(db, drain, done)
    else:
        raise Unavailable(f"more than {STEPS_MAX} instants were due; the clock stands between")
    _move(db, target, done)
    return done


def _move(db: Database, to: Instant, done: Advanced) -> None:
    with db.begin(SYSTEM) as tx:
        clock.move_to(tx, to)
    done.now_at = to
    done.steps += 1
    db.tell()


def _settle(db: Database, drain: Drain, done: Advanced) -> None:
    """Come to rest: nothing due is pending here, and nothing is under way anywhere."""
    seen, under_way = db.news_count, 0
    for _ in range(PATIENCE_ROUNDS):
        done.ran += drain()
        with db.read_system() as tx:
            under_way = outbox_counts.under_way(tx)
        if under_way == 0:
            return
        seen = db.wait_for_news(seen, PAUSE_SECONDS)
    raise Unavailable(f"{under_way} messages have been under way for too long")
