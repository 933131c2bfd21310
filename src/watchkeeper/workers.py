"""The loops: which there are, how often they look, and what each calls.

Work starts when news arrives, when a timer is due, or at the next look. Every loop
outlives the errors of what it calls and the absence of its database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from watchkeeper.actions.deliver_messages import Exchanged
from watchkeeper.actions.dispatch import drain
from watchkeeper.actions.dispatcher import BATCH_MAX, Dispatcher
from watchkeeper.actions.tidy_outbox import sweep_delivered, vacuum_outbox
from watchkeeper.core.policy import retention_days
from watchkeeper.core.redaction import redacted
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.handlers.registry import Registry
from watchkeeper.store.database import Database
from watchkeeper.store.notices import Line

GROW_SECONDS = 0.002
RENEW_LOOK_SECONDS = 0.25
NOTIFY_GAP_SECONDS = 0.01
LISTEN_SECONDS = 0.5
BACKOFF_SECONDS = 0.1
BACKOFF_SECONDS_MAX = 5.0
JOIN_SECONDS_MAX = 5.0
GIVE_UP_SECONDS = 1.0
"""So long before the grace is over, sends that have no answer are cut short and given back."""

LISTED_MAX = 50
"""Names in one line of the log."""

VACUUM_LOOK_SECONDS = 1.0
VACUUM_EVERY = 50_000
"""Messages delivered here after which the outbox is worth a vacuum."""

_log = logging.getLogger("watchkeeper.workers")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    poll_seconds: float = 1.0
    grace_seconds: float = 10.0
    batch_max: int = BATCH_MAX
    maintenance_seconds: float = 60.0
    watch_seconds: float = 5.0
    seal_seconds: float = 1.0


class Loop:
    """A thread that repeats a deed until it is told to stop, whatever the deed raises."""

    def __init__(self, name: str, deed: Callable[[], None], stopping: threading.Event) -> None:
        self._name = name
        self._deed = deed
        self._stopping = stopping
        self._thread = threading.Thread(target=self._repeat, name=f"watchkeeper {name}")
        self._thread.daemon = True

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout_seconds: float) -> bool:
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _repeat(self) -> None:
        pause = BACKOFF_SECONDS
        while not self._stopping.is_set():
            try:
                self._deed()
                pause = BACKOFF_SECONDS
            except Exception as error:
                _log.warning("%s: %s: %s", self._name, type(error).__name__, error)
                self._stopping.wait(pause)
                pause = min(2 * pause, BACKOFF_SECONDS_MAX)


class Notifier:
    """Tells other processes what was committed here. Every process that writes needs one."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._stopping = threading.Event()
        self._news = threading.Event()
        self._loop = Loop("notify", self._notify, self._stopping)
        self.lines: set[int] = set()  # notices of these are about what was committed here

    def start(self) -> None:
        if self.db.engine == "postgresql":
            self.db.on_news.append(self._news.set)
            self._loop.start()

    def stop(self) -> None:
        if self._news.set in self.db.on_news:
            self.db.on_news.remove(self._news.set)
            self._stopping.set()
            self._news.set()
            self._loop.join(JOIN_SECONDS_MAX)

    def _notify(self) -> None:
        with Line(self.db) as line:
            self.lines = {line.name}
            while not self._stopping.is_set():
                self._news.wait()
                self._news.clear()
                if not self._stopping.is_set():
                    line.notify()
                    self._stopping.wait(NOTIFY_GAP_SECONDS)


