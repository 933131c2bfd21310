"""The demo on a terminal, alive; without one, a line every few seconds."""

from __future__ import annotations

import logging
import threading
import time

from rich.console import Console, RenderableType

from watchkeeper.demo.screen import line, picture, sentence
from watchkeeper.demo.tally import Tally
from watchkeeper.store.outage import is_outage

FRAMES_PER_SECOND = 4
LINE_EVERY_SECONDS = 5
HINT = "Ctrl-C stops it."

_log = logging.getLogger("watchkeeper.demo")


def show(
    tally: Tally,
    stop: threading.Event,
    console: Console,
    *,
    address: str | None = None,
    hint: str = HINT,
    seconds_max: float | None = None,
) -> None:
    """Until `stop` is set or the time is over. The last sentence stays on the screen."""
    started = time.monotonic()
    draw = _live if console.is_terminal else _lines
    draw(_Clock(started, seconds_max), tally, stop, console, address, hint)
    _look(tally)
    console.print(sentence(tally.total), highlight=False)


class _Clock:
    """How long it has been, and whether that is enough."""

    def __init__(self, started: float, seconds_max: float | None) -> None:
        self._started = started
        self._seconds_max = seconds_max

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def is_endless(self) -> bool:
        return self._seconds_max is None

    @property
    def is_over(self) -> bool:
        return self._seconds_max is not None and self.seconds >= self._seconds_max


def _live(
    clock: _Clock,
    tally: Tally,
    stop: threading.Event,
    console: Console,
    address: str | None,
    hint: str,
) -> None:
    from rich.live import Live

    second = 0

    def drawn() -> RenderableType:
        return picture(tally, address, int(clock.seconds), hint, width=console.width)

    with Live(drawn(), console=console, auto_refresh=False, screen=False, transient=True) as live:
        while not clock.is_over and not stop.wait(1 / FRAMES_PER_SECOND):
            _look(tally)
            live.update(drawn(), refresh=True)
            if int(clock.seconds) > second:
                second = int(clock.seconds)
                tally.next_second()
                _look(tally, asked=True)
        _look(tally)
    console.print(drawn())


def _lines(
    clock: _Clock,
    tally: Tally,
    stop: threading.Event,
    console: Console,
    _address: str | None,
    _hint: str,
) -> None:
    pause = LINE_EVERY_SECONDS if clock.is_endless else 1
    while not clock.is_over and not stop.wait(pause):
        _look(tally)
        console.print(line(tally, int(clock.seconds)), highlight=False, soft_wrap=True)


def _look(tally: Tally, *, asked: bool = False) -> None:
    """A database that is away for a moment shows old numbers, not an error."""
    try:
        tally.look()
        if asked:
            tally.count_asked()
    except Exception as error:
        if not is_outage(error):
            raise
        _log.warning("demo counts could not be read: %s", error)
