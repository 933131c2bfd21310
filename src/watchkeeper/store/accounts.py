"""Accounts: what they are told, beside what they remember of their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.core.ids import AccountId
from watchkeeper.core.run_state import RunState, decode_pending, decode_triggers
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode, loads
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Tx

_COLUMNS = (
    "account_id, posture, lifecycle_state, attributes, version, created_at, updated_at,"
    " last_allowed_at, last_allowed_seq, last_run_was_retry, triggers, pending"
)
_GET = same(f"select {_COLUMNS} from accounts where tenant_id = %s and account_id = %s")
_READ = Statement(
    f"""select a.* from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select {_COLUMNS} from accounts where tenant_id = %s
        and account_id >= v.k and account_id <= v.k order by account_id limit 1) a""",
    f"""select {_COLUMNS} from accounts
        where account_id in (select value from json_each(?)) and tenant_id = ?""",
)
_LIST = same(
    f"select {_COLUMNS} from accounts where tenant_id = %s and account_id > %s"
    " order by account_id limit %s"
)
_IDS = same(
    "select account_id from accounts where tenant_id = %s and account_id > %s"
    " order by account_id limit %s"
)
_PUT = same(
    "insert into accounts (tenant_id, account_id, posture, lifecycle_state, attributes, version,"
    " created_at, updated_at) values (%s, %s, %s, %s, %s, %s, %s, %s)"
    " on conflict (tenant_id, account_id) do update set posture = excluded.posture,"
    " lifecycle_state = excluded.lifecycle_state, attributes = excluded.attributes,"
    " version = excluded.version, updated_at = excluded.updated_at"
)
_ENSURE = same(
    "insert into accounts (tenant_id, account_id, created_at, updated_at) values (%s, %s, %s, %s)"
    " on conflict (tenant_id, account_id) do nothing"
)


@dataclass(frozen=True, slots=True)
class Account:
    account_id: AccountId
    posture: str | None
    lifecycle_state: str | None
    attributes: str  # a JSON object as text
    version: int
    created_at: Instant
    updated_at: Instant
    run_state: RunState


def get(tx: Tx, account_id: AccountId) -> Account | None:
    rows = tx.rows(_GET, (tx.tenant_id, account_id))
    return _account(rows[0]) if rows else None


def send_read(tx: Tx, account_ids: Sequence[str]) -> Any:
    return tx.send(_READ, (encode(account_ids), tx.tenant_id))


def read(tx: Tx, account_ids: Sequence[str]) -> dict[str, Account]:
    return found(send_read(tx, account_ids))


def found(cursor: Any) -> dict[str, Account]:
    return {row[0]: _account(row) for row in cursor.fetchall()}


def ensure(tx: Tx, account_id: AccountId) -> None:
    """An account exists from its first use."""
    tx.run(_ENSURE, (tx.tenant_id, account_id, tx.now, tx.now))


def page(tx: Tx, after: str, limit: int) -> list[Account]:
    return [_account(row) for row in tx.rows(_LIST, (tx.tenant_id, after, limit))]


def ids_after(tx: Tx, after: str, limit: int) -> list[AccountId]:
    return [AccountId(row[0]) for row in tx.rows(_IDS, (tx.tenant_id, after, limit))]


def put(
    tx: Tx,
    account_id: AccountId,
    *,
    posture: str | None,
    lifecycle_state: str | None,
    attributes: str,
    version: int,
) -> None:
    """Write what the account is told; what it remembers of its runs stays as it is."""
    now = tx.now
    tx.run(
        _PUT,
        (tx.tenant_id, account_id, posture, lifecycle_state, attributes, version, now, now),
    )


def _account(row: Row) -> Account:
    account_id, posture, lifecycle_state, attributes, version, created_at, updated_at = row[:7]
    allowed_at, allowed_seq, was_retry, triggers, pending = row[7:]
    return Account(
        account_id,
        posture,
        lifecycle_state,
        attributes,
        version,
        created_at,
        updated_at,
        RunState(
            allowed_at,
            allowed_seq,
            bool(was_retry),
            decode_triggers(loads(triggers)),
            decode_pending(loads(pending)),
        ),
    )
