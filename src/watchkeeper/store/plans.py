"""Plans and their steps. Whoever writes holds the tenant's lock and has read them under it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from watchkeeper.core.ids import PlanId, TenantId
from watchkeeper.core.plans import Intent, IntentState, Plan, PlanStatus, Step, StepStatus
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode, loads
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Session, Tx

WOKEN_MAX = 1_000
OPEN_MAX = 10_000
"""More than there can be. A bound and an order leave the planner no other index."""

_PLAN = ", ".join(Plan._fields)
_STEP = Step._fields
_INTENT = Intent._fields
_STEP_ARRAY = ", ".join("s.data::text" if name == "data" else f"s.{name}" for name in _STEP)
_OPEN = "i.state in ('PENDING_APPROVAL', 'APPROVED', 'EXECUTING')"
PARTS = Statement(
    f"""(select json_agg(json_build_array({_STEP_ARRAY}) order by s.position)
        from plan_steps s where s.tenant_id = p.tenant_id and s.plan_id = p.plan_id)::text,
    (select json_agg(json_build_array({", ".join(f"i.{name}" for name in _INTENT)}))
        from (select * from intents i where i.tenant_id = p.tenant_id and i.plan_id >= p.plan_id
            and i.plan_id <= p.plan_id and {_OPEN}
            order by i.plan_id, i.step_id, i.attempt limit {OPEN_MAX}) i)::text""",
    f"""(select json_group_array(json(parts)) from (
        select json_array({_STEP_ARRAY.replace("::text", "")}) as parts from plan_steps s
        where s.tenant_id = p.tenant_id and s.plan_id = p.plan_id order by s.position)),
    (select json_group_array(json_array({", ".join(f"i.{name}" for name in _INTENT)}))
        from intents i where i.tenant_id = p.tenant_id and i.plan_id = p.plan_id and {_OPEN})""",
)
_LOAD = Statement(
    # Bounds and order leave the planner no index but the key, however small it found the table.
    f"""select {_PLAN}, {PARTS.postgresql}
    from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select * from plans where tenant_id = %s
        and plan_id >= v.k::uuid and plan_id <= v.k::uuid order by plan_id limit 1) p""",
    f"""select {_PLAN}, {PARTS.sqlite} from plans p
    where plan_id in (select value from json_each(?)) and tenant_id = ?""",
)
_INSERT = same(
    f"insert into plans (tenant_id, {_PLAN}) values (%s, {', '.join('%s' for _ in Plan._fields)})"
)
_EDIT = same(
    "update plans set account_id = %s, plan_type = %s, objective = %s, facts = %s,"
    " constraints = %s, correlation_id = %s, expires_at = %s, due_at = %s, version = %s"
    " where tenant_id = %s and plan_id = %s"
)
_TELL = same("update plans set facts = %s where tenant_id = %s and plan_id = %s")
_STATE = (
    "status",
    "approved_at",
    "approved_by",
    "approved_by_person",
    "activated_at",
    "ended_at",
    "completion_reason",
    "reason",
    "due_at",
)
_TYPES = {
    "status": "text",
    "approved_by": "text",
    "approved_by_person": "bool",
    "completion_reason": "text",
    "reason": "text",
    "attempts": "int",
    "spared": "int",
}


def _typed(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {_TYPES.get(name, 'bigint')}" for name in names)


_SAVE = Statement(
    f"""update plans p set {", ".join(f"{name} = v.{name}" for name in _STATE)}
    from jsonb_to_recordset(%s::jsonb) as v (k uuid, {_typed(_STATE)}), lateral (
        select ctid from plans where tenant_id = %s
        and plan_id >= v.k and plan_id <= v.k order by plan_id limit 1) at
    where p.ctid = at.ctid""",
    f"""update plans set {", ".join(f"{name} = ?" for name in _STATE)}
    where plan_id = ? and tenant_id = ?""",
)
_SAVED = ("k", *_STATE)
_saved = itemgetter(*(Plan._fields.index(name) for name in ("plan_id", *_STATE)))
_STEP_STATE = ("status", "attempts", "spared", "retry_at", "reason")
_SAVED_STEP = ("p", "k", *_STEP_STATE)
_saved_step = itemgetter(*(Step._fields.index(name) for name in ("step_id", *_STEP_STATE)))
_SAVE_STEPS = Statement(
    f"""update plan_steps s set {", ".join(f"{name} = v.{name}" for name in _STEP_STATE)}
    from jsonb_to_recordset(%s::jsonb) as v (p uuid, k text, {_typed(_STEP_STATE)}), lateral (
        select ctid from plan_steps where tenant_id = %s and plan_id >= v.p and plan_id <= v.p
        and step_id >= v.k and step_id <= v.k order by plan_id, step_id limit 1) at
    where s.ctid = at.ctid""",
    f"""update plan_steps set {", ".join(f"{name} = ?" for name in _STEP_STATE)}
    where plan_id = ? and step_id = ? and tenant_id = ?""",
)
_INSERT_STEPS = same(
    "insert into plan_steps (tenant_id, plan_id, step_id, action_type, position, sequence,"
    " dependencies, data, status) values (%s, %s, %s, %s, %s, %s, %s, %s, 'PENDING')"
)
_DELETE_STEPS = same("delete from plan_steps where tenant_id = %s and plan_id = %s")
_NEW = "status in ('DRAFT', 'APPROVED')"
_MOVING = "status not in ('DRAFT', 'APPROVED')"
_DUE = {
    is_new: " from plans where tenant_id = %s and "
    + (_NEW if is_new else _MOVING)
    + " and due_at is not null and due_at <= %s order by due_at limit %s"
    for is_new in (True, False)
}
_LOAD_DUE = {
    is_new: Statement(
        f"select {_PLAN}, {PARTS.postgresql} from (select *{due}) p",
        f"select {_PLAN}, {PARTS.sqlite} from (select *{due.replace('%s', '?')}) p",
    )
    for is_new, due in _DUE.items()
}
_NEXT_DUE = Statement(
    *(
        "select min(at) from ("
        + " union all ".join(
            f"select (select due_at from plans where tenant_id = {mark} and {which} and due_at"
            f" is not null and {but} order by due_at limit 1) as at"
            for which in (_NEW, _MOVING)
        )
        + ") d"
        for mark, but in (
            ("%s", "plan_id <> all (%s::uuid[])"),
            ("?", "plan_id not in (select value from json_each(?))"),
        )
    )
)
_ACTIVE_OF = Statement(
    """select p.account_id, p.plan_type, p.plan_id
    from jsonb_to_recordset(%s::jsonb) as v (a text, t text), lateral (
        select account_id, plan_type, plan_id from plans where tenant_id = %s
        and account_id >= v.a and account_id <= v.a and plan_type >= v.t and plan_type <= v.t
        and status = 'ACTIVE' order by account_id, plan_type limit 1) p""",
    """select p.account_id, p.plan_type, p.plan_id from json_each(?) v
    join plans p on p.tenant_id = ? and p.account_id = v.value ->> 'a'
        and p.plan_type = v.value ->> 't' and p.status = 'ACTIVE'""",
)
_WAKE = Statement(
    f"""update plans p set due_at = n.at
    from (select %s::bigint) n (at), jsonb_to_recordset(%s::jsonb) as v (a text, t text), lateral (
        select ctid from plans where tenant_id = %s
        and account_id >= v.a and account_id <= v.a and plan_type = v.t
        and status = 'APPROVED' and due_at > n.at
        order by account_id, plan_id limit {WOKEN_MAX}) at
    where p.ctid = at.ctid""",
    """update plans set due_at = ?1 where tenant_id = ?3 and status = 'APPROVED' and due_at > ?1
    and (account_id, plan_type) in (select value ->> 'a', value ->> 't' from json_each(?2))""",
)
_WAKE_ACCOUNT = same(
    "update plans set due_at = %s where tenant_id = %s and account_id = %s"
    " and status = 'APPROVED' and due_at > %s returning plan_id"
)
_OWNER = same(
    "select tenant_id from plans where tenant_id in (select tenant_id from tenants)"
    " and plan_id = %s"
)


class Loaded(NamedTuple):
    """A plan with its steps, in their order, and the attempts of it that are under way."""

    plan: Plan
    steps: tuple[Step, ...]
    intents: tuple[Intent, ...]


def send_load(tx: Tx, plan_ids: Iterable[str]) -> Any:
    return tx.send(_LOAD, (encode(sorted(set(plan_ids))), tx.tenant_id))


def loaded(cursor: Any) -> dict[PlanId, Loaded]:
    return {found.plan.plan_id: found for found in map(read_row, cursor.fetchall())}


def load(tx: Tx, plan_ids: Iterable[str]) -> dict[PlanId, Loaded]:
    return loaded(send_load(tx, plan_ids))


def insert(tx: Tx, plan: Plan, steps: Sequence[Step]) -> None:
    tx.run(_INSERT, (tx.tenant_id, *plan))
    _insert_steps(tx, plan.plan_id, steps)


def edit(tx: Tx, plan: Plan, steps: Sequence[Step]) -> None:
    """Write a draft anew. The database refuses it for anything but a draft."""
    told = (plan.account_id, plan.plan_type, plan.objective, plan.facts, plan.constraints)
    more = (
        plan.correlation_id,
        plan.expires_at,
        plan.due_at,
        plan.version,
        tx.tenant_id,
        plan.plan_id,
    )
    tx.run(_EDIT, (*told, *more))
    tx.run(_DELETE_STEPS, (tx.tenant_id, plan.plan_id))
    _insert_steps(tx, plan.plan_id, steps)


def tell(tx: Tx, plan_id: PlanId, facts: str) -> None:
    tx.run(_TELL, (facts, tx.tenant_id, plan_id))


def save(tx: Tx, plans: Sequence[Plan]) -> None:
    if not plans:
        return
    if tx.engine == "sqlite":
        rows = [[getattr(plan, name) for name in _STATE] for plan in plans]
        keys = [(plan.plan_id, tx.tenant_id) for plan in plans]
        tx.run_many(_SAVE, [(*row, *key) for row, key in zip(rows, keys, strict=True)])
        return
    told = [dict(zip(_SAVED, _saved(plan), strict=True)) for plan in plans]
    tx.run(_SAVE, (encode(told), tx.tenant_id))


def save_steps(tx: Tx, steps: Sequence[tuple[PlanId, Step]]) -> None:
    if not steps:
        return
    if tx.engine == "sqlite":
        tx.run_many(
            _SAVE_STEPS,
            [
                (*[getattr(s, n) for n in _STEP_STATE], plan_id, s.step_id, tx.tenant_id)
                for plan_id, s in steps
            ],
        )
        return
    told = [
        dict(zip(_SAVED_STEP, (plan_id, *_saved_step(step)), strict=True))
        for plan_id, step in steps
    ]
    tx.run(_SAVE_STEPS, (encode(told), tx.tenant_id))


def due(tx: Tx, until: Instant, *, is_new: bool, limit: int) -> list[PlanId]:
    """Plans that are to be looked at until then, those that have waited longest first."""
    sql = same("select plan_id" + _DUE[is_new])
    return [PlanId(row[0]) for row in tx.rows(sql, (tx.tenant_id, until, limit))]


def load_due(tx: Tx, until: Instant, limit: int) -> tuple[list[Loaded], list[Loaded]]:
    """The first of them, whole: those that wait for their gate, and the others."""
    sent = [tx.send(_LOAD_DUE[is_new], (tx.tenant_id, until, limit)) for is_new in (True, False)]
    new, moving = [[read_row(row) for row in cursor.fetchall()] for cursor in sent]
    return sorted(new, key=_waits_since), sorted(moving, key=_waits_since)


def _waits_since(found: Loaded) -> Instant:
    assert found.plan.due_at is not None
    return found.plan.due_at


def send_next_due(tx: Tx, but: Iterable[str] = ()) -> Any:
    """Ask when the first plan is due, some aside. One row with the time, or with null."""
    ids = sorted(but)
    others = "{" + ",".join(ids) + "}" if tx.engine == "postgresql" else encode(ids)
    return tx.send(_NEXT_DUE, (tx.tenant_id, others) * 2)


def next_due(tx: Tx) -> Instant | None:
    return read_next_due(send_next_due(tx))


def read_next_due(cursor: Any) -> Instant | None:
    (at,) = cursor.fetchone()
    return None if at is None else Instant(at)


Pair: TypeAlias = tuple[str, str]
"""An account and a plan type."""


def send_active_of(tx: Tx, pairs: Iterable[Pair]) -> Any:
    asked = encode([{"a": account_id, "t": kind} for account_id, kind in sorted(set(pairs))])
    return tx.send(_ACTIVE_OF, (asked, tx.tenant_id))


def active_of(tx: Tx, pairs: Iterable[Pair]) -> dict[Pair, PlanId]:
    """The active plan of each account and plan type that has one."""
    return read_active_of(send_active_of(tx, pairs))


def read_active_of(cursor: Any) -> dict[Pair, PlanId]:
    return {(row[0], row[1]): PlanId(row[2]) for row in cursor.fetchall()}


def wake(tx: Tx, pairs: Iterable[tuple[str, str]]) -> None:
    """Plans that were held back by an active one of these are looked at now."""
    asked = encode([{"a": account_id, "t": kind} for account_id, kind in sorted(set(pairs))])
    tx.run(_WAKE, (tx.now, asked, tx.tenant_id))


def wake_account(tx: Tx, account_id: str) -> bool:
    """The same for whatever held them back, where something about the account is new."""
    return bool(tx.rows(_WAKE_ACCOUNT, (tx.now, tx.tenant_id, account_id, tx.now)))


def owner(session: Session, plan_id: str) -> TenantId | None:
    """Whose plan this is. For those who serve all tenants."""
    rows = session.rows(_OWNER, (plan_id,))
    return TenantId(rows[0][0]) if rows else None


FILTERS = ("account_id", "plan_type", "status")


def page(tx: Tx, filters: Mapping[str, str], *, before: str | None, limit: int) -> list[Loaded]:
    """Plans that match every filter, the newest first, with their steps."""
    assert set(filters) <= set(FILTERS)
    clauses = "".join(f" and {name} = %s" for name in filters)
    parameters: list[object] = [tx.tenant_id, *filters.values()]
    if before is not None:
        clauses += " and plan_id < %s"
        parameters.append(before)
    parts = PARTS.postgresql if tx.engine == "postgresql" else PARTS.sqlite
    sql = (
        f"select {_PLAN}, {parts} from (select * from plans where tenant_id = %s{clauses}"
        " order by plan_id desc limit %s) p order by plan_id desc"
    )
    return [read_row(row) for row in tx.rows(same(sql), (*parameters, limit))]


def _insert_steps(tx: Tx, plan_id: PlanId, steps: Sequence[Step]) -> None:
    rows = [
        (
            tx.tenant_id,
            plan_id,
            step.step_id,
            step.action_type,
            step.position,
            step.sequence,
            encode(step.dependencies),
            step.data,
        )
        for step in steps
    ]
    tx.run_many(_INSERT_STEPS, rows)


def read_row(row: Sequence[Any]) -> Loaded:
    """A plan's columns, its steps and its intents; those may be text or read already."""
    *told, steps, intents = row
    told[_AT_STATUS] = PlanStatus(told[_AT_STATUS])
    told[_AT_PERSON] = bool(told[_AT_PERSON])
    steps = loads(steps) if isinstance(steps, str) else steps or ()
    intents = loads(intents) if isinstance(intents, str) else intents or ()
    return Loaded(Plan._make(told), tuple(map(_step, steps)), tuple(map(_intent, intents)))


_AT_STATUS = Plan._fields.index("status")
_AT_PERSON = Plan._fields.index("approved_by_person")
_STATUS = {str(status): status for status in StepStatus}
_STATE_OF = {str(state): state for state in IntentState}
_AT_STATE = Intent._fields.index("state")
_AT_LATE = Intent._fields.index("is_late")


def _step(told: list[Any]) -> Step:
    step_id, action_type, position, sequence, dependencies, data, status, *rest = told
    if isinstance(dependencies, str):  # SQLite has its documents as text
        dependencies = loads(dependencies)
    needs = tuple(dependencies)
    return Step(step_id, action_type, position, sequence, needs, data, _STATUS[status], *rest)


def _intent(told: list[Any]) -> Intent:
    told[_AT_STATE] = _STATE_OF[told[_AT_STATE]]
    told[_AT_LATE] = bool(told[_AT_LATE])
    return Intent._make(told)
