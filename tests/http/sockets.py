"""A real server on a port of loopback, and raw connections to it."""

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from tests.databases import Clock
from tests.http.door import Door, opened
from watchkeeper.http.server import serve
from watchkeeper.stopping import Stop
from watchkeeper.store.database import Database

PATIENCE_SECONDS = 60.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return orjson.loads(self.body)["code"]


class Line:
    """One connection, byte by byte."""

    def __init__(self, port: int, receive_bytes: int = 0) -> None:
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.connect(("127.0.0.1", port))
        self._file = self.socket.makefile("rb")

    def send(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def get(self, path: str, key: str | None = None) -> Answer:
        self.send(head("GET", path, key=key))
        return self.answer()

    def answer(self) -> Answer:
        status = int(self._file.readline().split()[1])
        headers = {}
        while line := self._file.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return Answer(status, headers, self._file.read(int(headers.get("content-length", "0"))))

    def is_let_go_on(self) -> bool:
        """The body of its request is wanted: all that comes before it was found good."""
        return self._file.readline() + self._file.readline() == CONTINUE

    def is_closed(self) -> bool:
        """Wait for the server to close it, and say whether nothing more was sent before."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._file.close()
        self.socket.close()


@dataclass
class Listening:
    """A server that listens. Lines to it are closed at the end."""

    door: Door
    port: int
    lines: list[Line] = field(default_factory=list)

    def line(self, receive_bytes: int = 0) -> Line:
        made = Line(self.port, receive_bytes)
        self.lines.append(made)
        return made

    def held(self, key: str, path: str = "/v1/signals") -> Line:
        """A request that is under way until its body comes."""
        line = self.line()
        line.send(head("POST", path, "Expect: 100-continue", "Content-Length: 2", key=key))
        assert line.is_let_go_on()
        return line


@contextmanager
def listening(db: Database, clock: Clock, **flags: Any) -> Iterator[Listening]:
    """A server with these settings."""
    settings = {"port": 0, "grace_seconds": 1, "body_seconds_max": 600, **flags}
    with opened(db, clock, **settings) as door:
        stop, told = Stop(), queue.SimpleQueue[str]()
        thread = threading.Thread(
            target=serve,
            args=(door.app, door.server.settings, stop),
            kwargs={"on_started": told.put},
        )
        thread.start()
        try:
            address = told.get(timeout=PATIENCE_SECONDS)
            made = Listening(door, int(address.rpartition(":")[2]))
            yield made
            for line in made.lines:
                line.close()
        finally:
            stop.ask()
            thread.join(PATIENCE_SECONDS)


def head(method: str, path: str, *lines: str, key: str | None = None) -> bytes:
    sent = [f"{method} {path} HTTP/1.1", "Host: x", *lines]
    if key is not None:
        sent += [f"Authorization: Bearer {key}", "Content-Type: application/json"]
    return "\r\n".join([*sent, "\r\n"]).encode()


def until(question: Callable[[], Any]) -> None:
    """Wait for what a server does in its own time."""
    patience = time.monotonic() + PATIENCE_SECONDS
    pause = threading.Event()
    while not question():
        assert time.monotonic() < patience, "it did not happen"
        pause.wait(0.005)
