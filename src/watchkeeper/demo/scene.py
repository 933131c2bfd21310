"""What the players share: how long the play has gone on, how loud it is, when it is over.

It begins loud, so that whoever opens it sees a storm at once, and calms down with time: the
database of a demo that was left running must not grow without end. `SMALLEST_PACE` is what
stays for hours, `WHISPER` what is left when the ledgers hold `ENTRIES_MAX` entries.
"""

from __future__ import annotations

import asyncio
import threading

LOUD_SECONDS = 90.0
SMALLEST_PACE = 0.05
WHISPER = 0.02
ENTRIES_MAX = 400_000
"""Entries in the ledgers of the demo's tenants from which on it whispers: some 600 MB."""


class Scene:
    """The play's own clock, in seconds from its start; it moves only when the play moves it.

    Where nobody is `patient`, as in a test, what would take a moment takes none.
    """

    def __init__(
        self, stop: threading.Event, *, patient: bool = True, loudest: float = 1.0
    ) -> None:
        self._stop = stop
        self._patient = patient
        self._loudest = loudest
        self.at = 0.0
        self.is_full = False

    @property
    def pace(self) -> float:
        """How much happens, compared with the beginning."""
        if self.is_full:
            return WHISPER
        return max(SMALLEST_PACE, min(self._loudest, LOUD_SECONDS / max(self.at, 1.0)))

    @property
    def is_over(self) -> bool:
        return self._stop.is_set()

    def pause(self, seconds: float) -> None:
        """Take a moment; less of it when the play ends."""
        if self._patient:
            self._stop.wait(seconds)

    async def pause_async(self, seconds: float) -> None:
        if self._patient:
            await asyncio.to_thread(self.pause, seconds)


class Every:
    """True once in so many seconds of the play."""

    def __init__(self, seconds: float, *, first: float = 0.0) -> None:
        self._seconds = seconds
        self._next = first

    def is_due(self, at: float) -> bool:
        if at < self._next:
            return False
        self._next = at + self._seconds
        return True
