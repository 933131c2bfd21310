"""What a handler may raise to say how its attempt ended. Returning means delivered."""

from __future__ import annotations

import math
import re
import time
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from watchkeeper.core.delivery import RETRY_AFTER_MAX_US
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Invalid
from watchkeeper.failures import name_of

_SECONDS = re.compile(r"[0-9]+", re.ASCII)
_DIGITS_MAX = 12  # more of them are thirty thousand years all the same

AFTER_SECONDS_MAX = RETRY_AFTER_MAX_US / SECOND


class Retry(Exception):
    """Not this time. `after` is the shortest wait, if the receiver named one.

    It is a number of seconds, a timedelta, or the text of a `Retry-After` header, seconds or a
    date. More than a day is a day; what is past is no wait. Anything else is refused.
    """

    def __init__(self, reason: str = "", *, after: float | timedelta | str | None = None) -> None:
        super().__init__(reason or "the handler asked for another attempt")
        self.after = seconds_of(after)


class Reject(Exception):
    """Never: trying again cannot help. The message is dead at once."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "the handler rejected the message")


def seconds_of(after: Any) -> float | None:
    """A wait in seconds, between none and a day; Invalid for what is no wait.

    Subclasses of numbers are not asked what they are: they may answer anything.
    """
    kind = type(after)
    if after is None:
        return None
    if issubclass(kind, str):
        return retry_after(str.__getitem__(after, slice(None)), time.time())
    if issubclass(kind, timedelta):
        after = timedelta.total_seconds(after)
    elif issubclass(kind, int) and not issubclass(kind, bool):
        after = float(max(0, min(int.__add__(after, 0), int(AFTER_SECONDS_MAX))))
    elif not issubclass(kind, float):
        raise Invalid.at("after", f"must be seconds or a timedelta, not {name_of(after)}")
    seconds = float.__add__(after, 0.0)
    if math.isnan(seconds):
        raise Invalid.at("after", "must be a number of seconds, not nan")
    return max(0.0, min(seconds, AFTER_SECONDS_MAX))


def retry_after(text: str | None, now: float) -> float | None:
    """Seconds to wait, from seconds or an HTTP date; None for the past and for nonsense."""
    if text is None:
        return None
    if _SECONDS.fullmatch(text.strip()):
        return float(text.strip().lstrip("0")[:_DIGITS_MAX] or "0")
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp() - now
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None
