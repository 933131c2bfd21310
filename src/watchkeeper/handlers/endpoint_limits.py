"""How many sends may be under way to one endpoint, and how long others wait for their turn.

One that hangs must not hold every slot of its topic. So each endpoint has its own few,
one alone while nothing gets through, and whoever finds them taken comes back later: the
later, the longer nothing has got through.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from watchkeeper.core.ids import TenantId

WAIT_SECONDS = 0.25
WAIT_SECONDS_MAX = 10.0
ENDPOINTS_MAX = 100_000
"""Endpoints that are remembered as being in trouble."""

EndpointKey: TypeAlias = tuple[TenantId, str]
"""Whose endpoint it is, and its URL: two sinks of an owner may share one, two owners do not."""


class EndpointLimits:
    """The sends of one process. One thread owns it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._under_way: Counter[EndpointKey] = Counter()
        self._troubled: set[EndpointKey] = set()
        self._full_since: dict[EndpointKey, float] = {}

    def room(self, key: EndpointKey, most: int) -> int:
        """How many more may begin now."""
        return max(0, (1 if key in self._troubled else most) - self._under_way[key])

    def enter(self, key: EndpointKey, most: int) -> bool:
        if not self.room(key, most):
            self._full_since.setdefault(key, self._clock())
            return False
        self._under_way[key] += 1
        return True

    def leave(self, key: EndpointKey, *, is_well: bool | None) -> None:
        """A send is over. `is_well`: the endpoint took it or refused it; None: it was not asked."""
        self._under_way[key] -= 1
        if not self._under_way[key]:
            del self._under_way[key]
        if is_well:
            self._troubled.discard(key)
            self._full_since.pop(key, None)
        elif is_well is False:
            self._bound()
            self._troubled.add(key)

    def wait_seconds(self, key: EndpointKey, draw: float) -> float:
        """When to come back, around as long again as nothing has got through; at random."""
        full_for = self._clock() - self._full_since.get(key, self._clock())
        return min(max(full_for, WAIT_SECONDS), WAIT_SECONDS_MAX) * (0.5 + draw)

    def _bound(self) -> None:
        if len(self._troubled) >= ENDPOINTS_MAX:
            self._troubled.clear()
        if len(self._full_since) >= ENDPOINTS_MAX:
            self._full_since.clear()
