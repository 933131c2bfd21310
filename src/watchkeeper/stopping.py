"""How a process is told to stop: the first signal asks, a second one ends it at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether a stop was asked for; who waits for it, and who wants to hear of it."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.on_asked: list[Callable[[], None]] = []

    def ask(self) -> None:
        """Ask once; asking again changes nothing."""
        if not self.asked.is_set():
            self.asked.set()
            for listener in self.on_asked:
                listener()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        return self.asked.wait(timeout_seconds)

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Inside, SIGINT and SIGTERM ask; a second one ends the process there and then."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._heard) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        if self.asked.is_set():
            os._exit(128 + number)
        self.ask()
