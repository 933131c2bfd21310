"""Other queues, each in a process of its own, told by lines what to do."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator

from tests.postgres import OWNER, Server

END_SECONDS_MAX = 20.0

Ask = Callable[[str], float]
"""A line for the peer; what it did, per second."""


@contextlib.contextmanager
def peer(server: Server, module: str, payload: str) -> Iterator[Ask]:
    """A peer on a database of its own on the same server."""
    name = server.create()
    process = subprocess.Popen(
        [sys.executable, "-m", module, server.tcp_url(name, OWNER), payload],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )

    def answer() -> float:
        for line in process.stdout:
            if line.startswith("= "):
                _, count, seconds = line.split()
                return float(count) / float(seconds) if float(seconds) else 0.0
        raise RuntimeError(f"{module} has ended")

    def ask(line: str) -> float:
        process.stdin.write(line + "\n")
        return answer()

    try:
        answer()
        yield ask
    finally:
        process.stdin.close()
        process.wait(END_SECONDS_MAX)
        process.stdout.close()
        server.drop(name)
