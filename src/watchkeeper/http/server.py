"""A process that serves: it listens, answers until it is told to stop, and ends in order.

When a stop is asked for, `/readyz` fails first, so that whoever sends requests here looks
elsewhere; then nothing new is accepted and what is under way is finished, within the grace.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from math import ceil
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from watchkeeper.errors import Unavailable
from watchkeeper.http.app import create_app
from watchkeeper.http.connections import Connections
from watchkeeper.http.protocol import WatchedConfig
from watchkeeper.settings import Settings, load_settings
from watchkeeper.stopping import Stop
from watchkeeper.workers import WorkerSettings

if TYPE_CHECKING:
    from watchkeeper.app import App

BACKLOG = 2048
READY_LEAD_SECONDS = 1.0
"""For how long `/readyz` fails before the server stops accepting, if the grace is longer."""

ACCEPTED_AT_ONCE = 32
"""Connections accepted before those that are open are looked at again."""

SWEEP_TICKS = 5
"""Tenths of a second between two looks at connections that wait."""


def serve_app(app: App, *, host: str = "127.0.0.1", port: int = 8484) -> None:
    """Serve the API of an app and work, in this process, until a signal asks to stop."""
    settings = load_settings({"host": host, "port": port})
    asgi = app_of(app, settings)
    stop = Stop()
    workers = app.start_workers(WorkerSettings(grace_seconds=settings.grace_seconds))
    with stop.on_signals():
        grace = serve(asgi, settings, stop)
        workers.stop(grace)


def app_of(app: App, settings: Settings) -> FastAPI:
    """The API of an app that works in this process."""
    return create_app(
        app.db,
        settings,
        dev=True,
        workers=app,
        admission=app.admission,
        turns=app.turns,
        carrier=app.carrier,
        proposers=app.proposers,
    )


def serve(
    asgi: FastAPI,
    settings: Settings,
    stop: Stop,
    *,
    lead_seconds: float = 0.0,
    on_started: Callable[[str], None] | None = None,
) -> float:
    """Serve until the stop; returns how many seconds of the grace are left then."""
    with contextlib.closing(listen(settings.host, settings.port)) as listening:
        server = _Server(asgi, settings, _told(on_started, listening))
        stopped_at: list[float] = []

        def begin_to_stop() -> None:
            stopped_at.append(time.monotonic())
            asgi.state.server.stopping.set()
            timer = threading.Timer(min(lead_seconds, settings.grace_seconds), server.finish)
            timer.daemon = True
            timer.start()

        stop.when_asked(begin_to_stop)
        server.run(sockets=[listening])
    if not server.started:
        raise Unavailable("the server could not start")
    used = time.monotonic() - stopped_at[0] if stopped_at else 0.0
    return max(0.0, settings.grace_seconds - used)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there, or Unavailable with the reason."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        why = error.strerror or str(error)
        raise Unavailable(f"cannot listen on {host}:{port}: {why}") from None


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _told(on_started: Callable[[str], None] | None, listening: socket.socket) -> Callable[[], None]:
    address = address_of(listening)
    return lambda: None if on_started is None else on_started(address)


class _Server(uvicorn.Server):
    """Uvicorn, without its own signal handlers: they end the process before its workers."""

    def __init__(self, asgi: FastAPI, settings: Settings, on_started: Callable[[], None]) -> None:
        self._connections = Connections(settings)
        super().__init__(
            WatchedConfig(
                asgi,
                self._connections,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=True,
                proxy_headers=False,
                ws="none",
                lifespan="on",
                backlog=ACCEPTED_AT_ONCE,
                timeout_keep_alive=ceil(settings.idle_seconds_max),
                timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
            )
        )
        self._on_started = on_started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)  # as many as are accepted at once wait there otherwise
        if self.started:
            self._on_started()

    async def on_tick(self, counter: int) -> bool:
        if counter % SWEEP_TICKS == 0:
            self._connections.sweep()
        return await super().on_tick(counter)

    def finish(self) -> None:
        self.should_exit = True
