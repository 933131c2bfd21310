"""Connections: how many are open, and how long one may be silent.

A client that sends no complete head of a request in time is disconnected, and so is one that does
not read its answer. When too many are open, the one that has waited longest for a request makes
room; when all have requests under way, a few more are let in for health alone.
"""

from __future__ import annotations

import collections
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import structlog
from prometheus_client import Counter, Gauge

from watchkeeper import telemetry
from watchkeeper.settings import Settings

SPARE_MAX = 16
"""Connections above the bound that are let in, for health alone."""

FILES_KEPT = 160
"""Files of the process that are none of its clients: databases, logs, accepted in one burst."""

CONNECTIONS_MIN = 16
UNREAD_SECONDS_MAX = 30.0

OPEN = Gauge("watchkeeper_http_connections", "Connections open.", registry=telemetry.REGISTRY)
CLOSED = Counter(
    "watchkeeper_http_connections_closed",
    "Connections that the server closed, by reason.",
    ["reason"],
    registry=telemetry.REGISTRY,
)

log = structlog.get_logger("watchkeeper.http")


class CloseReason(StrEnum):
    """Why the server closed a connection."""

    SILENT = "silent"
    IDLE = "idle"
    UNREAD = "unread"
    FULL = "full"
    MALFORMED = "malformed"


class Connection(Protocol):
    """A connection, as far as it is watched."""

    is_spare: bool
    unread_since: float | None
    """Since when the client has not read what was sent to it."""

    def cut(self) -> None:
        """Disconnect at once."""


@dataclass(slots=True)
class Wait:
    """A connection without a request under way: new or idle, or with part of a head sent."""

    since: float
    is_idle: bool


class Connections:
    """The open connections of one server. For the thread of the event loop only."""

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = time.monotonic, files: int = 0
    ) -> None:
        files = files or resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        room = max(CONNECTIONS_MIN, files - FILES_KEPT - settings.pool_size)
        self.most = min(settings.connections_max, room)
        self._head_seconds = settings.head_seconds_max
        self._idle_seconds = settings.idle_seconds_max
        self._clock = clock
        self._open: dict[Connection, Wait | None] = {}
        self._waiting: dict[Connection, None] = {}
        self._counted: collections.Counter[CloseReason] = collections.Counter()

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: Connection) -> None:
        """Let a new connection in, if need be in place of the one that has waited longest."""
        if len(self._open) >= self.most and not self._make_room():
            connection.is_spare = True
        self._open[connection] = None
        if len(self._open) > self.most + SPARE_MAX:
            self._close(connection, CloseReason.FULL)
            return
        self.waits(connection, is_idle=False)
        OPEN.set(len(self._open))

    def _make_room(self) -> bool:
        longest = next(iter(self._waiting), None)
        if longest is None:
            return False
        self._close(longest, CloseReason.FULL)
        return True

    def waits(self, connection: Connection, *, is_idle: bool) -> None:
        """No request of it is under way, from now on. Part of a head does not begin this anew."""
        wait = self._open.get(connection)
        if connection not in self._open or (wait is not None and wait.is_idle == is_idle):
            return
        self._open[connection] = Wait(self._clock(), is_idle)
        self._waiting.pop(connection, None)
        self._waiting[connection] = None

    def works(self, connection: Connection) -> None:
        """A request of it is under way."""
        if connection in self._open:
            self._open[connection] = None
            self._waiting.pop(connection, None)

    def left(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        self._waiting.pop(connection, None)
        OPEN.set(len(self._open))

    def count(self, reason: CloseReason) -> None:
        CLOSED.labels(reason).inc()
        self._counted[reason] += 1

    def sweep(self) -> None:
        """Disconnect whoever has been silent for too long, and log what was closed."""
        now = self._clock()
        for connection, wait in list(self._open.items()):
            reason = self._overdue(connection, wait, now)
            if reason is not None:
                self._close(connection, reason)
        counted, self._counted = self._counted, collections.Counter()
        for reason, count in sorted(counted.items()):
            if reason is not CloseReason.IDLE:
                log.warning(
                    "connections_closed", reason=reason, count=count, open=len(self), most=self.most
                )

    def _overdue(self, connection: Connection, wait: Wait | None, now: float) -> CloseReason | None:
        unread_since = connection.unread_since
        if unread_since is not None and now - unread_since >= UNREAD_SECONDS_MAX:
            return CloseReason.UNREAD
        if wait is None:
            return None
        if wait.is_idle:
            return CloseReason.IDLE if now - wait.since >= self._idle_seconds else None
        return CloseReason.SILENT if now - wait.since >= self._head_seconds else None

    def _close(self, connection: Connection, reason: CloseReason) -> None:
        self.count(reason)
        self.left(connection)
        connection.cut()
