"""What a page shows at one moment, made once for everybody who looks at the same.

A hundred dashboards that are open on one page ask again whenever the ledger has grown. They get
one rendering a second between them; only the token in the forms is each viewer's own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any

from fastapi import Response

SECONDS = 1.0
KEPT_MAX = 256

Make = Callable[[], Coroutine[Any, Any, Response]]


@dataclass(frozen=True, slots=True)
class _Kept:
    made: asyncio.Future[Response]
    csrf: str
    until: float


class Glances:
    """Answers that are shared for a second. For the thread of the event loop only."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, _Kept] = {}

    async def answer(self, key: Hashable, csrf: str, make: Make) -> Response:
        """`key` holds everything that the page depends on, but for the token."""
        now = time.monotonic()
        kept = self._kept.get(key)
        if kept is None or kept.until <= now:
            self._tidy(now)
            kept = _Kept(asyncio.ensure_future(make()), csrf, now + SECONDS)
            self._kept[key] = kept
        made = await asyncio.shield(kept.made)
        body = bytes(made.body).replace(kept.csrf.encode(), csrf.encode())
        headers = {name: value for name, value in made.headers.items() if name in _PASSED}
        return Response(body, made.status_code, headers)

    def _tidy(self, now: float) -> None:
        over = [key for key, kept in self._kept.items() if kept.until <= now]
        for key in over or list(self._kept)[: max(0, len(self._kept) - KEPT_MAX + 1)]:
            del self._kept[key]


_PASSED = frozenset({"content-type", "content-security-policy", "vary", "location"})
