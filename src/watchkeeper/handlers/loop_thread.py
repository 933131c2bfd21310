"""The event loop of async handlers, in a thread of its own.

Nothing that runs on it ends it: a task of a handler's own that raises `SystemExit`, or a handler
that stops the loop, costs the others nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from watchkeeper.failures import words_of

_LOOK_SECONDS = 0.01
_CLOSE_SECONDS = 5.0

T = TypeVar("T")

_log = logging.getLogger("watchkeeper.handlers")


class LoopThread:
    """One event loop in a thread of its own, started when the first async handler needs it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._starting = threading.Lock()
        self._is_ending = False

    def call(self, deed: Callable[..., None], *arguments: object) -> None:
        self._started().call_soon_threadsafe(deed, *arguments)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it, from any thread but the loop's own.

        From there, which is where an async handler runs, it gets a loop for itself.
        """
        if threading.current_thread() is self._thread:
            other = LoopThread()
            try:
                return other.run(coroutine)
            finally:
                other.close(_CLOSE_SECONDS)
        begun = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return begun.result()
        except BaseException:
            begun.cancel()  # the caller was interrupted
            raise

    def spawn(self, coroutine: Any, unbegun: Callable[[], None]) -> None:
        """On the loop: keep the coroutine alive until it is through.

        `unbegun` is called if somebody cancelled it before it could begin.
        """
        assert self._loop is not None
        has_begun = False

        async def begin() -> None:
            nonlocal has_begun
            has_begun = True
            await coroutine

        task = self._loop.create_task(begin())
        self._running.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._running.discard(task)
            if not has_begun:
                coroutine.close()
                unbegun()

        task.add_done_callback(done)

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

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._is_ending = False
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(self._loop,), name="watchkeeper async", daemon=True
                )
                self._thread.start()
            return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._is_ending:
            try:
                loop.run_forever()
            except BaseException as error:
                _log.error("the event loop goes on after %s", words_of(error))
        with contextlib.suppress(BaseException):
            loop.run_until_complete(loop.shutdown_asyncgens())

    def _cancel(self) -> None:
        assert self._loop is not None
        for task in asyncio.all_tasks(self._loop):  # also those that handlers left behind
            task.cancel()
        self._loop.call_soon(self._stop_when_idle)

    def _stop_when_idle(self) -> None:
        assert self._loop is not None
        if asyncio.all_tasks(self._loop):
            self._loop.call_later(_LOOK_SECONDS, self._stop_when_idle)
        else:
            self._is_ending = True
            self._loop.stop()
