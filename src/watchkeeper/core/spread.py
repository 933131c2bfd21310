"""Where in a span an account takes its turn, so that no second holds the herd."""

from __future__ import annotations

from zlib import crc32


def spread(account_id: str, spread_seconds: int) -> int:
    """Whole seconds in [0, spread_seconds), the same for an account everywhere and always.

    A checksum rather than `hash()`, which differs from process to process.
    """
    if spread_seconds <= 0:
        return 0
    return crc32(account_id.encode("utf-8", "surrogatepass")) % spread_seconds
