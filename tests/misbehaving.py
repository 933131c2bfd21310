"""A local HTTP server that answers as it is told, well or badly, and remembers what it was sent.

`with receiving() as receiver:` runs one on a free port of the loopback. `receiver.answers` are used
up one per request, the last one for all that follow.
"""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from watchkeeper.handlers.endpoint import Endpoint

DRIP_SECONDS = 0.02
CHUNK = b"x" * 65_536
Fault = Literal["hang", "drip head", "drip body", "endless body", "reset", "garbage"]


@dataclass(frozen=True)
class Answer:
    """What a request is answered with; `fault` says how it goes wrong."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"ok"
    fault: Fault | None = None
    delay_seconds: float = 0


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Receiver(ThreadingHTTPServer):
    """The server, and what it knows."""

    daemon_threads = True
    block_on_close = True
    request_queue_size = 128

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.scheme = "http" if tls is None else "https"
        self.tls = tls
        self.answers: list[Answer] = [Answer()]
        self.requests: list[Received] = []
        self.connections = 0
        self.sent_bytes = 0
        self.names: list[str | None] = []  # that were asked for in TLS handshakes
        self.stopping = threading.Event()
        if tls is not None:
            tls.sni_callback = lambda _socket, name, _context: self.names.append(name)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/hook"

    def will(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def next_answer(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.connections += 1
        if self.tls is not None:
            connection.settimeout(10)
            try:
                connection = self.tls.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()
                raise
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is nothing to tell about."""

    def endpoint(self, **changes: Any) -> Endpoint:
        told = {"name": "hook", "tenant_id": "acme", "kind": "webhook", "url": self.url}
        return Endpoint(**{**told, "private_ok": True, "timeout_seconds": 30.0, **changes})


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Received(self.command, self.path, headers, body))
        answer = self.server.next_answer()
        if answer.delay_seconds:
            self.server.stopping.wait(answer.delay_seconds)
        with contextlib.suppress(OSError):
            self._reply(answer)
        self.close_connection = True

    do_GET = do_PUT = do_POST

    def _reply(self, answer: Answer) -> None:
        match answer.fault:
            case "hang":
                self.server.stopping.wait()
            case "reset":
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()
            case "garbage":
                self.wfile.write(b"SSH-2.0-nothing of yours\r\n")
            case "drip head":
                self._drip(b"HTTP/1.1 200 OK\r\nx-slow: ")
            case _:
                self._head(answer)
                self._body(answer)

    def _head(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.fault is None:
            self.send_header("content-length", str(len(answer.body)))
        self.end_headers()

    def _body(self, answer: Answer) -> None:
        match answer.fault:
            case "drip body":
                self._drip(b"")
            case "endless body":
                while not self.server.stopping.is_set():
                    self.wfile.write(CHUNK)
                    self.server.sent_bytes += len(CHUNK)
            case _:
                self.wfile.write(answer.body)

    def _drip(self, start: bytes) -> None:
        """A byte now and then, for as long as somebody listens."""
        self.wfile.write(start)
        while not self.server.stopping.wait(DRIP_SECONDS):
            self.wfile.write(b"x")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    receiver = Receiver(tls)
    thread = threading.Thread(target=receiver.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.stopping.set()
        receiver.shutdown()
        thread.join(60)
        receiver.server_close()
