"""From the commit of a message to the start of its handler, while nothing else happens.

The clock starts before the COMMIT is sent, so the commit itself is part of what is measured: more
than the goal asks for. Once with the worker in the process that writes, once in another.
"""

import contextlib
import multiprocessing
import random
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

from bench import places, product
from bench.measure import met, percentile, table
from bench.settings import Settings
from watchkeeper.store.leases import Message
from watchkeeper.workers import Notifier

P99_GOAL_MS = 15.0
SKIPPED = 20
PAUSE_SECONDS = (0.008, 0.03)
LONG_PAUSE_SECONDS = 0.1
LAST_SECONDS_MAX = 5.0


def latency(settings: Settings) -> str:
    dice = random.Random(settings.seed)
    rows = []
    with places.postgres() as server:
        template = places.product_template(server)
        for name, place in (("the same process", _here), ("another process", _elsewhere)):
            with places.copy_of(server, template) as url, place(url) as (watched, started_at):
                waits = _sample(watched, settings.samples, dice, started_at)
            p50, p99 = (percentile(waits, share) for share in (0.5, 0.99))
            cells = [f"{value:.1f} ms" for value in (p50, p99, max(waits))]
            rows.append([name, *cells, f"< {P99_GOAL_MS:.0f} ms", met(p99 < P99_GOAL_MS)])
            settings.tell(f"latency, worker in {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms")
    header = ["worker in", "p50", "p99", "max", "goal for p99", "met"]
    return f"### Idle latency, PostgreSQL\n\n{table(header, rows)}\n"


def _sample(
    watched: product.Product, samples: int, dice: random.Random, started_at: dict[int, float]
) -> list[float]:
    """Milliseconds from each commit call to the start of the handler."""
    committed_at = []
    for number in range(samples + SKIPPED):
        time.sleep(LONG_PAUSE_SECONDS if number % 10 == 0 else dice.uniform(*PAUSE_SECONDS))
        committed_at.append(watched.enqueue_timed(str(number)))
    until = time.monotonic() + LAST_SECONDS_MAX
    while len(started_at) < len(committed_at) and time.monotonic() < until:
        time.sleep(0.01)
    waits = [(started_at[n] - at) * 1000 for n, at in enumerate(committed_at)]
    return waits[SKIPPED:]


@contextlib.contextmanager
def _here(url: str) -> Iterator[tuple[product.Product, dict[int, float]]]:
    started_at: dict[int, float] = {}

    def handle(message: Message) -> None:
        started_at[int(message.payload)] = time.monotonic()

    with contextlib.closing(product.Product(url)) as watched:
        workers = watched.workers(handle)
        workers.start()
        yield watched, started_at
        workers.stop()


@contextlib.contextmanager
def _elsewhere(url: str) -> Iterator[tuple[product.Product, dict[int, float]]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(url, theirs), daemon=True)
    process.start()
    assert ours.recv() == "ready"
    with contextlib.closing(product.Product(url)) as watched:
        notifier = Notifier(watched.db)
        notifier.start()
        yield watched, _Received(ours)
        notifier.stop()
    ours.send("stop")
    process.join(LAST_SECONDS_MAX)


class _Received(dict[int, float]):
    """What the other process has told so far; asking for its size takes in what is new."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def __len__(self) -> int:
        while self._connection.poll():
            number, at = self._connection.recv()
            self[number] = at
        return super().__len__()


def _work(url: str, connection: Connection) -> None:
    def handle(message: Message) -> None:
        at = time.monotonic()  # one clock for all processes of a machine
        connection.send((int(message.payload), at))

    watched = product.Product(url)
    workers = watched.workers(handle)
    workers.start()
    time.sleep(0.5)
    connection.send("ready")
    connection.recv()
    workers.stop()
    watched.close()
