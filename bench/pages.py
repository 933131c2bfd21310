"""Pages of the dashboard over a large tenant: how long a browser waits for each.

A real server answers over HTTP on loopback, one request after the other, each page made anew: what
dashboards share for a second is not used. A page that does not answer 200 is an error here.
"""

import random
import time
from collections.abc import Sequence
from http import HTTPStatus

import psycopg

from bench import estate, places
from bench.measure import met, percentile, table
from bench.served import Served, served
from bench.settings import Settings
from tests.postgres import Server

GOAL_MS = 100.0
WARM_UP = 5
IN_A_ROW = 20
PATHS = (
    "/",
    "/?window=1h",
    "/?window=7d",
    "/accounts",
    f"/accounts/{estate.FIRST}",
    "/decisions",
    "/decisions?result=DEFER",
    "/decisions/{decision}",
    "/plans",
    "/plans?type=NO_SUCH_TYPE",
    "/plans?status=ACTIVE",
    "/plans/{plan}",
    "/outbox",
    "/outbox?status=dead",
    "/outbox?status=pending&topic=none",
    "/outbox?status=delivered&topic=none",
    "/ledger",
    "/budgets",
    "/connectors",
    "/reports",
    "/policy",
    "/kill-switches",
)
_NEWEST = "select entry_id from ledger where kind = 'verdict' order by seq desc limit 1"
_PLAN = "select plan_id from plans order by plan_id desc limit 1"


def pages(settings: Settings) -> str:
    dice = random.Random(settings.seed)
    with places.postgres(shared_buffers="512MB") as server:
        name = estate.build(server, settings)
        paths = _paths(server, name)
        with served(server.tcp_url(name)) as found:
            times, errors = _sampled(found, paths, settings, dice)
            used = {path: _cpu_ms(found, path) for path in paths}
    header = ["page", "p50", "p95", "slowest", "goal for p95", "met", "CPU of the server"]
    rows = [[*_row(path, times[path], errors.get(path)), f"{used[path]:.0f} ms"] for path in paths]
    size = f"{settings.accounts:,} accounts, {settings.entries:,} entries"
    size += f", {settings.entries // estate.PENDING_SHARE:,} messages due"
    return f"### Pages, PostgreSQL, {size}\n\n{table(header, rows)}\n"


def _paths(server: Server, name: str) -> list[str]:
    """Those of single things name one that is there."""
    with psycopg.connect(server.admin_url(name)) as conn:
        [(decision,)] = conn.execute(_NEWEST).fetchall()
        [(plan,)] = conn.execute(_PLAN).fetchall()
    return [path.format(decision=decision, plan=plan) for path in PATHS]


def _sampled(
    found: Served, paths: Sequence[str], settings: Settings, dice: random.Random
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Milliseconds of each page, the pages in turns; and the status of those that failed."""
    times: dict[str, list[float]] = {path: [] for path in paths}
    errors: dict[str, int] = {}
    line = found.connect()
    each = max(20, settings.samples // 5)
    for number in range(WARM_UP + each):
        for path in dice.sample(list(paths), len(paths)):
            started = time.perf_counter()
            status, _ = found.get(line, path)
            elapsed = (time.perf_counter() - started) * 1000
            if status != HTTPStatus.OK:
                errors[path] = status
            if number >= WARM_UP:
                times[path].append(elapsed)
    line.close()
    settings.tell(f"pages: {each} times {len(paths)} pages, {len(errors)} with errors")
    return times, errors


def _cpu_ms(found: Served, path: str) -> float:
    """What the server itself computes for a page: the same on a machine that is busy."""
    line = found.connect()
    before = found.cpu_seconds()
    for _ in range(IN_A_ROW):
        found.get(line, path)
    used = found.cpu_seconds() - before
    line.close()
    return used * 1000 / IN_A_ROW


def _row(path: str, times: Sequence[float], error: int | None) -> list[str]:
    shown = f"`{path if len(path) < 40 else path[:24] + '…'}`"
    if error is not None:
        return [shown, f"error {error}", "", "", f"<= {GOAL_MS:.0f} ms", met(False)]
    p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
    cells = [f"{value:.0f} ms" for value in (p50, p95, max(times))]
    return [shown, *cells, f"<= {GOAL_MS:.0f} ms", met(p95 <= GOAL_MS)]
