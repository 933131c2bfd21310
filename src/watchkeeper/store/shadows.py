"""Shadow policies: the documents, how far each has followed a tenant, and what it found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from watchkeeper.core.canonical import canonical_json
from watchkeeper.core.policy import Policy
from watchkeeper.core.policy_parse import stored_policy
from watchkeeper.core.run_state import (
    RunState,
    decode_pending,
    decode_triggers,
    encode_pending,
    encode_triggers,
)
from watchkeeper.core.time import Instant
from watchkeeper.store.json import dumps, encode, loads
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Session, Tx

_COLUMNS = "name, shadow_id, hash, text, effective, author, reason, set_at"
_LIST = same(f"select {_COLUMNS} from shadows order by name")
_GET = same(f"select {_COLUMNS} from shadows where name = %s")
_PUT = same(
    f"insert into shadows ({_COLUMNS}) values (%s, %s, %s, %s, %s, %s, %s, %s)"
    " on conflict (name) do update set shadow_id = excluded.shadow_id, hash = excluded.hash,"
    " text = excluded.text, effective = excluded.effective, author = excluded.author,"
    " reason = excluded.reason, set_at = excluded.set_at"
)
_REMOVE = same("delete from shadows where name = %s")
_STATE = Statement(
    # Two who follow at once take turns: the second goes on where the first has ended.
    """select shadow_id, seq, state from shadow_states where tenant_id = %s and name = %s
    for update""",
    "select shadow_id, seq, state from shadow_states where tenant_id = ? and name = ?",
)
_READ_STATE = same(
    "select shadow_id, seq, state from shadow_states where tenant_id = %s and name = %s"
)
_BEGIN = same(
    "insert into shadow_states (tenant_id, name, shadow_id, seq, state)"
    " values (%s, %s, %s, %s, %s) on conflict (tenant_id, name) do nothing"
)
_FORGET = tuple(
    same(f"delete from {table} where tenant_id = %s and name = %s")
    for table in ("shadow_states", "shadow_accounts", "shadow_flips")
)
_SAVE = same("update shadow_states set seq = %s, state = %s where tenant_id = %s and name = %s")
_ACCOUNTS = Statement(
    """select account_id, state from shadow_accounts where tenant_id = %s and name = %s
    and account_id in (select jsonb_array_elements_text(%s::jsonb))""",
    """select account_id, state from shadow_accounts where tenant_id = ? and name = ?
    and account_id in (select value from json_each(?))""",
)
_SAVE_ACCOUNT = same(
    "insert into shadow_accounts (tenant_id, name, account_id, state) values (%s, %s, %s, %s)"
    " on conflict (tenant_id, name, account_id) do update set state = excluded.state"
)
_FLIP = same(
    "insert into shadow_flips (tenant_id, name, seq, decision_id, account_id, was, would_be)"
    " values (%s, %s, %s, %s, %s, %s, %s)"
)
_FLIPS = same(
    "select seq, decision_id, account_id, was, would_be from shadow_flips"
    " where tenant_id = %s and name = %s order by seq desc limit %s"
)
_SEQ = same("select ledger_seq from tenants where tenant_id = %s")


class Shadow(NamedTuple):
    """A policy that is asked beside the one in force."""

    name: str
    shadow_id: str
    policy: Policy
    author: str
    reason: str
    set_at: Instant


class Flip(NamedTuple):
    """A verdict that a shadow would have given otherwise."""

    seq: int
    decision_id: str
    account_id: str
    was: str
    would_be: str


class Followed(NamedTuple):
    """How far a shadow is in a tenant's ledger, and what it knows there."""

    shadow_id: str
    seq: int
    state: dict[str, Any]


def every(session: Session) -> list[Shadow]:
    return [_shadow(row) for row in session.rows(_LIST)]


def get(session: Session, name: str) -> Shadow | None:
    rows = session.rows(_GET, (name,))
    return _shadow(rows[0]) if rows else None


def put(tx: Tx, shadow: Shadow) -> None:
    policy = shadow.policy
    told = (policy.hash, policy.text, canonical_json(policy.effective))
    tx.run(
        _PUT,
        (shadow.name, shadow.shadow_id, *told, shadow.author, shadow.reason, shadow.set_at),
    )


def remove(tx: Tx, name: str) -> bool:
    return tx.changed(_REMOVE, (name,)) > 0


def ledger_end(tx: Tx) -> int:
    rows = tx.rows(_SEQ, (tx.tenant_id,))
    return int(rows[0][0]) if rows else 0


def hold(tx: Tx, name: str) -> Followed | None:
    """How far it is, held until the transaction ends."""
    return _followed(tx.rows(_STATE, (tx.tenant_id, name)))


def look(tx: Tx, name: str) -> Followed | None:
    return _followed(tx.rows(_READ_STATE, (tx.tenant_id, name)))


def begin(tx: Tx, shadow: Shadow, seq: int) -> None:
    tx.run(_BEGIN, (tx.tenant_id, shadow.name, shadow.shadow_id, seq, "{}"))


def forget(tx: Tx, name: str) -> None:
    """What it knew and found of this tenant."""
    for statement in _FORGET:
        tx.run(statement, (tx.tenant_id, name))


def save(tx: Tx, name: str, seq: int, state: dict[str, Any]) -> None:
    tx.run(_SAVE, (seq, encode(state), tx.tenant_id, name))


def accounts(tx: Tx, name: str, account_ids: Iterable[str]) -> dict[str, RunState]:
    """Of these accounts, those that would be elsewhere under the shadow."""
    rows = tx.rows(_ACCOUNTS, (tx.tenant_id, name, encode(sorted(account_ids))))
    return {account_id: _read(loads(state)) for account_id, state in rows}


def save_accounts(tx: Tx, name: str, states: dict[str, RunState]) -> None:
    if states:
        rows = [(tx.tenant_id, name, one, dumps(_plain(state))) for one, state in states.items()]
        tx.run_many(_SAVE_ACCOUNT, rows)


def add_flips(tx: Tx, name: str, flips: Sequence[Flip]) -> None:
    if flips:
        tx.run_many(_FLIP, [(tx.tenant_id, name, *flip) for flip in flips])


def newest_flips(tx: Tx, name: str, limit: int) -> list[Flip]:
    return [Flip(*row) for row in tx.rows(_FLIPS, (tx.tenant_id, name, limit))]


def _shadow(row: tuple[Any, ...]) -> Shadow:
    name, shadow_id, hash, text, effective, author, reason, set_at = row
    policy = stored_policy(text, loads(effective), version=0, hash=hash)
    return Shadow(name, shadow_id, policy, author, reason, Instant(set_at))


def _followed(rows: list[tuple[Any, ...]]) -> Followed | None:
    return Followed(rows[0][0], rows[0][1], loads(rows[0][2])) if rows else None


def _plain(state: RunState) -> list[Any]:
    told = (state.last_allowed_at, state.last_allowed_seq, state.last_run_was_retry)
    return [*told, encode_triggers(state), encode_pending(state)]


def _read(raw: list[Any]) -> RunState:
    allowed_at, seq, was_retry, triggers, pending = raw
    known = decode_triggers(triggers), decode_pending(pending)
    return RunState(allowed_at, seq, was_retry, *known)
