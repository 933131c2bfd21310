"""The ledger, counted: entries that are alike, by the hour, up to a place that moves on.

Each entry is read once, in slices, soon after it was written; so a count over any window takes
no longer where the ledger has ten million entries. Places are commits: an entry below one that
can be seen is never written later. An hour that a window cuts is counted again, from its entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from watchkeeper.core.ids import TenantId
from watchkeeper.core.report_facts import SIGNAL, Delivered, Tally, bucket_hours
from watchkeeper.core.reports import Window
from watchkeeper.core.time import HOUR, Instant, hour_of
from watchkeeper.store.json import encode
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Session, Tx

SLICE = 5_000
"""Entries that one transaction counts."""
BEHIND_MAX = 10_000
"""A ledger that is further ahead of its counts is worth a look in between."""
TENANTS_MAX = 1_000

# What is counted of an entry. `data` is read only where there is something to be found in it. A
# quotation mark within a string of JSON has a backslash before it, so the key is really a key.
_NAME = (
    "case when kind in ('pull.decided', 'pull.ended') then {data} ->> 'connector_id'"
    " when kind = 'message.dead' then {data} ->> 'topic'"
    " when kind = 'verdict' and trigger_type = 'SIGNAL_ARRIVED' and {has_signal}"
    f" then '{SIGNAL}' else '' end"
)
_AMOUNT = (
    "case when kind = 'pull.decided' and result = 'SCHEDULED' then cast({data} ->> 'units' as"
    " bigint) when kind = 'pull.ended' then cast({data} ->> 'signals' as bigint)"
    " when kind = 'turn.settled' then cast({data} ->> 'charged_micro' as bigint) end"
)
_READ = (
    f"select at / {HOUR} as hour, kind, coalesce(result, '') as result,"
    f" coalesce(reason, '') as reason, coalesce({_NAME}, '') as name,"
    f" coalesce({_AMOUNT}, 0) as amount, seq, at from ledger where tenant_id = {{mark}}"
    " and seq > {mark} and seq <= {mark}"
)
_READ_PG = _READ.format(
    data="data", has_signal="strpos(data::text, '\"signal_id\":') > 0", mark="%s"
)
_READ_LITE = _READ.format(data="data", has_signal="instr(data, '\"signal_id\":') > 0", mark="?")
_GROUP = (
    "select {tenant}, hour, kind, result, reason, name, count(*), cast(sum(amount) as bigint),"
    " min(seq), max(seq), min(at), max(at) from ({read}) x where true group by 2, 3, 4, 5, 6"
)
_ADD = (
    " on conflict (tenant_id, hour, kind, result, reason, name) do update set"
    " entries = tallies.entries + excluded.entries, amount = tallies.amount + excluded.amount,"
    " first_seq = {least}(tallies.first_seq, excluded.first_seq),"
    " last_seq = {most}(tallies.last_seq, excluded.last_seq),"
    " first_at = {least}(tallies.first_at, excluded.first_at),"
    " last_at = {most}(tallies.last_at, excluded.last_at)"
)
_INSERT = (
    "insert into tallies (tenant_id, hour, kind, result, reason, name, entries, amount,"
    " first_seq, last_seq, first_at, last_at) "
)
_FOLD = Statement(
    _INSERT
    + _GROUP.format(tenant="%s", read=_READ_PG)
    + _ADD.format(least="least", most="greatest"),
    _INSERT + _GROUP.format(tenant="?", read=_READ_LITE) + _ADD.format(least="min", most="max"),
)
_START = same("insert into tally_places (tenant_id, seq) values (%s, 0) on conflict do nothing")
_HOLD = Statement(
    "select seq from tally_places where tenant_id = %s for update",
    "select seq from tally_places where tenant_id = ?",
)
_MOVE = same("update tally_places set seq = %s where tenant_id = %s")
_PLACE = same("select coalesce(max(seq), 0) from tally_places where tenant_id = %s")
_LAST = same("select ledger_seq from tenants where tenant_id = %s")
_BEHIND = same(
    "select t.tenant_id from tenants t left join tally_places p on p.tenant_id = t.tenant_id"
    f" where t.ledger_seq > coalesce(p.seq, 0) + %s order by t.tenant_id limit {TENANTS_MAX}"
)

# Hours that the window cuts: some of their entries lie outside.
_CUT = same(
    "select hour, min(first_seq), max(last_seq) from tallies"
    " where tenant_id = %s and hour in (%s, %s)"
    " group by hour having min(first_at) < %s or max(last_at) > %s"
)
_WHOLE = same(
    "select hour / %s, kind, result, reason, name, cast(sum(entries) as bigint),"
    " cast(sum(amount) as bigint) from tallies where tenant_id = %s and hour >= %s and hour <= %s"
    " and hour <> %s and hour <> %s group by 1, 2, 3, 4, 5"
)
_AGAIN = Statement(
    "select hour / %s, kind, result, reason, name, count(*), cast(sum(amount) as bigint)"
    f" from ({_READ_PG} and at >= %s and at <= %s) x where hour = %s group by 1, 2, 3, 4, 5",
    "select hour / ?, kind, result, reason, name, count(*), cast(sum(amount) as bigint)"
    f" from ({_READ_LITE} and at >= ? and at <= ?) x where hour = ? group by 1, 2, 3, 4, 5",
)
# The newest hours are looked at first, and no more of them than so many rows.
_LOOKED_AT_MAX = 20_000
_NEWEST = (
    "select last_seq from (select * from tallies where tenant_id = %s"
    f" order by hour desc limit {_LOOKED_AT_MAX}) t where first_seq < %s and kind = %s{{}}"
    " order by hour desc limit 1"
)
_FIRST_AT = same("select at from ledger where tenant_id = %s order by seq limit 1")

# What retention has removed was counted when it went; one snapshot, so that none is missed.
_DELIVERED = same(
    "select namespace, topic, cast(sum(n) as bigint) from ("
    " select namespace, topic, count(*) as n from outbox_delivered"
    " where tenant_id = %s and done_at >= %s and done_at <= %s group by 1, 2"
    " union all select namespace, topic, messages from delivered_tallies"
    " where tenant_id = %s and last_at >= %s and first_at <= %s) x group by 1, 2 order by 1, 2"
)
_ADD_SWEPT = (
    " on conflict (tenant_id, hour, namespace, topic) do update set"
    " messages = delivered_tallies.messages + excluded.messages,"
    " first_at = {least}(delivered_tallies.first_at, excluded.first_at),"
    " last_at = {most}(delivered_tallies.last_at, excluded.last_at)"
)
_INSERT_SWEPT = (
    "insert into delivered_tallies"
    " (tenant_id, hour, namespace, topic, messages, first_at, last_at) "
)
COUNT_SWEPT = (
    f"counted as ({_INSERT_SWEPT} select tenant_id, done_at / {HOUR}, namespace, topic, count(*),"
    " min(done_at), max(done_at) from gone group by 1, 2, 3, 4"
    f"{_ADD_SWEPT.format(least='least', most='greatest')})"
)
"""A part of the statement that sweeps messages on PostgreSQL: `gone` are those that leave."""
_COUNT_SWEPT = Statement(
    "",
    f"{_INSERT_SWEPT} select ?1, (value ->> 4) / {HOUR}, value ->> 0, value ->> 1, count(*),"
    " min(value ->> 4), max(value ->> 4) from json_each(?2) where true group by 1, 2, 3, 4"
    f"{_ADD_SWEPT.format(least='min', most='max')}",
)


class Counted(NamedTuple):
    """How far counting has come: the place, and whether entries are left."""

    seq: int
    is_all: bool


def count_slice(tx: Tx, most: int = SLICE) -> Counted:
    """Count the next entries of the tenant's ledger; whoever else does so waits meanwhile."""
    tenant_id = tx.tenant_id
    if not tx.rows(_LAST, (tenant_id,)):
        return Counted(0, True)  # there is no such tenant
    tx.run(_START, (tenant_id,))
    [(place,)] = tx.rows(_HOLD, (tenant_id,))
    [(last,)] = tx.rows(_LAST, (tenant_id,))  # as it is after the wait
    until = min(last, place + most)
    if until > place:
        tx.run(_FOLD, (tenant_id, tenant_id, place, until))
        tx.run(_MOVE, (until, tenant_id))
    return Counted(until, until == last)


