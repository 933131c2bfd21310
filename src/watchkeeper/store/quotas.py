"""Quota buckets: how full they are, and what moves in them. Under the tenant's lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from watchkeeper.core.quota import BucketKey, Level, Period, day_start, month_start
from watchkeeper.core.time import DAY, Instant
from watchkeeper.store.json import encode
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Row, Tx

_READ = Statement(
    # It tells the time, and with it the periods: nobody has waited for the tenant's lock yet.
    f"""with c as materialized (select {NOW_SQL} as at), p as materialized (
        select at, at - at %% {DAY} as day, (extract(epoch from date_trunc('month',
            to_timestamp(at / 1000000) at time zone 'UTC')) * 1000000)::bigint as month from c)
    select 'v', null, null, (select coalesce(max(version), 0) from policies), p.at,
        null::bigint, null from p
    union all
    select 'x', scope || case id when '' then '' else ':' || id end, reason, null, null, null, null
    from kill_switches where tenant_id in (%s, '_system')
    union all
    select 'b', q.user_id, q.period, q.start_at, q.reserved_micro, q.spent_micro, q.bucket
    from jsonb_array_elements_text(%s::jsonb) v (u), (select 'daily', day from p
        union all select 'monthly', month from p) s (period, start_at), lateral (
        select * from quota_buckets b where b.tenant_id = %s and b.user_id = v.u
        and b.period = s.period and b.start_at = s.start_at offset 0) q""",
    """select 'v', null, null, (select coalesce(max(version), 0) from policies), null, null, null
    union all
    select 'x', scope || case id when '' then '' else ':' || id end, reason, null, null, null, null
    from kill_switches where tenant_id in (?1, '_system')
    union all
    select 'b', user_id, period, start_at, reserved_micro, spent_micro, bucket from quota_buckets
    where tenant_id = ?3 and user_id in (select value from json_each(?2))
        and period = 'daily' and start_at = ?4
    union all
    select 'b', user_id, period, start_at, reserved_micro, spent_micro, bucket from quota_buckets
    where tenant_id = ?3 and user_id in (select value from json_each(?2))
        and period = 'monthly' and start_at = ?5""",
)
_MOVE = Statement(
    # A row that is missing is made: accounting never stands in the way of an end. The bounds
    # of the start let the planner expect few rows: then it goes to each by its place.
    """with v as materialized (
        select * from jsonb_to_recordset(%s::jsonb) as v (u text, p text, a bigint, b text,
            r bigint, s bigint, m bigint, n bigint, i bigint, o bigint)),
    moved as (
        update quota_buckets q set reserved_micro = greatest(q.reserved_micro + v.r, 0),
            spent_micro = q.spent_micro + v.s, turns_reserved = q.turns_reserved + v.m,
            turns_settled = q.turns_settled + v.n, input_tokens = q.input_tokens + v.i,
            output_tokens = q.output_tokens + v.o
        from v, lateral (
            select ctid from quota_buckets where tenant_id = %s and user_id = v.u
            and period = v.p and start_at = v.a and bucket = v.b limit 1) at
        where q.ctid = at.ctid and v.a > -1 and v.a < 4611686018427387904
        returning q.user_id, q.period, q.start_at, q.bucket)
    insert into quota_buckets (tenant_id, user_id, period, start_at, bucket, reserved_micro,
        spent_micro, turns_reserved, turns_settled, input_tokens, output_tokens)
    select %s, v.u, v.p, v.a, v.b, greatest(v.r, 0), v.s, v.m, v.n, v.i, v.o from v
    where (v.u, v.p, v.a, v.b) not in (select user_id, period, start_at, bucket from moved)""",
    """insert into quota_buckets (tenant_id, user_id, period, start_at, bucket, reserved_micro,
        spent_micro, turns_reserved, turns_settled, input_tokens, output_tokens)
    values (?1, ?2, ?3, ?4, ?5, max(?6, 0), ?7, ?8, ?9, ?10, ?11)
    on conflict (tenant_id, user_id, period, start_at, bucket) do update set
        reserved_micro = max(reserved_micro + ?6, 0), spent_micro = spent_micro + ?7,
        turns_reserved = turns_reserved + ?8, turns_settled = turns_settled + ?9,
        input_tokens = input_tokens + ?10, output_tokens = output_tokens + ?11""",
)
_LIST = same(
    "select user_id, period, start_at, bucket, reserved_micro, spent_micro, turns_reserved,"
    " turns_settled, input_tokens, output_tokens from quota_buckets"
    " where tenant_id = %s and user_id = %s and (period = 'daily' and start_at = %s"
    " or period = 'monthly' and start_at = %s)"
)


@dataclass(slots=True)
class Found:
    """What a reserve is decided from, besides its terms."""

    policy_version: int = 0
    switches: dict[str, str] = field(default_factory=dict)  # scope -> reason
    levels: dict[BucketKey, Level] = field(default_factory=dict)


@dataclass(slots=True)
class Movement:
    """What changes in a bucket, added up. Reserved may go down; the rest only grows."""

    reserved: int = 0
    spent: int = 0
    turns_reserved: int = 0
    turns_settled: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class Bucket(NamedTuple):
    key: BucketKey
    level: Level
    turns_reserved: int = 0
    turns_settled: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def send_read(tx: Tx, users: Iterable[str]) -> Any:
    """Ask for the policy in force, the switches that are on, and the buckets of these users."""
    asked: tuple[object, ...] = (tx.tenant_id, encode(sorted(users)), tx.tenant_id)
    if tx.engine == "sqlite":
        asked = (*asked, day_start(tx.now), month_start(tx.now))
    return tx.send(_READ, asked)


def read(tx: Tx, cursor: Any) -> Found:
    """What was asked for. `now` is the moment at which its periods are the present ones."""
    found = Found()
    for row in cursor.fetchall():
        if row[0] == "v":
            found.policy_version = row[3]
            tx.now = tx.now if row[4] is None else Instant(row[4])
        elif row[0] == "x":
            found.switches[row[1]] = row[2]
        else:
            key = BucketKey(row[1], Period(row[2]), Instant(row[3]), row[6])
            found.levels[key] = Level(row[4], row[5])
    return found


def move(tx: Tx, movements: Mapping[BucketKey, Movement]) -> None:
    """Add to the buckets, each once. A bucket that is not there is made."""
    if not movements:
        return
    if tx.engine == "sqlite":
        tx.run_many(_MOVE, [(tx.tenant_id, *row) for row in _moved(movements)])
        return
    rows = [dict(zip("upabrsmnio", row, strict=True)) for row in _moved(movements)]
    tx.run(_MOVE, (encode(rows), tx.tenant_id, tx.tenant_id))


def _moved(movements: Mapping[BucketKey, Movement]) -> list[Row]:
    """Key and changes as plain values: sqlite3 looks long for how to store an enumeration."""
    return [
        (
            *(key.user_id, key.period.value, key.start_at, key.bucket),
            *(m.reserved, m.spent, m.turns_reserved, m.turns_settled),
            *(m.input_tokens, m.output_tokens),
        )
        for key, m in movements.items()
    ]


def of_owner(tx: Tx, user_id: str, day: Instant, month: Instant) -> list[Bucket]:
    """The buckets of the tenant as a whole, or of one user, in these periods."""
    return [_bucket(row) for row in tx.rows(_LIST, (tx.tenant_id, user_id, day, month))]


def _bucket(row: Row) -> Bucket:
    user_id, period, start_at, bucket, reserved, spent, *counters = row
    key = BucketKey(user_id, Period(period), Instant(start_at), bucket)
    return Bucket(key, Level(reserved, spent), *counters)
