"""How claimed messages reach code: threads that are started as they are needed.

Messages wait in a deque from which threads help themselves; nothing is allocated for a
message but its end. A handler that returns at once keeps one thread busy with thousands
of messages a second; one that blocks brings up more threads, up to the topic's limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from watchkeeper.failures import words_of
from watchkeeper.handlers.attempts import attempt, attempt_async, attempt_batch, result_of
from watchkeeper.handlers.loop_thread import LoopThread
from watchkeeper.handlers.registry import Ended, NotStarted, Topic
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message

IDLE_SECONDS_MAX = 30.0
"""A thread that found nothing to do for this long ends."""

Piece: TypeAlias = tuple[Message, Any] | list[Message]
"""A message and what its handler is called with; or a batch."""

_log = logging.getLogger("watchkeeper.handlers")


class Crew:
    """The threads of one topic. All methods but the threads' own belong to the dispatcher."""

    def __init__(
        self,
        topic: Topic,
        db: Database,
        loop: LoopThread,
        *,
        may_start: Callable[[Message], bool],
        wake: Callable[[], None],
    ) -> None:
        self.topic = topic
        self.threads_max = 1
        self.timeout_seconds: float | None = None  # only a coroutine can be cut short
        self._db = db
        self._loop = loop
        self._may_start = may_start
        self._wake = wake
        self._waiting: deque[Piece] = deque()
        self._ended: deque[Ended] = deque()
        self._arrival = threading.Condition()
        self._idle = 0
        self._threads = 0
        self._ended_count = 0
        self._seen_count = -1
        self._is_waking = False  # on the event loop: the dispatcher is about to be told
        self.held = 0  # started or waiting here, not yet taken as ended

    @property
    def running(self) -> int:
        """Messages that wait here or are in handlers."""
        return self.held - len(self._ended)

    def add(self, pieces: Sequence[Piece]) -> None:
        """Take messages in. Those who are at work may help themselves; `begin` wakes the rest."""
        self.held += len(pieces) if self.topic.deliver is None else sum(map(len, pieces))
        self._waiting.extend(pieces)

    def begin(self) -> None:
        """See to it that what waits is begun, in order."""
        if not self._waiting:
            return
        if self.topic.is_async:
            self._loop.call(self._begin_async, self._withdrawn())
            return
        with self._arrival:
            self._arrival.notify(min(len(self._waiting), self._idle))
            if self._idle == 0 and self._threads == 0:
                self._add_threads(1)

    def grow(self) -> bool:
        """Add threads where messages wait and none has ended since the last look.

        Whether messages still wait, so that another look is worth its while.
        """
        if not self._waiting:
            return False
        count, self._seen_count = self._seen_count, self._ended_count
        if count == self._ended_count:
            with self._arrival:
                wanted = min(len(self._waiting), max(1, self._threads))
                self._add_threads(min(wanted, self.threads_max - self._threads))
        return True

    def take(self) -> list[Ended]:
        """The attempts that have ended since."""
        taken = [self._ended.popleft() for _ in range(len(self._ended))]
        self.held -= len(taken)
        return taken

    def abandon(self) -> None:
        """What was not begun ends as not started."""
        for piece in self._withdrawn():
            self._give_back(piece)

    def _withdrawn(self) -> list[Piece]:
        """What nobody has begun; threads may help themselves meanwhile."""
        pieces: list[Piece] = []
        with contextlib.suppress(IndexError):
            while True:
                pieces.append(self._waiting.popleft())
        return pieces

    def _give_back(self, piece: Piece) -> None:
        if isinstance(piece, list):
            self._ended.extend([Ended(m, m, NotStarted()) for m in piece])
        else:
            self._ended.append(Ended(piece[0], piece[1], NotStarted()))

    def dismiss(self) -> None:
        """Let idle threads go; one that is in a handler goes when that returns."""
        with self._arrival:
            self._threads = -1
            self._arrival.notify_all()

    # -- in the threads ---------------------------------------------------------------

    def _add_threads(self, count: int) -> None:
        for _ in range(count):
            self._threads += 1
            name = f"watchkeeper {self.topic.name}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        """Until nothing came for a while. A thread that ends in another way is not counted."""
        try:
            self._help()
        except BaseException as error:  # thrown into the thread: no handler gets here
            with self._arrival:
                self._threads -= 1 if self._threads > 0 else 0
            _log.error("a thread of %s ended: %s", self.topic.name, words_of(error))
            self._wake()

    def _help(self) -> None:
        waiting = self._waiting
        while True:
            try:
                piece = waiting.popleft()
            except IndexError:
                if not self._await_arrival():
                    return
                continue
            try:
                self._attempt(piece)
            except BaseException as error:
                self._ended.extend(_broken(piece, error))
                raise
            finally:
                self._ended_count += 1
            if not waiting:
                self._wake()

    def _attempt(self, piece: Piece) -> None:
        if not self._may_start(piece[0]):
            self._give_back(piece)
        elif isinstance(piece, list):
            self._ended.extend(attempt_batch(self.topic, self._db, piece))
        else:
            self._ended.append(attempt(self.topic, *piece))

    def _await_arrival(self) -> bool:
        with self._arrival:
            if self._waiting:
                return True
            if self._threads < 0:
                return False
            self._idle += 1
            try:
                came = self._arrival.wait(IDLE_SECONDS_MAX)
            finally:
                self._idle -= 1
            if self._threads < 0:
                return bool(self._waiting)
            if not came and not self._waiting:
                self._threads -= 1
                return False
            return True

    # -- on the event loop --------------------------------------------------------------

    def _begin_async(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            assert not isinstance(piece, list)
            if self._may_start(piece[0]):
                self._loop.spawn(self._attempt_async(*piece), partial(self._unbegun, piece))
            else:
                self._unbegun(piece)

    def _unbegun(self, piece: Piece) -> None:
        self._give_back(piece)
        self._wake()

    async def _attempt_async(self, message: Message, argument: object) -> None:
        ended = await attempt_async(self.topic, message, argument, self.timeout_seconds)
        self._ended.append(ended)
        self._ended_count += 1
        if not self._is_waking:  # behind those that are ready: what ends together is written so
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._wake_once)

    def _wake_once(self) -> None:
        self._is_waking = False
        self._wake()


def _broken(piece: Piece, error: BaseException) -> list[Ended]:
    """How messages end whose thread ended with them in hand."""
    if isinstance(piece, list):
        return [Ended(m, m, result_of(error)) for m in piece]
    return [Ended(*piece, result_of(error))]
