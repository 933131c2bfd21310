"""Sinks, and a book of all of them that each process keeps.

Which sink a message goes to is asked for every message, so the book is read as a whole, at
most once a second and at once after a change made here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.sinks import SinkKind
from watchkeeper.core.time import Instant
from watchkeeper.store.keyring import MARK
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Row, Session, Tx

if TYPE_CHECKING:
    from watchkeeper.store.database import Database

FRESH_SECONDS = 1.0
WARN_SECONDS = 60.0
SINKS_MAX = 100
"""Sinks that one tenant may have."""

TopicKey: TypeAlias = tuple[str, str]

_COLUMNS = (
    "tenant_id, name, namespace, topic, kind, url, secret, old_secret, old_secret_until_at,"
    " set_by, created_at, updated_at"
)
_GET = same(f"select {_COLUMNS} from sinks where tenant_id = %s and name = %s")
_OF_TOPIC = same(
    f"select {_COLUMNS} from sinks where tenant_id = %s and namespace = %s and topic = %s"
)
_COUNT = same("select count(*) from sinks where tenant_id = %s")
_PAGE = same(
    f"select {_COLUMNS} from sinks where tenant_id = %s and name > %s order by name limit %s"
)
_PAGE_OF_ALL = same(
    f"select {_COLUMNS} from sinks where (tenant_id, name) > (%s, %s)"
    " order by tenant_id, name limit %s"
)
_ALL = same(f"select {_COLUMNS} from sinks")
_OWNERS = same("select tenant_id from sinks where name = %s order by tenant_id limit 2")
_ENCRYPTED = same(
    "select case when secret like %s then secret else old_secret end from sinks"
    " where secret like %s or old_secret like %s limit 1"
)
_PUT = same(
    f"insert into sinks ({_COLUMNS}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " on conflict (tenant_id, name) do update set namespace = excluded.namespace,"
    " topic = excluded.topic, kind = excluded.kind, url = excluded.url,"
    " secret = excluded.secret, old_secret = excluded.old_secret,"
    " old_secret_until_at = excluded.old_secret_until_at, set_by = excluded.set_by,"
    " updated_at = excluded.updated_at"
)
_DELETE = same("delete from sinks where tenant_id = %s and name = %s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A topic that is delivered outside. What may hold a secret is not in its `repr`."""

    tenant_id: TenantId  # _system: for all tenants
    name: str
    namespace: str
    topic: str
    kind: SinkKind
    url: str = field(repr=False)
    secret: str = field(repr=False)  # as it is stored: encrypted where there is a key
    old_secret: str | None = field(default=None, repr=False)
    old_secret_until_at: Instant | None = None
    set_by: str
    created_at: Instant
    updated_at: Instant

    @property
    def owner(self) -> str:
        """For whom its secrets are encrypted."""
        return f"sink {self.name} of {self.tenant_id}"

    def secrets(self, now: Instant) -> tuple[str, ...]:
        """The secrets that sign messages, as they are stored, the newest first."""
        if self.old_secret is None or self.old_secret_until_at is None:
            return (self.secret,)
        return (self.secret, self.old_secret) if now < self.old_secret_until_at else (self.secret,)


class SinkBook:
    """Every sink there is, by topic. Any thread may ask; a newer reading replaces the whole."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._by_topic: dict[TopicKey, dict[TenantId, Sink]] = {}
        self._read_at: float | None = None
        self._changes = 0
        self._warned_at: dict[str, float] = {}
        self.now = Instant(0)
        """The database's clock when it was read."""

    def is_fresh(self) -> bool:
        return self._read_at is not None and self._clock() - self._read_at < FRESH_SECONDS

    def read(self, session: Session) -> None:
        with self._lock:
            changes, at = self._changes, self._clock()
        by_topic: dict[TopicKey, dict[TenantId, Sink]] = {}
        for row in session.rows(_ALL):
            sink = _sink(row)
            by_topic.setdefault((sink.namespace, sink.topic), {})[sink.tenant_id] = sink
        with self._lock:
            self._by_topic, self.now = by_topic, session.now
            # A change that was made meanwhile may not be in what was read.
            self._read_at = at if changes == self._changes else None

    def forget(self) -> None:
        """A sink was changed here: the next look reads."""
        with self._lock:
            self._changes += 1
            self._read_at = None

    def may_warn(self, owner: str) -> bool:
        """Whether a warning about this sink is due: at most one a minute."""
        with self._lock:
            at = self._clock()
            if at - self._warned_at.get(owner, -WARN_SECONDS) < WARN_SECONDS:
                return False
            self._warned_at[owner] = at
            return True

    def route(self, tenant_id: TenantId, namespace: str, topic: str) -> Sink | None:
        """The tenant's own sink for the topic, or else the one for all."""
        found = self._by_topic.get((namespace, topic))
        return None if found is None else found.get(tenant_id) or found.get(SYSTEM)

    def of_topic(self, key: TopicKey) -> Collection[Sink]:
        return self._by_topic.get(key, {}).values()

    def topics(self) -> Collection[TopicKey]:
        return self._by_topic.keys()


def in_force(db: Database) -> SinkBook:
    """The book, read again if it is older than a second. Not to be called in a transaction."""
    book = db.sinks
    if not book.is_fresh():
        with db.read_system() as tx:
            book.read(tx)
    return book


def get(tx: Tx, name: str) -> Sink | None:
    rows = tx.rows(_GET, (tx.tenant_id, name))
    return _sink(rows[0]) if rows else None


def of_topic(tx: Tx, namespace: str, topic: str) -> Sink | None:
    rows = tx.rows(_OF_TOPIC, (tx.tenant_id, namespace, topic))
    return _sink(rows[0]) if rows else None


def count(tx: Tx) -> int:
    return int(tx.rows(_COUNT, (tx.tenant_id,))[0][0])


def page(tx: Tx, after: str, limit: int) -> list[Sink]:
    return [_sink(row) for row in tx.rows(_PAGE, (tx.tenant_id, after, limit))]


def page_of_all(session: Session, after: tuple[str, str], limit: int) -> list[Sink]:
    return [_sink(row) for row in session.rows(_PAGE_OF_ALL, (*after, limit))]


def owners(session: Session, name: str) -> list[TenantId]:
    """Who has a sink of this name; two are as good as many."""
    return [TenantId(row[0]) for row in session.rows(_OWNERS, (name,))]


def encrypted(session: Session) -> str | None:
    """A stored secret that is encrypted, of any sink that the session sees."""
    rows = session.rows(_ENCRYPTED, (f"{MARK}%",) * 3)
    return rows[0][0] if rows else None


def put(tx: Tx, sink: Sink) -> None:
    assert sink.tenant_id == tx.tenant_id
    tx.run(_PUT, tuple(getattr(sink, name) for name in _COLUMNS.split(", ")))


def delete(tx: Tx, name: str) -> None:
    tx.run(_DELETE, (tx.tenant_id, name))


def _sink(row: Row) -> Sink:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return Sink(**{**values, "kind": SinkKind(values["kind"])})
