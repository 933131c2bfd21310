"""Recorded verdicts, for a replay: from a place on, a page at a time, oldest first.

A page is a statement of its own, found by its place: memory stays flat however long the
history is, and no transaction stays open over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode, loads
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import ReadTx, Tx

PAGE = 4_000

_PAGE = Statement(
    # As bytes: the text is parsed, never looked at.
    """select seq, entry_id, case kind when 'verdict' then data end from ledger
    where tenant_id = %s and seq > %s and seq <= %s order by seq""",
    """select seq, entry_id, case kind when 'verdict' then data end from ledger
    where tenant_id = ? and seq > ? and seq <= ? order by seq""",
)
_AT = same("select at from ledger where tenant_id = %s and seq >= %s order by seq limit 1")
_ENDS = same("select min(seq), max(seq) from ledger where tenant_id = %s")
_SWITCHES = Statement(
    # Name by name, over the index of subjects: there are few names, and many entries.
    """select l.at, l.subject, l.data from jsonb_array_elements_text(%s::jsonb) v (k),
    lateral (select at, seq, subject, data from ledger where tenant_id = %s
        and subject = v.k and kind = 'kill_switch.set' offset 0) l order by l.seq""",
    """select l.at, l.subject, l.data from json_each(?) v cross join ledger l
    where l.tenant_id = ? and l.subject = v.value and l.kind = 'kill_switch.set' order by l.seq""",
)
_CHARGED = Statement(
    """select count(*), coalesce(sum(t.charged), 0)::bigint from
    jsonb_array_elements_text(%s::jsonb) v (k), lateral (
        select sum(charged_micro) as charged from turns
        where tenant_id = %s and decision_id = v.k::uuid) t where t.charged is not null""",
    """select count(distinct decision_id), coalesce(sum(charged_micro), 0) from turns
    where decision_id in (select value from json_each(?)) and tenant_id = ?
    and charged_micro is not null""",
)
_METERED = same(
    "select count(distinct decision_id), coalesce(sum(charged_micro), 0) from turns"
    " where tenant_id = %s and decision_id is not null and charged_micro is not null"
    " and reserved_at >= %s"
)


class Places(NamedTuple):
    """A part of a tenant's ledger: after one place, up to another."""

    after: int
    until: int


def places_since(tx: Tx, since: Instant) -> Places:
    """Where the entries since a moment begin, and where the ledger ends now.

    Found by halving: places are dense and follow the clock. Where the clock once stepped
    back, an entry or two on the edge may be on the other side of it.
    """
    first, last = tx.rows(_ENDS, (tx.tenant_id,))[0]
    if last is None:
        return Places(0, 0)
    low, high = first, last + 1
    while low < high:
        middle = (low + high) // 2
        rows = tx.rows(_AT, (tx.tenant_id, middle))
        if rows and rows[0][0] < since:
            low = middle + 1
        else:
            high = middle
    return Places(low - 1, last)


def page(tx: Tx, places: Places) -> list[tuple[int, str, str | None]]:
    """The entries between two places: place, id, and what was recorded if it is a verdict."""
    return cast(list[tuple[int, str, str | None]], tx.rows(_PAGE, (tx.tenant_id, *places)))


def switches_set(tx: ReadTx, names: Sequence[str]) -> list[tuple[int, str, bool]]:
    """Every time one of these kill switches was thrown or released: when, which, and is it on."""
    rows = tx.rows(_SWITCHES, (encode(names), tx.tenant_id))
    return [(at, name, bool(loads(data)["on"])) for at, name, data in rows]


def charged_for(tx: ReadTx, decision_ids: Sequence[str]) -> tuple[int, int]:
    """How many of these runs were metered, and what they were charged in micro-credits."""
    metered, charged = tx.rows(_CHARGED, (encode(decision_ids), tx.tenant_id))[0]
    return int(metered), int(charged)


def metered_since(tx: ReadTx, since: Instant) -> tuple[int, int]:
    """The same of all the tenant's runs since a moment."""
    metered, charged = tx.rows(_METERED, (tx.tenant_id, since))[0]
    return int(metered), int(charged)
