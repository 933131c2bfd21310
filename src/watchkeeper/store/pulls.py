"""Pulls that were scheduled: their ids are taken for a while, and here is how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from watchkeeper.core.heat import Depth
from watchkeeper.core.ids import AccountId, MessageId
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Tx


class PullState(StrEnum):
    REQUESTED = "REQUESTED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    pull_job_id: str
    message_id: MessageId
    account_id: AccountId
    connector_id: str
    depth: Depth
    units: int
    origin: str
    state: PullState
    scheduled_at: Instant
    expires_at: Instant
    started_at: Instant | None = None
    ended_at: Instant | None = None
    signals: int | None = None
    error: str | None = None


_COLUMNS = (
    "pull_job_id, message_id, account_id, connector_id, depth, units, origin, state,"
    " scheduled_at, started_at, ended_at, signals, error, expires_at"
)
_NEW = (
    "pull_job_id, message_id, account_id, connector_id, depth, units, origin, state,"
    " scheduled_at, expires_at"
)
# An id that has expired is free, also before anybody has cleaned up.
_AGAIN = "on conflict (tenant_id, pull_job_id) do update set " + ", ".join(
    [
        *(f"{name} = excluded.{name}" for name in _NEW.split(", ")[1:]),
        *(f"{name} = null" for name in ("started_at", "ended_at", "signals", "error")),
    ]
)
_INSERT = Statement(
    f"""insert into pulls (tenant_id, {_NEW}) select %s, v.*
    from jsonb_to_recordset(%s::jsonb) as v (pull_job_id text, message_id uuid, account_id text,
        connector_id text, depth int, units int, origin text, state text, scheduled_at bigint,
        expires_at bigint)
    {_AGAIN}""",
    f"insert into pulls (tenant_id, {_NEW}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {_AGAIN}",
)
_TAKEN = Statement(
    # Asked for in this order, the key is the only index that need not sort, which a batch may not:
    # a plan that was made while the table was small does not read all that was pulled since.
    """select p.pull_job_id from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select pull_job_id, expires_at from pulls where tenant_id = %s
        and pull_job_id >= v.k and pull_job_id <= v.k order by pull_job_id limit 1) p
    where p.expires_at > %s""",
    """select pull_job_id from pulls where pull_job_id in (select value from json_each(?))
        and tenant_id = ? and expires_at > ?""",
)
_START = same(
    "update pulls set state = 'RUNNING', started_at = %s, ended_at = null, error = null"
    " where tenant_id = %s and pull_job_id = %s and message_id = %s"
    " and state in ('REQUESTED', 'FAILED', 'OUTCOME_UNKNOWN') returning pull_job_id"
)
_END = same(
    "update pulls set state = %s, ended_at = %s, signals = %s, error = %s"
    " where tenant_id = %s and pull_job_id = %s and message_id = %s"
    " and state in ('REQUESTED', 'RUNNING') returning pull_job_id"
)
_GET = same(f"select {_COLUMNS} from pulls where tenant_id = %s and pull_job_id = %s")

FORGOTTEN_MAX = 5_000
"""Rows that one transaction removes."""

# Asked again by the statement that deletes: an id may have been taken anew since it was chosen.
_IS_OVER = "tenant_id = %s and expires_at <= %s and ended_at is not null"
_FORGET = same(
    f"delete from pulls where {_IS_OVER} and pull_job_id in (select pull_job_id from pulls"
    f" where {_IS_OVER} order by expires_at limit {FORGOTTEN_MAX})"
)


def insert(tx: Tx, pulls: Sequence[Pull]) -> None:
    if not pulls:
        return
    names = _NEW.split(", ")
    if tx.engine == "sqlite":
        rows = [(tx.tenant_id, *(_plain(getattr(pull, name)) for name in names)) for pull in pulls]
        tx.run_many(_INSERT, rows)
        return
    told = [{name: _plain(getattr(pull, name)) for name in names} for pull in pulls]
    tx.run(_INSERT, (tx.tenant_id, encode(told)))


def taken(tx: Tx, pull_job_ids: Sequence[str]) -> set[str]:
    """Those of these ids that are in use."""
    return {row[0] for row in tx.rows(_TAKEN, (encode(pull_job_ids), tx.tenant_id, tx.now))}


def start(tx: Tx, pull_job_id: str, message_id: MessageId) -> bool:
    return bool(tx.rows(_START, (tx.now, tx.tenant_id, pull_job_id, message_id)))


def end(
    tx: Tx,
    pull_job_id: str,
    message_id: MessageId,
    state: PullState,
    *,
    signals: int | None = None,
    error: str | None = None,
) -> bool:
    """Write the end, once; False when it had ended before."""
    values = (state, tx.now, signals, error, tx.tenant_id, pull_job_id, message_id)
    return bool(tx.rows(_END, values))


def get(tx: Tx, pull_job_id: str) -> Pull | None:
    rows = tx.rows(_GET, (tx.tenant_id, pull_job_id))
    return _pull(rows[0]) if rows else None


def forget(tx: Tx, before: Instant) -> int:
    """Remove some that have ended and whose ids were free before; how many.

    Less than the most is all. One that has not ended stays, however old it is.
    """
    return tx.changed(_FORGET, (tx.tenant_id, before) * 2)


FILTERS = ("account_id", "connector_id", "state", "origin")


def page(
    tx: Tx, filters: dict[str, str], *, before: tuple[Instant, str] | None, limit: int
) -> list[Pull]:
    """Pulls that match every filter, the newest first."""
    assert set(filters) <= set(FILTERS)
    clauses = "".join(f" and {name} = %s" for name in filters)
    parameters: list[object] = [tx.tenant_id, *filters.values()]
    if before is not None:
        clauses += " and (scheduled_at, pull_job_id) < (%s, %s)"
        parameters += before
    sql = (
        f"select {_COLUMNS} from pulls where tenant_id = %s{clauses}"
        " order by scheduled_at desc, pull_job_id desc limit %s"
    )
    return [_pull(row) for row in tx.rows(same(sql), (*parameters, limit))]


def _plain(value: object) -> object:
    return int(value) if isinstance(value, Depth) else value


def _pull(row: Row) -> Pull:
    named = dict(zip(_COLUMNS.split(", "), row, strict=True))
    depth, state = Depth(named.pop("depth")), PullState(named.pop("state"))
    return Pull(depth=depth, state=state, **named)
