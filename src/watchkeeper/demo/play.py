"""The play itself: a thread that lets everybody move, on time, until it is told to stop."""

from __future__ import annotations

import logging
import threading
import time

from watchkeeper.app import App
from watchkeeper.demo.scene import Scene
from watchkeeper.demo.troupe import Player, players
from watchkeeper.errors import WatchkeeperError
from watchkeeper.store.outage import is_outage

TICK_SECONDS = 0.25
CATCH_UP_SECONDS_MAX = 1.0

_log = logging.getLogger("watchkeeper.demo")


class Play:
    """Everything goes through the real thing; what cannot be done for a moment is left out."""

    def __init__(
        self,
        app: App,
        scene: Scene,
        stop: threading.Event,
        *,
        seed: int = 7,
        speed: float = 1.0,
    ) -> None:
        self._scene = scene
        self._stop = stop
        self._speed = speed
        self._players = players(app, scene, seed)
        self._thread = threading.Thread(target=self._run, name="watchkeeper-demo", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait until the last tick is committed."""
        self._thread.join()

    def tick(self, at: float, seconds: float) -> None:
        """Everybody moves on by `seconds`, to the moment `at` after the start."""
        self._scene.at = at
        for player in self._players:
            _move(player, seconds)

    def _run(self) -> None:
        started = last = time.monotonic()
        while not self._stop.wait(TICK_SECONDS):
            now = time.monotonic()
            passed = min(now - last, CATCH_UP_SECONDS_MAX)
            self.tick((now - started) * self._speed, passed * self._speed)
            last = now


def _move(player: Player, seconds: float) -> None:
    try:
        player(seconds)
    except WatchkeeperError as error:
        _log.warning("the demo left something out: %s", error)
    except Exception as error:
        if not is_outage(error):
            raise
        _log.warning("the demo left something out: %s", error)
