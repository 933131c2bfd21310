"""Claiming: how messages come to the one worker that may deliver them.

A claim is a lease under a token that nobody had before. The attempt is counted with the
claim, so that a message that kills its worker each time comes to an end like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from watchkeeper.core.delivery import DeadReason
from watchkeeper.core.ids import Token
from watchkeeper.core.time import Instant
from watchkeeper.ids import new_token
from watchkeeper.store import outbox_claim_sqlite
from watchkeeper.store.json import encode
from watchkeeper.store.leases import Message, Queue, Turns
from watchkeeper.store.outbox import RECORD
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Session

TIMERS_MAX = 5_000
"""Timers that become due in one statement."""


_TIMERS_DUE = Statement(
    f"""with c as materialized (select {NOW_SQL} as at),
    due as materialized (
        select ctid from outbox
        where done_at is null and not is_due and next_attempt_at <= (select at from c)
        order by next_attempt_at limit {TIMERS_MAX} for update skip locked)
    update outbox o set is_due = true from due where o.ctid = due.ctid""",
    f"""update outbox set is_due = true where seq in (
        select seq from outbox where done_at is null and not is_due and next_attempt_at <= ?
        order by next_attempt_at limit {TIMERS_MAX})""",
)
_NEXT_DUE = same("select min(next_attempt_at) from outbox where done_at is null and not is_due")
_NEXT_DUE_IN = Statement(
    f"select min(next_attempt_at), {NOW_SQL} from outbox where done_at is null and not is_due",
    "select min(next_attempt_at), ? from outbox where done_at is null and not is_due",
)

_LOCK_SLOTS = Statement(
    """select pg_advisory_xact_lock(hashtextextended(k, 1))
    from (select k from string_to_table(%s, E'\\x1e') k order by k) k""",
    "select ?",  # the write lock of the transaction is lock enough
)

_CLAIMABLE = "(o.status = 'pending' or o.locked_until <= (select at from c))"
_LIVE = "o.namespace = q.s and o.topic = q.t and o.done_at is null and o.is_due"
_IS_HEAD = """(not q.o or o.ordering_key is null or not exists (
            select from outbox e where e.tenant_id = o.tenant_id and e.topic = o.topic
            and e.ordering_key = o.ordering_key and e.namespace = o.namespace
            and e.seq < o.seq and (q.b or e.done_at is null)))"""
_TENANT = f"select o.tenant_id, {{}} as wrapped from outbox o where {_LIVE} and {_CLAIMABLE}"
# The whole order of the index, so that no other index that begins with the tenant will do; from
# its end, because what was claimed and delivered lies at the beginning of a tenant's part.
_FIRST = "order by o.tenant_id desc, o.next_attempt_at desc, o.seq desc limit 1"
_FATE = f"""case when o.attempts < q.m then null
                when o.status = 'processing' then '{DeadReason.OUTCOME_UNKNOWN}'
                else '{DeadReason.ATTEMPTS_EXHAUSTED}' end"""
# It fell silent and has one attempt left: it may be what ends its workers.
_ALONE = "(q.m > 1 and o.status = 'processing' and o.attempts = q.m - 1)"

_CLAIM_POSTGRESQL = f"""with recursive
c as materialized (select {NOW_SQL} as at),
q as materialized (
    select v.*, case when v.w is null then v.l else least(v.l, v.w - (
        select count(*) from outbox h where h.holds_slot and h.namespace = v.s and h.topic = v.t
        and h.status = 'processing' and h.locked_until > (select at from c))) end as room
    from jsonb_to_recordset(%s::jsonb) as
        v (n int, s text, t text, l int, e bigint, m int, o bool, b bool, w int, x bool,
            f text)),
turn (n, tenant_id, wrapped, place) as (
    select q.n, x.tenant_id, x.wrapped, 1 from q cross join lateral (
        ({_TENANT.format("false")} and o.tenant_id < q.f {_FIRST})
        union all
        ({_TENANT.format("true")} and o.tenant_id >= q.f {_FIRST})
        limit 1) x
    where q.room > 0
    union all
    select q.n, x.tenant_id, x.wrapped, turn.place + 1
    from turn join q on q.n = turn.n cross join lateral (
        ({_TENANT.format("false")} and not turn.wrapped and o.tenant_id < turn.tenant_id
            {_FIRST})
        union all
        ({_TENANT.format("true")} and not turn.wrapped and o.tenant_id >= q.f
            {_FIRST})
        union all
        ({_TENANT.format("true")} and turn.wrapped and o.tenant_id < turn.tenant_id
            and o.tenant_id >= q.f {_FIRST})
        limit 1) x
    where turn.place < q.room),
share as materialized (
    select q.n, ceil(q.room::numeric / count(*))::int as size from q join turn using (n)
    group by q.n, q.room),
