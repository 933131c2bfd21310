"""Messages that are put back without an attempt, to be looked at again a little later.

Nobody takes them now, or their endpoint has enough to do. Who put a message back held its
lease; whoever lost that changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.core.sinks import UNHANDLED, UNHANDLED_US
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode
from watchkeeper.store.leases import Message
from watchkeeper.store.statement import Statement
from watchkeeper.store.transaction import Session

FREED_MAX = 1_000
"""Messages that one statement makes due, or marks."""

_WITHIN_US = 2 * UNHANDLED_US  # longer than any message nobody takes is left alone

_PARK = Statement(
    """update outbox o set status = 'pending', attempts = greatest(o.attempts - 1, 0),
        locked_by = null, locked_until = null, holds_slot = false,
        next_attempt_at = p.at + v.w, is_due = false,
        last_error = coalesce(v.e, o.last_error), updated_at = p.at
    from (select %s::bigint) p (at), jsonb_to_recordset(%s::jsonb) as
        v (a text, i uuid, k uuid, w bigint, e text)
    where o.tenant_id = v.a and o.id = v.i and o.locked_by = v.k returning o.id""",
    """update outbox set status = 'pending', attempts = max(attempts - 1, 0),
        locked_by = null, locked_until = null, holds_slot = false,
        next_attempt_at = ?1 + (v.value ->> 'w'), is_due = false,
        last_error = coalesce(v.value ->> 'e', last_error), updated_at = ?1
    from json_each(?2) v
    where tenant_id = v.value ->> 'a' and outbox.id = v.value ->> 'i'
        and locked_by = v.value ->> 'k'
    returning id""",
)
_OF_TOPIC = f"""namespace = {{0}} and topic = {{0}} and done_at is null and status = 'pending'
        and last_error = '{UNHANDLED}' and ({{0}}{{1}} is null or tenant_id = {{0}})"""
_FREE_PARKED = Statement(
    f"""with parked as materialized (
        select ctid from outbox where not is_due and next_attempt_at <= %s
        and namespace = %s and topic = %s and done_at is null and status = 'pending'
        and (last_error = '{UNHANDLED}' or starts_with(last_error, %s::text))
        and (%s::text is null or tenant_id = %s) limit {FREED_MAX} for update skip locked)
    update outbox o set next_attempt_at = %s, is_due = true, last_error = null
    from parked where o.ctid = parked.ctid returning o.id""",
    f"""update outbox set next_attempt_at = ?7, is_due = true, last_error = null where seq in (
        select seq from outbox where not is_due and next_attempt_at <= ?1
        and namespace = ?2 and topic = ?3 and done_at is null and status = 'pending'
        and (last_error = '{UNHANDLED}' or substr(last_error, 1, length(?4)) = ?4)
        and (?5 is null or tenant_id = ?6) limit {FREED_MAX})
    returning id""",
)
_UNMARK = Statement(
    f"""with marked as materialized (
        select ctid from outbox where is_due and {_OF_TOPIC.format("%s", "::text")}
        limit {FREED_MAX} for update skip locked)
    update outbox o set last_error = null from marked where o.ctid = marked.ctid
    returning o.id""",
    f"""update outbox set last_error = null where seq in (
        select seq from outbox where is_due and {_OF_TOPIC.format("?", "")} limit {FREED_MAX})
    returning id""",
)
_NEGLECTED = """namespace = {0} and topic = {0} and done_at is null and is_due
        and status = 'pending' and attempts = 0 and last_error is null and next_attempt_at < {0}"""
_MARK = Statement(
    f"""with waiting as materialized (
        select ctid from outbox where {_NEGLECTED.format("%s")}
        limit {FREED_MAX} for update skip locked)
    update outbox o set last_error = '{UNHANDLED}' from waiting where o.ctid = waiting.ctid
    returning o.id""",
    f"""update outbox set last_error = '{UNHANDLED}' where seq in (
        select seq from outbox where {_NEGLECTED.format("?")} limit {FREED_MAX})
    returning id""",
)


class Park(NamedTuple):
    """A held message, how long it is left alone, and why if that is to be seen."""

    message: Message
    wait_us: int
    why: str | None


def park(session: Session, parks: Sequence[Park]) -> set[MessageId]:
    """Put messages back with their attempts; the ids of those that were still held."""
    if not parks:
        return set()
    asked = [
        {"a": m.tenant_id, "i": m.id, "k": m.token, "w": max(1, wait_us), "e": why}
        for m, wait_us, why in parks
    ]
    return {row[0] for row in session.rows(_PARK, (session.now, encode(asked)))}


def free(
    session: Session, tenant_id: TenantId | None, namespace: str, topic: str, locked: str
) -> int:
    """Make due what nobody took before, a tenant's or everybody's; less than the most is all.

    Also due is what waits with an error that begins with `locked`.
    """
    whose = (tenant_id, tenant_id)
    until = session.now + _WITHIN_US
    parked = session.rows(_FREE_PARKED, (until, namespace, topic, locked, *whose, session.now))
    marked = session.rows(_UNMARK, (namespace, topic, *whose))
    if parked or marked:
        session.has_news = True
    return max(len(parked), len(marked))


def mark(session: Session, namespace: str, topic: str, before: Instant) -> int:
    """Say of messages that have been due since before then that nobody takes them."""
    return len(session.rows(_MARK, (namespace, topic, before)))
