"""Processes of the product, started for a test, read, asked, and surely ended."""

import contextlib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

WATCHKEEPER = str(Path(sys.executable).parent / "watchkeeper")
SECONDS_MAX = 60.0


class Process:
    """One process: what it printed so far, and how it ended."""

    def __init__(
        self, words: list[str], folder: Path, environ: dict[str, str], files_max: int | None = None
    ) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("WATCHKEEPER_")}
        bounded = f'ulimit -n {files_max} && exec "$0" "$@"'
        self.popen = subprocess.Popen(
            [*([] if files_max is None else ["sh", "-c", bounded]), WATCHKEEPER, *words],
            cwd=folder,
            env={**kept, **environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.errors: list[str] = []
        self._said: queue.Queue[str | None] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read, args=(self.popen.stdout, self.lines, True)),
            threading.Thread(target=self._read, args=(self.popen.stderr, self.errors, False)),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[str], lines: list[str], tells: bool) -> None:
        for line in stream:
            lines.append(line.rstrip("\n"))
            if tells:
                self._said.put(line)
        if tells:
            self._said.put(None)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first line, from here on, that matches."""
        until = time.monotonic() + SECONDS_MAX
        while True:
            line = self._said.get(timeout=max(0.01, until - time.monotonic()))
            assert line is not None, ("it ended", self.lines, self.errors)
            if found := re.search(pattern, line):
                return found

    def tell(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.popen.send_signal(number)

    def end(self) -> int:
        code = self.popen.wait(SECONDS_MAX)
        for reader in self._readers:
            reader.join()
        return code


@contextlib.contextmanager
def started(
    *words: str, folder: Path, files_max: int | None = None, **environ: str
) -> Iterator[Process]:
    process = Process(list(words), folder, environ, files_max)
    try:
        yield process
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
        process.end()
        for stream in (process.popen.stdout, process.popen.stderr):
            assert stream is not None
            stream.close()


def ask(address: str, path: str, key: str | None = None, body: bytes | None = None) -> int:
    """The status of an answer; 0 when nobody listens."""
    request = urllib.request.Request(f"{address}{path}", data=body)
    if key is not None:
        request.add_header("Authorization", f"Bearer {key}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except (urllib.error.URLError, ConnectionError):
        return 0
