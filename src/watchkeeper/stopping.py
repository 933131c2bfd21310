"""How a process is told to stop: the first signal asks, a second one ends it at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether a stop was asked for; who waits for it, and who wants to hear of it."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._is_signalled = False

    def ask(self) -> None:
        """Ask once; asking again changes nothing."""
        with self._lock:
            listeners = [] if self.asked.is_set() else self._listeners
            self.asked.set()
        for listener in listeners:
            listener()

    def when_asked(self, listener: Callable[[], None]) -> None:
        """Call the listener when a stop is asked for; at once if it was asked for already."""
        with self._lock:
            if not self.asked.is_set():
                self._listeners.append(listener)
                return
        listener()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        return self.asked.wait(timeout_seconds)

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Inside, SIGINT and SIGTERM ask; a second one ends the process there and then.

        A signal interrupts the main thread anywhere, also where it holds the event's own
        lock. So its handler takes no lock: a thread that waits for it does the asking.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals: SimpleQueue[bool] = SimpleQueue()  # its put is safe in a signal handler
        asking = threading.Thread(target=self._ask_when_signalled, args=(signals,), daemon=True)
        asking.start()

        def on_signal(number: int, _frame: FrameType | None) -> None:
            if self._is_signalled or self.asked.is_set():
                os._exit(128 + number)
            self._is_signalled = True
            signals.put(True)

        before = {number: signal.signal(number, on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signals.put(False)
            asking.join()

    def _ask_when_signalled(self, signals: SimpleQueue[bool]) -> None:
        if signals.get():
            self.ask()
