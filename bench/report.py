"""Reports of a tenant with a long ledger: how long one takes, and what a plain count would cost.

The ledger is filled behind the product's back, a day long. Counting it from nothing is what a
database does once that had no counts before; a report of a counted ledger is what everybody else
waits for. Beside it stands one statement that groups the same entries.
"""

import statistics
import time
from collections.abc import Callable

import psycopg

from bench import places, product
from bench.measure import met, table
from bench.settings import Settings
from tests.postgres import LOGIN, Server

GOAL_SECONDS = 1.0
FILLED_AT_ONCE = 250_000


def report(settings: Settings) -> str:
    """Seconds for one report, and entries a second while a ledger is counted for the first time."""
    with places.postgres() as server:
        name = _filled(server, settings)
        reporter = product.Reporter(server.tcp_url(name), settings.entries)
        settings.tell("report: the ledger is filled")
        scan = _seconds(lambda: _scan(server, name))
        settings.tell(f"report: one scan takes {scan:.1f} s")
        first = _seconds(reporter.count)
        settings.tell(f"report: counting takes {first:.1f} s")
        times = []
        for number in range(settings.rounds * 4):
            times.append(_seconds(reporter.report))
            settings.tell(f"report, {number + 1}: {times[-1] * 1000:.0f} ms")
        assert reporter.report() >= settings.entries * 0.99
        reporter.close()
    took = statistics.median(times)
    row = [
        f"{settings.entries:,} entries",
        f"{took * 1000:,.0f} ms [{min(times) * 1000:,.0f}..{max(times) * 1000:,.0f}]",
        f"<= {GOAL_SECONDS:.0f} s",
        met(took <= GOAL_SECONDS),
        f"{scan:.1f} s",
        f"{settings.entries / first:,.0f}/s",
    ]
    header = ["ledger", "a report", "goal", "met", "one scan of the ledger", "counted at first"]
    return f"### Reports\n\n{table(header, [row])}\n"


def _filled(server: Server, settings: Settings) -> str:
    name = server.create()
    product.migrate(server.owner_url(name), LOGIN)
    product.prepare(server.tcp_url(name))
    count = settings.entries
    with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
        for index in product.LEDGER_INDEXES:  # they take long to fill, and nobody asks them here
            conn.execute(f"drop index {index}".encode())
        [(start,)] = conn.execute("select max(seq) from ledger").fetchall()
        for first in range(start + 1, count + 1, FILLED_AT_ONCE):
            last = min(first + FILLED_AT_ONCE - 1, count)
            conn.execute(product.FILL_LEDGER, {"start": first, "end": last, "count": count})
        conn.execute("vacuum analyze ledger")
        conn.execute("checkpoint")
    return name


def _scan(server: Server, name: str) -> None:
    with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
        conn.execute("set max_parallel_workers_per_gather = 0")
        conn.execute(product.SCAN_LEDGER.replace("%%", "%").encode()).fetchall()


def _seconds(deed: Callable[[], object]) -> float:
    started = time.perf_counter()
    deed()
    return time.perf_counter() - started
