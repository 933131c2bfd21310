"""Where tests keep their files: in memory, where there is room for them.

Both engines wait for the disk at every commit, and a server's databases are hundreds of files. What
a test writes is thrown away a moment later, so it is written where neither takes time. Tests about
durability say where they want to be.
"""

import os
import shutil
import tempfile
from pathlib import Path

CHOSEN = "WATCHKEEPER_TEST_FOLDER"
MEMORY = Path("/dev/shm")
ROOM_MIN = 3 << 30


def settle() -> None:
    """From here on temporary files of this process, and of those it starts, are in memory."""
    if folder := memory():
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None  # it had been decided already


def memory() -> str | None:
    """A folder in memory, or none: a container may have next to nothing there."""
    if chosen := os.environ.get(CHOSEN):
        return chosen
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        return None
    return str(MEMORY) if min(shutil.disk_usage(MEMORY).free, _available()) >= ROOM_MIN else None


def _available() -> int:
    """Memory that could be had without pushing anybody out of it."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) << 10
    return 0
