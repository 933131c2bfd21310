"""A real `watchkeeper serve` in a process of its own, and a browser's session at it."""

import contextlib
import http.client
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

START_SECONDS_MAX = 30.0
END_SECONDS_MAX = 20.0
PROGRAM = "from watchkeeper.cli.main import main; main()"


@dataclass(frozen=True)
class Served:
    """Where it listens, the key it was given, and the cookie of a session."""

    port: int
    key: str
    cookie: str
    pid: int

    def cpu_seconds(self) -> float:
        """What it has used so far, of all cores."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def get(self, line: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
        line.request("GET", path, headers={"Cookie": self.cookie})
        answer = line.getresponse()
        return answer.status, answer.read()


@contextlib.contextmanager
def served(url: str) -> Iterator[Served]:
    """A server on this database for the length of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    key = secrets.token_hex(24)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", "--port", str(port)],
        env={**os.environ, "WATCHKEEPER_DATABASE_URL": url, "WATCHKEEPER_ADMIN_KEY": key},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(port, process)
        yield Served(port, key, _session(port, key), process.pid)
    finally:
        process.terminate()
        process.wait(END_SECONDS_MAX)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


def _session(port: int, key: str) -> str:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    form = urlencode({"key": key, "next": "/"})
    line.request("POST", "/login", form, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = line.getresponse()
    answer.read()
    line.close()
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    if answer.status != 303 or not cookie:
        raise RuntimeError(f"no session: {answer.status}")
    return cookie
