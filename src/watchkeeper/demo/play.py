"""The play itself: a thread that sends the traffic, on time, until it is told to stop."""

from __future__ import annotations

import logging
import threading
import time
from random import Random

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.ingest_signals import ingest_signals
from watchkeeper.demo.cast import CAST
from watchkeeper.demo.traffic import Traffic
from watchkeeper.errors import Unavailable

TICK_SECONDS = 0.25
CATCH_UP_SECONDS_MAX = 1.0

_log = logging.getLogger("watchkeeper.demo")


class Play:
    """Sends signals through admission; what cannot be sent for a moment is left out."""

    def __init__(
        self, admission: Admission, stop: threading.Event, *, seed: int = 7, speed: float = 1.0
    ) -> None:
        self._admission = admission
        self._stop = stop
        self._speed = speed
        self._traffic = [Traffic(member, Random(f"{seed} {member.name}")) for member in CAST]
        self._thread = threading.Thread(target=self._run, name="watchkeeper-demo", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait until the last tick is committed."""
        self._thread.join()

    def _run(self) -> None:
        started = last = time.monotonic()
        while not self._stop.wait(TICK_SECONDS):
            now = time.monotonic()
            self._tick(now - started, min(now - last, CATCH_UP_SECONDS_MAX))
            last = now

    def _tick(self, at: float, seconds: float) -> None:
        for traffic in self._traffic:
            signals = traffic.tick(at * self._speed, seconds * self._speed)
            try:
                ingest_signals(self._admission, traffic.member.tenant_id, signals)
            except Unavailable as error:
                _log.warning("%s signals were not sent: %s", len(signals), error)
