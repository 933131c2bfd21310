"""What a handler may raise to say how its attempt ended. Returning means delivered."""

from __future__ import annotations

import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)


class Retry(Exception):
    """Not this time. `after` is the shortest wait, if the receiver named one.

    It is a number of seconds, or the text of a `Retry-After` header, seconds or a date.
    """

    def __init__(self, reason: str = "", *, after: float | str | None = None) -> None:
        super().__init__(reason or "the handler asked for another attempt")
        self.after = retry_after(after, time.time()) if isinstance(after, str) else after


class Reject(Exception):
    """Never: trying again cannot help. The message is dead at once."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "the handler rejected the message")


def retry_after(text: str | None, now: float) -> float | None:
    """Seconds to wait, from seconds or an HTTP date; None for the past and for nonsense."""
    if text is None:
        return None
    if _SECONDS.fullmatch(text.strip()):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp() - now
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None
