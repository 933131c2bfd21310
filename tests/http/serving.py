"""Servers in processes of their own, for tests that kill them.

`python -m tests.http.serving` imports everything once. For each line of standard input, a URL of a
database and whether to die, it forks a server on a port of its own and writes the port. A server
that is to die ends when it is about to keep an answer: the change is committed, nobody was told.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2

from tests.databases import Clock
from tests.http.door import opened
from tests.http.repeats import propose
from watchkeeper.http import replies
from watchkeeper.store.database import open_database

DIED = 9


def die(*_asked: Any, **_more: Any) -> None:
    os._exit(DIED)


def serve(listener: socket.socket, url: str, dies: bool) -> None:
    import uvicorn

    if dies:
        replies.keep_reply = die
    with opened(open_database(url), Clock(None)) as door:
        door.server.proposers[""] = propose
        config = uvicorn.Config(door.app, log_level="error", lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


def main() -> None:
    import uvicorn  # noqa: F401  before the first fork

    for line in sys.stdin:
        url, dies = json.loads(line)
        listener = socket.create_server(("127.0.0.1", 0))
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            serve(listener, url, dies)
            os._exit(0)
        os.write(1, f"{listener.getsockname()[1]}\n".encode())
        listener.close()
        if dies:
            os.write(1, f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())
        else:
            sys.stdin.readline()  # the test is through with it
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.write(1, b"stopped\n")


class Servers:
    """The process that forks them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.http.serving"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def killed(self, url: str, request: dict[str, Any]) -> None:
        """Send a request to a server that dies of it."""
        self._say(json.dumps([url, True]))
        port = self._hear()
        with contextlib.suppress(httpx2.HTTPError), _client(port) as client:
            answered = client.request(**request)
            raise AssertionError(f"it was answered: {answered.text}")
        assert int(self._hear()) == DIED

    def answered(self, url: str, request: dict[str, Any]) -> Any:
        """Send a request to a new server."""
        self._say(json.dumps([url, False]))
        with _client(self._hear()) as client:
            response = client.request(**request)
        self._say("stop")
        assert self._hear() == "stopped"
        return response

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def _client(port: str) -> Any:
    return httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)


@contextlib.contextmanager
def servers() -> Iterator[Servers]:
    started = Servers()
    try:
        yield started
    finally:
        started.close()


if __name__ == "__main__":
    main()
