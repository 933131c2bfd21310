"""What ends of messages are judged by, and those ends themselves, in one question.

On PostgreSQL a statement costs as much as several rows, on both sides: with one plan under way
their number is what a step costs. It is asked behind the tenant's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from watchkeeper.core.ids import IntentId, MessageId, PlanId
from watchkeeper.core.plans import Plan
from watchkeeper.store import outbox_settle, plan_context, plans
from watchkeeper.store.json import encode, loads
from watchkeeper.store.leases import Message
from watchkeeper.store.plan_context import PlanContext
from watchkeeper.store.plans import Loaded
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement
from watchkeeper.store.transaction import Tx

_DOCUMENTS = ("facts", "constraints")
_PLAN = ", ".join(f"p.{name}::text" if name in _DOCUMENTS else f"p.{name}" for name in Plan._fields)
_END_AND_READ = Statement(
    f"""with {outbox_settle.MOVED}, m as ({outbox_settle.MOVE} returning id)
    select {plan_context.ASKED}, (
        select json_agg(json_build_array({_PLAN}, {plans.PARTS.postgresql.replace(")::text", ")")}))
        from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
            select * from plans where tenant_id = t.id
            and plan_id >= v.k::uuid and plan_id <= v.k::uuid order by plan_id limit 1) p)::text,
        (select json_agg(f.k)
            from jsonb_to_recordset(%s::jsonb) as f (k uuid, r xid, i uuid, m uuid), lateral (
                select xmin from plans where tenant_id = t.id
                and plan_id >= f.k and plan_id <= f.k order by plan_id limit 1) p, lateral (
                select state, is_late, message_id from intents where tenant_id = t.id
                and intent_id >= f.i and intent_id <= f.i order by intent_id limit 1) i
            where p.xmin = f.r and i.state = 'EXECUTING' and not i.is_late
                and i.message_id = f.m)::text,
        (select json_agg(id) from m)::text, pg_current_xact_id()::xid::text
    from (select %s::text as id, {NOW_SQL} as now) t""",
    "",
)


class Known(NamedTuple):
    """A plan as it was when this process began an action of it: which row it had, and for what.

    While that attempt is under way nothing of the plan changes but through its row, or through
    the intent's: a step that a person skips is told to both.
    """

    plan_id: PlanId
    row: str
    intent_id: IntentId
    message_id: MessageId


class Found(NamedTuple):
    context: PlanContext
    plans: dict[PlanId, Loaded]
    held: set[MessageId]  # of the messages, those that are ended now or were before
    unchanged: set[PlanId]  # of the known ones, those that still are as they were
    row: str | None  # what the rows of plans are known by that this transaction writes


class Asked(NamedTuple):
    """A question that was sent and not read yet."""

    messages: Sequence[Message]
    answers: Sequence[Any]


def send(
    tx: Tx,
    messages: Sequence[Message],
    plan_ids: Iterable[str] = (),
    known: Sequence[Known] = (),
) -> Asked:
    """Say that these messages have ended; ask for what plans are judged by, and for some plans.

    Of those that are known, whether they are as they were. SQLite has no rows to know them by.
    """
    if tx.engine == "sqlite":
        context, loading = plan_context.send(tx), plans.send_load(tx, plan_ids)
        return Asked(messages, [context, loading, outbox_settle.ack(tx, messages)])
    ids = encode(sorted(set(plan_ids)))
    told = encode(
        [{"k": k.plan_id, "r": k.row, "i": k.intent_id, "m": k.message_id} for k in known]
    )
    asked = (outbox_settle.told(messages), ids, told, tx.tenant_id)
    return Asked(messages, [tx.send(_END_AND_READ, asked)])


def read(tx: Tx, asked: Asked) -> Found:
    if tx.engine == "sqlite":
        context, loading, held = asked.answers
        return Found(plan_context.read(context), plans.loaded(loading), held, set(), None)
    [cursor] = asked.answers
    *told, rows, unchanged, ids, row = cursor.fetchone()
    found = [plans.read_row(row) for row in loads(rows or "[]")]
    acked = {MessageId(id) for id in loads(ids or "[]")}
    missing = [m for m in asked.messages if m.id not in acked]
    if missing:
        acked |= outbox_settle.ack(tx, missing)
    loaded = {one.plan.plan_id: one for one in found}
    same = {PlanId(id) for id in loads(unchanged or "[]")}
    return Found(plan_context.of(told), loaded, acked, same, row)
