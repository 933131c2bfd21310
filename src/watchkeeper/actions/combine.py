"""Callers that wait at the same moment share a transaction.

Whoever finds nobody at work for its tenant leads: it takes everything that waits by then,
its own request included, and does it in one go. The others sleep until they have their
answers, or until the one who led before them is through and theirs is the oldest request
left; then they lead. There is no timer and no thread: a lone caller waits for nobody.
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
    __slots__ = ("answer", "asked", "error", "is_done", "leads", "news")

    def __init__(self, asked: Sequence[A]) -> None:
        self.asked = asked
        self.answer: list[D] = []
        self.error: BaseException | None = None
        self.is_done = False
        self.leads = False
        self.news = threading.Lock()  # released once: it is done, or it leads
        self.news.acquire()


class Combiner(Generic[A, D]):
    """Runs `deed(name, asked, again)` for callers of the same name together.

    `again`: a deed with others has failed before, and may have been done all the same.
    """

    def __init__(self, deed: Callable[[str, list[A], bool], list[D]]) -> None:
        self._deed = deed
        self._lines: dict[str, deque[_Request[A, D]]] = {}  # a line exists while somebody leads it
        self._guard = threading.Lock()

    def submit(self, name: str, asked: Sequence[A]) -> list[D]:
        """The answers to `asked`, in order, once they are committed."""
        request: _Request[A, D] = _Request(asked)
        if not self._joins(name, request):
            self._await(name, request)
        if not request.is_done:
            self._lead(name)
        if request.error is not None:
            raise request.error
        return request.answer

    def _joins(self, name: str, request: _Request[A, D]) -> bool:
        """Stand in line; whether there was none, so that this request leads."""
        with self._guard:
            line = self._lines.get(name)
            if line is None:
                self._lines[name] = deque([request])
                request.leads = True
            else:
                line.append(request)
            return request.leads

    def _await(self, name: str, request: _Request[A, D]) -> None:
        try:
            request.news.acquire()
        except BaseException:  # a signal, in the main thread: the line must go on without it
            with self._guard:
                if request.leads:
                    self._lines[name].popleft()
                    self._hand_over(name)
                elif name in self._lines and request in self._lines[name]:
                    self._lines[name].remove(request)
            raise

    def _lead(self, name: str) -> None:
        requests = self._take(name)
        try:
            self._serve(name, requests)
        finally:
            for request in requests[1:]:
                request.news.release()
            with self._guard:
                self._hand_over(name)

    def _take(self, name: str) -> list[_Request[A, D]]:
        """The leader's own request, which is the oldest, and those that fit beside it."""
        with self._guard:
            line = self._lines[name]
            taken = [line.popleft()]
            events = len(taken[0].asked)
            while line and events + len(line[0].asked) <= EVENTS_MAX:
                taken.append(line.popleft())
                events += len(taken[-1].asked)
        return taken

    def _hand_over(self, name: str) -> None:
        """Under the guard: the oldest request left leads, or the line is no more."""
        line = self._lines[name]
        if line:
            line[0].leads = True
            line[0].news.release()
        else:
            del self._lines[name]

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
            requests[0].is_done = True
            return
        start = 0
        for request in requests:
            request.answer = answers[start : start + len(request.asked)]
            start += len(request.asked)
            request.is_done = True
