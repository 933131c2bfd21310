"""Admissions while a hundred dashboards are open and move, beside the same without them.

The dashboards are a process of their own at a real server. Events are admitted in batches by a
process that embeds the product, and over HTTP at the very server that the dashboards look at. With
and without take turns, and a ratio is formed within each round.
"""

import contextlib
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench import places, product
from bench.events import Feed
from bench.measure import median_of, met, ratio, table
from bench.served import Served, served
from bench.settings import Settings

DASHBOARDS = 100
GOAL = 0.9
SLICE_SECONDS_MIN = 8.0
SETTLING_SECONDS = 6.0
BATCH = 100
HTTP_BATCH = 20
CALLERS = 4
END_SECONDS_MAX = 20.0
WITH, WITHOUT = f"{DASHBOARDS} dashboards", "none"

Drive = Callable[[float, random.Random], float]
"""Admit for so many seconds; events a second."""


@dataclass(frozen=True)
class Slice:
    """What was admitted in some seconds, and what the server used of a core meanwhile."""

    rate: float
    cpu: float


def dashboards(settings: Settings) -> str:
    dice = random.Random(settings.seed)
    rows = []
    with places.postgres() as server:
        template = places.product_template(server)
        for name, door in (("batches of 100, embedded", _embedded), ("HTTP, batches of 20", _http)):
            rounds: list[dict[str, Slice]] = []
            pages = 0
            with (
                places.copy_of(server, template) as url,
                served(url) as found,
                door(url, found) as drive,
            ):
                drive(1.0, dice)
                for number in range(settings.rounds):
                    sides, seen = _round(found, drive, settings, dice)
                    rounds.append(sides)
                    pages += seen
                    told = ", ".join(f"{side} {one.rate:,.0f}/s" for side, one in sides.items())
                    settings.tell(f"dashboards, {name}, round {number + 1}: {told}")
            rows.append(_row(name, rounds, pages))
    header = ["admission", "without, events/s", f"with {WITH}", "ratio", "goal", "met"]
    header += ["pages sent", "their part of a core in the server"]
    return f"### Open dashboards, PostgreSQL\n\n{table(header, rows)}\n"


def _row(name: str, rounds: list[dict[str, Slice]], pages: int) -> list[str]:
    rates = [{side: one.rate for side, one in sides.items()} for sides in rounds]
    found = ratio(rates, WITH, WITHOUT)
    shown = [f"{median_of(rates, side):,.0f}" for side in (WITHOUT, WITH)]
    cost = statistics.median(_cost(sides[WITH], sides[WITHOUT]) for sides in rounds)
    is_met = met(found.median >= GOAL)
    return [name, *shown, str(found), f">= {GOAL}", is_met, f"{pages:,}", f"{cost:.1%}"]


def _cost(looked_at: Slice, alone: Slice) -> float:
    """What the server used beyond what the same events cost it without anybody looking.

    Unlike the ratio this says something on a machine that is busy with other things, too.
    """
    return max(0.0, looked_at.cpu - alone.cpu * looked_at.rate / alone.rate)


def _round(
    found: Served, drive: Drive, settings: Settings, dice: random.Random
) -> tuple[dict[str, Slice], int]:
    sides: dict[str, Slice] = {}
    pages = 0
    seconds = max(SLICE_SECONDS_MIN, settings.seconds * 10)
    for side in dice.sample([WITH, WITHOUT], 2):
        if side == WITHOUT:
            sides[side] = _slice(found, drive, seconds, dice)
            continue
        with _viewers(found) as told:
            drive(SETTLING_SECONDS, dice)
            sides[side] = _slice(found, drive, seconds, dice)
        pages += told[0]
    return sides, pages


def _slice(found: Served, drive: Drive, seconds: float, dice: random.Random) -> Slice:
    cpu, started = found.cpu_seconds(), time.perf_counter()
    rate = drive(seconds, dice)
    return Slice(rate, (found.cpu_seconds() - cpu) / (time.perf_counter() - started))


@contextlib.contextmanager
def _viewers(found: Served) -> Iterator[list[int]]:
    """Open dashboards; at the end, how many pages they were sent."""
    told: list[int] = []
    command = [sys.executable, "-m", "bench.viewers", str(found.port), found.cookie]
    process = subprocess.Popen(
        [*command, str(DASHBOARDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError("the dashboards did not open")
        yield told
    finally:
        process.stdin.close()
        last = process.stdout.readline().split()
        process.wait(END_SECONDS_MAX)
        process.stdout.close()
    pages, errors = int(last[1]), int(last[2])
    if errors:
        raise RuntimeError(f"{errors} of the answers to dashboards were errors")
    told.append(pages)


@contextlib.contextmanager
def _embedded(url: str, _found: Served) -> Iterator[Drive]:
    with contextlib.closing(product.Product(url)) as watched:

        def drive(seconds: float, dice: random.Random) -> float:
            feed = Feed(dice.getrandbits(60))
            count, elapsed = 0, 0.0
            while elapsed < seconds:
                batch = product.as_requests(feed.batch(BATCH))
                started = time.perf_counter()
                watched.admit(batch)
                elapsed += time.perf_counter() - started
                count += BATCH
            return count / elapsed

        yield drive


@contextlib.contextmanager
def _http(_url: str, found: Served) -> Iterator[Drive]:
    def drive(seconds: float, dice: random.Random) -> float:
        counts = [0] * CALLERS
        feeds = [Feed(dice.getrandbits(60)) for _ in range(CALLERS)]
        until = time.perf_counter() + seconds

        def call(number: int) -> None:
            line = found.connect()
            headers = {
                "Authorization": f"Bearer {found.key}",
                "Content-Type": "application/json",
            }
            while time.perf_counter() < until:
                events = product.as_requests(feeds[number].batch(HTTP_BATCH))
                body = json.dumps({"tenant_id": product.TENANT, "events": events})
                line.request("POST", "/v1/triggers", body, headers)
                answer = line.getresponse()
                answer.read()
                if answer.status != 200:
                    raise RuntimeError(f"the server answered {answer.status}")
                counts[number] += HTTP_BATCH
            line.close()

        threads = [threading.Thread(target=call, args=(n,)) for n in range(CALLERS)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(counts) / (time.perf_counter() - started)

    yield drive
