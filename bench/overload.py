"""A server with more connections than places: what it still answers, and whether health does.

`wrk` asks as fast as it can and does not heed Retry-After, over 64, 256 and 600 connections in
turns, in random order; a ratio to the answers at 64 is formed within each round. Beside it
`/healthz` is asked over a new connection each time.
"""

import random
import re
import shutil
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass

from bench import places, product
from bench.measure import Ratio, median_of, met, percentile, ratio, table
from bench.served import Served, served
from bench.settings import Settings

CONNECTIONS = (64, 256, 600)
GOAL = 0.8
HEALTH_GOAL_SECONDS = 0.5
SECONDS_MIN = 4.0
PAUSE_SECONDS = 0.1
PATH = f"/v1/decisions?tenant_id={product.TENANT}"


@dataclass(frozen=True)
class Load:
    """What came of one load: answers of 200 and refusals in a second, and waits for health."""

    answered: float
    refused: float
    health: list[float]


def overload(settings: Settings) -> str:
    """Answers of 200 in a second at each number of connections, and `/healthz` meanwhile."""
    if shutil.which("wrk") is None:
        raise RuntimeError("wrk is needed: apt-get install wrk")
    dice = random.Random(settings.seed)
    rounds: list[dict[int, Load]] = []
    with places.postgres() as server:
        template = places.product_template(server)
        with places.copy_of(server, template) as url, served(url) as found:
            _load(found, min(CONNECTIONS), 1)
            for number in range(settings.rounds):
                order = dice.sample(CONNECTIONS, len(CONNECTIONS))
                seconds = int(max(SECONDS_MIN, settings.seconds * 5))
                rounds.append({count: _load(found, count, seconds) for count in order})
                told = ", ".join(f"{n}: {one.answered:,.0f}/s" for n, one in rounds[-1].items())
                settings.tell(f"overload, round {number + 1}: {told}")
    header = ["connections", "answered 200", "refused", "to 64", "goal", "met"]
    header += ["/healthz p50", "p99", "goal", "met"]
    rows = [_row(count, rounds) for count in CONNECTIONS]
    return f"### Overload, PostgreSQL\n\n{table(header, rows)}\n"


def _row(count: int, rounds: list[dict[int, Load]]) -> list[str]:
    rates = [{str(n): one.answered for n, one in loads.items()} for loads in rounds]
    found: Ratio = ratio(rates, str(count), str(min(CONNECTIONS)))
    waits = [wait for loads in rounds for wait in loads[count].health]
    late = percentile(waits, 0.99)
    return [
        str(count),
        f"{median_of(rates, str(count)):,.0f}/s",
        f"{statistics.median(loads[count].refused for loads in rounds):,.0f}/s",
        str(found),
        f">= {GOAL}",
        met(found.median >= GOAL),
        f"{statistics.median(waits) * 1000:,.0f} ms",
        f"{late * 1000:,.0f} ms",
        f"<= {HEALTH_GOAL_SECONDS * 1000:,.0f} ms",
        met(late <= HEALTH_GOAL_SECONDS),
    ]


def _load(found: Served, count: int, seconds: int) -> Load:
    waits: list[float] = []
    over = threading.Event()
    asking = threading.Thread(target=_ask_health, args=(found, waits, over))
    command = ["wrk", "-t1", f"-c{count}", f"-d{seconds}s", "--timeout", "10s"]
    command += ["-H", f"Authorization: Bearer {found.key}"]
    asking.start()
    said = subprocess.run(
        [*command, f"http://127.0.0.1:{found.port}{PATH}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    over.set()
    asking.join()
    asked, refused = _number(r"(\d+) requests in", said), _number(r"Non-2xx.*: (\d+)", said)
    return Load((asked - refused) / seconds, refused / seconds, waits)


def _number(pattern: str, said: str) -> int:
    found = re.search(pattern, said)
    return int(found[1]) if found else 0


def _ask_health(found: Served, waits: list[float], over: threading.Event) -> None:
    while not over.is_set():
        started = time.perf_counter()
        line = found.connect()
        line.request("GET", "/healthz")
        if line.getresponse().status != 200:
            raise RuntimeError("/healthz is not well")
        waits.append(time.perf_counter() - started)
        line.close()
        over.wait(PAUSE_SECONDS)
