"""What belongs to an account without bearing its name: its plans, its turns, its messages.

The ledger is indexed by what an entry is about. So what is gathered here are the names that the
entries of an account lead to, a bounded number of them, and then the entries under these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from watchkeeper.core.ids import AccountId
from watchkeeper.core.ledger import Entry, Recorded
from watchkeeper.store.json import encode
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Tx

_COLUMNS = (
    "tenant_id, seq, entry_id, at, stage, kind, subject, data, policy_version, correlation_id,"
    " trigger_type, result, reason"
)
_OF_SUBJECTS = Statement(
    # Each subject by itself: in one, the planner may walk the whole ledger for a rare one.
    f"""select l.* from jsonb_array_elements_text(%s::jsonb) v (s), lateral (
        select {_COLUMNS} from ledger where tenant_id = %s and subject = v.s
        and seq < %s and seq >= %s order by seq desc limit %s) l
    order by l.seq desc limit %s""",
    f"""select {_COLUMNS} from ledger where subject in (select value from json_each(?))
        and tenant_id = ? and seq < ? and seq >= ? order by seq desc limit min(?, ?)""",
)
_PLANS = same(
    "select p.plan_id, i.message_id from (select plan_id from plans where tenant_id = %s"
    " and account_id = %s order by plan_id desc limit %s) p"
    " left join intents i on i.tenant_id = %s and i.plan_id = p.plan_id"
)
_TURNS_MAX = 20
"""Turns of one run that are looked for: it has one for each time it was asked for."""
_TURNS = Statement(
    f"""select t.turn_id, t.event_id from jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select turn_id, event_id from turns where tenant_id = %s and decision_id = v.k::uuid
        order by decision_id limit {_TURNS_MAX}) t""",
    """select turn_id, event_id from turns where decision_id in (select value from json_each(?))
        and tenant_id = ?""",
)
_LAST_VERDICTS = Statement(
    f"""select l.* from jsonb_array_elements_text(%s::jsonb) v (s), lateral (
        select {_COLUMNS} from (
            select {_COLUMNS} from ledger where tenant_id = %s and subject = v.s
            order by seq desc limit %s) n
        where kind = 'verdict' order by seq desc limit 1) l""",
    f"""select {_COLUMNS} from ledger where tenant_id = ?2 and seq in (
        select (select seq from (select seq, kind from ledger where tenant_id = ?2
            and subject = v.value order by seq desc limit ?3)
            where kind = 'verdict' order by seq desc limit 1)
        from json_each(?1) v)""",
)


class Led(NamedTuple):
    """Names that something leads to; whether there were more than were asked for."""

    names: frozenset[str]
    is_cut: bool = False


def of_subjects(
    tx: Tx, subjects: Iterable[str], *, before: int, floor: int, limit: int
) -> list[Recorded]:
    """The newest entries about any of these, from one place up to another."""
    asked = (encode(sorted(subjects)), tx.tenant_id, before, floor, limit, limit)
    return [Recorded(row[0], row[1], Entry(*row[2:])) for row in tx.rows(_OF_SUBJECTS, asked)]


def of_plans(tx: Tx, account_id: AccountId, limit: int) -> Led:
    """The newest plans of an account, and the messages that ask for their actions."""
    rows = tx.rows(_PLANS, (tx.tenant_id, account_id, limit + 1, tx.tenant_id))
    plans = sorted({str(row[0]) for row in rows}, reverse=True)[:limit]
    kept = set(plans)
    messages = {str(row[1]) for row in rows if row[1] is not None and str(row[0]) in kept}
    return Led(frozenset(kept | messages), len({row[0] for row in rows}) > limit)


def of_runs(tx: Tx, decision_ids: Sequence[str]) -> Led:
    """The turns that metered the runs of decisions, and their usage events."""
    rows = tx.rows(_TURNS, (encode(list(decision_ids)), tx.tenant_id))
    return Led(frozenset(str(name) for row in rows for name in row if name is not None))


def last_verdicts(tx: Tx, account_ids: Sequence[str], looked: int) -> dict[str, Recorded]:
    """The last verdict of each account, if it is among so many of its last entries."""
    rows = tx.rows(_LAST_VERDICTS, (encode(list(account_ids)), tx.tenant_id, looked))
    found = [Recorded(row[0], row[1], Entry(*row[2:])) for row in rows]
    return {one.entry.subject: one for one in found}
