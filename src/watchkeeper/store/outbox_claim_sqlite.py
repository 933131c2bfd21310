"""The claim on SQLite: the same terms, in the few small statements that it is good at.

Nobody else writes between them: the transaction holds the write lock.
"""

from __future__ import annotations

from collections.abc import Sequence

from watchkeeper.core.delivery import DeadReason
from watchkeeper.core.ids import Token
from watchkeeper.store.json import encode
from watchkeeper.store.leases import Queue, Turns
from watchkeeper.store.statement import Statement
from watchkeeper.store.transaction import Row, Session

_LAST = chr(0x10FFFF)

_SLOTS = Statement(
    "",
    """select count(*) from outbox where holds_slot and namespace = ? and topic = ?
    and status = 'processing' and locked_until > ?""",
)
# Parameters: namespace, topic, now, below, down to, how many. Tenants come from the last to the
# first, as on the other engine.
_TURNS = Statement(
    "",
    """with recursive turn (tenant_id, place) as (
    select (select tenant_id from outbox where namespace = ?1 and topic = ?2
        and done_at is null and is_due and (status = 'pending' or locked_until <= ?3)
        and tenant_id < ?4 and tenant_id >= ?5 order by tenant_id desc limit 1), 1
    union all
    select (select tenant_id from outbox where namespace = ?1 and topic = ?2
        and done_at is null and is_due and (status = 'pending' or locked_until <= ?3)
        and tenant_id < turn.tenant_id and tenant_id >= ?5 order by tenant_id desc limit 1),
        place + 1
    from turn where tenant_id is not null and place < ?6)
    select tenant_id from turn where tenant_id is not null""",
)
# Parameters: namespace, topic, now, tenant, attempts at most, is ordered, dead heads block, limit.
_PICK = Statement(
    "",
    f"""select o.next_attempt_at, o.seq, o.id, o.tenant_id, o.payload, o.attempts, o.generation,
        o.created_at, o.dedupe_key, o.ordering_key,
        case when o.attempts < ?5 then null when o.status = 'processing'
            then '{DeadReason.OUTCOME_UNKNOWN}' else '{DeadReason.ATTEMPTS_EXHAUSTED}' end,
        ?5 > 1 and o.status = 'processing' and o.attempts = ?5 - 1
    from outbox o
    where o.namespace = ?1 and o.topic = ?2 and o.tenant_id = ?4
    and o.done_at is null and o.is_due and (o.status = 'pending' or o.locked_until <= ?3)
    and o.next_attempt_at <= ?3
    and (not ?6 or o.ordering_key is null or not exists (
        select 1 from outbox e where e.tenant_id = o.tenant_id and e.topic = o.topic
        and e.ordering_key = o.ordering_key and e.namespace = o.namespace
        and e.seq < o.seq and (?7 or e.done_at is null)))
    order by o.next_attempt_at, o.seq limit ?8""",
)
# Parameters: token, lease end, attempts at most, is counted, now, places.
_LEASE = Statement(
    "",
    """update outbox set status = 'processing', locked_by = ?1, locked_until = ?2,
        attempts = attempts + (attempts < ?3), holds_slot = ?4, updated_at = ?5
    where seq in (select value from json_each(?6))""",
)


def claim(session: Session, queues: Sequence[Queue], token: Token, turns: Turns) -> list[Row]:
    """Rows as the statement of the other engine returns them."""
    found: list[Row] = []
    for n, queue in enumerate(queues):
        room = _room(session, queue)
        tenants = _tenants(session, queue, turns, room) if room > 0 else []
        picked: list[Row] = []
        for place, tenant_id in enumerate(tenants):
            share = min(-(-room // len(tenants)), room - len(picked))
            picked += [(n, place, *row) for row in _pick(session, queue, tenant_id, share)]
        picked = _with_one_suspect(picked, queue)
        if picked:
            _lease(session, queue, token, picked)
        found += picked
    return found


def _room(session: Session, queue: Queue) -> int:
    if queue.total is None:
        return queue.limit
    [(taken,)] = session.rows(_SLOTS, (queue.namespace, queue.topic, session.now))
    return min(queue.limit, queue.total - int(taken))


def _tenants(session: Session, queue: Queue, turns: Turns, room: int) -> list[str]:
    """Those with something to claim, beginning after the one that was served last."""
    after = turns.get((queue.namespace, queue.topic), "")
    place = (queue.namespace, queue.topic, session.now)
    rows = session.rows(_TURNS, (*place, after, "", room)) if after else []
    if len(rows) < room:
        rows += session.rows(_TURNS, (*place, _LAST, after, room - len(rows)))
    return [row[0] for row in rows]


def _pick(session: Session, queue: Queue, tenant_id: str, share: int) -> list[Row]:
    terms = (queue.max_attempts, queue.is_ordered, queue.dead_heads_block, share)
    return session.rows(_PICK, (queue.namespace, queue.topic, session.now, tenant_id, *terms))


def _with_one_suspect(picked: list[Row], queue: Queue) -> list[Row]:
    suspects = [row for row in picked if row[-1]]
    taken = suspects[:1] if queue.takes_suspects else []
    return [_shaped(row) for row in picked if not row[-1] or row in taken]


def _shaped(row: Row) -> Row:
    n, place, due_at, seq, id, tenant_id, payload, attempts, *rest, fate, _ = row
    attempt = attempts + 1 if fate is None else attempts
    return (n, place, due_at, seq, seq, id, tenant_id, payload, attempt, *rest, fate)


def _lease(session: Session, queue: Queue, token: Token, picked: list[Row]) -> None:
    places = encode([row[3] for row in picked])
    until = session.now + queue.lease_us
    counted = queue.total is not None
    terms = (token, until, queue.max_attempts, counted, session.now, places)
    session.run(_LEASE, terms)
