"""Reports of a tenant with a long ledger: how long one takes, and what a plain count would cost.

The ledger is filled behind the product's back, a day long. Counting it from nothing is what a
database does once that had no counts before; a report of a counted ledger is what everybody else
waits for. A window that begins within an hour has that hour counted again. Beside it stands one
statement that groups the same entries.
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
SAMPLES = 4
"""Reports in a round."""


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
        reporter.install(0)
        whole = _sampled(reporter, settings)
        reporter.install(30)
        cut = _sampled(reporter, settings)
        reporter.close()
    row = [
        f"{settings.entries:,} entries",
        _shown(whole),
        f"<= {GOAL_SECONDS:.0f} s",
        met(statistics.median(whole) <= GOAL_SECONDS),
        _shown(cut),
        f"{scan:.1f} s",
        f"{settings.entries / first:,.0f}/s",
    ]
    header = ["ledger", "a report", "goal", "met", "cutting an hour", "one scan", "first counted"]
    return f"### Reports\n\n{table(header, [row])}\n"


def _sampled(reporter: product.Reporter, settings: Settings) -> list[float]:
    times = [_seconds(reporter.report) for _ in range(settings.rounds * SAMPLES)]
    settings.tell(f"report: {', '.join(f'{one * 1000:.0f} ms' for one in times)}")
    return times


def _shown(times: list[float]) -> str:
    shown = (statistics.median(times), min(times), max(times))
    middle, least, most = (f"{one * 1000:,.0f}" for one in shown)
    return f"{middle} ms [{least}..{most}]"


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
