"""Turns: written once with the terms of their reserve, ended once with their settlement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.core.turns import USAGE_SNAPSHOT, Turn
from watchkeeper.store.json import encode
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Session, Tx

OF_DECISION_MAX = 1_000
"""Turns of one run that are looked at: it has one for each time it was asked for."""
TIME_MAX = 1 << 62

_COLUMNS = ", ".join(Turn._fields)
_TYPES = {
    "turn_id": "text",
    "request_id": "text",
    "user_id": "text",
    "decision_id": "uuid",
    "selected_model": "text",
    "effective_model": "text",
    "tier": "text",
    "state": "text",
    "ended_by": "text",
    "finalize_id": "uuid",
    "settlement_method": "text",
    "is_capped": "bool",
    "event_id": "uuid",
}
_BORN = Turn._fields[: Turn._fields.index("ended_at")]
_ENDED = Turn._fields[Turn._fields.index("ended_at") : Turn._fields.index("event_fate")]


def _typed(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {_TYPES.get(name, 'bigint')}" for name in names)


_INSERT = Statement(
    f"""insert into turns (tenant_id, {", ".join(_BORN)})
    select %s, {", ".join(f"v.{name}" for name in _BORN)}
    from jsonb_to_recordset(%s::jsonb) as v ({_typed(_BORN)})""",
    f"""insert into turns (tenant_id, {", ".join(_BORN)})
    values (?, {", ".join("?" for _ in _BORN)})""",
)
# A plan that was made while the table was small outlives its growth, and then any index that
# begins with the tenant seemed as good as the right one. Only that one gives this order.
_BY_KEY = "tenant_id = %s and {0} >= {1} and {0} <= {1} order by {0} limit 1"
_BY_TURN = _BY_KEY.format("turn_id", "v.k")
_BY_REQUEST = _BY_KEY.format("request_id", "v.k")
_FIND = Statement(
    f"""select t.* from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select {_COLUMNS} from turns where {_BY_REQUEST}) t
    union all
    select t.* from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select {_COLUMNS} from turns where {_BY_TURN}) t""",
    f"""select {_COLUMNS} from turns where request_id in (select value from json_each(?))
        and tenant_id = ?
    union
    select {_COLUMNS} from turns where turn_id in (select value from json_each(?))
        and tenant_id = ?""",
)
_LOCK = Statement(
    # In the order of the ids, so that two who lock several wait for each other, no deadlock.
    f"""select t.* from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select {_COLUMNS} from turns where {_BY_TURN} for no key update) t""",
    f"""select {_COLUMNS} from turns where turn_id in (select value from json_each(?))
        and tenant_id = ?""",
)
_END = Statement(
    # The bounds of ended_at let the planner expect few rows: then it goes to each by its place.
    f"""update turns t set state = v.state, {", ".join(f"{name} = v.{name}" for name in _ENDED)}
    from jsonb_to_recordset(%s::jsonb) as v (k text, {_typed(("state", *_ENDED))}), lateral (
        select ctid from turns where {_BY_TURN}) at
    where t.ctid = at.ctid and t.state = 'running'
        and v.ended_at > 0 and v.ended_at < {TIME_MAX}""",
    f"""update turns set state = ?, {", ".join(f"{name} = ?" for name in _ENDED)}
    where tenant_id = ? and turn_id = ? and state = 'running'""",
)
_ENDED_WITH = Statement(
    "",
    """select count(*) from turns where tenant_id = ?
    and turn_id in (select value from json_each(?))
    and event_id in (select value from json_each(?))""",
)
_PROGRESS = Statement(
    f"""update turns set started_at = coalesce(started_at, c.at),
        progressed_at = greatest(progressed_at, c.at),
        deadline_at = greatest(deadline_at, c.at + timeout_us)
    from (select {NOW_SQL} as at) c
    where ctid = (select t.ctid from (select %s::text) v (k), lateral (
        select ctid from turns where {_BY_TURN} for no key update) t)
    and state = 'running' returning turn_id""",
    """update turns set started_at = coalesce(started_at, ?1),
        progressed_at = max(progressed_at, ?1), deadline_at = max(deadline_at, ?1 + timeout_us)
    where turn_id = ?2 and tenant_id = ?3 and state = 'running' returning turn_id""",
)
_FATE = Statement(
    f"""update turns set event_fate = %s, event_fate_at = %s
    where ctid = (select t.ctid from (select %s::text) v (k), lateral (
        select ctid from turns where {_BY_TURN} for no key update) t)
    and event_id = %s and event_fate is null""",
    """update turns set event_fate = ?, event_fate_at = ?
    where turn_id = ? and tenant_id = ? and event_id = ? and event_fate is null""",
)
NOTE_SWEPT = f"""noted as (update turns t set event_fate = 'delivered', event_fate_at = g.done_at
        from gone g, lateral (select split_part(g.dedupe_key, '/', 2)) v (k), lateral (
            select ctid from turns where {_BY_TURN.replace("%s", "g.tenant_id")}) at
        where g.topic = '{USAGE_SNAPSHOT}' and t.ctid = at.ctid and t.event_id = g.id
        and t.event_fate is null)"""
"""A part of the statement that sweeps messages on PostgreSQL: `gone` are those that leave."""

_OWNERS = same(
    "select tenant_id from turns where tenant_id in (select tenant_id from tenants)"
    " and turn_id = %s order by tenant_id limit 2"
)
_GET = Statement(
    f"""select t.* from (select %s::text) v (k), lateral (
        select {_COLUMNS} from turns where {_BY_TURN}) t""",
    f"select {_COLUMNS} from turns where turn_id = ? and tenant_id = ?",
)
_OF_DECISION = Statement(
    # Asked for in this order, the right index is the only one that need not sort.
    f"""select {_COLUMNS} from (select %s::uuid) v (k), lateral (
        select {_COLUMNS} from turns
        where tenant_id = %s and decision_id >= v.k and decision_id <= v.k
        order by decision_id limit {OF_DECISION_MAX}) t""",
    f"select {_COLUMNS} from turns where decision_id = ? and tenant_id = ?",
)
# One that meters a run is heard of as long as the run's message is under a lease that lives.
_SILENT_WHERE = """t.state = 'running' and t.deadline_at < c.at and not exists (
        select 1 from outbox o where o.tenant_id = t.tenant_id and o.id = t.decision_id
        and o.status = 'processing' and o.locked_until > c.at)"""
_SILENT = Statement(
    f"""select t.tenant_id, t.turn_id from (select {NOW_SQL} as at) c, turns t
    where {_SILENT_WHERE} order by t.deadline_at limit %s""",
    f"""select t.tenant_id, t.turn_id from (select ? as at) c, turns t
    where {_SILENT_WHERE} order by t.deadline_at limit ?""",
)
_NEXT_DEADLINE = same(
    "select min(deadline_at) from turns where state = 'running' and deadline_at >= %s"
)
_PAGE = (
    "select {} from turns where tenant_id = %s{} order by reserved_at desc, turn_id desc limit %s"
)


def insert(tx: Tx, turns: Sequence[Turn]) -> None:
    if not turns:
        return
    if tx.engine == "sqlite":
        tx.run_many(_INSERT, [(tx.tenant_id, *turn[: len(_BORN)]) for turn in turns])
        return
    rows = [dict(zip(_BORN, turn, strict=False)) for turn in turns]
    tx.run(_INSERT, (tx.tenant_id, encode(rows)))


def send_find(tx: Tx, request_ids: Sequence[str], turn_ids: Sequence[str]) -> Any:
    """Ask for those that have one of these request ids or one of these turn ids."""
    asked = (encode(request_ids), tx.tenant_id, encode(turn_ids), tx.tenant_id)
    return tx.send(_FIND, asked)


def send_lock(tx: Tx, turn_ids: Iterable[str]) -> Any:
    """Ask to hold these turns until the commit; those that there are."""
    return tx.send(_LOCK, (encode(sorted(set(turn_ids))), tx.tenant_id))


def fetched(cursor: Any) -> list[Turn]:
    """The turns that were asked for."""
    return [_turn(row) for row in cursor.fetchall()]


def end(tx: Tx, turns: Sequence[Turn]) -> None:
    """Write the ends of turns that run. One that does not run any more aborts everything.

    On PostgreSQL that is at the commit: an event that no turn was settled with is refused.
    """
    names = ("state", *_ENDED)
    if tx.engine == "postgresql":
        rows = [
            {"k": turn.turn_id} | {name: getattr(turn, name) for name in names} for turn in turns
        ]
        tx.run(_END, (encode(rows), tx.tenant_id))
        return
    values = [[getattr(turn, name) for name in names] for turn in turns]
    ids = [turn.turn_id for turn in turns]
    tx.run_many(_END, [(*row, tx.tenant_id, id) for row, id in zip(values, ids, strict=True)])
    asked = (tx.tenant_id, encode(ids), encode([turn.event_id for turn in turns]))
    [(count,)] = tx.rows(_ENDED_WITH, asked)
    assert count == len(turns), "a turn had ended before"


def progress(tx: Tx, turn_id: str) -> bool:
    """It is alive, and has begun; False when it does not run."""
    asked: tuple[object, ...] = (turn_id, tx.tenant_id)
    if tx.engine == "postgresql":
        send_lock(tx, [turn_id])  # before: a statement cannot see a row that is newer than itself
    return bool(tx.rows(_PROGRESS, (tx.now, *asked) if tx.engine == "sqlite" else asked))


def note_fate(tx: Tx, turn_id: str, event_id: str, fate: str) -> None:
    """The turn's event leaves the outbox: it was delivered, or somebody discarded it."""
    tx.run(_FATE, (fate, tx.now, turn_id, tx.tenant_id, event_id))


