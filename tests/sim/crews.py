"""The product's dispatcher, with threads that run by the baton."""

import asyncio
from functools import partial

from tests.sim.baton import Baton, Process
from watchkeeper.actions.dispatcher import Dispatcher
from watchkeeper.app import App
from watchkeeper.handlers.run_in_threads import Crew, Piece

RENEW_SECONDS = 4.0


class BatonCrew(Crew):
    """A crew whose threads are strands of its process; one that finds nothing to do ends."""

    baton: Baton
    process: Process

    def begin(self) -> None:
        if not self.topic.is_async:
            super().begin()
            return
        for piece in self._withdrawn():
            self.baton.spawn(self.process, partial(self._alone, piece))

    def _alone(self, piece: Piece) -> None:
        assert not isinstance(piece, list)
        if self._may_start(piece[0]):
            asyncio.run(self._attempt_async(*piece))
        else:
            self._give_back(piece)

    def _add_threads(self, count: int) -> None:
        for _ in range(count):
            self._threads += 1
            self.baton.spawn(self.process, self._work)

    def _await_arrival(self) -> bool:
        if self._waiting:
            return True
        self._threads -= 1
        return False


def dispatcher_of(app: App, baton: Baton, process: Process, batch_max: int) -> Dispatcher:
    crew = type("Crew", (BatonCrew,), {"baton": baton, "process": process})
    return Dispatcher(app.db, app.registry, batch_max=batch_max, crew=crew, clock=baton.monotonic)


class Renewing:
    """What the product's renewing thread does, while there is something to renew."""

    def __init__(self, app: App, dispatcher: Dispatcher, baton: Baton, process: Process) -> None:
        self._app = app
        self._dispatcher = dispatcher
        self._baton = baton
        self._process = process
        self._is_on = False

    def look(self) -> None:
        if len(self._dispatcher.leases) and not self._is_on:
            self._is_on = True
            self._baton.spawn(self._process, self._renew)

    def _renew(self) -> None:
        while len(self._dispatcher.leases):
            try:
                self._dispatcher.leases.renew_due(self._app.db)
            except Exception as error:
                if not self._app.db.is_in_trouble(error):
                    raise
            self._baton.sleep(RENEW_SECONDS, "renew")
        self._is_on = False
