"""The virtual clock is moved: through every instant at which something is due, in order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from watchkeeper.actions.answer_once import KEPT_US, AlreadyDone, Once, take
from watchkeeper.actions.turns import Turns
from watchkeeper.actions.watch_turns import next_timeout, watch_turns
from watchkeeper.core.ids import SYSTEM
from watchkeeper.core.time import Instant, seconds, to_iso
from watchkeeper.errors import Conflict, Unavailable
from watchkeeper.store import clock, outbox_claim, outbox_counts
from watchkeeper.store.database import Database

STEPS_MAX = 100_000
PATIENCE_SECONDS = 5.0
"""How long to wait while nothing changes."""

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


def advance_clock(
    db: Database,
    by_seconds: float,
    drain: Drain | None,
    turns: Turns,
    once: Once | None = None,
) -> Advanced:
    """Move the clock, stop wherever something is due, and return when all of it is done.

    `drain` delivers what is due in this process and returns how much that was; without it,
    workers elsewhere are waited for. What nobody takes up for a while is left where it is.
    A repeat of the same request goes on to the moment that the first one was to reach.
    """
    now, is_virtual = clock_now(db)
    if not is_virtual:
        raise Conflict("time is real on this database: only a virtual clock can be advanced")
    target = _target(db, Instant(now + seconds(by_seconds)), once)
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
            raise _stands(done, "messages are due that no worker has claimed")
        _move(db, due_at, done)
        _settle(db, drain, turns, done)
    raise _stands(done, f"more than {STEPS_MAX} instants were due")


def _stands(done: Advanced, why: str) -> Unavailable:
    return Unavailable(
        f"{why}: the clock stands at {to_iso(done.now_at)}. Repeat the request under the same"
        " Idempotency-Key to move it on to the moment that this one was to reach"
    )


def _target(db: Database, at: Instant, once: Once | None) -> Instant:
    """Where this request is to arrive: `at`, or where its first try was to."""

    def deed() -> None:
        with db.begin(SYSTEM) as tx:
            take(tx, once, at, until=Instant(at + KEPT_US))

    try:
        if once is not None:
            db.retrying(deed)
    except AlreadyDone as done:
        return Instant(done.note)
    return at


def _move(db: Database, to: Instant, done: Advanced) -> None:
    with db.begin(SYSTEM) as tx:
        clock.move_to(tx, to)
    done.now_at = to
    done.steps += 1
    db.tell()


def _settle(db: Database, drain: Drain | None, turns: Turns, done: Advanced) -> None:
    """Come to rest: what is due has been delivered, and nothing is under way anywhere.

    Messages that `drain` leaves are left by all only if nobody was claiming them meanwhile, and
    none was added: the same messages are due in two looks, and no transaction writes the outbox.
    """
    before, since = None, time.monotonic()
    while time.monotonic() - since < PATIENCE_SECONDS:
        seen = db.news_count
        ended = watch_turns(turns)
        if ended:
            done.ran["turns timed out"] += ended
        ran = Counter[str]() if drain is None else drain()
        done.ran += ran
        with db.read_system() as tx:
            has_writers = outbox_counts.has_writers(tx)
        with db.read_system() as tx:
            open_now = outbox_counts.open_messages(tx)
        if not open_now.due:
            return
        is_left = drain is not None and not (open_now.under_way or has_writers or ran)
        if is_left and open_now == before:
            return
        if open_now != before:
            since = time.monotonic()
        before = open_now
        if not is_left:
            db.wait_for_news(seen, PAUSE_SECONDS)
    if before is not None and before.under_way:
        raise _stands(done, f"{before.under_way} messages have been under way for too long")
