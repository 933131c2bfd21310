"""The protocol of one connection: uvicorn's, watched, and strict about heads of requests."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, cast

import orjson
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from watchkeeper.http.connections import CloseReason, Connections
from watchkeeper.http.problems import MEDIA, SECURITY, problem_document
from watchkeeper.http.strict_head import StrictBuffer
from watchkeeper.ids import new_id

# What a client sends wrong is counted, and not logged line by line.
_log = logging.getLogger("uvicorn.error.connection")
_log.setLevel(logging.ERROR)


class WatchedConfig(uvicorn.Config):
    """A configuration of uvicorn whose connections are watched."""

    def __init__(self, app: Any, connections: Connections, **options: Any) -> None:
        super().__init__(app, http=WatchedProtocol, **options)
        self.connections = connections


class WatchedProtocol(H11Protocol):
    """One connection. `scope["state"]["connection"]` of its requests is this object."""

    def __init__(
        self,
        config: WatchedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)
        self.conn._receive_buffer = StrictBuffer()
        self.logger = _log
        self._watched = config.connections
        self.is_lost = False
        self.is_spare = False
        self._is_refused = False
        self.unread_since: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._watched.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self._watched.left(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._tell(is_idle=False)

    def on_response_complete(self) -> None:
        self._is_refused = False
        super().on_response_complete()
        self._tell(is_idle=True)

    def refuse(self) -> None:
        self._is_refused = True
        self._tell(is_idle=False)

    def _tell(self, *, is_idle: bool) -> None:
        is_under_way = self.cycle is not None and not self.cycle.response_complete
        if is_under_way and not self._is_refused:
            self._watched.works(self)
        else:
            self._watched.waits(self, is_idle=is_idle)

    def pause_writing(self) -> None:
        self.unread_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.unread_since = None
        super().resume_writing()

    def cut(self) -> None:
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and close: where the next one would begin is not known."""
        self._watched.count(CloseReason.MALFORMED)
        if self._is_answerable():
            self.transport.write(_malformed(msg))
        self.transport.close()

    def _is_answerable(self) -> bool:
        """Whether the answer would be taken for that of the request it is about."""
        cycle = self.cycle
        if cycle is None or not cycle.response_started:
            return True
        return cycle.response_complete and not cycle.more_body


def _malformed(detail: str) -> bytes:
    request_id = new_id()
    body = orjson.dumps(problem_document(request_id, 400, "malformed", detail))
    head = [
        "HTTP/1.1 400 Bad Request",
        *(f"{name}: {value}" for name, value in SECURITY.items()),
        f"Content-Type: {MEDIA}",
        f"Content-Length: {len(body)}",
        f"X-Request-Id: {request_id}",
        "Connection: close",
        "\r\n",
    ]
    return "\r\n".join(head).encode() + body
