"""The turnstile of a SQLite file: those who were refused go before those who come later.

With the rollback journal nobody reads while somebody commits, and one writes at a time. SQLite
keeps no queue: who was refused sleeps and looks again, more and more seldom. A writer that begins
again as soon as it has committed has the file nearly every time that the others look.

The turnstile is a lock on an empty file beside the database. A refused reader, and a writer that
begins, hold it until they have what they wait for. A writer that comes later waits while somebody
holds it. So everybody waits only for those who came before.

It keeps an order and protects nothing: where the file cannot be opened or locked, or somebody
holds it for too long, the writer goes on. A process that dies lets go of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from watchkeeper.store.backoff import until_next_look

SUFFIX = "-turnstile"
LOOKS_MAX = 1_000
"""Looks of a writer at a turnstile that is held, before it goes on: about one second."""

_PERMISSIONS = 0o777


class Turnstile:
    """The order of readers and writers of one file, in all processes and threads that have it."""

    def __init__(self, database: str | None) -> None:
        """Without a database file nobody is refused, and nobody waits."""
        self._database = None if database is None else os.path.realpath(database)
        self.pause: Callable[[], None] = until_next_look

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Wait while others hold it, then hold it. For a writer, until it has begun."""
        with self._locked(fcntl.LOCK_EX, fcntl.LOCK_SH, makes=True):
            yield

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep writers from beginning. For a reader that was refused, until it reads."""
        with self._locked(fcntl.LOCK_SH, makes=False):
            yield

    @contextmanager
    def _locked(self, *kinds: int, makes: bool) -> Iterator[None]:
        """In the end it is shared: those who hold it do not wait for each other."""
        descriptor = self._opened(makes=makes)
        if descriptor is None:
            yield
            return
        try:
            for kind in kinds:
                self._lock(descriptor, kind)
            yield
        finally:
            _close(descriptor)

    def _lock(self, descriptor: int, kind: int) -> None:
        for _ in range(LOOKS_MAX):
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                self.pause()
                continue
            except OSError:  # a file system without such locks
                return
            return

    def _opened(self, *, makes: bool) -> int | None:
        """Only a writer makes the file, and those may open it who may open the database.

        It is opened each time: a lock belongs to one opening, and threads and forks would share it.
        """
        if self._database is None:
            return None
        path = self._database + SUFFIX
        try:
            return os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return self._made(path) if makes else None
        except OSError:
            return None

    def _made(self, path: str) -> int | None:
        assert self._database is not None
        try:
            permissions = os.stat(self._database).st_mode & _PERMISSIONS
            return os.open(path, os.O_RDONLY | os.O_CREAT, permissions)
        except OSError:
            return None


def _close(descriptor: int) -> None:
    """Unlock first: a process that was forked meanwhile has the descriptor too, and keeps it."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
