"""What a worker may do with a message that it holds: end it, put it back, hold it longer.

Every statement is fenced by the token of the claim. Who lost the lease changes nothing,
and is told so: what is not in the answer was not done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from watchkeeper.core.delivery import Dead, RetryAt
from watchkeeper.core.ids import MessageId, TenantId, Token
from watchkeeper.core.redaction import redacted
from watchkeeper.core.time import Instant
from watchkeeper.ids import is_uuid
from watchkeeper.store.json import encode
from watchkeeper.store.leases import Message
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement
from watchkeeper.store.transaction import Row, Session

ACK_TRIES = 2
"""A message whose lease is renewed at this moment is missed once."""

TOKENS_MAX = 4
"""Claims whose messages are acked by place in one go; from more, by key."""

_KEPT = (
    "tenant_id, id, namespace, topic, dedupe_key, ordering_key, payload, attempts, generation,"
    " next_attempt_at, last_error, created_at"
)
_RETURNED = ", ".join(f"o.{name}" for name in _KEPT.split(", "))


_HELD = "jsonb_to_recordset(%s::jsonb) as v (a text, i uuid, k uuid)"
_BY_KEY = f"{_HELD} where o.tenant_id = v.a and o.id = v.i and o.locked_by = v.k"

# A bound and an order leave the planner no way but the key, however small it found the table, and
# the `is true` keeps it from looking for the token first. A row that is moved meanwhile, by a lease
# that is renewed, is not found: who misses one asks again.
MOVED = f"""c as materialized (select {NOW_SQL} as at),
    d as (delete from outbox o using {_HELD}, lateral (
            select ctid, locked_by from outbox where tenant_id = v.a and id >= v.i and id <= v.i
            order by tenant_id, id limit 1) at
        where o.ctid = at.ctid and (o.locked_by = at.locked_by) is true and at.locked_by = v.k
        returning {_RETURNED})"""
MOVE = f"insert into outbox_delivered ({_KEPT}, done_at) select {_KEPT}, (select at from c) from d"
"""What an ack consists of; its parameter is what is `told` of the messages."""

# The place only finds a row; where another message of the same claim has come to lie there, its
# number says so. The numbers are looked up in a hash table only where they are a subquery, and it
# stays one because of the `is true`.
_ACK_BY_PLACE = Statement(
    f"""with c as materialized (select {NOW_SQL} as at),
    d as (delete from outbox o where o.ctid = any(%s::tid[]) and o.locked_by = %s::uuid
        and (o.seq in (select unnest(%s::bigint[]))) is true
        returning {_RETURNED})
    {MOVE}""",
    "",
)
_ACK = Statement(
    f"""with {MOVED}
    {MOVE} returning id""",
    f"""insert into outbox_delivered ({_KEPT}, done_at)
    select {_RETURNED}, ? from json_each(?) v join outbox o on o.tenant_id = v.value ->> 'a'
        and o.id = v.value ->> 'i' and o.locked_by = v.value ->> 'k'
    where true returning id""",
)
_REMOVE = Statement(
    "",
    """delete from outbox where seq in (
        select o.seq from json_each(?) v join outbox o on o.tenant_id = v.value ->> 'a'
        and o.id = v.value ->> 'i' and o.locked_by = v.value ->> 'k')""",
)
_ACKED_BEFORE = Statement(
    """select d.id from jsonb_to_recordset(%s::jsonb) as v (a text, i uuid, n int, g int)
    join outbox_delivered d on d.tenant_id = v.a and d.id = v.i
        and d.attempts = v.n and d.generation = v.g""",
    """select d.id from json_each(?) v join outbox_delivered d
        on d.tenant_id = v.value ->> 'a' and d.id = v.value ->> 'i'
        and d.attempts = v.value ->> 'n' and d.generation = v.value ->> 'g'""",
)

_NACK = Statement(
    """update outbox o set
        status = case when v.d is null then 'pending' else 'dead' end,
        next_attempt_at = coalesce(v.n, o.next_attempt_at), is_due = v.d is not null,
        locked_by = null, locked_until = null, holds_slot = false,
        last_error = coalesce(v.e, o.last_error), dead_reason = v.d,
        done_at = case when v.d is null then null else p.at end, updated_at = p.at
    from (select %s::bigint) p (at), jsonb_to_recordset(%s::jsonb) as
        v (a text, i uuid, k uuid, n bigint, e text, d text)
    where o.tenant_id = v.a and o.id = v.i and o.locked_by = v.k returning o.id""",
    """update outbox set
        status = case when v.value ->> 'd' is null then 'pending' else 'dead' end,
        next_attempt_at = coalesce(v.value ->> 'n', next_attempt_at),
        is_due = v.value ->> 'd' is not null,
        locked_by = null, locked_until = null, holds_slot = false,
        last_error = coalesce(v.value ->> 'e', last_error), dead_reason = v.value ->> 'd',
        done_at = case when v.value ->> 'd' is null then null else ?1 end, updated_at = ?1
    from json_each(?2) v
    where tenant_id = v.value ->> 'a' and outbox.id = v.value ->> 'i'
        and locked_by = v.value ->> 'k'
    returning id""",
)
_NACKED_BEFORE = Statement(
    """select o.id from jsonb_to_recordset(%s::jsonb) as
        v (a text, i uuid, c int, g int, n bigint, d text)
    join outbox o on o.tenant_id = v.a and o.id = v.i and o.attempts = v.c and o.generation = v.g
        and o.locked_by is null
        and (o.dead_reason = v.d or o.status = 'pending' and o.next_attempt_at = v.n)""",
    """select o.id from json_each(?) v
    join outbox o on o.tenant_id = v.value ->> 'a' and o.id = v.value ->> 'i'
        and o.attempts = v.value ->> 'c' and o.generation = v.value ->> 'g'
        and o.locked_by is null and (o.dead_reason = v.value ->> 'd'
            or o.status = 'pending' and o.next_attempt_at = v.value ->> 'n')""",
)
_RELEASE = Statement(
    f"""update outbox o set status = 'pending', attempts = greatest(o.attempts - 1, 0),
        locked_by = null, locked_until = null, holds_slot = false, updated_at = %s
    from {_BY_KEY} returning o.id""",
    """update outbox set status = 'pending', attempts = max(attempts - 1, 0),
        locked_by = null, locked_until = null, holds_slot = false, updated_at = ?
    from json_each(?) v
    where tenant_id = v.value ->> 'a' and outbox.id = v.value ->> 'i'
        and locked_by = v.value ->> 'k'
    returning id""",
)
# A lease that counts as a slot and has ended is not taken up again: its slot may be given away.
_RENEW = Statement(
    f"""with held as materialized (
        select o.ctid, v.u from jsonb_to_recordset(%s::jsonb) as
            v (a text, i uuid, k uuid, u bigint)
        join outbox o on o.tenant_id = v.a and o.id = v.i and o.locked_by = v.k
        where not o.holds_slot or o.locked_until > {NOW_SQL}
        for update of o skip locked)
    update outbox o set locked_until = {NOW_SQL} + held.u
    from held where o.ctid = held.ctid returning o.id""",
    """update outbox set locked_until = ?1 + (v.value ->> 'u')
    from json_each(?2) v
    where tenant_id = v.value ->> 'a' and outbox.id = v.value ->> 'i'
        and locked_by = v.value ->> 'k'
    and (not holds_slot or locked_until > ?1) returning id""",
)
_STILL_HELD = Statement(
    f"""select o.id from {_HELD} join outbox o
    on o.tenant_id = v.a and o.id = v.i and o.locked_by = v.k""",
    """select o.id from json_each(?) v join outbox o on o.tenant_id = v.value ->> 'a'
    and o.id = v.value ->> 'i' and o.locked_by = v.value ->> 'k'""",
)


class Nack(NamedTuple):
    """How a failed attempt ends: later again, or dead."""

    message: Message
    settlement: RetryAt | Dead


class Acks(NamedTuple):
    """Acks that were sent and not read yet."""

    messages: Sequence[Message]
    found: Sequence[Any]  # cursors; on SQLite what was found


def send_ack(session: Session, messages: Sequence[Message]) -> Acks:
    """Ask for what `ack` does, each message by the place where the claim left it: it is faster."""
    if not messages:
        return Acks(messages, [])
    if session.engine == "sqlite":
        return Acks(messages, [_ack_by_key(session, messages)])
    by_token: dict[Token, list[Message]] = defaultdict(list)
    for m in messages:
        by_token[m.token].append(m)
    if len(by_token) > TOKENS_MAX:
        return Acks(messages, [session.send(_ACK, (encode([_held(m) for m in messages]),))])
    return Acks(messages, [_send_by_place(session, *those) for those in by_token.items()])


def _send_by_place(session: Session, token: Token, messages: Sequence[Message]) -> Any:
    places = '{"' + '","'.join([str(m.handle) for m in messages]) + '"}'
    numbers = "{" + ",".join([str(m.seq) for m in messages]) + "}"
    return session.send(_ACK_BY_PLACE, (places, token, numbers))


def are_acked(acks: Acks) -> bool:
    """After the commit: whether all were still held. If not, `ack` says which.

    Nothing is moved but what was asked for: if as many were moved, it was all of them.
    """
    counts = [len(one) if isinstance(one, list) else one.rowcount for one in acks.found]
    return sum(counts) == len(acks.messages)


class Ends(NamedTuple):
    """Messages that ended as was asked for: by this transaction, and by one before it.

    A COMMIT may have been in doubt. Whatever hangs on an end was then written with it: only
    what this transaction ended is to be recorded.
    """

    now: set[MessageId]
    before: set[MessageId]

    @property
    def held(self) -> set[MessageId]:
        return self.now | self.before


def ack(session: Session, messages: Sequence[Message]) -> set[MessageId]:
    """Move delivered messages to the history; the ids of those that were still held."""
    return acked(session, messages).held


def acked(session: Session, messages: Sequence[Message]) -> Ends:
    """The same, and which of them stood in the history already, by the same attempt."""
    if not messages:
        return Ends(set(), set())
    moved, missing = set[MessageId](), messages
    for _ in range(ACK_TRIES):
        moved |= _ids(_ack_by_key(session, missing))
        missing = [m for m in messages if m.id not in moved]
        if not missing:
            return Ends(moved, set())
    return Ends(moved, acked_before(session, missing))


def acked_before(session: Session, messages: Sequence[Message]) -> set[MessageId]:
    """Those of which the same attempt stands in the history."""
    asked = [{"a": m.tenant_id, "i": m.id, "n": m.attempt, "g": m.generation} for m in messages]
    return _ids(session.rows(_ACKED_BEFORE, (encode(asked),)))


def nack(session: Session, nacks: Sequence[Nack]) -> set[MessageId]:
    """End failed attempts; the ids of those that were still held."""
    return nacked(session, nacks).held


def nacked(session: Session, nacks: Sequence[Nack]) -> Ends:
    """The same, and which of them had ended already, just as it is asked for."""
    if not nacks:
        return Ends(set(), set())
    asked = [_ended(one) for one in nacks]
    done = _ids(session.rows(_NACK, (session.now, encode(asked))))
    missing = [row for row in asked if row["i"] not in done]
    before = _ids(session.rows(_NACKED_BEFORE, (encode(missing),))) if missing else set()
    return Ends(done, before)


def _ended(nack: Nack) -> dict[str, object]:
    m, settlement = nack
    row = {**_held(m), "c": m.attempt, "g": m.generation, "e": redacted(settlement.error) or None}
    match settlement:
        case Dead(reason=reason):
            row["d"] = reason
        case RetryAt(at=at):
            row["n"] = at
    return row


def release(session: Session, messages: Sequence[Message]) -> set[MessageId]:
    """Put back what was not started: the attempt does not count."""
    return _ids(session.rows(_RELEASE, _with_now(session, messages))) if messages else set()


def renew(
    session: Session, held: Sequence[tuple[Message, int]]
) -> tuple[set[MessageId], set[MessageId]]:
    """Hold messages for so many microseconds from now; the renewed and the lost.

    One that is being ended at this moment is neither.
    """
    if not held:
        return set(), set()
    asked = encode([{**_held(m), "u": lease_us} for m, lease_us in held])
    parameters = (session.now, asked) if session.engine == "sqlite" else (asked,)
    renewed = _ids(session.rows(_RENEW, parameters))
    missing = [m for m, _ in held if m.id not in renewed]
    if not missing:
        return renewed, set()
    return renewed, {m.id for m in missing} - still_held(session, missing)


def still_held(session: Session, messages: Sequence[Message]) -> set[MessageId]:
    """Those of them that nobody has claimed since."""
    return _ids(session.rows(_STILL_HELD, (encode([_held(m) for m in messages]),)))


_OURS = Statement(
    f"""select o.id from {_HELD} join outbox o on o.tenant_id = v.a and o.id = v.i
        and o.locked_by = v.k and o.locked_until > {NOW_SQL} for update of o""",
    """select o.id from json_each(?2) v join outbox o on o.tenant_id = v.value ->> 'a'
        and o.id = v.value ->> 'i' and o.locked_by = v.value ->> 'k' and o.locked_until > ?1""",
)


def still_ours(session: Session, messages: Sequence[Message]) -> set[MessageId]:
    """Those whose lease lives, and cannot become another's before this transaction ends.

    For whoever is about to write that it begins: it may have slept since it claimed them.
    """
    asked = encode([_held(m) for m in messages])
    rows = session.rows(_OURS, (session.now, asked) if session.engine == "sqlite" else (asked,))
    return _ids(rows)


_FIND = Statement(
    """select namespace, topic, locked_by, next_attempt_at, seq, ctid::text, id, tenant_id, payload,
        attempts, generation, created_at, dedupe_key, ordering_key, null
    from outbox where tenant_id = %s and id = %s and locked_by = %s""",
    """select namespace, topic, locked_by, next_attempt_at, seq, seq, id, tenant_id, payload,
        attempts, generation, created_at, dedupe_key, ordering_key, null
    from outbox where tenant_id = ? and id = ? and locked_by = ?""",
)


def find_held(
    session: Session, tenant_id: TenantId, message_id: MessageId, token: Token
) -> Message | None:
    """The message, if it is held under this token."""
    if not (is_uuid(message_id) and is_uuid(token)):
        return None
    rows = session.rows(_FIND, (tenant_id, message_id, token))
    return Message(*rows[0]) if rows else None


def told(messages: Sequence[Message]) -> str:
    """Which messages, and under which tokens they are held: a parameter."""
    return encode([_held(m) for m in messages])


def _ack_by_key(session: Session, messages: Sequence[Message]) -> list[Row]:
    asked = told(messages)
    if session.engine == "postgresql":
        return session.rows(_ACK, (asked,))
    acked = session.rows(_ACK, (session.now, asked))
    session.run(_REMOVE, (asked,))
    return acked


def _with_now(session: Session, messages: Sequence[Message]) -> tuple[Instant, str]:
    return session.now, encode([_held(m) for m in messages])


def _held(m: Message) -> dict[str, object]:
    return {"a": m.tenant_id, "i": m.id, "k": m.token}


def _ids(rows: Iterable[Row]) -> set[MessageId]:
    return {row[0] for row in rows}
