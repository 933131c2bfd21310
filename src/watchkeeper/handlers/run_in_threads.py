"""How claimed messages reach code: threads that are started as they are needed.

Messages wait in a deque from which threads help themselves; nothing is allocated for a
message but its end. A handler that returns at once keeps one thread busy with thousands
of messages a second; one that blocks brings up more threads, up to the topic's limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

from watchkeeper.handlers.registry import (
    Ended,
    NotStarted,
    Topic,
    attempt,
    attempt_async,
    attempt_batch,
)
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message

IDLE_SECONDS_MAX = 30.0
"""A thread that found nothing to do for this long ends."""

_LOOK_SECONDS = 0.01

Piece: TypeAlias = tuple[Message, Any] | list[Message]
"""A message and what its handler is called with; or a batch."""


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
        waiting, ended, call = self._waiting, self._ended, self.topic.call
        may_start = self._may_start
        while True:
            try:
                piece = waiting.popleft()
            except IndexError:
                if not self._await_arrival():
                    return
                continue
            if not may_start(piece[0]):
                self._give_back(piece)
            elif isinstance(piece, list):
                ended.extend(attempt_batch(self.topic, self._db, piece))
            else:
                assert call is not None
                message, argument = piece
                result, value = attempt(call, argument)
                ended.append(Ended(message, argument, result, value))
            self._ended_count += 1
            if not waiting:
                self._wake()

    def _await_arrival(self) -> bool:
        with self._arrival:
            if self._waiting:
                return True
            if self._threads < 0:
                return False
            self._idle += 1
            came = self._arrival.wait(IDLE_SECONDS_MAX)
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
                self._loop.spawn(self._attempt_async(*piece))
            else:
                self._give_back(piece)
                self._wake()

    async def _attempt_async(self, message: Message, argument: object) -> None:
        assert self.topic.call is not None
        result, value = await attempt_async(self.topic.call, argument, self.timeout_seconds)
        self._ended.append(Ended(message, argument, result, value))
        self._ended_count += 1
        if not self._is_waking:  # behind those that are ready: what ends together is written so
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._wake_once)

    def _wake_once(self) -> None:
        self._is_waking = False
        self._wake()


class LoopThread:
    """One event loop in a thread of its own, started when the first async handler needs it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running: set[asyncio.Task[None]] = set()

    def call(self, deed: Callable[..., None], *arguments: object) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="watchkeeper async", daemon=True
            )
            self._thread.start()
        self._loop.call_soon_threadsafe(deed, *arguments)

    def spawn(self, coroutine: Any) -> None:
        """On the loop: keep the coroutine alive until it is through."""
        assert self._loop is not None
        begun = self._loop.create_task(coroutine)
        self._running.add(begun)
        begun.add_done_callback(self._running.discard)

    def finish(self, coroutine: Coroutine[Any, Any, None], timeout_seconds: float) -> None:
        """Wait for one last thing to be done on the loop, if there is one."""
        if self._loop is None:
            coroutine.close()
            return
        done = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        with contextlib.suppress(Exception):
            done.result(timeout_seconds)

    def close(self, timeout_seconds: float) -> None:
        """Cancel what still runs and end the thread."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._cancel)
        self._thread.join(timeout_seconds)
        if not self._thread.is_alive():
            self._loop.close()
            self._loop = self._thread = None

    def _cancel(self) -> None:
        assert self._loop is not None
        for begun in self._running:
            begun.cancel()
        self._loop.call_soon(self._stop_when_idle)

    def _stop_when_idle(self) -> None:
        assert self._loop is not None
        if self._running:
            self._loop.call_later(_LOOK_SECONDS, self._stop_when_idle)
        else:
            self._loop.stop()