def note_swept(session: Session, tenant_id: TenantId, gone: Sequence[Row]) -> None:
    """The same on SQLite, from the topic, key, id and time of messages that were delivered."""
    keys = [(str(key).split("/"), id, at) for topic, key, id, at in gone if topic == USAGE_SNAPSHOT]
    noted = [("delivered", at, key[1], tenant_id, id) for key, id, at in keys if len(key) == 3]
    session.run_many(_FATE, noted)


def get(tx: Tx, turn_id: str) -> Turn | None:
    rows = tx.rows(_GET, (turn_id, tx.tenant_id))
    return _turn(rows[0]) if rows else None


def owners(session: Session, turn_id: str) -> list[TenantId]:
    """Whose turn this is: two at most, since tenants may have chosen the same id."""
    return [TenantId(row[0]) for row in session.rows(_OWNERS, (turn_id,))]


def of_decision(tx: Tx, decision_id: str) -> list[Turn]:
    """The turns that metered a decision's run, the newest first: a redriven run has several."""
    found = [_turn(row) for row in tx.rows(_OF_DECISION, (decision_id, tx.tenant_id))]
    return sorted(found, key=lambda turn: (turn.reserved_at, turn.turn_id), reverse=True)


def page(
    tx: Tx, *, state: str | None, before: tuple[Instant, str] | None, limit: int
) -> list[Turn]:
    """Turns of the tenant, the newest first."""
    clauses = ""
    parameters: list[object] = [tx.tenant_id]
    if state is not None:
        clauses += " and state = %s"
        parameters.append(state)
    if before is not None:
        clauses += " and (reserved_at, turn_id) < (%s, %s)"
        parameters += before
    sql = same(_PAGE.format(_COLUMNS, clauses))
    return [_turn(row) for row in tx.rows(sql, (*parameters, limit))]


class Silent(NamedTuple):
    tenant_id: TenantId
    turn_id: str


def silent(session: Session, limit: int) -> list[Silent]:
    """Running turns, of whichever tenant, that were not heard of for too long."""
    asked = (session.now, limit) if session.engine == "sqlite" else (limit,)
    return [Silent(*row) for row in session.rows(_SILENT, asked)]


def next_deadline(session: Session) -> Instant | None:
    """The next one that is not over yet."""
    [(at,)] = session.rows(_NEXT_DEADLINE, (session.now,))
    return None if at is None else Instant(at)


def _turn(row: Row) -> Turn:
    turn = Turn._make(row)
    return turn if turn.is_capped is None else turn._replace(is_capped=bool(turn.is_capped))