def place(tx: Tx) -> int:
    [(seq,)] = tx.rows(_PLACE, (tx.tenant_id,))
    return int(seq)


def behind(session: Session, by: int = BEHIND_MAX) -> list[TenantId]:
    """Tenants whose ledger has run ahead of its counts by more than so many entries."""
    return [TenantId(row[0]) for row in session.rows(_BEHIND, (by,))]


def first_at(tx: Tx) -> Instant | None:
    """When the tenant's ledger begins."""
    rows = tx.rows(_FIRST_AT, (tx.tenant_id,))
    return Instant(rows[0][0]) if rows else None


def within(tx: Tx, window: Window) -> tuple[Tally, ...]:
    """What the entries counted so far, of this window, come to."""
    width, tenant_id = bucket_hours(window), tx.tenant_id
    first, last = hour_of(window.since), hour_of(window.until)
    asked = (tenant_id, first, last, window.since, window.until)
    cut = tx.rows(_CUT, asked)
    hours = [row[0] for row in cut] + [-1, -1]
    found: list[Row] = tx.rows(_WHOLE, (width, tenant_id, first, last, *hours[:2]))
    for hour, first_seq, last_seq in cut:
        bounds = (tenant_id, first_seq - 1, last_seq, window.since, window.until, hour)
        found += tx.rows(_AGAIN, (width, *bounds))
    return tuple(sorted(Tally(*row) for row in found))


def newest_place(tx: Tx, before: int, kind: str, alike: Mapping[str, str]) -> int | None:
    """Before which place, at the latest, entries of a kind may be found; None: there are none.

    `alike` names their result and reason, as far as they are known.
    """
    assert set(alike) <= {"result", "reason"}
    clauses = "".join(f" and {name} = %s" for name in alike)
    asked = (tx.tenant_id, before, kind, *alike.values())
    rows = tx.rows(same(_NEWEST.format(clauses)), asked)
    return min(before, int(rows[0][0]) + 1) if rows else None


def delivered(tx: Tx, window: Window) -> tuple[Delivered, ...]:
    asked = (tx.tenant_id, window.since, window.until)
    return tuple(Delivered(*row) for row in tx.rows(_DELIVERED, asked * 2))


def count_swept(session: Session, tenant_id: TenantId, gone: Sequence[Row]) -> None:
    """Messages leave by retention; each row begins with its queue and ends with its end."""
    session.run(_COUNT_SWEPT, (tenant_id, encode([list(row) for row in gone])))
