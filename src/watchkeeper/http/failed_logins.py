"""Wrong keys at the login: a few are a mistake, many are somebody who guesses.

Each address has an allowance that fills up again with time, and all of them together have one.
Whoever has used it up is told when to come back, and his key is not looked at until then.
Sessions that are open and keys in headers do not suffer from it.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from fastapi import Request


@dataclass(frozen=True, slots=True)
class Allowance:
    """So many at once, and one more after each while."""

    burst: int
    refill_seconds: float

    def wait(self, whole_at: float, now: float) -> float:
        """For how long nothing is left of it; `whole_at` is when all of it will be there."""
        return whole_at - now - (self.burst - 1) * self.refill_seconds


EACH = Allowance(10, 6.0)
ALL = Allowance(100, 0.2)
ADDRESSES_MAX = 4096
EVERYBODY = ""


class FailedLogins:
    """Counts tries until they turn out well. For the thread of the event loop only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._whole_at: OrderedDict[str, float] = OrderedDict()

    def begin(self, address: str) -> int:
        """Count one try. Above 0: it may not be made, and not for so many seconds."""
        now = self._clock()
        waits = [
            allowance.wait(self._whole_at.get(name, now), now)
            for name, allowance in ((address, EACH), (EVERYBODY, ALL))
        ]
        if max(waits) > 0:
            return math.ceil(max(waits))
        self._tidy(now)
        self._move(address, now, EACH.refill_seconds)
        self._move(EVERYBODY, now, ALL.refill_seconds)
        return 0

    def succeeded(self, address: str) -> None:
        """The try was none of a guesser: it does not count."""
        now = self._clock()
        self._move(address, now, -EACH.refill_seconds)
        self._move(EVERYBODY, now, -ALL.refill_seconds)

    def __len__(self) -> int:
        return len(self._whole_at)

    def _move(self, name: str, now: float, seconds: float) -> None:
        self._whole_at[name] = max(now, self._whole_at.get(name, now)) + seconds
        self._whole_at.move_to_end(name)

    def _tidy(self, now: float) -> None:
        for name in [name for name, at in self._whole_at.items() if at <= now]:
            del self._whole_at[name]
        while len(self._whole_at) >= ADDRESSES_MAX:
            oldest = next(name for name in self._whole_at if name != EVERYBODY)
            del self._whole_at[oldest]


def address_of(request: Request) -> str:
    """Whose try it is. Somebody near may be a proxy, and is believed about whom it speaks for.

    One who is near and lies about it has the allowance of all, and no more.
    """
    peer = request.client.host if request.client is not None else ""
    found = _parsed(peer)
    if found is None:
        return peer or "?"
    if found.is_loopback or found.is_private:
        told = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        found = _parsed(told) or found
    if isinstance(found, IPv6Address):
        return str(IPv6Network((found, 64), strict=False))
    return str(found)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
