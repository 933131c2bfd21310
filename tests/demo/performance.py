"""The demo on a virtual clock: the same seed, the same play, as fast as the machine can."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.databases import START_AT, Place
from watchkeeper.actions import views
from watchkeeper.app import App
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Recorded
from watchkeeper.demo.cast import CAST, set_the_stage
from watchkeeper.demo.play import Play
from watchkeeper.demo.scene import Scene
from watchkeeper.demo.troupe import install

ALL = 1_000_000


@dataclass
class Performance:
    """A play, and the app it is played on."""

    app: App
    scene: Scene
    play: Play
    at: float = 0.0

    def go_on(self, seconds: float, *, step: float = 2.0) -> Iterator[float]:
        """Play for so long; what time it is after each step."""
        until = self.at + seconds
        while self.at < until:
            self.at += step
            self.app.clock.advance(seconds=step)
            self.play.tick(self.at, step)
            self.app.drain()
            yield self.at

    def entries(self, tenant_id: TenantId) -> list[Recorded]:
        return views.list_ledger(self.app.db, tenant_id, {}, after=0, limit=ALL)

    def counted(self) -> Counter[tuple[str, str]]:
        """Entries by stage and kind, of all who play."""
        return Counter(
            (one.entry.stage, one.entry.kind)
            for member in CAST
            for one in self.entries(member.tenant_id)
        )


@contextmanager
def performed(
    place: Place | None = None, *, seed: int = 7, loudest: float = 0.1
) -> Iterator[Performance]:
    """On a database of the test's, or on one in memory that begins at the same moment."""
    if place is None:
        app = App("sqlite://", virtual_clock=True, wall=lambda: START_AT)
    else:
        app = App(place.url, migrate=False)
    stop = threading.Event()
    scene = Scene(stop, patient=False, loudest=loudest)
    try:
        install(app, scene, seed)
        set_the_stage(app.db)
        yield Performance(app, scene, Play(app, scene, stop, seed=seed))
    finally:
        app.close()
