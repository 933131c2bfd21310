"""Pauses between the tries of a transaction, so that those who met do not meet again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

PAUSE_SECONDS = 0.01
PAUSE_SECONDS_MAX = 0.5
LOOK_SECONDS = 0.001

Pause = Callable[[int], None]
"""Waits after so many tries have failed."""


def pause_max(attempt: int) -> float:
    """The longest pause after an attempt: it doubles, up to a bound."""
    return min(PAUSE_SECONDS_MAX, PAUSE_SECONDS * 2.0**attempt)


def jittered_pause(attempt: int) -> None:
    """Sleep for a random part of the longest pause."""
    time.sleep(random.uniform(0, pause_max(attempt)))


def until_next_look() -> None:
    """Sleep before a writer looks again at a turnstile that is held."""
    time.sleep(LOOK_SECONDS)
