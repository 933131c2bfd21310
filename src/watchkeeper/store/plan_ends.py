"""What ends of messages are judged by, and those ends themselves, in one question.

On PostgreSQL a statement costs as much as several rows, on both sides: with one plan under way
their number is what a step costs. It is asked behind the tenant's lock.

Where all of it is known, it is not even waited for: what was taken to be so is said, and unless it
is so the transaction is refused as if it had met another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from watchkeeper.core.ids import IntentId, MessageId, PlanId
from watchkeeper.core.plans import Plan
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.store import outbox_settle, plan_context, plans
from watchkeeper.store.json import encode, loads
from watchkeeper.store.leases import Message
from watchkeeper.store.plan_context import PlanContext
from watchkeeper.store.plans import Loaded
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement
from watchkeeper.store.transaction import Tx

LAG_US = SECOND // 10
"""So far from the database's a time may be that was taken from an earlier answer."""

_DOCUMENTS = ("facts", "constraints")
_PLAN = ", ".join(f"p.{name}::text" if name in _DOCUMENTS else f"p.{name}" for name in Plan._fields)
_ENDED = f"with {outbox_settle.MOVED}, m as ({outbox_settle.MOVE} returning id)"
_UNCHANGED = """from jsonb_to_recordset(%s::jsonb) as f (k uuid, r xid, i uuid, m uuid), lateral (
            select xmin from plans where tenant_id = t.id
            and plan_id >= f.k and plan_id <= f.k order by plan_id limit 1) p, lateral (
            select state, is_late, message_id from intents where tenant_id = t.id
            and intent_id >= f.i and intent_id <= f.i order by intent_id limit 1) i
        where p.xmin = f.r and i.state = 'EXECUTING' and not i.is_late and i.message_id = f.m"""
_ROW = "pg_current_xact_id()::xid::text"
_HERE = f"(select %s::text as id, {NOW_SQL} as now) t"
_END_AND_READ = Statement(
    f"""{_ENDED}
    select {plan_context.ASKED}, (
        select json_agg(json_build_array({_PLAN}, {plans.PARTS.postgresql.replace(")::text", ")")}))
        from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
            select * from plans where tenant_id = t.id
            and plan_id >= v.k::uuid and plan_id <= v.k::uuid order by plan_id limit 1) p)::text,
        (select json_agg(f.m) {_UNCHANGED})::text, (select json_agg(id) from m)::text, {_ROW},
        exists (select from clock)
    from {_HERE}""",
    "",
)
_END_AS_EXPECTED = Statement(
    f"""{_ENDED}
    select c.*, t.now, {_ROW}, watchkeeper_as_expected(
        (select count(*) from m) = e.m and (select count(*) {_UNCHANGED}) = e.m
        and c.version = e.v and coalesce(c.risks::jsonb, '{{}}') = e.r
        and coalesce(c.switches::jsonb, '{{}}') = e.s and c.cycle_at is not distinct from e.c
        and coalesce(c.used, 0) = e.u and (e.w or not c.has_waiting)
        and (select tier from tenants where tenant_id = t.id) is not distinct from e.t
        and abs(t.now - e.n) <= {LAG_US} and not exists (select from clock))
    from jsonb_to_record(%s::jsonb) as e
            (m int, v int, r jsonb, s jsonb, c bigint, u int, w bool, t text, n bigint),
        {_HERE}, lateral (select {plan_context.ASKED})
            c (version, risks, switches, cycle_at, used, has_waiting)""",
    "",
)


class Known(NamedTuple):
    """A plan as it was when this process began an action of it: which row it had, and for what.

    While that attempt is under way, and no other, nothing of the plan changes but through its row
    or the intent's.
    """

    plan_id: PlanId
    row: str
    intent_id: IntentId
    message_id: MessageId


class Found(NamedTuple):
    context: PlanContext
    plans: dict[PlanId, Loaded]
    held: set[MessageId]  # of the messages, those that are ended now or were before
    unchanged: set[MessageId]  # of the known ones, those whose plans still are as they were
    row: str | None  # what the rows of plans are known by that this transaction writes
    is_steady: bool  # the time goes by itself: what it will be can be told from what it was


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
    asked = (outbox_settle.told(messages), ids, _told(known), tx.tenant_id)
    return Asked(messages, [tx.send(_END_AND_READ, asked)])


def read(tx: Tx, asked: Asked) -> Found:
    if tx.engine == "sqlite":
        context, loading, held = asked.answers
        return Found(plan_context.read(context), plans.loaded(loading), held, set(), None, False)
    [cursor] = asked.answers
    *told, rows, unchanged, ids, row, is_virtual = cursor.fetchone()
    found = [plans.read_row(row) for row in loads(rows or "[]")]
    acked = {MessageId(id) for id in loads(ids or "[]")}
    missing = [m for m in asked.messages if m.id not in acked]
    if missing:
        acked |= outbox_settle.ack(tx, missing)
    loaded = {one.plan.plan_id: one for one in found}
    same = {MessageId(id) for id in loads(unchanged or "[]")}
    return Found(plan_context.of(told), loaded, acked, same, row, not is_virtual)


class Guess(NamedTuple):
    """What is taken to be so, from what an earlier transaction found and did."""

    context: PlanContext
    tier: str | None
    now: Instant
    at: float  # on the process's monotonic clock, when it was that time


class Expected(NamedTuple):
    """What was so in the end, beside what was expected."""

    context: PlanContext
    now: Instant
    row: str
    is_steady: bool = True


def send_expecting(
    tx: Tx, messages: Sequence[Message], known: Sequence[Known], guess: Guess
) -> Any:
    """Say that these messages have ended, one of each plan, and that all is as it is known.

    If it is not, nothing of the transaction happens: at its end it is asked to be tried again.
    """
    context = guess.context
    expected = {
        "m": len(messages),
        "v": context.policy_version,
        "r": context.risks,
        "s": context.switches,
        "c": context.cycle_at,
        "u": context.used_today,
        "w": context.has_waiting,
        "t": guess.tier,
        "n": guess.now,
    }
    asked = (outbox_settle.told(messages), _told(known), encode(expected), tx.tenant_id)
    return tx.send(_END_AS_EXPECTED, asked)


def read_expected(cursor: Any) -> Expected:
    """After the commit."""
    *told, now, row, _ = cursor.fetchone()
    return Expected(plan_context.of(told), Instant(now), row)


def _told(known: Sequence[Known]) -> str:
    return encode(
        [{"k": k.plan_id, "r": k.row, "i": k.intent_id, "m": k.message_id} for k in known]
    )
