"""What admission reads under the tenant's lock, and what it writes back.

One statement reserves the keys and reads everything a batch is decided from: states,
kill switches, the policy in force, the clock. Each write is one statement for the
whole batch. The batch travels as one JSON parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.run_state import (
    RunState,
    decode_pending,
    decode_triggers,
    encode_pending,
    encode_triggers,
)
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode, loads
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement
from watchkeeper.store.transaction import Row, Tx

_READ = Statement(
    # Under the tenant's lock nobody else reserves: keys that were taken before this statement
    # began are all the keys that are taken. Each row is looked up by its key (`limit 1`): a join
    # would read the whole table by a plan that was made while it was small.
    f"""with p as materialized (select %s::text as t, %s::jsonb as j, {NOW_SQL} as now),
w as materialized (
    select v.k, v.d, v.f from p, jsonb_to_recordset(p.j -> 'k') v (k text, d uuid, f text)),
r as (
    insert into reservations (tenant_id, key, decision_id, fingerprint, expires_at)
    select p.t, w.k, w.d, w.f, p.now + %s from p, w
    on conflict (tenant_id, key) do update set decision_id = excluded.decision_id,
        fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
        where reservations.expires_at <= (select now from p))
select 'n', null, p.now, (select coalesce(max(version), 0) from policies), null, null, null from p
union all
select 's', a.*
from p, jsonb_array_elements_text(p.j -> 'a') v (a), lateral (
    select account_id, last_allowed_at, last_allowed_seq, last_run_was_retry, triggers, pending
    from accounts where tenant_id = p.t and account_id = v.a limit 1) a
union all
select 'k', h.key, null, null, null, h.decision_id::text, h.fingerprint
from p, w, lateral (
    select key, decision_id, fingerprint from reservations
    where tenant_id = p.t and key = w.k and expires_at > p.now limit 1) h
union all
select 'x', scope || case id when '' then '' else ':' || id end, null, null, null, reason, null
from p, kill_switches where tenant_id in (p.t, '_system')""",
    """select 'n', null, null, (select coalesce(max(version), 0) from policies), null, null, null
union all
select 's', account_id, last_allowed_at, last_allowed_seq, last_run_was_retry, triggers, pending
from accounts where tenant_id = ?1 and account_id in (select value from json_each(?2))
union all
select 'k', key, null, null, null, decision_id, fingerprint
from reservations
where tenant_id = ?1 and key in (select value from json_each(?3)) and expires_at > ?4
union all
select 'x', scope || case id when '' then '' else ':' || id end, null, null, null, reason, null
from kill_switches where tenant_id in (?1, '_system')""",
)
_RESERVE_SQLITE = Statement(
    "",
    """insert into reservations (tenant_id, key, decision_id, fingerprint, expires_at)
    values (?, ?, ?, ?, ?)
    on conflict (tenant_id, key) do update set decision_id = excluded.decision_id,
        fingerprint = excluded.fingerprint, expires_at = excluded.expires_at""",
)
_SET = """on conflict (tenant_id, account_id) do update set
    last_allowed_at = excluded.last_allowed_at, last_allowed_seq = excluded.last_allowed_seq,
    last_run_was_retry = excluded.last_run_was_retry, triggers = excluded.triggers,
    pending = excluded.pending, updated_at = excluded.updated_at"""
_COLUMNS = """tenant_id, account_id, last_allowed_at, last_allowed_seq, last_run_was_retry,
    triggers, pending, created_at, updated_at"""
_SAVE = Statement(
    f"""insert into accounts ({_COLUMNS})
    select %s, v.a, v.l, v.s, v.r, v.t, v.p, %s, %s
    from jsonb_to_recordset(%s::jsonb) v (a text, l bigint, s bigint, r int, t text, p text)
    {_SET}""",
    f"insert into accounts ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?) {_SET}",
)


class Reservation(NamedTuple):
    """A key that an event wants, for the decision that will answer it."""

    key: str
    decision_id: DecisionId
    fingerprint: str


@dataclass(slots=True)
class Found:
    """What the database said, under the lock."""

    policy_version: int = 0
    now: Instant | None = None
    states: dict[AccountId, RunState] = field(default_factory=dict)
    switches: dict[str, str] = field(default_factory=dict)  # scope -> reason
    held: dict[str, Reservation] = field(default_factory=dict)  # wanted keys that are taken


def reserve_and_read(
    tx: Tx, reservations: Sequence[Reservation], account_ids: Sequence[AccountId], ttl_us: int
) -> Found:
    """Read what the batch is decided from, and take the wanted keys that are free or expired.

    Keys must differ from each other. Those that are taken stay so, and are in `held`.
    """
    tenant = tx.tenant_id
    if tx.engine == "postgresql":
        keys = [{"k": r.key, "d": r.decision_id, "f": r.fingerprint} for r in reservations]
        both = encode({"k": keys, "a": account_ids})
        return _found(tx.rows(_READ, (tenant, both, ttl_us)))
    names = encode([r.key for r in reservations])
    found = _found(tx.rows(_READ, (tenant, encode(account_ids), names, tx.now)))
    expires_at = tx.now + ttl_us
    free = [r for r in reservations if r.key not in found.held]
    tx.run_many(
        _RESERVE_SQLITE,
        [(tenant, r.key, r.decision_id, r.fingerprint, expires_at) for r in free],
    )
    return found


def save_states(tx: Tx, states: Mapping[AccountId, RunState]) -> None:
    """Write the states back; an account that is new is made."""
    rows = [_state_row(account_id, state) for account_id, state in states.items()]
    if tx.engine == "postgresql":
        names = ("a", "l", "s", "r", "t", "p")
        batch = encode([dict(zip(names, row, strict=True)) for row in rows])
        tx.run(_SAVE, (tx.tenant_id, tx.now, tx.now, batch))
    else:
        tx.run_many(_SAVE, [(tx.tenant_id, *row, tx.now, tx.now) for row in rows])


def _state_row(account_id: AccountId, state: RunState) -> Row:
    return (
        account_id,
        state.last_allowed_at,
        state.last_allowed_seq,
        int(state.last_run_was_retry),
        encode(encode_triggers(state)),
        encode(encode_pending(state)) if state.pending else "{}",
    )


def _found(rows: Iterable[Row]) -> Found:
    found = Found()
    for what, name, first, second, third, fourth, fifth in rows:
        match what:
            case "s":
                triggers = {} if fourth == "{}" else decode_triggers(loads(fourth))
                pending = {} if fifth == "{}" else decode_pending(loads(fifth))
                found.states[name] = RunState(first, second, bool(third), triggers, pending)
            case "k":
                found.held[name] = Reservation(name, fourth, fifth)
            case "x":
                found.switches[name] = fourth
            case _:
                found.now = None if first is None else Instant(first)
                found.policy_version = second
    return found
