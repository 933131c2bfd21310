"""A real NATS server with JetStream, on a free port of the loopback, while it is needed."""

import contextlib
import json
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

BINARY = Path(sysconfig.get_path("scripts")) / "nats-server"
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 40
LOOK_SECONDS = 0.02


@dataclass
class NatsServer:
    """One server. It keeps its folder and port when it is stopped and started again."""

    folder: Path
    options: tuple[str, ...] = ()
    port: int = -1  # any that is free
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        asked = ["-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder)]
        asked += ["--ports_file_dir", str(self.folder), "-l", str(self.folder / "log")]
        self.process = subprocess.Popen([str(BINARY), *asked, *self.options])
        told = self.folder / f"nats-server_{self.process.pid}.ports"
        until = time.monotonic() + START_SECONDS_MAX
        while not (told.exists() and told.stat().st_size):
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, "the NATS server does not start"
            time.sleep(LOOK_SECONDS)
        [url] = json.loads(told.read_text())["nats"]
        self.port = urlsplit(url).port or 0

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(STOP_SECONDS_MAX)
            self.process = None


@contextlib.contextmanager
def running(folder: Path, *options: str) -> Iterator[NatsServer]:
    server = NatsServer(folder, options)
    server.start()
    try:
        yield server
    finally:
        server.stop()
