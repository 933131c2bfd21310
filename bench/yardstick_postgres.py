"""Admission on PostgreSQL by hand: plain statements on psycopg, pipelined, jsonb and stdlib json.

Frozen, and independent of the product. Its own tables, no row-level security, no validation: what a
careful engineer would write in an afternoon for one table layout and one kind of event.
"""

from collections.abc import Callable

import psycopg

from bench.events import ACCOUNTS, Event
from bench.gate import NEW, Account, Tenant, decide, encode

TENANT = "t1"

SCHEMA = f"""
create table tenant_state (
    tenant_id text primary key, hour bigint not null default 0, runs int not null default 0,
    day int not null default 0, day_runs int not null default 0, version bigint not null default 0
) with (fillfactor = 10);
create table run_state (
    tenant_id text not null, account_id text not null, last_event_at bigint not null default 0,
    last_allowed_at bigint not null default 0, hour bigint not null default 0,
    runs int not null default 0, version bigint not null default 0,
    primary key (tenant_id, account_id)
) with (fillfactor = 70);
create table idempotency (
    tenant_id text not null, key text not null, expires_at timestamptz not null,
    primary key (tenant_id, key)
);
create table ledger (
    seq bigint generated always as identity primary key, id uuid not null, tenant_id text not null,
    account_id text not null, kind text not null, recorded_at bigint not null, body jsonb not null
);
create index ledger_account on ledger (tenant_id, account_id, seq);
create table outbox (
    id uuid primary key, namespace text not null, topic text not null, tenant_id text not null,
    dedupe_key text, payload jsonb not null, status text not null default 'pending',
    attempts int not null default 0, next_attempt_at timestamptz not null default now(),
    locked_by uuid, locked_until timestamptz, last_error text,
    created_at timestamptz not null default now(), updated_at timestamptz not null default now()
) with (fillfactor = 70);
create unique index outbox_dedupe on outbox (namespace, tenant_id, dedupe_key)
    where dedupe_key is not null;
create index outbox_due on outbox (namespace, next_attempt_at) where status = 'pending';
create index outbox_lease on outbox (namespace, locked_until) where status = 'processing';
insert into tenant_state (tenant_id) values ('{TENANT}');
insert into run_state (tenant_id, account_id)
    select '{TENANT}', prefix || to_char(n, 'FM000000')
    from unnest(array['acct-', 'held-']) prefix, generate_series(0, {ACCOUNTS - 1}) n;
"""

CURRENT = "current_setting('app.tenant_id')"
OPEN = "select set_config('app.tenant_id', %s, true), clock_timestamp()"
RESERVE = f"""
insert into idempotency (tenant_id, key, expires_at)
select {CURRENT}, k, now() + interval '1 day' from jsonb_array_elements_text(%s::jsonb) k
on conflict do nothing returning key"""
LOCK_ACCOUNTS = f"""
select account_id, last_event_at, last_allowed_at, hour, runs from run_state
where tenant_id = {CURRENT} and account_id in (select jsonb_array_elements_text(%s::jsonb))
order by account_id for update"""
LOCK_TENANT = f"""
select hour, runs, day, day_runs from tenant_state where tenant_id = {CURRENT} for update"""
INSERT_MISSING = f"""
insert into run_state (tenant_id, account_id)
select {CURRENT}, a from jsonb_array_elements_text(%s::jsonb) a
on conflict do nothing returning account_id"""
UPDATE_ACCOUNTS = f"""
update run_state s set last_event_at = v.e, last_allowed_at = v.l, hour = v.h, runs = v.c,
    version = s.version + 1
from jsonb_to_recordset(%s::jsonb) v (a text, e bigint, l bigint, h bigint, c int)
where s.tenant_id = {CURRENT} and s.account_id = v.a"""
UPDATE_TENANT = f"""
update tenant_state set hour = v.h, runs = v.c, day = v.d, day_runs = v.r, version = version + 1
from jsonb_to_record(%s::jsonb) v (h bigint, c int, d int, r int) where tenant_id = {CURRENT}"""
INSERT_LEDGER = f"""
insert into ledger (id, tenant_id, account_id, kind, recorded_at, body)
select v.i, {CURRENT}, v.a, v.k, v.n, v.b
from jsonb_to_recordset(%s::jsonb) v (i uuid, a text, k text, n bigint, b jsonb)"""
INSERT_OUTBOX = f"""
insert into outbox (id, namespace, topic, tenant_id, dedupe_key, payload, next_attempt_at)
select v.i, 'core', 'run', {CURRENT}, v.d, v.p,
    case when v.n = 0 then now() else to_timestamp(v.n / 1000000) end
from jsonb_to_recordset(%s::jsonb) v (i uuid, d text, n bigint, p jsonb)
on conflict do nothing"""

MIX = "select body -> 'verdict' ->> 'result', count(*) from ledger group by 1"


def opened(url: str) -> tuple[Callable[[list[Event]], None], Callable[[], None]]:
    """What admits one batch in one transaction, and what closes its connection."""
    conn = psycopg.connect(url)
    cursor = conn.cursor()

    def admit(events: list[Event]) -> None:
        keys = sorted({event.key for event in events})
        names = sorted({event.account for event in events})
        with conn.pipeline():
            reserving, locking, tenant_lock = conn.cursor(), conn.cursor(), conn.cursor()
            cursor.execute(OPEN, (TENANT,))
            reserving.execute(RESERVE, (encode(keys),))
            locking.execute(LOCK_ACCOUNTS, (encode(names),))
            tenant_lock.execute(LOCK_TENANT)
            tenant = Tenant(*tenant_lock.fetchone())
            reserved = {row[0] for row in reserving.fetchall()}
            accounts = {row[0]: Account(*row[1:]) for row in locking.fetchall()}
            if len(accounts) < len(names):
                missing = [name for name in names if name not in accounts]
                cursor.execute(INSERT_MISSING, (encode(missing),))
                accounts.update((row[0], NEW) for row in cursor.fetchall())
            _write(cursor.execute, events, reserved, accounts, tenant)
            conn.commit()

    return admit, conn.close


def _write(
    execute: Callable[..., object],
    events: list[Event],
    reserved: set[str],
    accounts: dict[str, Account],
    tenant: Tenant,
) -> None:
    rows = decide(events, reserved, accounts, tenant)
    if not rows.ledger:
        return
    states = [
        {"a": name, "e": a.last_event_at, "l": a.last_allowed_at, "h": a.hour, "c": a.runs}
        for name, a in sorted(rows.changed.items())
    ]
    after = rows.tenant
    if states:
        execute(UPDATE_ACCOUNTS, (encode(states),))
    execute(
        UPDATE_TENANT,
        (encode({"h": after.hour, "c": after.runs, "d": after.day, "r": after.day_runs}),),
    )
    execute(INSERT_LEDGER, (encode(rows.ledger),))
    if rows.outbox:
        execute(INSERT_OUTBOX, (encode(rows.outbox),))
