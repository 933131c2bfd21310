"""Answers that are made once for everybody who asks while they are made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """One answer under way, however many ask. For the thread of the event loop only."""

    def __init__(self) -> None:
        self._under_way: asyncio.Future[T] | None = None

    async def share(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The answer that is under way, or a new one. `make` must not raise."""
        under_way, loop = self._under_way, asyncio.get_running_loop()
        if under_way is None or under_way.done() or under_way.get_loop() is not loop:
            under_way = self._under_way = loop.create_task(make())
        return await asyncio.shield(under_way)
