"""Connectors: what limits them, for everybody and for one tenant, and how they do.

The limiter of a connector is one row that all processes and tenants share. It is the last
thing that a transaction locks, and only where there is a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from watchkeeper.core.ids import MessageId
from watchkeeper.core.limits import Breaker, Rate, rate_of
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Session, Tx

_COLUMNS = (
    "connector_id, milli_per_second, burst, max_concurrency, shallow_units, deep_units,"
    " has_cadence, scheduled_at, held_until_at, probe_at"
)
_IN = Statement(
    "connector_id in (select jsonb_array_elements_text(%s::jsonb))",
    "connector_id in (select value from json_each(?))",
)
_LIMITED = (
    "(milli_per_second is not null or max_concurrency is not null or held_until_at is not null)"
)
_READ = Statement(
    f"select {_COLUMNS} from connectors where {_IN.postgresql}",
    f"select {_COLUMNS} from connectors where {_IN.sqlite}",
)
_LOCK = Statement(
    # The clock is read outside the locking scan: who waited must not judge by an old time.
    f"""with locked as materialized (
        select {_COLUMNS} from connectors where {_IN.postgresql} and {_LIMITED}
        order by connector_id for no key update)
    select locked.*, {NOW_SQL} from locked""",
    f"select {_COLUMNS}, null from connectors where {_IN.sqlite} and {_LIMITED}",
)
_LIST = same(
    f"select {_COLUMNS} from connectors where connector_id > %s order by connector_id limit %s"
)
_CADENCED = same(f"select {_COLUMNS} from connectors where has_cadence order by connector_id")
_SAVE_STATE = same(
    "update connectors set scheduled_at = %s, held_until_at = %s, probe_at = %s"
    " where connector_id = %s"
)
_PUT = same(
    "insert into connectors (connector_id, milli_per_second, burst, max_concurrency,"
    " shallow_units, deep_units, has_cadence, updated_at) values (%s, %s, %s, %s, %s, %s, %s, %s)"
    " on conflict (connector_id) do update set milli_per_second = excluded.milli_per_second,"
    " burst = excluded.burst, max_concurrency = excluded.max_concurrency,"
    " shallow_units = excluded.shallow_units, deep_units = excluded.deep_units,"
    " has_cadence = excluded.has_cadence, updated_at = excluded.updated_at"
)
_SLOTS = Statement(
    f"""select connector_id, count(*) from connector_slots
    where {_IN.postgresql} and until_at > %s group by connector_id""",
    f"""select connector_id, count(*) from connector_slots
    where {_IN.sqlite} and until_at > ? group by connector_id""",
)
_TAKE_SLOT = same(
    "insert into connector_slots (connector_id, message_id, until_at) values (%s, %s, %s)"
    " on conflict (connector_id, message_id) do update set until_at = excluded.until_at"
)
_RENEW_SLOT = same(
    "update connector_slots set until_at = %s"
    " where connector_id = %s and message_id = %s and until_at > %s"
)
_KEEP_SLOTS = Statement(
    """update connector_slots set until_at = %s where until_at > %s and until_at < %s
    and message_id in (select jsonb_array_elements_text(%s::jsonb)::uuid)""",
    """update connector_slots set until_at = ? where until_at > ? and until_at < ?
    and message_id in (select value from json_each(?))""",
)
_HOLD = same(
    "insert into connectors (connector_id, held_until_at, probe_at, updated_at)"
    " values (%s, %s, %s, %s) on conflict (connector_id) do update set"
    " held_until_at = excluded.held_until_at, probe_at = excluded.probe_at"
    " where coalesce(connectors.held_until_at, 0) < excluded.held_until_at"
)
_FREE_SLOT = same("delete from connector_slots where connector_id = %s and message_id = %s")
_STATE_COLUMNS = (
    "connector_id, milli_per_second, burst, scheduled_at, failures, open_until_at, probe_until_at"
)
_STATES = Statement(
    f"select {_STATE_COLUMNS} from connector_states where tenant_id = %s and {_IN.postgresql}",
    f"select {_STATE_COLUMNS} from connector_states where tenant_id = ? and {_IN.sqlite}",
)
_PUT_STATE = same(
    f"insert into connector_states (tenant_id, {_STATE_COLUMNS})"
    " values (%s, %s, %s, %s, %s, %s, %s, %s) on conflict (tenant_id, connector_id) do update set"
    " milli_per_second = excluded.milli_per_second, burst = excluded.burst,"
    " scheduled_at = excluded.scheduled_at, failures = excluded.failures,"
    " open_until_at = excluded.open_until_at, probe_until_at = excluded.probe_until_at"
)


class Connector(NamedTuple):
    """A connector as all tenants share it."""

    connector_id: str
    milli_per_second: int | None = None
    burst: int = 1
    max_concurrency: int | None = None
    shallow_units: int = 1
    deep_units: int = 3
    has_cadence: bool = False
    scheduled_at: Instant = Instant(0)
    held_until_at: Instant | None = None
    probe_at: Instant | None = None  # when one pull may see whether the hold still holds

    @property
    def rate(self) -> Rate | None:
        return None if self.milli_per_second is None else rate_of(self.milli_per_second, self.burst)


class ConnectorState(NamedTuple):
    """A connector as one tenant has it: a limit of its own, and how it has done lately."""

    connector_id: str
    milli_per_second: int | None = None
    burst: int = 1
    scheduled_at: Instant = Instant(0)
    breaker: Breaker = Breaker()

    @property
    def rate(self) -> Rate | None:
        return None if self.milli_per_second is None else rate_of(self.milli_per_second, self.burst)


def read(session: Session, connector_ids: Iterable[str]) -> dict[str, Connector]:
    return _connectors(session.rows(_READ, (encode(sorted(connector_ids)),)))


def lock(tx: Tx, connector_ids: Iterable[str]) -> dict[str, Connector]:
    """Hold those that have a limit until the commit, and set `now` to a moment after that.

    Nothing is locked after them.
    """
    rows = tx.rows(_LOCK, (encode(sorted(connector_ids)),))
    tx.now = max((row[-1] or tx.now for row in rows), default=tx.now)
    return _connectors([row[:-1] for row in rows])


def page(session: Session, limit: int, after: str = "") -> list[Connector]:
    return list(_connectors(session.rows(_LIST, (after, limit))).values())


def with_cadence(session: Session) -> list[Connector]:
    """Those that every account is looked at with."""
    return list(_connectors(session.rows(_CADENCED)).values())


def put(tx: Tx, connector: Connector) -> None:
    """Write what it is limited by; the state of the limiter stays."""
    tx.run(_PUT, (*connector[:7], tx.now))


def save_state(tx: Tx, connector: Connector) -> None:
    times = (connector.scheduled_at, connector.held_until_at, connector.probe_at)
    tx.run(_SAVE_STATE, (*times, connector.connector_id))


def slots(tx: Tx, connector_ids: Iterable[str]) -> dict[str, int]:
    """How many pulls of each are under way, over all processes."""
    names = sorted(connector_ids)
    rows = tx.rows(_SLOTS, (encode(names), tx.now)) if names else []
    return {row[0]: int(row[1]) for row in rows}


def take_slot(tx: Tx, connector_id: str, message_id: MessageId, until: Instant) -> None:
    tx.run(_TAKE_SLOT, (connector_id, message_id, until))


def renew_slot(tx: Tx, connector_id: str, message_id: MessageId, until: Instant) -> bool:
    """Whether the pull still held one."""
    return tx.changed(_RENEW_SLOT, (until, connector_id, message_id, tx.now)) == 1


def keep_slots(session: Session, message_ids: Sequence[MessageId], lease_us: int) -> None:
    """While a worker renews its lease of a pull, the pull's slot does not end either."""
    if message_ids:
        until = session.now + lease_us
        session.run(_KEEP_SLOTS, (until, session.now, until, encode(message_ids)))


def hold(tx: Tx, connector_id: str, until: Instant) -> None:
    """Nobody pulls until then, but for one probe when half of the time is over."""
    probe_at = Instant(tx.now + (until - tx.now) // 2)
    tx.run(_HOLD, (connector_id, until, probe_at, tx.now))


def free_slot(tx: Tx, connector_id: str, message_id: MessageId) -> None:
    tx.run(_FREE_SLOT, (connector_id, message_id))


def states(tx: Tx, connector_ids: Iterable[str]) -> dict[str, ConnectorState]:
    rows = tx.rows(_STATES, (tx.tenant_id, encode(sorted(connector_ids))))
    return {row[0]: ConnectorState._make((*row[:4], Breaker._make(row[4:]))) for row in rows}


def put_states(tx: Tx, changed: Sequence[ConnectorState]) -> None:
    for state in changed:
        tx.run(_PUT_STATE, (tx.tenant_id, *state[:4], *state.breaker))


def _connectors(rows: Sequence[Row]) -> dict[str, Connector]:
    return {row[0]: Connector._make((*row[:6], bool(row[6]), *row[7:])) for row in rows}
