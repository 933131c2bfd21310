"""One text for one value, so that it can be hashed: sorted keys, no spaces, ASCII only."""

from __future__ import annotations

import hashlib
import json


def canonical_json(value: object) -> str:
    """Equal values give equal text. Floats are the caller's to avoid."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def sha256_hex(value: object) -> str:
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()