picked as materialized (
    select q.n, q.e, q.w, q.x, p.* from q cross join lateral (
        select r.*, turn.place from turn join share using (n) cross join lateral (
            select o.ctid, {_FATE} as fate, {_ALONE} as alone from outbox o
            where {_LIVE} and {_CLAIMABLE} and o.tenant_id = turn.tenant_id
            and o.next_attempt_at <= (select at from c) and {_IS_HEAD}
            order by o.next_attempt_at, o.seq limit share.size for update skip locked) r
        where turn.n = q.n limit q.room) p),
late as materialized (
    select {NOW_SQL} as at from (select count(*) from picked) x)
update outbox o set
    status = 'processing', locked_by = %s::uuid, locked_until = (select at from late) + p.e,
    attempts = o.attempts + (p.fate is null)::int, holds_slot = p.w is not null,
    updated_at = (select at from late)
from picked p where o.ctid = p.ctid and (not p.alone or p.x and p.ctid = (
    select min(l.ctid) from picked l where l.alone and l.n = p.n))
returning p.n, p.place, o.next_attempt_at, o.seq, o.ctid::text, o.id, o.tenant_id, o.payload,
    o.attempts, o.generation, o.created_at, o.dedupe_key, o.ordering_key, p.fate
"""
_CLAIM = Statement(_CLAIM_POSTGRESQL, "")


def claim(session: Session, queues: Sequence[Queue], turns: Turns) -> list[Message]:
    """Take what is due, at most each queue's limit; oldest first within a tenant.

    Two workers never hold the same message. Tenants take turns: each of those that have
    something due gets its share of the limit before anybody gets more. Of messages that
    fell silent and have one attempt left, one is taken at a time: the one that kills its
    workers must not take the last attempt of its neighbours with it.
    """
    return read_claimed(send_claim(session, queues, turns), turns)


class Asked(NamedTuple):
    """A claim that was sent and not read yet."""

    queues: Sequence[Queue]
    token: Token
    rows: Any  # a cursor, or on SQLite what was found


def send_claim(session: Session, queues: Sequence[Queue], turns: Turns) -> Asked:
    """Ask for messages; in a batch the answer is read later, with `read_claimed`."""
    token = Token(new_token())
    if session.engine == "sqlite":
        return Asked(queues, token, outbox_claim_sqlite.claim(session, queues, token, turns))
    lock_slots(session, queues)
    asked = encode(
        [
            {
                "n": n,
                "s": queue.namespace,
                "t": queue.topic,
                "l": queue.limit,
                "e": queue.lease_us,
                "m": queue.max_attempts,
                "o": queue.is_ordered,
                "b": queue.dead_heads_block,
                "w": queue.total,
                "x": queue.takes_suspects,
                "f": turns.get((queue.namespace, queue.topic), ""),
            }
            for n, queue in enumerate(queues)
        ]
    )
    return Asked(queues, token, session.send(_CLAIM, (asked, token)))


def read_claimed(asked: Asked, turns: Turns) -> list[Message]:
    rows: list[Row] = asked.rows if isinstance(asked.rows, list) else asked.rows.fetchall()
    rows.sort()  # by queue, then turn within it, then due time, then place of writing
    found: list[Message] = []
    for n, part in groupby(rows, key=itemgetter(0)):
        queue = asked.queues[n]
        named = (queue.namespace, queue.topic, asked.token)
        messages = [tuple.__new__(Message, named + row[2:]) for row in part]  # `_make`, but faster
        for i, m in enumerate(messages):
            if m.dead_reason is not None:
                messages[i] = m._replace(dead_reason=DeadReason(m.dead_reason))
        # A plan that ran the locking scan twice would lease more than anybody is ready for.
        assert len(messages) <= queue.limit, "more was claimed than asked for"
        turns[queue.namespace, queue.topic] = messages[-1].tenant_id
        found += messages
    return found


def lock_slots(session: Session, queues: Sequence[Queue]) -> None:
    """Count and claim are one step where leases are limited over all processes.

    It is a statement of its own: what a statement sees was fixed before it waited.
    """
    keys = {encode([q.namespace, q.topic]) for q in queues if q.total is not None}
    if keys:
        session.run(_LOCK_SLOTS, (RECORD.join(sorted(keys)),))


def timers_due(session: Session) -> bool:
    """Let timers whose time has come be claimed; whether there may be more of them."""
    count: int = send_timers_due(session).rowcount
    return count == TIMERS_MAX


def send_timers_due(session: Session) -> Any:
    """The same; the cursor that it returns knows later how many they were."""
    return session.send(_TIMERS_DUE, (session.now,) if session.engine == "sqlite" else ())


def next_due(session: Session) -> Instant | None:
    """When the next timer is due. What is due already is not among the timers."""
    [(at,)] = session.rows(_NEXT_DUE)
    return None if at is None else Instant(at)


def send_next_due(session: Session) -> Any:
    """The same, later read with `read_next_due`, with the time that it is now."""
    return session.send(_NEXT_DUE_IN, (session.now,) if session.engine == "sqlite" else ())


def read_next_due(cursor: Any) -> tuple[Instant | None, Instant]:
    at, now = cursor.fetchone()
    return None if at is None else Instant(at), Instant(now)