class Workers:
    """Everything that works in this process. `stop` finishes or gives back what is held.

    `chores` are done beside the upkeep of the outbox, once in `maintenance_seconds`; `watches`
    look for what is late, once in `watch_seconds`; `seals` seal the ledger, once in `seal_seconds`.
    """

    def __init__(
        self,
        db: Database,
        registry: Registry,
        settings: WorkerSettings | None = None,
        *,
        chores: Sequence[Callable[[], object]] = (),
        watches: Sequence[Callable[[], object]] = (),
        seals: Sequence[Callable[[], object]] = (),
        handlers: Sequence[str] = (),
    ) -> None:
        self.db = db
        self._handlers = handlers
        self.settings = settings or WorkerSettings()
        self.dispatcher = Dispatcher(db, registry, batch_max=self.settings.batch_max)
        self._chores = (self._sweep, *chores)
        self._watches = tuple(watches)
        self._seals = tuple(seals)
        self._vacuumed_at_count = 0
        self._stopping = threading.Event()  # nothing new is claimed
        self._ending = threading.Event()  # nothing is held any more, or the grace is over
        self._last_look: tuple[Instant | None, Instant] | None = None
        self._own = db
        self._notifier = Notifier(db)
        self._dispatch = Loop("dispatch", self._dispatch_until_stopped, self._stopping)
        self._others = [
            Loop("renew", self._renew, self._ending),
            Loop("maintain", self._maintain, self._ending),
            Loop("watch", self._watch, self._ending),
            Loop("seal", self._seal, self._ending),
        ]
        if db.engine == "postgresql":
            self._others.append(Loop("listen", self._listen, self._ending))
            self._others.append(Loop("vacuum", self._vacuum, self._ending))

    @property
    def counts(self) -> Counter[str]:
        return self.dispatcher.counts

    def start(self) -> None:
        self._own = self.db.of_its_own()
        self._notifier.start()
        for loop in (self._dispatch, *self._others):
            loop.start()
        _log.info(
            "worker started: watchkeeper %s, database %s, handlers: %s; topics: %s",
            version("watchkeeper"),
            redacted(str(self.db.writer.url)),  # SQLAlchemy hides the password itself
            _listed(self._handlers),
            _listed(sorted(topic.name for topic in self.dispatcher.registry)),
        )

    def drain(self) -> Counter[str]:
        """Deliver what is due in the caller's thread, beside what the loops deliver."""
        return drain(self.db, self.dispatcher.registry)

    def stop(self, grace_seconds: float | None = None) -> bool:
        """Claim nothing more, release what was not begun, wait for the rest; whether all ended.

        What is still running when the grace is over keeps its lease until that ends.
        """
        grace = self.settings.grace_seconds if grace_seconds is None else grace_seconds
        until = time.monotonic() + grace
        self._stopping.set()
        self.db.wake()
        clean = self._dispatch.join(grace + JOIN_SECONDS_MAX) and self._wind_down(until, grace)
        self._ending.set()
        self._notifier.stop()
        for loop in self._others:
            loop.join(JOIN_SECONDS_MAX)
        left = self.dispatcher.leases.messages()
        self.dispatcher.dismiss(JOIN_SECONDS_MAX)
        if left:
            told = [f"{m.topic} {m.id} of {m.tenant_id}" for m in left]
            words = "worker stopped: %d messages are given up, their handlers have not returned: %s"
            _log.warning(words, len(left), _listed(told))
        else:
            _log.info("worker stopped: nothing is held any more")
        if self._own is not self.db:
            self._own.close()
        return clean

    def _wind_down(self, until: float, grace: float) -> bool:
        self.dispatcher.abandon()
        give_up_at = until - min(GIVE_UP_SECONDS, grace / 2)
        while True:
            seen = self.db.news_count
            if time.monotonic() >= give_up_at:
                self.dispatcher.give_up()
            try:
                self.dispatcher.step(claiming=False)
            except Exception as error:
                _log.warning("stopping: %s: %s", type(error).__name__, error)
            left = until - time.monotonic()
            if self.dispatcher.is_cutting:  # they come back by themselves, on a busy machine late
                left += JOIN_SECONDS_MAX
            if not self.dispatcher.held or left <= 0:
                return not self.dispatcher.held
            self.db.wait_for_news(seen, min(left, BACKOFF_SECONDS))

    # -- the loops -------------------------------------------------------------------

    def _dispatch_until_stopped(self) -> None:
        while not self._stopping.is_set():
            seen = self.db.news_count
            found = self.dispatcher.step()
            self._wait(seen, found)

    def _wait(self, seen: int, found: Exchanged) -> None:
        """Until there is news, an attempt has ended, a timer is due, or it is time to look."""
        seconds = 0.0 if found.has_more and self.dispatcher.has_room else self._quiet_seconds(found)
        while seconds > 0 and not self._stopping.is_set():
            step = GROW_SECONDS if self.dispatcher.grow() else seconds
            if self.db.wait_for_news(seen, min(step, seconds)) != seen:
                return
            seconds -= step

    def _quiet_seconds(self, found: Exchanged) -> float:
        look = (found.due_at, found.now)
        stands_still, self._last_look = look == self._last_look, look
        if found.due_at is None or stands_still:  # a virtual clock does not move by waiting
            return self.settings.poll_seconds
        return min(
            self.settings.poll_seconds, max(GROW_SECONDS, (found.due_at - found.now) / SECOND)
        )

    def _renew(self) -> None:
        lost = self.dispatcher.leases.renew_due(self._own)
        if lost:
            _log.warning("%d leases were lost", lost)
        self._ending.wait(RENEW_LOOK_SECONDS)

    def _listen(self) -> None:
        with Line(self.db) as line:
            line.listen()
            self.db.hear()  # what was told while nobody listened
            while not self._ending.is_set():
                if line.heard(LISTEN_SECONDS, self._notifier.lines):
                    self.db.hear()

    def _sweep(self) -> None:
        sweep_delivered(self.db, retention_days(self.db.policies.latest()))

    def _vacuum(self) -> None:
        self._ending.wait(VACUUM_LOOK_SECONDS)
        count = self.counts["delivered"]
        if count - self._vacuumed_at_count >= VACUUM_EVERY:
            self._vacuumed_at_count = count
            vacuum_outbox(self.db)

    def _maintain(self) -> None:
        _do_each(self._chores)
        self._ending.wait(self.settings.maintenance_seconds)

    def _watch(self) -> None:
        _do_each(self._watches)
        self._ending.wait(self.settings.watch_seconds)

    def _seal(self) -> None:
        _do_each(self._seals)
        self._ending.wait(self.settings.seal_seconds)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - LISTED_MAX
    told = ", ".join(names[:LISTED_MAX]) or "none"
    return f"{told} and {rest} more" if rest > 0 else told


def _do_each(deeds: Sequence[Callable[[], object]]) -> None:
    for deed in deeds:
        try:
            deed()
        except Exception:
            _log.exception("maintenance failed")
