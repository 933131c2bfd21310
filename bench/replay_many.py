"""A plan over ten million events on PostgreSQL, by the command, with a process for each core.

A base history is made by the product's own gate; the database gives it to every tenant, many
times. Each copy lies 125 days after the one before it, so that hours and days stay whole, and every
moment in the texts is moved by its leading digits: the same policy must flip none of it. What is
measured is `watchkeeper policy plan` as somebody would type it, from its start to its answer.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from bench import places, product
from bench.history import START, History
from bench.measure import met, table
from bench.replay import COLUMNS, OTHER, SAME, _row
from bench.settings import Settings
from tests.postgres import LOGIN
from watchkeeper.core.policy_parse import shipped_policy
from watchkeeper.core.time import DAY, SECOND

GOAL_SECONDS = 90.0  # for ten million events; a shorter run has its share
GOAL_EVENTS = 10_000_000
TENANTS = tuple(f"tenant-{number:02}" for number in range(20))
BASE_LINES = 20_000
PROCESSES = 2
APART = 125 * DAY
"""Between two copies: moves instants by 108 in their first five digits, hours by 300 in theirs."""

_COPY = """insert into ledger ({columns}) select %(tenant)s, seq + k * {lines},
        replace(entry_id::text, '-7000-', '-7' || lpad(to_hex(k), 3, '0') || '-')::uuid,
        at + k * {apart}, stage, kind, subject, policy_version, trigger_type, result, reason,
        {moved}::json
    from base, generate_series(%(start)s::bigint, %(end)s) k order by k, seq"""
_FIRST_DIGITS, _HOUR_DIGITS, _DAY = "18934", "52596", 21915
_MOVES = (
    *((f"{mark}{_FIRST_DIGITS}", f"'{mark}' || ({_FIRST_DIGITS} + 108 * k)") for mark in ":[,"),
    *((f"{mark}{_HOUR_DIGITS}", f"'{mark}' || ({_HOUR_DIGITS} + 300 * k)") for mark in ":,"),
    (f'"day":{_DAY}', f"""'"day":' || ({_DAY} + 125 * k)"""),
    ("-7000-", "'-7' || lpad(to_hex(k), 3, '0') || '-'"),
)
"""What is replaced in a text, and by what."""
COPIES_AT_ONCE = 10
_COMMAND = "from watchkeeper.cli.main import main; main()"


def ten_million(settings: Settings) -> str:
    """Seconds, events a second and memory of whole plans over a long history."""
    count = settings.replayed_many
    copies = count // (len(TENANTS) * BASE_LINES)
    goal = GOAL_SECONDS * count / GOAL_EVENTS
    rows = []
    with places.postgres() as server:
        name = server.create()
        product.migrate(server.owner_url(name), LOGIN)
        with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
            _fill(conn, settings, copies)
        for label, document in (("nothing changes", SAME), ("every account flips", OTHER)):
            took, cpu, megabytes, plan = _planned(server.tcp_url(name), document)
            assert plan["events"] == count, plan["events"]
            assert document != SAME or plan["flips"] == 0, "what is in force must flip nothing"
            settings.tell(f"ten-million, {label}: {took:.1f} s, {cpu:.1f} s of CPU")
            speed, apiece = f"{count / took:,.0f}", f"{cpu / count * 1e6:.2f} µs"
            shown = [f"{took:.1f} s", f"{goal:.1f} s", met(took <= goal)]
            rows.append([label, f"{plan['flips']:,}", *shown, speed, apiece, f"{megabytes} MB"])
    head = [
        f"{count:,} events, {PROCESSES} processes",
        "flips",
        "wall",
        "goal",
        "met",
        "events/s",
        "CPU an event, without the server's",
        "largest process",
    ]
    return f"### Replay, ten million\n\n{table(head, rows)}\n"


def _planned(url: str, document: str) -> tuple[float, float, int, dict[str, Any]]:
    """Wall seconds, CPU seconds of the command and its processes, memory of the largest."""
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "policy.toml"
        file.write_text(document)
        asked = [sys.executable, "-c", _COMMAND, "policy", "plan", str(file), "--json"]
        asked += ["--since", "3650d", "--processes", str(PROCESSES), "--db", url]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        said = subprocess.run(asked, stdout=subprocess.PIPE, check=True, env=dict(os.environ))
        took = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, cpu, after.ru_maxrss // 1024, json.loads(said.stdout)


def _fill(conn: psycopg.Connection, settings: Settings, copies: int) -> None:
    conn.execute("create table base (like ledger)")
    with conn.cursor().copy(f"copy base ({COLUMNS}) from stdin") as copy:
        for line in History(shipped_policy(), settings.seed).lines(BASE_LINES):
            copy.write_row(_row("base", line))
    conn.execute("analyze base")
    conn.execute("drop index ledger_correlation")  # it takes long to fill, and is not asked
    moved = "data::text"
    for old, new in _MOVES:
        moved = f"replace({moved}, '{old}', {new})"
    statement = _COPY.format(columns=COLUMNS, lines=BASE_LINES, apart=APART, moved=moved)
    for name in TENANTS:
        conn.execute("insert into tenants (tenant_id, created_at) values (%s, 0)", (name,))
        for start in range(0, copies, COPIES_AT_ONCE):
            end = min(start + COPIES_AT_ONCE, copies) - 1
            conn.execute(statement.encode(), {"start": start, "end": end, "tenant": name})
    settings.tell("ten-million: the ledgers are filled")
    now = START * SECOND + copies * APART
    conn.execute("insert into clock values (true, %s)", (now,))
    conn.execute("drop table base")
    conn.execute("vacuum analyze ledger")
    conn.execute("checkpoint")
