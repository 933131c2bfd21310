"""The kinds of transaction: of one tenant, of the system, for reading only.

All statements of a move go through `rows` and `run`, on the driver's own cursor. In
a batch on PostgreSQL they travel in a pipeline: `run` only sends, `rows` waits for
its answer, and an error of something sent earlier appears there or at the commit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Literal, Protocol, TypeAlias

from sqlalchemy import Connection

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import Statement

EngineName: TypeAlias = Literal["postgresql", "sqlite"]
Row: TypeAlias = tuple[Any, ...]


class _Read:
    """An answer of SQLite, read to its end at once, to be fetched from like a cursor.

    A statement that was not read to its end keeps others from committing, for as long as
    anything refers to its cursor: the traceback of an error, say.
    """

    __slots__ = ("_rows", "rowcount")

    def __init__(self, cursor: Any) -> None:
        self._rows: list[Row] = cursor.fetchall()[::-1]
        self.rowcount: int = cursor.rowcount

    def fetchone(self) -> Row | None:
        return self._rows.pop() if self._rows else None

    def fetchall(self) -> list[Row]:
        rows, self._rows = self._rows[::-1], []
        return rows


class Driver(Protocol):
    """What sqlite3 and psycopg connections have in common."""

    def cursor(self) -> Any: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


class Session:
    """One transaction on one connection."""

    __slots__ = (
        "_connection",
        "_cursor",
        "_driver",
        "_engine",
        "_gathered",
        "_is_behind",
        "after_commit",
        "has_news",
        "now",
    )

    def __init__(
        self, engine: EngineName, driver: Driver, now: Instant, connection: Connection | None
    ) -> None:
        self._engine: EngineName = engine
        self._driver = driver
        self._cursor = driver.cursor()  # for what brings no rows; one that does needs its own
        self._connection = connection
        self._gathered: list[tuple[str, Sequence[object]]] | None = None
        self._is_behind = False
        self.now = now
        self.has_news = False  # a message was enqueued that is due (soon): wake the workers
        self.after_commit: list[Callable[[], None]] = []  # what only looks on; its errors are lost

    @property
    def engine(self) -> EngineName:
        return self._engine

    @property
    def works_ahead(self) -> bool:
        """Whether the database begins with what is sent while the next is being prepared."""
        return self._engine == "postgresql"

    @property
    def conn(self) -> Connection:
        """SQLAlchemy's connection, for statements that are not hot. A batch has none."""
        assert self._connection is not None, "a batch speaks to the driver only"
        return self._connection

    def rows(self, statement: Statement, parameters: Sequence[object] = ()) -> list[Row]:
        cursor = self._driver.cursor()
        cursor.execute(self._text(statement), parameters)
        found: list[Row] = cursor.fetchall()
        return found

    def send(self, statement: Statement, parameters: Sequence[object] = ()) -> Any:
        """Send a statement whose rows are fetched later from the cursor this returns."""
        cursor = self._driver.cursor()
        cursor.execute(self._text(statement), parameters)
        return cursor if self.works_ahead else _Read(cursor)

    def run(self, statement: Statement, parameters: Sequence[object] = ()) -> None:
        if self._gathered is not None:
            self._gathered.append((self._text(statement), parameters))
        else:
            self._cursor.execute(self._text(statement), parameters)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is `run` in this block is one statement on PostgreSQL, at the end of the block.

        There each statement costs as much as several rows. None of them may see what another
        of them writes, nor begin with a WITH of its own, nor return anything; `run_behind` is for
        the one that has to be done after all others.
        """
        if self._engine != "postgresql":
            yield
            return
        gathered: list[tuple[str, Sequence[object]]] = []
        self._gathered = gathered
        self._is_behind = False
        try:
            yield
        finally:
            self._gathered = None
        if gathered:
            texts, parameters = zip(*gathered, strict=True)
            merged = _merged(texts, self._is_behind)
            self._cursor.execute(merged, tuple(chain.from_iterable(parameters)))

    def run_behind(self, statement: Statement, parameters: Sequence[object] = ()) -> None:
        """The last of such a block. What the others did is done when its first row is written.

        Its triggers and unique indexes see that; it ends without a WHERE.
        """
        self.run(statement, parameters)
        self._is_behind = True

    def run_many(self, statement: Statement, parameters: Sequence[Sequence[object]]) -> None:
        self._cursor.executemany(self._text(statement), parameters)

    def changed(self, statement: Statement, parameters: Sequence[object] = ()) -> int:
        """Run it and say how many rows it changed."""
        cursor = self._driver.cursor()
        cursor.execute(self._text(statement), parameters)
        count: int = cursor.rowcount
        return count

    def _text(self, statement: Statement) -> str:
        return statement.postgresql if self._engine == "postgresql" else statement.sqlite


@functools.lru_cache(maxsize=64)
def _merged(texts: tuple[str, ...], is_behind: bool) -> str:
    *others, last = texts
    if not others:
        return last
    end = " returning 1" if is_behind else ""
    parts = ", ".join(f"w{n} as ({text}{end})" for n, text in enumerate(others))
    if not is_behind:
        return f"with {parts} {last}"
    done = " and ".join(f"(select count(*) from w{n}) >= 0" for n in range(len(others)))
    return f"with {parts} {last} where {done}"


class Tx(Session):
    """One transaction, on behalf of one tenant, at one instant."""

    __slots__ = ("recovering", "tenant_id")

    def __init__(
        self,
        engine: EngineName,
        driver: Driver,
        now: Instant,
        connection: Connection | None,
        tenant_id: TenantId,
        recovering: bool = False,
    ) -> None:
        super().__init__(engine, driver, now, connection)
        self.tenant_id = tenant_id
        self.recovering = recovering  # an earlier COMMIT of the same deed had a lost answer


class ReadTx(Tx):
    """A tenant's transaction that cannot write, so that views never wait for writers."""

    __slots__ = ()


class SystemTx(Session):
    """A transaction across tenants, for workers. Request code cannot get one."""

    __slots__ = ()
