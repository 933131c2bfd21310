"""The part of the door for Python programs that delivers while the caller waits: drain, clock."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from functools import partial

from watchkeeper.actions.advance_clock import Advanced, advance_clock, clock_now
from watchkeeper.actions.dispatch import Calling, drain, raise_first
from watchkeeper.actions.turns import Turns
from watchkeeper.core.time import to_datetime
from watchkeeper.handlers.loop_thread import LoopThread
from watchkeeper.handlers.registry import Registry
from watchkeeper.store.database import Database


class DrainMethods:
    """How `App` delivers without workers."""

    db: Database
    registry: Registry
    turns: Turns
    loop: LoopThread

    def drain(self, *, raise_errors: bool = False) -> Counter[str]:
        """Deliver every due message while the caller waits, and return the counts.

        Sync handlers run in the caller's thread; async ones, and those of actions and connectors,
        on an event loop of the app's own, so that it may be called inside a running loop too.
        With `raise_errors` the first exception of a handler is raised when all is delivered and
        written; `Retry` and `Reject` are answers, and are not raised.
        """
        errors: list[BaseException] = []
        calling = Calling(self.loop, errors.append if raise_errors else None)
        counts = drain(self.db, self.registry, calling=calling)
        raise_first(errors)
        return counts


class Clock:
    """The clock of the database. A virtual clock moves only by `advance`."""

    def __init__(self, app: DrainMethods) -> None:
        self._app = app

    def now(self) -> datetime:
        return to_datetime(clock_now(self._app.db)[0])

    def advance(self, seconds: float = 0, *, raise_errors: bool = False, **more: float) -> Advanced:
        """Advance the clock by `seconds`, `minutes`, `hours`, `days`; deliver due messages.

        With `raise_errors` the first exception of a handler is raised when the clock has arrived.
        """
        span, app = timedelta(seconds=seconds, **more), self._app
        errors: list[BaseException] = []
        calling = Calling(app.loop, errors.append if raise_errors else None)
        deliver = partial(drain, app.db, app.registry, calling=calling)
        advanced = advance_clock(app.db, span.total_seconds(), deliver, app.turns)
        raise_first(errors)
        return advanced
