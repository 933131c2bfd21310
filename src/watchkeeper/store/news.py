"""News within a process: somebody enqueued something that is due."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable


class News:
    """Wakes whoever waits for work. What was counted before a look is never missed."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._news_count = 0
        self.heard_count = 0
        self.on_news: list[Callable[[], None]] = []

    def tell(self) -> None:
        """Wake whoever waits for work in this process, and through `on_news` in others."""
        self.hear()
        for listener in self.on_news:
            with contextlib.suppress(Exception):  # it is committed: nobody may be told it failed
                listener()

    def hear(self) -> None:
        """There is, or may be, a message that nobody here has seen: wake this process only."""
        with self._news:
            self.heard_count += 1
        self.wake()

    def wake(self) -> None:
        """Wake this process only, for what it knows of already: an attempt ended, it is to stop."""
        with self._news:
            self._news_count += 1
            self._news.notify_all()

    @property
    def news_count(self) -> int:
        """What to wait beyond: taken before a look, so that nothing is missed during it."""
        return self._news_count

    def wait_for_news(self, seen: int, timeout_seconds: float) -> int:
        """Sleep until there is news that was not seen yet, or the time is over."""
        with self._news:
            if self._news_count == seen:
                self._news.wait(timeout_seconds)
            return self._news_count
