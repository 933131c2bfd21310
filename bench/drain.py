"""Draining a queue of messages whose handler does nothing: the real dispatcher beside PgQueuer."""

import contextlib
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from bench import places, product
from bench.measure import median_of, met, ratio, table
from bench.settings import Settings
from tests.postgres import OWNER, Server

BATCH = 500
ENQUEUED_AT_ONCE = 1_000
PAYLOAD = '{"k":"' + "x" * 280 + '"}'
PRODUCT, PEER = "product", "PgQueuer"
RATIO_GOAL = 2.0
DRAIN_SECONDS_MAX = 120.0

Timed = tuple[float, float]  # messages per second: enqueued, drained


def drain(settings: Settings) -> str:
    dice = random.Random(settings.seed)
    enqueued: list[dict[str, float]] = []
    drained: list[dict[str, float]] = []
    with places.postgres() as server, _peer(server) as peer, _product(server) as watched:
        sides = {PRODUCT: watched, PEER: peer}
        for side in sides.values():
            side(ENQUEUED_AT_ONCE)
        for number in range(settings.rounds):
            names = list(sides)
            dice.shuffle(names)
            found = {name: sides[name](settings.messages) for name in names}
            enqueued.append({name: rates[0] for name, rates in found.items()})
            drained.append({name: rates[1] for name, rates in found.items()})
            settings.tell(
                f"drain, round {number + 1}: { {n: round(r[1]) for n, r in found.items()} }"
            )
    return f"### Drain of no-op messages, PostgreSQL\n\n{_report(enqueued, drained)}\n"


def _report(enqueued: list[dict[str, float]], drained: list[dict[str, float]]) -> str:
    rows = []
    for what, rounds, goal in (
        (f"drain, one worker, batches of {BATCH}", drained, RATIO_GOAL),
        (f"enqueue in batches of {ENQUEUED_AT_ONCE}", enqueued, None),
    ):
        found = ratio(rounds, PRODUCT, PEER)
        rates = [f"{median_of(rounds, name):,.0f}" for name in (PEER, PRODUCT)]
        verdict = ["", ""] if goal is None else [goal, met(found.median >= goal)]
        rows.append([what, *rates, found, *verdict])
    return table(["", "PgQueuer, messages/s", "product, messages/s", "ratio", "goal", "met"], rows)


@contextlib.contextmanager
def _product(server: Server) -> Iterator[Callable[[int], Timed]]:
    name = places.product_template(server)
    with contextlib.closing(product.Product(server.tcp_url(name))) as watched:

        def measure(count: int) -> Timed:
            started = time.perf_counter()
            for _ in range(count // ENQUEUED_AT_ONCE):
                watched.enqueue([PAYLOAD] * ENQUEUED_AT_ONCE)
            enqueued = count / (time.perf_counter() - started)
            server.admin("analyze outbox", name)
            return enqueued, count / _drain(watched, count)

        yield measure


def _drain(watched: product.Product, count: int) -> float:
    """From the start of the worker until the last message is known to be delivered."""
    workers = watched.workers(lambda _message: None)
    started = time.perf_counter()
    workers.start()
    while workers.counts["delivered"] < count:
        time.sleep(0.001)
        if time.perf_counter() - started > DRAIN_SECONDS_MAX:
            raise RuntimeError(f"only {workers.counts} of {count}")
    elapsed = time.perf_counter() - started
    workers.stop()
    assert workers.counts["delivered"] == count, workers.counts
    return elapsed


@contextlib.contextmanager
def _peer(server: Server) -> Iterator[Callable[[int], Timed]]:
    url = server.tcp_url(server.create(), OWNER)
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.pgqueuer_peer", url, PAYLOAD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )

    def answer() -> float:
        for line in process.stdout:
            if line.startswith("= "):
                _, count, seconds = line.split()
                return float(count) / float(seconds) if float(seconds) else 0.0
        raise RuntimeError("PgQueuer has ended")

    def ask(line: str) -> float:
        process.stdin.write(line + "\n")
        return answer()

    answer()
    try:
        yield lambda count: (ask(f"enqueue {count} {ENQUEUED_AT_ONCE}"), ask(f"drain {BATCH}"))
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()
