"""News between processes: PostgreSQL's NOTIFY, sent after commits and never inside one.

A NOTIFY takes a lock over the whole database when its transaction commits; so it has
connections of its own, and one notice stands for all that was enqueued since the last.
"""

from __future__ import annotations

from collections.abc import Container
from types import TracebackType
from typing import Any

from watchkeeper.store.database import Database

CHANNEL = "watchkeeper"


class Line:
    """A connection outside the pool on which every statement is its own transaction."""

    def __init__(self, db: Database) -> None:
        assert db.engine == "postgresql"
        lent = db.writer.raw_connection()
        driver: Any = lent.driver_connection
        lent.detach()
        driver.autocommit = True
        self._driver = driver

    @property
    def name(self) -> int:
        """By which others know whose notice it was."""
        pid: int = self._driver.info.backend_pid
        return pid

    def listen(self) -> None:
        self._driver.execute(f"listen {CHANNEL}")

    def heard(self, timeout_seconds: float, own: Container[int] = ()) -> bool:
        """Wait for a notice that is not of an `own` line. Raises when the connection is lost."""
        heard = self._driver.notifies(timeout=timeout_seconds, stop_after=1)
        return any([notice.pid not in own for notice in heard])

    def notify(self) -> None:
        self._driver.execute(f"notify {CHANNEL}")

    def vacuum(self, table: str) -> None:
        """Make room again where rows come and go fast. Without the right to, nothing happens."""
        self._driver.execute(f"vacuum (skip_locked) {table}")

    def __enter__(self) -> Line:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._driver.close()
