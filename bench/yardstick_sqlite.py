"""Admission on SQLite by hand: the standard driver, json_each to read, executemany to write.

Frozen, and independent of the product. Write-ahead log, synchronous = FULL.
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from bench.events import Event, account_names
from bench.gate import NEW, Account, Tenant, decide, encode

TENANT = "t1"
DAY_SECONDS = 86_400

SCHEMA = f"""
create table tenant_state (
    tenant_id text primary key, hour int not null default 0, runs int not null default 0,
    day int not null default 0, day_runs int not null default 0, version int not null default 0
) without rowid;
create table run_state (
    tenant_id text not null, account_id text not null, last_event_at int not null default 0,
    last_allowed_at int not null default 0, hour int not null default 0,
    runs int not null default 0, version int not null default 0,
    primary key (tenant_id, account_id)
) without rowid;
create table idempotency (
    tenant_id text not null, key text not null, expires_at real not null,
    primary key (tenant_id, key)
) without rowid;
create table ledger (
    seq integer primary key, id text not null, tenant_id text not null, account_id text not null,
    kind text not null, recorded_at int not null, body text not null
);
create index ledger_account on ledger (tenant_id, account_id, seq);
create table outbox (
    id text primary key, namespace text not null, topic text not null, tenant_id text not null,
    dedupe_key text, payload text not null, status text not null default 'pending',
    attempts int not null default 0, next_attempt_at int not null default 0, locked_by text,
    locked_until int, last_error text, created_at int, updated_at int
);
create unique index outbox_dedupe on outbox (namespace, tenant_id, dedupe_key)
    where dedupe_key is not null;
create index outbox_due on outbox (namespace, next_attempt_at) where status = 'pending';
create index outbox_lease on outbox (namespace, locked_until) where status = 'processing';
insert into tenant_state (tenant_id) values ('{TENANT}');
"""

RESERVE = """
insert into idempotency (tenant_id, key, expires_at)
select ?1 ->> 't', value, ?1 ->> 'x' from json_each(?1, '$.k') where true
on conflict do nothing returning key"""
READ_ACCOUNTS = """
select account_id, last_event_at, last_allowed_at, hour, runs from run_state
where tenant_id = ?1 ->> 't' and account_id in (select value from json_each(?1, '$.a'))"""
READ_TENANT = "select hour, runs, day, day_runs from tenant_state where tenant_id = ?"
SAVE_TENANT = f"""
update tenant_state set hour = ?, runs = ?, day = ?, day_runs = ?, version = version + 1
where tenant_id = '{TENANT}'"""
SAVE_ACCOUNT = f"""
insert into run_state (tenant_id, account_id, last_event_at, last_allowed_at, hour, runs)
values ('{TENANT}', ?, ?, ?, ?, ?)
on conflict do update set last_event_at = excluded.last_event_at,
    last_allowed_at = excluded.last_allowed_at, hour = excluded.hour, runs = excluded.runs,
    version = version + 1"""
INSERT_LEDGER = f"""
insert into ledger (id, tenant_id, account_id, kind, recorded_at, body)
values (?, '{TENANT}', ?, ?, ?, ?)"""
INSERT_OUTBOX = f"""
insert into outbox (id, namespace, topic, tenant_id, dedupe_key, payload, next_attempt_at)
values (?, 'core', 'run', '{TENANT}', ?, ?, ?) on conflict do nothing"""

MIX = "select body -> 'verdict' ->> 'result', count(*) from ledger group by 1"


def create(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("pragma journal_mode = wal")
        conn.executescript(SCHEMA)
        conn.execute("begin")
        conn.executemany(
            f"insert into run_state (tenant_id, account_id) values ('{TENANT}', ?)",
            [(name,) for name in account_names()],
        )
        conn.execute("commit")
        conn.execute("pragma wal_checkpoint(truncate)")


def opened(path: Path) -> tuple[Callable[[list[Event]], None], Callable[[], None]]:
    """What admits one batch in one transaction, and what closes its connection."""
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("pragma synchronous = full")

    def admit(events: list[Event]) -> None:
        conn.execute("begin immediate")
        _admit(conn, events)
        conn.execute("commit")

    return admit, conn.close


def _admit(conn: sqlite3.Connection, events: list[Event]) -> None:
    keys = sorted({event.key for event in events})
    names = sorted({event.account for event in events})
    expires_at = time.time() + DAY_SECONDS
    wanted = encode({"t": TENANT, "x": expires_at, "k": keys})
    reserved = {row[0] for row in conn.execute(RESERVE, (wanted,)).fetchall()}
    found = conn.execute(READ_ACCOUNTS, (encode({"t": TENANT, "a": names}),)).fetchall()
    accounts = dict.fromkeys(names, NEW)
    accounts.update((row[0], Account(*row[1:])) for row in found)
    tenant = Tenant(*conn.execute(READ_TENANT, (TENANT,)).fetchone())
    rows = decide(events, reserved, accounts, tenant)
    if not rows.ledger:
        return
    after = rows.tenant
    conn.execute(SAVE_TENANT, (after.hour, after.runs, after.day, after.day_runs))
    conn.executemany(
        SAVE_ACCOUNT,
        [
            (name, a.last_event_at, a.last_allowed_at, a.hour, a.runs)
            for name, a in rows.changed.items()
        ],
    )
    conn.executemany(
        INSERT_LEDGER, [(r["i"], r["a"], r["k"], r["n"], encode(r["b"])) for r in rows.ledger]
    )
    if rows.outbox:
        conn.executemany(
            INSERT_OUTBOX, [(r["i"], r["d"], encode(r["p"]), r["n"]) for r in rows.outbox]
        )
