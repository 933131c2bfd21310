"""The virtual clock is moved: through every instant at which something is due, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from watchkeeper.actions.turns import Turns
from watchkeeper.actions.watch_turns import next_timeout, watch_turns
from watchkeeper.core.ids import SYSTEM
from watchkeeper.core.time import Instant, seconds
from watchkeeper.errors import Conflict, Unavailable
from watchkeeper.store import clock, outbox_claim, outbox_counts
from watchkeeper.store.database import Database

STEPS_MAX = 100_000
PATIENCE_ROUNDS = 250
"""How often to look again while nothing changes."""

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


def advance_clock(db: Database, by_seconds: float, drain: Drain | None, turns: Turns) -> Advanced:
    """Move the clock, stop wherever something is due, and return when all of it is done.

    `drain` delivers what is due in this process and returns how much that was; without it,
    workers elsewhere are waited for. What nobody takes up for a while is left where it is.
    """
    now, is_virtual = clock_now(db)
    if not is_virtual:
        raise Conflict("time is real on this database: only a virtual clock can be advanced")
    target = Instant(now + seconds(by_seconds))
    done = Advanced(now)
    _settle(db, drain, turns, done)
    for _ in range(STEPS_MAX):
        with db.read_system() as tx:
            due_at = outbox_claim.next_due(tx)
        due_at = min((at for at in (due_at, next_timeout(turns)) if at is not None), default=None)
        if due_at is None or due_at > target:
            _move(db, target, done)
            return done
        if due_at <= done.now_at:
            raise Unavailable("messages are due that no worker takes up; the clock stands there")
        _move(db, due_at, done)
        _settle(db, drain, turns, done)
    raise Unavailable(f"more than {STEPS_MAX} instants were due; the clock stands between")


def _move(db: Database, to: Instant, done: Advanced) -> None:
    with db.begin(SYSTEM) as tx:
        clock.move_to(tx, to)
    done.now_at = to
    done.steps += 1
    db.tell()


def _settle(db: Database, drain: Drain | None, turns: Turns, done: Advanced) -> None:
    """Come to rest: what is due has been delivered, and nothing is under way anywhere."""
    patience, before = PATIENCE_ROUNDS, None
    while patience:
        seen = db.news_count
        ended = watch_turns(turns)
        if ended:
            done.ran["turns timed out"] += ended
        if drain is not None:
            done.ran += drain()
        with db.read_system() as tx:
            open_now = outbox_counts.open_messages(tx)
        if not open_now.under_way and (drain is not None or not open_now.due):
            return
        patience = patience - 1 if open_now == before else PATIENCE_ROUNDS
        before = open_now
        db.wait_for_news(seen, PAUSE_SECONDS)
    if before is not None and before.under_way:
        raise Unavailable(f"{before.under_way} messages have been under way for too long")
