"""Intents: one row for each attempt, from what it asks for to how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

from watchkeeper.core.ids import IntentId, MessageId, TenantId
from watchkeeper.core.plans import Intent, IntentState
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Session, Tx

_COLUMNS = ", ".join(Intent._fields)
_TYPES = {
    "intent_id": "uuid",
    "plan_id": "uuid",
    "attempt": "int",
    "created_at": "bigint",
    "deadline_at": "bigint",
    "decided_at": "bigint",
    "executing_at": "bigint",
    "ended_at": "bigint",
    "is_late": "bool",
    "message_id": "uuid",
}
_MOVING = (
    "state",
    "deadline_at",
    "reason",
    "explanation",
    "decided_at",
    "decided_by",
    "executing_at",
    "ended_at",
    "detail",
    "is_late",
    "message_id",
)


_SAVED = ("k", *_MOVING)
_saved = itemgetter(*(Intent._fields.index(name) for name in ("intent_id", *_MOVING)))


def _typed(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in names)


_INSERT = Statement(
    f"""insert into intents (tenant_id, {_COLUMNS})
    select %s, v.* from jsonb_to_recordset(%s::jsonb) as v ({_typed(Intent._fields)})""",
    f"""insert into intents (tenant_id, {_COLUMNS})
    values (?, {", ".join("?" for _ in Intent._fields)})""",
)
_SAVE = Statement(
    f"""update intents i set {", ".join(f"{name} = v.{name}" for name in _MOVING)}
    from jsonb_to_recordset(%s::jsonb) as v (k uuid, {_typed(_MOVING)}), lateral (
        select ctid from intents where tenant_id = %s
        and intent_id >= v.k and intent_id <= v.k order by intent_id limit 1) at
    where i.ctid = at.ctid""",
    f"""update intents set {", ".join(f"{name} = ?" for name in _MOVING)}
    where intent_id = ? and tenant_id = ?""",
)
_READ = Statement(
    f"""select i.* from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select {_COLUMNS} from intents where tenant_id = %s
        and intent_id >= v.k::uuid and intent_id <= v.k::uuid order by intent_id limit 1) i""",
    f"""select {_COLUMNS} from intents
    where intent_id in (select value from json_each(?)) and tenant_id = ?""",
)
_KILLED = """(select 1 from kill_switches k where k.tenant_id in ({i}.tenant_id, '_system')
        and (k.scope in ('all', 'tenant') or k.scope = 'action' and k.id = {i}.action_type))"""
_EXECUTE = Statement(
    # The plan and the kill switches are asked for here, at the last moment before the call. What
    # is compared is what was read by the key, for a condition on the row itself would bring
    # another index to mind.
    f"""update intents i set state = 'EXECUTING', executing_at = n.at
    from (select {NOW_SQL}) n (at), jsonb_to_recordset(%s::jsonb) as v (k uuid, m uuid), lateral (
        select ctid, * from intents where tenant_id = %s
        and intent_id >= v.k and intent_id <= v.k order by intent_id limit 1) o
    where i.ctid = o.ctid and o.state = 'APPROVED' and not o.is_late and o.message_id = v.m and (
        select p.status = 'ACTIVE' and p.expires_at > n.at from plans p
        where p.tenant_id = o.tenant_id and p.plan_id >= o.plan_id and p.plan_id <= o.plan_id
        order by p.plan_id limit 1)
    and not exists {_KILLED.format(i="o")} returning i.message_id""",
    f"""update intents set state = 'EXECUTING', executing_at = ?3
    from json_each(?1) v where intents.tenant_id = ?2 and intents.intent_id = v.value ->> 'k'
    and intents.message_id = v.value ->> 'm' and state = 'APPROVED' and not is_late
    and exists (select 1 from plans p where p.tenant_id = intents.tenant_id
        and p.plan_id = intents.plan_id and p.status = 'ACTIVE' and p.expires_at > ?3)
    and not exists {_KILLED.format(i="intents")} returning message_id""",
)
_OF_PLAN = same(
    f"select {_COLUMNS} from intents where tenant_id = %s and plan_id = %s"
    " order by step_id, attempt"
)
_USE = same(
    "insert into autonomy_days (tenant_id, day, used) values (%s, %s, %s)"
    " on conflict (tenant_id, day) do update set used = autonomy_days.used + excluded.used"
)
_OWNER = same(
    "select tenant_id from intents where tenant_id in (select tenant_id from tenants)"
    " and intent_id = %s"
)
COUNTED_MAX = 10_000
"""Of each tenant and state: more are not counted, so that a count stays cheap."""
_COUNT_OPEN = Statement(
    # Tenant by tenant: so it is a look at an index, however many intents have ended.
    f"""select s.state, cast(sum(c.n) as bigint) from tenants t
    cross join (values ('PENDING_APPROVAL'), ('APPROVED'), ('EXECUTING')) s (state)
    cross join lateral (select count(*) as n from (
        select 1 from intents i where i.tenant_id = t.tenant_id and i.state = s.state
        limit {COUNTED_MAX}) o) c group by s.state order by 1""",
    f"""select s.column1, sum((select count(*) from (
        select 1 from intents i where i.tenant_id = t.tenant_id and i.state = s.column1
        limit {COUNTED_MAX}))) from tenants t
    cross join (values ('PENDING_APPROVAL'), ('APPROVED'), ('EXECUTING')) s
    group by 1 order by 1""",
)


def insert(tx: Tx, intents: Sequence[Intent]) -> None:
    """Write new attempts, behind the ends of those before them."""
    if not intents:
        return
    if tx.engine == "sqlite":
        tx.run_many(_INSERT, [(tx.tenant_id, *intent) for intent in intents])
        return
    told = encode([intent._asdict() for intent in intents])
    tx.run_behind(_INSERT, (tx.tenant_id, told))


def save(tx: Tx, intents: Sequence[Intent]) -> None:
    if not intents:
        return
    if tx.engine == "sqlite":
        rows = [[getattr(intent, name) for name in _MOVING] for intent in intents]
        keys = [(intent.intent_id, tx.tenant_id) for intent in intents]
        tx.run_many(_SAVE, [(*row, *key) for row, key in zip(rows, keys, strict=True)])
        return
    told = [dict(zip(_SAVED, _saved(intent), strict=True)) for intent in intents]
    tx.run(_SAVE, (encode(told), tx.tenant_id))


def read(tx: Tx, intent_ids: Iterable[str]) -> dict[IntentId, Intent]:
    rows = tx.rows(_READ, (encode(sorted(set(intent_ids))), tx.tenant_id))
    return {found.intent_id: found for found in map(_intent, rows)}


def execute(tx: Tx, asked: Mapping[MessageId, IntentId]) -> set[MessageId]:
    """The messages whose intents are to be carried out now.

    They are approved, their plan is active, and no kill switch stands in the way.
    """
    told = encode([{"k": intent_id, "m": id} for id, intent_id in sorted(asked.items())])
    given: tuple[object, ...] = (told, tx.tenant_id)
    rows = tx.rows(_EXECUTE, (*given, tx.now) if tx.engine == "sqlite" else given)
    return {MessageId(row[0]) for row in rows}


def of_plan(tx: Tx, plan_id: str) -> list[Intent]:
    """Every attempt of a plan."""
    return [_intent(row) for row in tx.rows(_OF_PLAN, (tx.tenant_id, plan_id))]


def use(tx: Tx, day: int, count: int) -> None:
    """So many more actions went without an approval on a UTC day."""
    tx.run(_USE, (tx.tenant_id, day, count))


def owner(session: Session, intent_id: str) -> TenantId | None:
    rows = session.rows(_OWNER, (intent_id,))
    return TenantId(rows[0][0]) if rows else None


def count_open(session: Session) -> list[tuple[str, int]]:
    """State and how many, of all tenants."""
    return [(row[0], int(row[1])) for row in session.rows(_COUNT_OPEN)]


FILTERS = ("plan_id", "state", "action_type", "account_id")


def page(tx: Tx, filters: Mapping[str, str], *, before: str | None, limit: int) -> list[Intent]:
    """Intents that match every filter, the newest first."""
    assert set(filters) <= set(FILTERS)
    clauses = "".join(f" and {name} = %s" for name in filters)
    parameters: list[object] = [tx.tenant_id, *filters.values()]
    if before is not None:
        clauses += " and intent_id < %s"
        parameters.append(before)
    sql = (
        f"select {_COLUMNS} from intents where tenant_id = %s{clauses}"
        " order by intent_id desc limit %s"
    )
    return [_intent(row) for row in tx.rows(same(sql), (*parameters, limit))]


def _intent(row: Row) -> Intent:
    intent = Intent._make(row)
    return intent._replace(
        state=IntentState(intent.state),
        is_late=bool(intent.is_late),
        created_at=Instant(intent.created_at),
    )
