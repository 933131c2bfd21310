"""Turns by hand: reserve and finalize as plain statements on the drivers, for one tenant.

Frozen, and independent of the product. It writes the same rows (turn, buckets, ledger line, dedupe
key, outbox row) under a lock of the tenant's row, without row-level security, triggers or checks:
what a careful engineer would write in an afternoon. One pair of statements for each engine where
they differ; the batch travels as JSON.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from bench.gate import encode

TENANT = "t1"
SECOND = 1_000_000
DAY = 86_400 * SECOND
MONTH = 30 * DAY
LIMIT = 10**15
INPUT_MULTIPLIER, OUTPUT_MULTIPLIER = 1_000_000, 3_000_000
TIMEOUT = 300 * SECOND


@dataclass(frozen=True, slots=True)
class Work:
    """One turn that is to be reserved and, with this usage, settled."""

    turn_id: str
    request_id: str
    user_id: str
    estimated_input: int = 1_000
    max_output: int = 500
    used_input: int = 900
    used_output: int = 120


SCHEMA = """
create table tenants (tenant_id text primary key, ledger_seq bigint not null) {hot};
create table turns (
    tenant_id text not null, turn_id text not null, request_id text not null, user_id text,
    policy_version int not null, selected_model text not null, effective_model text not null,
    tier text not null, input_multiplier bigint not null, output_multiplier bigint not null,
    estimated_input bigint not null, max_output bigint not null, reserved bigint not null,
    day_at bigint not null, month_at bigint not null, reserved_at bigint not null,
    state text not null, deadline_at bigint not null, ended_at bigint, method text,
    input_tokens bigint, output_tokens bigint, charged bigint, event_id {uuid},
    primary key (tenant_id, turn_id)
) {hot};
create unique index turns_request on turns (tenant_id, request_id);
create index turns_running on turns (deadline_at) where state = 'running';
create table buckets (
    tenant_id text not null, user_id text not null, period text not null, start_at bigint not null,
    bucket text not null, reserved bigint not null, spent bigint not null, turns bigint not null,
    primary key (tenant_id, user_id, period, start_at, bucket)
) {hot};
create table ledger (
    tenant_id text not null, seq bigint not null, entry_id {uuid} not null, at bigint not null,
    kind text not null, subject text not null, body {json} not null, primary key (tenant_id, seq)
);
create index ledger_subject on ledger (tenant_id, subject, seq);
create table dedupe_keys (
    tenant_id text not null, topic text not null, dedupe_key text not null,
    message_id {uuid} not null, primary key (tenant_id, topic, dedupe_key)
);
create table outbox (
    seq {serial}, tenant_id text not null, id {uuid} not null, topic text not null,
    dedupe_key text not null, payload {json} not null, status text not null default 'pending',
    attempts int not null default 0, next_attempt_at bigint not null, locked_by {uuid},
    locked_until bigint, created_at bigint not null
) {hot};
create unique index outbox_message on outbox (tenant_id, id);
create index outbox_due on outbox (topic, tenant_id, next_attempt_at) where status = 'pending';
insert into tenants values ('t1', 0);
"""
POSTGRES_SCHEMA = SCHEMA.format(
    hot="with (fillfactor = 50)",
    uuid="uuid",
    json="json",
    serial="bigint generated always as identity primary key",
)
SQLITE_SCHEMA = SCHEMA.format(hot="", uuid="text", json="text", serial="integer primary key")

TURN = (
    "turn_id, request_id, user_id, policy_version, selected_model, effective_model, tier,"
    " input_multiplier, output_multiplier, estimated_input, max_output, reserved, day_at, month_at,"
    " reserved_at, state, deadline_at"
)
TURN_TYPES = (
    "turn_id text, request_id text, user_id text, policy_version int, selected_model text,"
    " effective_model text, tier text, input_multiplier bigint, output_multiplier bigint,"
    " estimated_input bigint, max_output bigint, reserved bigint, day_at bigint, month_at bigint,"
    " reserved_at bigint, state text, deadline_at bigint"
)
POSTGRES = {
    "lock": "select ledger_seq from tenants where tenant_id = %s for no key update",
    "known": "select request_id from turns where tenant_id = %s"
    " and request_id = any(array(select jsonb_array_elements_text(%s::jsonb)))",
    "buckets": "select user_id, period, start_at, bucket, reserved, spent from buckets"
    " where tenant_id = %s and user_id = any(array(select jsonb_array_elements_text(%s::jsonb)))",
    "insert": f"insert into turns (tenant_id, {TURN}) select %s, v.*"
    f" from jsonb_to_recordset(%s::jsonb) v ({TURN_TYPES})",
    "upsert": "insert into buckets select %s, v.* from jsonb_to_recordset(%s::jsonb)"
    " v (u text, p text, a bigint, b text, r bigint, s bigint, n bigint)"
    " on conflict (tenant_id, user_id, period, start_at, bucket) do update set"
    " reserved = buckets.reserved + excluded.reserved, spent = buckets.spent + excluded.spent,"
    " turns = buckets.turns + excluded.turns",
    "ledger": "insert into ledger select %s, v.* from jsonb_to_recordset(%s::jsonb)"
    " v (n bigint, i uuid, t bigint, k text, s text, d json)",
    "seq": "update tenants set ledger_seq = %s where tenant_id = %s",
    "hold": f"select {TURN} from turns where tenant_id = %s and turn_id"
    " = any(array(select jsonb_array_elements_text(%s::jsonb))) order by turn_id for no key update",
    "dedupe": "insert into dedupe_keys select %s, 'usage', v.k, v.i"
    " from jsonb_to_recordset(%s::jsonb) v (k text, i uuid) on conflict do nothing returning 1",
    "outbox": "insert into outbox (tenant_id, id, topic, dedupe_key, payload, next_attempt_at,"
    " created_at) select %s, v.i, 'usage', v.k, v.p, v.t, v.t"
    " from jsonb_to_recordset(%s::jsonb) v (i uuid, k text, p json, t bigint)",
    "end": "update turns t set state = 'completed', ended_at = v.t, method = 'actual',"
    " input_tokens = v.a, output_tokens = v.b, charged = v.c, event_id = v.i"
    " from jsonb_to_recordset(%s::jsonb) v (x text, t bigint, a bigint, b bigint, c bigint, i uuid)"
    " where t.tenant_id = %s and t.turn_id = v.x and t.state = 'running'",
}
SQLITE = {
    "lock": "select ledger_seq from tenants where tenant_id = ?",
    "known": "select request_id from turns where tenant_id = ?"
    " and request_id in (select value from json_each(?))",
    "buckets": "select user_id, period, start_at, bucket, reserved, spent from buckets"
    " where tenant_id = ? and user_id in (select value from json_each(?))",
    "insert": f"insert into turns (tenant_id, {TURN}) values (?{', ?' * 17})",
    "upsert": "insert into buckets values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do update set"
    " reserved = reserved + excluded.reserved, spent = spent + excluded.spent,"
    " turns = turns + excluded.turns",
    "ledger": "insert into ledger values (?, ?, ?, ?, ?, ?, ?)",
    "seq": "update tenants set ledger_seq = ? where tenant_id = ?",
    "hold": f"select {TURN} from turns where tenant_id = ?"
    " and turn_id in (select value from json_each(?))",
    "dedupe": "insert into dedupe_keys values (?, 'usage', ?, ?) on conflict do nothing",
    "outbox": "insert into outbox (tenant_id, id, topic, dedupe_key, payload, next_attempt_at,"
    " created_at) values (?, ?, 'usage', ?, ?, ?, ?)",
    "end": "update turns set state = 'completed', ended_at = ?, method = 'actual',"
    " input_tokens = ?, output_tokens = ?, charged = ?, event_id = ?"
    " where tenant_id = ? and turn_id = ? and state = 'running'",
}

Movements = dict[tuple[str, str, int, str], list[int]]
Step = Callable[[Sequence[Work]], None]


def postgres(url: str) -> tuple[Step, Callable[[], None]]:
    """What reserves and finalizes a batch in two transactions, and what closes its connection."""
    conn = psycopg.connect(url)
    conn.prepare_threshold = 2

    def send(name: str, parameters: Sequence[object]) -> Any:
        cursor = conn.cursor()
        cursor.execute(POSTGRES[name], parameters)
        return cursor

    def write(name: str, rows: list[dict[str, object]]) -> None:
        if name == "end":
            send(name, (encode(rows), TENANT))
        else:
            send(name, (TENANT, encode(rows)))

    def step(works: Sequence[Work]) -> None:
        for half in (_reserve, _finalize):
            with conn.pipeline():
                half(works, send, write)
                conn.commit()

    return step, conn.close


def sqlite(path: str) -> tuple[Step, Callable[[], None]]:
    conn = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    conn.execute("pragma synchronous = full")
    conn.execute("pragma wal_autocheckpoint = 8000")

    def send(name: str, parameters: Sequence[object]) -> Any:
        return conn.execute(SQLITE[name], parameters)

    def write(name: str, rows: list[dict[str, object]]) -> None:
        if name == "outbox":
            values = [(TENANT, r["i"], r["k"], encode(r["p"]), r["t"], r["t"]) for r in rows]
        elif name == "ledger":
            values = [(TENANT, *list(r.values())[:-1], encode(r["d"])) for r in rows]
        elif name == "end":
            values = [(*list(r.values())[1:], TENANT, r["x"]) for r in rows]
        else:
            values = [(TENANT, *r.values()) for r in rows]
        conn.executemany(SQLITE[name], values)

    def step(works: Sequence[Work]) -> None:
        for half in (_reserve, _finalize):
            conn.execute("begin immediate")
            half(works, send, write)
            conn.execute("commit")

    return step, conn.close


def create_sqlite(path: str) -> None:
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("pragma journal_mode = wal")
    conn.executescript(SQLITE_SCHEMA)
    conn.close()


def _reserve(works: Sequence[Work], send: Any, write: Any) -> None:
    users = sorted({work.user_id for work in works} | {""})
    waiting = [
        send("lock", (TENANT,)),
        send("known", (TENANT, encode([work.request_id for work in works]))),
        send("buckets", (TENANT, encode(users))),
    ]
    [(seq,)], known, found = (cursor.fetchall() for cursor in waiting)
    used = {row[:4]: row[4] + row[5] for row in found}
    names = {row[0] for row in known}
    now = time.time_ns() // 1000
    day, month = now - now % DAY, now - now % MONTH
    turns: list[dict[str, object]] = []
    moved: Movements = {}
    for work in works:
        needed = _credits(work.estimated_input, work.max_output)
        keys = _keys(work.user_id, "standard", day, month)
        if work.request_id in names or any(used.get(key, 0) + needed > LIMIT for key in keys):
            continue
        told = (work.turn_id, work.request_id, work.user_id, 1, "standard", "standard", "standard")
        priced = (INPUT_MULTIPLIER, OUTPUT_MULTIPLIER, work.estimated_input, work.max_output)
        when = (needed, day, month, now, "running", now + TIMEOUT)
        turns.append(dict(zip(TURN.split(", "), (*told, *priced, *when), strict=True)))
        for key in keys:
            used[key] = used.get(key, 0) + needed
            _move(moved, key, needed, 0, 1)
    write("insert", turns)
    write("upsert", _rows(moved))
    write("ledger", [_line(seq + n, "reserved", turn, turn) for n, turn in enumerate(turns, 1)])
    send("seq", (seq + len(turns), TENANT))


def _finalize(works: Sequence[Work], send: Any, write: Any) -> None:
    waiting = [
        send("lock", (TENANT,)),
        send("hold", (TENANT, encode(sorted(work.turn_id for work in works)))),
    ]
    [(seq,)], rows = (cursor.fetchall() for cursor in waiting)
    held = {row[0]: dict(zip(TURN.split(", "), row, strict=True)) for row in rows}
    now = time.time_ns() // 1000
    ends: list[dict[str, object]] = []
    events: list[dict[str, object]] = []
    lines: list[dict[str, object]] = []
    moved: Movements = {}
    for work in works:
        turn = held.get(work.turn_id)
        if turn is None or turn["state"] != "running":
            continue
        computed = _credits(work.used_input, work.used_output)
        charged = min(computed, turn["reserved"] * 110 // 100)
        usage = {"input_tokens": work.used_input, "output_tokens": work.used_output}
        payload = {**turn, **usage, "tenant_id": TENANT, "charged": charged, "settled_at": now}
        id, key = _uuid7(), f"{TENANT}/{work.turn_id}/{work.request_id}"
        event = {"i": id, "k": key, "p": payload, "t": now}
        end = {"x": work.turn_id, "t": now, "a": work.used_input, "b": work.used_output}
        events.append(event)
        ends.append({**end, "c": charged, "i": id})
        body = {**usage, "charged": charged, "reserved": turn["reserved"], "event_id": id}
        lines.append(_line(seq + len(ends), "settled", turn, body))
        for bucket in _keys(turn["user_id"], turn["tier"], turn["day_at"], turn["month_at"]):
            _move(moved, bucket, -turn["reserved"], charged, 0)
    write("dedupe", [{"k": event["k"], "i": event["i"]} for event in events])
    write("outbox", events)
    write("end", ends)
    write("upsert", _rows(moved))
    write("ledger", lines)
    send("seq", (seq + len(ends), TENANT))


def _credits(input_tokens: int, output_tokens: int) -> int:
    return -(-input_tokens * INPUT_MULTIPLIER // 1_000_000) - (
        -output_tokens * OUTPUT_MULTIPLIER // 1_000_000
    )


def _keys(user_id: str, tier: str, day: int, month: int) -> list[tuple[str, str, int, str]]:
    return [
        (owner, period, start, bucket)
        for owner in ("", user_id)
        for period, start in (("daily", day), ("monthly", month))
        for bucket in ("total", f"tier:{tier}")
    ]


def _move(
    moved: Movements, key: tuple[str, str, int, str], reserved: int, spent: int, turns: int
) -> None:
    row = moved.setdefault(key, [0, 0, 0])
    row[0] += reserved
    row[1] += spent
    row[2] += turns


def _rows(moved: Movements) -> list[dict[str, object]]:
    return [dict(zip("upabrsn", (*key, *row), strict=True)) for key, row in moved.items()]


def _line(seq: int, kind: str, turn: dict[str, Any], body: object) -> dict[str, object]:
    at = time.time_ns() // 1000
    return {"n": seq, "i": _uuid7(), "t": at, "k": kind, "s": turn["turn_id"], "d": body}


def _uuid7() -> str:
    bits = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    bits = bits & ~(0xF << 76) | 0x7 << 76
    text = f"{bits & ~(0x3 << 62) | 0x2 << 62:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
