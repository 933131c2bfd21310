"""When each account is looked at next by each connector, and when a tenant is next at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from watchkeeper.core.heat import Tier
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode
from watchkeeper.store.slices import RANGE, Slice
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Tx

_COLUMNS = "account_id, connector_id, tier, slot_at, due_at, overdue_at, pulled_at"
_NAMES = _COLUMNS.split(", ")
_TYPED = (
    "account_id text, connector_id text, tier int, slot_at bigint, due_at bigint,"
    " overdue_at bigint, pulled_at bigint"
)
_SET = ", ".join(f"{name} = excluded.{name}" for name in _NAMES[2:])
# What waits longer than its own cadence goes before every tier; then the hottest first.
_DUE = same(
    f"select {_COLUMNS} from (select {_COLUMNS} from next_pulls where tenant_id = %s"
    " and connector_id = %s and overdue_at <= %s and due_at <= %s"
    " order by overdue_at limit %s) overdue union all "
    + " union all ".join(
        f"select {_COLUMNS} from (select {_COLUMNS} from next_pulls where tenant_id = %s"
        f" and connector_id = %s and tier = {int(tier)} and due_at <= %s and overdue_at > %s"
        f" order by due_at limit %s) {tier.name.lower()}"
        for tier in (Tier.HOT, Tier.WARM, Tier.COLD)
    )
)
_SAVE = Statement(
    f"""insert into next_pulls (tenant_id, {_COLUMNS})
    select %s, v.* from jsonb_to_recordset(%s::jsonb) as v ({_TYPED})
    on conflict (tenant_id, account_id, connector_id) do update set {_SET}""",
    f"""insert into next_pulls (tenant_id, {_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (tenant_id, account_id, connector_id) do update set {_SET}""",
)
_OF_ACCOUNTS = Statement(
    # In the order of the key: no other index will do for a batch, which may not sort.
    f"""select n.* from jsonb_array_elements_text(%s::jsonb) v (a), lateral (
        select {_COLUMNS} from next_pulls
        where tenant_id = %s and account_id >= v.a and account_id <= v.a
        order by account_id, connector_id offset 0) n""",
    f"""select {_COLUMNS} from next_pulls where account_id in (select value from json_each(?))
        and tenant_id = ?""",
)
_EARLIEST = " union all ".join(
    "select * from (select due_at from next_pulls"
    f" where tenant_id = %s and connector_id = c.id and tier = {int(tier)}"
    " order by due_at limit 1) x"
    for tier in Tier
)
# From one connector's name to the next along the index: pulls are many, connectors are few.
_NEXT_DUE = same(
    "with recursive c (id) as (select * from (select connector_id from next_pulls"
    " where tenant_id = %s order by connector_id limit 1) x union all"
    " select (select connector_id from next_pulls where tenant_id = %s and connector_id > c.id"
    " order by connector_id limit 1) from c where c.id is not null)"
    f" select c.id, (select min(due_at) from ({_EARLIEST}) y) from c where c.id is not null"
)
# A connector may have come after the account. Sets are compared, which is no worse where the
# tables have grown since they were last measured.
_MISSING = same(
    f"select account_id, connector_id from heats, connectors where {RANGE} and has_cadence"
    f" except select account_id, connector_id from next_pulls where {RANGE}"
)
_TIERS = same(f"select account_id, tier from heats where {RANGE}")
_REMOVE = same(
    "delete from next_pulls where tenant_id = %s and connector_id = %s and account_id in ("
    "select account_id from next_pulls where tenant_id = %s and connector_id = %s limit %s)"
)


class NextPull(NamedTuple):
    account_id: str
    connector_id: str
    tier: Tier
    slot_at: Instant
    due_at: Instant
    overdue_at: Instant
    pulled_at: Instant | None


def due(tx: Tx, most: Mapping[str, int], limit: int) -> list[NextPull]:
    """What is due of these connectors, of each at most so many, in the order of its urgency."""
    now, tenant_id = tx.now, tx.tenant_id
    sent = [
        (tx.send(_DUE, (tenant_id, name, now, now, min(count, limit)) * 4), count)
        for name, count in most.items()
        if count
    ]
    found = []
    for cursor, count in sent:
        some = sorted(map(_next, cursor.fetchall()), key=lambda pull: _urgency(pull, now))
        found += some[:count]
    return sorted(found, key=lambda pull: _urgency(pull, now))[:limit]


def _urgency(pull: NextPull, now: Instant) -> tuple[int, Instant]:
    if pull.overdue_at <= now:
        return -len(Tier), pull.overdue_at
    return -pull.tier, pull.due_at


def missing(tx: Tx, part: Slice) -> list[tuple[str, Tier, str]]:
    """Accounts of a slice, each with its tier and a connector that it is not looked at with yet."""
    pairs = tx.rows(_MISSING, part.of(tx) * 2)
    tiers = {row[0]: Tier(row[1]) for row in tx.rows(_TIERS, part.of(tx))}  # after: it has them all
    return [(account_id, tiers[account_id], name) for account_id, name in pairs]


def remove(tx: Tx, connector_id: str, limit: int) -> None:
    """End some pulls of a connector."""
    of = (tx.tenant_id, connector_id)
    tx.run(_REMOVE, (*of, *of, limit))


def save(tx: Tx, pulls: Sequence[NextPull]) -> None:
    if not pulls:
        return
    if tx.engine == "sqlite":
        tx.run_many(_SAVE, [(tx.tenant_id, *_row(pull)) for pull in pulls])
        return
    rows = [dict(zip(_NAMES, _row(pull), strict=True)) for pull in pulls]
    tx.run(_SAVE, (tx.tenant_id, encode(rows)))


def of_accounts(tx: Tx, account_ids: Sequence[str]) -> list[NextPull]:
    return [_next(row) for row in tx.rows(_OF_ACCOUNTS, (encode(account_ids), tx.tenant_id))]


def next_due(tx: Tx) -> dict[str, Instant]:
    """By connector, when the first of its pulls is due."""
    rows = tx.rows(_NEXT_DUE, (tx.tenant_id,) * (2 + len(Tier)))
    return {row[0]: Instant(row[1]) for row in rows}


def _next(row: Row) -> NextPull:
    account_id, connector_id, tier, *times = row
    return NextPull(account_id, connector_id, Tier(tier), *times)


def _row(pull: NextPull) -> Row:
    return (*pull[:2], int(pull.tier), *pull[3:])
