"""A proxy in front of PostgreSQL that loses a COMMIT, or only the answer to it.

It reads no protocol: a client's bytes that hold COMMIT are the commit, as drivers send it in a
piece of its own or at the end of a pipeline. Threads of this process; loopback only.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

Fate = Literal["forward", "lose commit", "lose answer", "refuse"]
COMMIT = b"COMMIT"


class Proxy:
    """Forwards to `port`. `fates` are used up one per COMMIT; then everything is forwarded."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.fates: list[Fate] = []
        self.refuses = False
        self.commits = 0
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuses:
                client.close()
                continue
            server = socket.create_connection(self._target)
            with self._lock:
                self._sockets |= {client, server}
            ends = {"answers": True}
            for pump in (self._up, self._down):
                threading.Thread(target=pump, args=(client, server, ends), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket, ends: dict[str, bool]) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                fate = self._fate() if COMMIT in data else "forward"
                if fate == "lose commit":
                    break
                if fate == "lose answer":
                    ends["answers"] = False
                server.sendall(data)
        self._cut(client, server, unless=not ends["answers"])

    def _down(self, client: socket.socket, server: socket.socket, ends: dict[str, bool]) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if not ends["answers"]:
                    break  # it has answered, so it has committed
                client.sendall(data)
        self._cut(client, server)

    def _fate(self) -> Fate:
        with self._lock:
            self.commits += 1
            fate = self.fates.pop(0) if self.fates else "forward"
            if fate == "refuse":
                self.refuses, fate = True, "lose answer"
            return fate

    def _cut(self, *sockets: socket.socket, unless: bool = False) -> None:
        if unless:
            return
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
            with self._lock:
                self._sockets.discard(one)

    def cut_all(self) -> None:
        """End every connection there is; new ones are taken, unless it `refuses`."""
        self._cut(*list(self._sockets))

    def close(self) -> None:
        self._listener.close()
        self.cut_all()


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
