"""Replay: the gate in a fold against the gate itself, and a whole plan against a bare fetch.

Times are CPU times of the process that replays, so that a busy machine distorts them less; the
fetch reads and decodes the same pages and does nothing with them. Verdicts are checked: the policy
in force must flip nothing.
"""

import contextlib
import gc
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

from bench import places, product
from bench.history import START, History, Line
from bench.measure import Ratio, table
from bench.settings import Settings
from tests.postgres import LOGIN
from watchkeeper.actions.plan_policy import Plan, plan_policy
from watchkeeper.core.admission import decide, evolve
from watchkeeper.core.ids import DecisionId, TenantId
from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_parse import parse_policy, shipped_policy
from watchkeeper.core.replay import TenantReplay
from watchkeeper.core.replay_tally import Tally
from watchkeeper.core.time import DAY, SECOND
from watchkeeper.core.verdict_record import read_case
from watchkeeper.store.database import Database, open_database
from watchkeeper.store.json import loads
from watchkeeper.store.replay import PAGE, Places, page

GATE_LINES = 20_000
SAME = ""
OTHER = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 240\ndebounce_seconds = 30\n"
TENANTS = ("one", "two")
COLUMNS = (
    "tenant_id, seq, entry_id, at, stage, kind, subject, policy_version, trigger_type, result,"
    " reason, data"
)


def replay(settings: Settings) -> str:
    """Events a second of the gate and of whole plans, on both engines."""
    parts = [_gate(settings)]
    with places.folder() as home:
        parts.append(_plans("SQLite", _sqlite(home, settings), settings))
    with places.postgres() as server:
        name = server.create()
        product.migrate(server.owner_url(name), LOGIN)
        with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
            _fill_postgres(conn, settings)
        parts.append(_plans("PostgreSQL", server.tcp_url(name), settings))
    return "\n".join(parts)


def _gate(settings: Settings) -> str:
    history = History(shipped_policy(), settings.seed)
    lines = [(one.seq, one.decision_id, loads(one.data)) for one in history.lines(GATE_LINES)]
    other = rules_for(parse_policy(OTHER), "t", None)

    def folded(rules: object) -> Callable[[], None]:
        def fold() -> None:
            replaying = TenantReplay(
                lambda *_: (history.rules, rules), lambda _at, _type: None, Tally()
            )
            for line in lines:
                replaying.feed(*line)

        return fold

    def frozen() -> None:
        for seq, decision_id, data in lines:
            case = read_case(data, history.rules)
            evolve(case, decide(case), DecisionId(decision_id), seq)

    variants = {
        "the gate itself": frozen,
        "fold, on the record": folded(history.rules),
        "fold, off the record": folded(other),
    }
    rates: dict[str, list[float]] = {name: [] for name in variants}
    gc.collect()
    gc.freeze()  # the lines are never garbage: searched again and again they would cost the fold
    for _ in range(settings.rounds):
        for name, run in variants.items():
            rates[name].append(GATE_LINES / _cpu(run))
    gc.unfreeze()
    rows = []
    for name, found in rates.items():
        ratios = [mine / gate for mine, gate in zip(found, rates["the gate itself"], strict=True)]
        rows.append([name, f"{max(found):,.0f}", Ratio(tuple(ratios))])
    return f"### Replay, the gate\n\n{table(['', 'events/s, best', 'ratio'], rows)}\n"


def _plans(engine: str, url: str, settings: Settings) -> str:
    count = settings.replayed
    db = open_database(url)
    rows = []
    variants: dict[str, Callable[[], object]] = {
        "bare fetch and decode": lambda: _fetch(db, count),
        "plan, nothing changes": lambda: _plan(db, SAME, 1),
        "plan, cooldown and debounce change": lambda: _plan(db, OTHER, 1),
    }
    rates: dict[str, list[float]] = {name: [] for name in variants}
    plan: object = None
    for number in range(settings.rounds):
        for name, run in variants.items():
            before = time.process_time()
            plan = run()
            rates[name].append(count / (time.process_time() - before))
        settings.tell(f"replay, {engine}, round {number + 1}: {rates}")
    for name, found in rates.items():
        fetched = rates["bare fetch and decode"]
        ratios = [mine / fetch for mine, fetch in zip(found, fetched, strict=True)]
        rows.append([name, f"{max(found):,.0f}", Ratio(tuple(ratios)), ""])
    for processes in (1, 2):
        before = time.perf_counter()
        plan = _plan(db, OTHER, processes)
        wall = count / (time.perf_counter() - before)
        name = f"plan, wall, {processes} process{'es' if processes > 1 else ''}"
        rows.append([name, f"{wall:,.0f}", "", f"{_memory()} MB"])
    assert isinstance(plan, Plan)
    db.close()
    head = [f"{count:,} events, {plan.flips:,} flips", "events/s, best", "ratio", "memory"]
    return f"### Replay, a whole plan on {engine}\n\n{table(head, rows)}\n"


def _plan(db: Database, document: str, processes: int) -> Plan:
    plan = plan_policy(db, document, since_us=3_000 * DAY, processes=processes)
    assert document != SAME or plan.flips == 0, "what is in force must flip nothing"
    return plan


def _fetch(db: Database, count: int) -> None:
    each = count // len(TENANTS)
    for name in TENANTS:
        for start in range(0, each, PAGE):
            with db.read(TenantId(name)) as tx:
                for _, _, data in page(tx, Places(start, min(start + PAGE, each))):
                    assert data is not None
                    loads(data)


def _lines(settings: Settings) -> Iterator[tuple[object, ...]]:
    each = settings.replayed // len(TENANTS)
    for number, name in enumerate(TENANTS):
        history = History(shipped_policy(), settings.seed + number, tenant_id=name)
        for line in history.lines(each):
            yield _row(name, line)


def _row(tenant_id: str, line: Line) -> tuple[object, ...]:
    seq, decision_id, at, subject, trigger_type, result, reason, version, data = line
    told = ("decide", "verdict", subject, version, trigger_type, result, reason, data)
    return (tenant_id, seq, decision_id, at, *told)


def _now(settings: Settings) -> int:
    return (START + 10 + settings.replayed) * SECOND


def _sqlite(home: Path, settings: Settings) -> str:
    url = f"sqlite:///{home / 'replay.db'}"
    product.migrate(url, None)
    with contextlib.closing(sqlite3.connect(home / "replay.db")) as conn, conn:
        conn.execute("insert into clock values (true, ?)", (_now(settings),))
        for name in TENANTS:
            conn.execute("insert into tenants (tenant_id, created_at) values (?, 0)", (name,))
        marks = ", ".join("?" for _ in COLUMNS.split(","))
        conn.executemany(f"insert into ledger ({COLUMNS}) values ({marks})", _lines(settings))
    return url


def _fill_postgres(conn: psycopg.Connection, settings: Settings) -> None:
    conn.execute("insert into clock values (true, %s)", (_now(settings),))
    for name in TENANTS:
        conn.execute("insert into tenants (tenant_id, created_at) values (%s, 0)", (name,))
    with conn.cursor().copy(f"copy ledger ({COLUMNS}) from stdin") as copy:
        for row in _lines(settings):
            copy.write_row(row)
    conn.execute("vacuum analyze ledger")


def _cpu(run: Callable[[], object]) -> float:
    before = time.process_time()
    run()
    return time.process_time() - before


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
