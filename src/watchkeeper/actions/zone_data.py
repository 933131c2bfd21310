"""Time zone data: by which of them a firing was computed.

Governments change their clocks, and a release of the data changes what a cron expression means,
mostly in the future, now and then in the past. A hash of a zone's data stands with each entry
about a schedule, so that the audit does not take new data for a firing that was lost.
"""

from __future__ import annotations

import contextlib
import zoneinfo
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

HASH_LENGTH = 16


@lru_cache(maxsize=1_024)
def zone_data(timezone: str) -> str:
    """A short hash of the data that this process has of a time zone; empty if it has no file."""
    for place in _places():
        path = place.joinpath(*timezone.split("/"))
        if path.is_file():
            return sha256(path.read_bytes()).hexdigest()[:HASH_LENGTH]
    return ""


def _places() -> list[Traversable]:
    """Where `zoneinfo` looks, in its order: the paths of the system, then the package `tzdata`."""
    found: list[Traversable] = [Path(path) for path in zoneinfo.TZPATH]
    with contextlib.suppress(ModuleNotFoundError):
        found.append(files("tzdata.zoneinfo"))
    return found
