"""Holding on to messages whose handlers run for long.

Leases are renewed at a third of their length, from a thread and over a connection that
no handler can keep busy. A lease that was lost nevertheless is remembered, so that the
worker drops the result instead of offering it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from watchkeeper.core.ids import MessageId
from watchkeeper.core.time import SECOND
from watchkeeper.moves.pulls import PULL_REQUESTED
from watchkeeper.store import connectors, outbox_settle
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message, Queue
from watchkeeper.store.outbox_claim import lock_slots

RENEWED_MAX = 1_000
"""Leases renewed in one transaction."""


_SURE_SECONDS = 0.8 / SECOND
"""The part of a lease, per microsecond of it, in which a handler may still be begun."""


class Terms(NamedTuple):
    """Under which messages are held that were claimed together."""

    lease_us: int
    renewed: float  # on the process's monotonic clock, before it was asked for
    until: float | None  # not renewed beyond: the handler's time is over
    is_counted: bool


Hold: TypeAlias = tuple[Message, Terms]


class Leases:
    """What this process holds. The dispatcher adds and drops; one thread renews."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._held: dict[MessageId, Hold] = {}
        self._suspects: set[MessageId] = set()
        self.lost: set[MessageId] = set()

    def __len__(self) -> int:
        return len(self._held)

    def messages(self) -> list[Message]:
        """What is held, in the order in which it was claimed."""
        return [message for message, _ in list(self._held.values())]

    def hold(
        self, messages: Iterable[Message], queue: Queue, since: float, timeout_us: int | None
    ) -> None:
        until = None if timeout_us is None else since + timeout_us / SECOND
        terms = Terms(queue.lease_us, since, until, queue.total is not None)
        self._held.update([(m.id, (m, terms)) for m in messages])
        if queue.max_attempts > 1:
            self._suspects.update([m.id for m in messages if m.attempt == queue.max_attempts])

    def may_start(self, message: Message) -> bool:
        """Whether the lease surely lives: nothing is begun on one that may be another's by now."""
        hold = self._held.get(message.id)
        if hold is None:
            return False
        lease_us, renewed, _, _ = hold[1]
        return self.clock() - renewed < lease_us * _SURE_SECONDS

    def holds_suspect(self, namespace: str, topic: str) -> bool:
        """Whether a message of the topic is on its last of several attempts here."""
        held = [self._held[id][0] for id in self._suspects if id in self._held]
        return any((m.namespace, m.topic) == (namespace, topic) for m in held)

    def drop(self, ids: Collection[MessageId]) -> None:
        held, lost = self._held, self.lost
        for id in ids:
            held.pop(id, None)
            if lost:
                lost.discard(id)
        if self._suspects:
            self._suspects.difference_update(ids)

    def renew_due(self, db: Database, now: float | None = None) -> int:
        """Renew what is a third through its lease; how many were lost."""
        now = self.clock() if now is None else now
        due = [hold for hold in list(self._held.values()) if _is_due(hold, now)]
        lost = 0
        for start in range(0, len(due), RENEWED_MAX):
            lost += self._renew(db, due[start : start + RENEWED_MAX], now)
        return lost

    def _renew(self, db: Database, holds: Sequence[Hold], now: float) -> int:
        counted = {(m.namespace, m.topic) for m, terms in holds if terms.is_counted}
        asked = [(m, terms.lease_us) for m, terms in holds]
        with db.begin_system() as tx:
            lock_slots(tx, [Queue(*key, 0, 0, 0, total=0) for key in sorted(counted)])
            renewed, lost = outbox_settle.renew(tx, asked)
            pulls = [(m, us) for m, us in asked if m.topic == PULL_REQUESTED and m.id in renewed]
            longest = max((us for _, us in pulls), default=0)
            connectors.keep_slots(tx, [m.id for m, _ in pulls], longest)
        for m, terms in holds:
            if m.id in renewed and m.id in self._held:
                self._held[m.id] = (m, terms._replace(renewed=now))
            elif m.id in lost and self._held.pop(m.id, None) is not None:
                self.lost.add(m.id)
        return len(lost)


def _is_due(hold: Hold, now: float) -> bool:
    _, terms = hold
    if terms.until is not None and now >= terms.until:
        return False
    return now - terms.renewed >= terms.lease_us / (3 * SECOND)
