"""What a plan may be asked: how far back, as people write it."""

from __future__ import annotations

import re

from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND
from watchkeeper.errors import Invalid

_SPAN = re.compile(r"([1-9]\d{0,5})([smhdw])", re.ASCII)
_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
SPAN_MAX_US = 3_660 * DAY


def parse_span(text: str, at: str) -> int:
    """A length of time such as 90s, 45m, 12h, 30d or 4w, in microseconds."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise Invalid.at(at, "must be a number and s, m, h, d or w, such as 12h or 30d")
    span = int(found[1]) * _UNITS[found[2]]
    if span > SPAN_MAX_US:
        raise Invalid.at(at, "must be at most ten years")
    return span
