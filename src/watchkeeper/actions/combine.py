"""Callers that wait at the same moment share a transaction.

Whoever finds nobody at work for its tenant takes everything that waits by then, its
own request included, and does it in one go; the others only wake up and take their
answers. There is no timer and no thread: a lone caller waits for nobody.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

A = TypeVar("A")
D = TypeVar("D")

EVENTS_MAX = 1000
"""Events in one shared transaction; a single request may be larger and then goes alone."""


class _Request(Generic[A, D]):
    __slots__ = ("answer", "asked", "done", "error")

    def __init__(self, asked: Sequence[A]) -> None:
        self.asked = asked
        self.answer: list[D] = []
        self.error: BaseException | None = None
        self.done = False


class _Line(Generic[A, D]):
    """The requests of one tenant that wait in this process."""

    __slots__ = ("turn", "users", "waiting")

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.waiting: deque[_Request[A, D]] = deque()
        self.users = 0


class Combiner(Generic[A, D]):
    """Runs `deed(name, asked, again)` for callers of the same name together.

    `again`: a deed with others has failed before, and may have been done all the same.
    """

    def __init__(self, deed: Callable[[str, list[A], bool], list[D]]) -> None:
        self._deed = deed
        self._lines: dict[str, _Line[A, D]] = {}
        self._guard = threading.Lock()

    def submit(self, name: str, asked: Sequence[A]) -> list[D]:
        """The answers to `asked`, in order, once they are committed."""
        request: _Request[A, D] = _Request(asked)
        with self._guard:
            line = self._lines.setdefault(name, _Line())
            line.users += 1
            line.waiting.append(request)
        try:
            with line.turn:
                while not request.done:
                    self._serve(name, self._take(line))
        finally:
            with self._guard:
                line.users -= 1
                if line.users == 0:
                    self._lines.pop(name, None)
        if request.error is not None:
            raise request.error
        return request.answer

    def _take(self, line: _Line[A, D]) -> list[_Request[A, D]]:
        with self._guard:
            taken = [line.waiting.popleft()]
            events = len(taken[0].asked)
            while line.waiting and events + len(line.waiting[0].asked) <= EVENTS_MAX:
                taken.append(line.waiting.popleft())
                events += len(taken[-1].asked)
        return taken

    def _serve(self, name: str, requests: list[_Request[A, D]], again: bool = False) -> None:
        together = [one for request in requests for one in request.asked]
        try:
            answers = self._deed(name, together, again)
        except BaseException as error:
            if len(requests) > 1:  # one of them may be to blame: each answers for itself
                for request in requests:
                    self._serve(name, [request], again=True)
                return
            requests[0].error = error
            requests[0].done = True
            return
        start = 0
        for request in requests:
            request.answer = answers[start : start + len(request.asked)]
            start += len(request.asked)
            request.done = True
