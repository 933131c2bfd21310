"""JSON text for parameters and documents: compact, keys sorted, one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson


def dumps(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def encode(value: object) -> str:
    """For statement parameters, where the order of keys means nothing."""
    return orjson.dumps(value).decode()


loads: Callable[[str], Any] = orjson.loads
