"""Messages whose handler does nothing: the real dispatcher beside other queues, and with history.

Each side enqueues and drains in turn, on the same server with the same durability. What is timed
is a worker from its start until the last message is known to be delivered.
"""

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping

from bench import places, product
from bench.measure import Ratio, median_of, met, ratio, table
from bench.peers import peer
from bench.settings import Settings
from tests.postgres import Server

BATCH = 500
ENQUEUED_AT_ONCE = 1_000
PROCRASTINATE_CONCURRENCY = 10
PROCRASTINATE_SHARE = 20  # it gets one message for so many of the product's: it is slower
PAYLOAD = '{"k":"' + "x" * 280 + '"}'
PRODUCT, PGQUEUER, PROCRASTINATE = "product", "PgQueuer", "Procrastinate"
FULL, EMPTY = "with history", "without"
DRAIN_SECONDS_MAX = 120.0

DRAIN_GOAL = 2.5
ENQUEUE_GOAL = 0.85
PROCRASTINATE_GOAL = 40.0
HISTORY_GOAL = 0.9

Timed = tuple[float, float]  # messages per second: enqueued, drained
Side = Callable[[int], Timed]


def drain(settings: Settings) -> str:
    """One worker in batches of 500 against PgQueuer."""
    with places.postgres() as server, _pgqueuer(server) as other, _product(server) as own:
        _, drained = _rounds(settings, "drain", {PRODUCT: own, PGQUEUER: other})
    found = ratio(drained, PRODUCT, PGQUEUER)
    row = _row(f"drain, one worker, batches of {BATCH}", drained, PGQUEUER, found, DRAIN_GOAL)
    return _report("Drain of no-op messages against PgQueuer, PostgreSQL", PGQUEUER, row)


def enqueue(settings: Settings) -> str:
    """Batches of 1,000 against PgQueuer's."""
    with places.postgres() as server, _pgqueuer(server) as other, _product(server) as own:
        enqueued, _ = _rounds(settings, "enqueue", {PRODUCT: own, PGQUEUER: other})
    found = ratio(enqueued, PRODUCT, PGQUEUER)
    what = f"enqueue in batches of {ENQUEUED_AT_ONCE:,}"
    row = _row(what, enqueued, PGQUEUER, found, ENQUEUE_GOAL)
    return _report("Enqueue against PgQueuer, PostgreSQL", PGQUEUER, row)


def procrastinate(settings: Settings) -> str:
    """The same drain against Procrastinate, which takes one job at a time, ten at once."""
    with places.postgres() as server, _procrastinate(server) as other, _product(server) as own:
        sides: dict[str, Side] = {
            PRODUCT: own,
            PROCRASTINATE: lambda count: other(count // PROCRASTINATE_SHARE),
        }
        _, drained = _rounds(settings, "procrastinate", sides)
    found = ratio(drained, PRODUCT, PROCRASTINATE)
    what = f"drain, concurrency {PROCRASTINATE_CONCURRENCY} there"
    row = _row(what, drained, PROCRASTINATE, found, PROCRASTINATE_GOAL)
    return _report("Drain of no-op messages against Procrastinate, PostgreSQL", PROCRASTINATE, row)


def drain_history(settings: Settings) -> str:
    """The drain with millions of delivered messages present against itself without."""
    with (
        places.postgres() as server,
        _product(server, history=settings.delivered) as full,
        _product(server) as empty,
    ):
        _, drained = _rounds(settings, "drain-history", {FULL: full, EMPTY: empty})
    found = ratio(drained, FULL, EMPTY)
    rates = [f"{median_of(drained, name):,.0f}" for name in (EMPTY, FULL)]
    row = [
        f"{settings.delivered:,}",
        *rates,
        found,
        HISTORY_GOAL,
        met(found.median >= HISTORY_GOAL),
    ]
    header = ["delivered before", "empty, messages/s", "with them", "ratio", "goal", "met"]
    return f"### Drain beside a long history, PostgreSQL\n\n{table(header, [row])}\n"


def seconds_to_drain(watched: product.Product, count: int) -> float:
    """Seconds from the start of the worker until the last message is known to be delivered."""
    workers = watched.workers(lambda _message: None)
    started = time.perf_counter()
    workers.start()
    while workers.counts["delivered"] < count:
        time.sleep(0.002)
        if time.perf_counter() - started > DRAIN_SECONDS_MAX:
            raise RuntimeError(f"only {workers.counts} of {count}")
    elapsed = time.perf_counter() - started
    workers.stop()
    assert workers.counts["delivered"] == count, workers.counts
    return elapsed


def _rounds(
    settings: Settings, what: str, sides: Mapping[str, Side]
) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Rates of every round, enqueued and drained; the sides take turns in random order."""
    dice = random.Random(settings.seed)
    enqueued: list[dict[str, float]] = []
    drained: list[dict[str, float]] = []
    for side in sides.values():
        side(ENQUEUED_AT_ONCE * PROCRASTINATE_SHARE)
    for number in range(settings.rounds):
        names = list(sides)
        dice.shuffle(names)
        found = {name: sides[name](settings.messages) for name in names}
        enqueued.append({name: rates[0] for name, rates in found.items()})
        drained.append({name: rates[1] for name, rates in found.items()})
        shown = {name: tuple(map(round, rates)) for name, rates in found.items()}
        settings.tell(f"{what}, round {number + 1}, enqueued and drained per second: {shown}")
    return enqueued, drained


def _row(
    what: str, rounds: list[dict[str, float]], other: str, found: Ratio, goal: float
) -> list[object]:
    rates = [f"{median_of(rounds, name):,.0f}" for name in (other, PRODUCT)]
    return [what, *rates, found, goal, met(found.median >= goal)]


def _report(title: str, other: str, row: list[object]) -> str:
    header = ["", f"{other}, messages/s", "product, messages/s", "ratio", "goal", "met"]
    return f"### {title}\n\n{table(header, [row])}\n"


@contextlib.contextmanager
def _product(server: Server, history: int = 0) -> Iterator[Side]:
    name = places.product_template(server)
    if history:
        places.fill_history(server, name, history, PAYLOAD)
    with contextlib.closing(product.Product(server.tcp_url(name))) as watched:

        def measure(count: int) -> Timed:
            started = time.perf_counter()
            for _ in range(count // ENQUEUED_AT_ONCE):
                watched.enqueue([PAYLOAD] * ENQUEUED_AT_ONCE)
            enqueued = count / (time.perf_counter() - started)
            server.admin("vacuum analyze outbox", name)
            return enqueued, count / seconds_to_drain(watched, count)

        yield measure


@contextlib.contextmanager
def _pgqueuer(server: Server) -> Iterator[Side]:
    with peer(server, "bench.pgqueuer_peer", PAYLOAD) as ask:
        yield lambda count: (ask(f"enqueue {count} {ENQUEUED_AT_ONCE}"), ask(f"drain {BATCH}"))


@contextlib.contextmanager
def _procrastinate(server: Server) -> Iterator[Side]:
    with peer(server, "bench.procrastinate_peer", PAYLOAD) as ask:
        yield lambda count: (
            ask(f"enqueue {count} {ENQUEUED_AT_ONCE}"),
            ask(f"drain {PROCRASTINATE_CONCURRENCY}"),
        )
