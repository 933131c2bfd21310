"""What ends of messages are judged by, and those ends themselves, in one question.

On PostgreSQL a statement costs as much as several rows, on both sides: with one plan under way
their number is what a step costs. It is asked behind the tenant's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from watchkeeper.core.ids import MessageId, PlanId
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
        (select json_agg(id) from m)::text
    from (select %s::text as id, {NOW_SQL} as now) t""",
    "",
)


class Found(NamedTuple):
    context: PlanContext
    plans: dict[PlanId, Loaded]
    held: set[MessageId]  # of the messages, those that are ended now or were before


class Asked(NamedTuple):
    """A question that was sent and not read yet."""

    messages: Sequence[Message]
    answers: Sequence[Any]


def send(tx: Tx, messages: Sequence[Message], plan_ids: Iterable[str] = ()) -> Asked:
    """Say that these messages have ended; ask for what plans are judged by, and for some plans."""
    if tx.engine == "sqlite":
        context, loading = plan_context.send(tx), plans.send_load(tx, plan_ids)
        return Asked(messages, [context, loading, outbox_settle.ack(tx, messages)])
    ids = encode(sorted(set(plan_ids)))
    asked = (outbox_settle.told(messages), ids, tx.tenant_id)
    return Asked(messages, [tx.send(_END_AND_READ, asked)])


def read(tx: Tx, asked: Asked) -> Found:
    if tx.engine == "sqlite":
        context, loading, held = asked.answers
        return Found(plan_context.read(context), plans.loaded(loading), held)
    [cursor] = asked.answers
    *told, rows, ids = cursor.fetchone()
    found = [plans.read_row(row) for row in loads(rows or "[]")]
    acked = {MessageId(id) for id in loads(ids or "[]")}
    missing = [m for m in asked.messages if m.id not in acked]
    if missing:
        acked |= outbox_settle.acked_before(tx, missing)
    return Found(plan_context.of(told), {one.plan.plan_id: one for one in found}, acked)
