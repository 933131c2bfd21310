"""The demo's decision handler: it takes a moment, as a model would, and sometimes fails."""

from __future__ import annotations

import threading
from random import Random

from watchkeeper.results import Decision, Run

SECONDS = (0.08, 0.7)
FAILED = 0.04


class Thinker:
    """Thinks for a fraction of a second; ends at once when the demo does."""

    def __init__(self, stop: threading.Event, seed: int = 1) -> None:
        self._stop = stop
        self._random = Random(seed)

    def __call__(self, run: Run) -> Decision:
        self._stop.wait(self._random.uniform(*SECONDS))
        if self._random.random() < FAILED:
            raise RuntimeError("the model did not answer (the demo lets some runs fail)")
        return Decision(note=f"looked at {len(run.signals)} signals of {run.account_id}")
