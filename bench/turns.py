"""Turns, reserved and finalized: the product's calls beside hand-written statements.

One turn is two transactions, with two COMMITs, on either side. The eight threads share a tenant:
by hand each has a connection of its own and waits for the tenant's row; in the product those who
wait together share a transaction.
"""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import psycopg

from bench import places, product, turns_by_hand
from bench.events import Event, Feed
from bench.measure import SLICES, Variant, alternate, median_of, met, ratio, table
from bench.settings import Settings
from bench.turns_by_hand import Work
from tests.postgres import OWNER, Server

SIZES = (1, 100)
THREADS = 8
USERS = 1_000
MADE_AHEAD = 2_000
GOAL = 0.7
YARDSTICK, PRODUCT = "by hand", "product"

Rates = dict[str, float]
Step = Callable[[Sequence[Work]], None]


@dataclass
class Sides:
    """What settles a batch on either side, and what makes one for a thread of its own."""

    by_hand: Callable[[], Step]
    own: Step


def turns(settings: Settings) -> str:
    """On PostgreSQL: single turns, batches, and eight threads; on SQLite without the threads."""
    with places.postgres() as server:
        templates = _yardstick_template(server), places.product_template(server)
        on_postgres = _rounds("PostgreSQL", settings, lambda: _on_postgres(server, *templates))
    on_sqlite = _rounds("SQLite", settings, _on_sqlite)
    rows = [
        *(_row(f"PostgreSQL, {name}", found) for name, found in on_postgres.items()),
        *(_row(f"SQLite, {name}", found) for name, found in on_sqlite.items()),
    ]
    header = ["turns", "by hand, turns/s", "product, turns/s", "ratio", "goal", "met"]
    return f"### Turns, reserved and finalized\n\n{table(header, rows)}\n"


def _rounds(
    engine: str,
    settings: Settings,
    opener: Callable[[], contextlib.AbstractContextManager[Sides]],
) -> dict[str, list[Rates]]:
    dice = random.Random(settings.seed)
    found: dict[str, list[Rates]] = {}
    for number in range(settings.rounds):
        with opener() as sides:
            variants = {
                YARDSTICK: Variant(sides.by_hand(), as_works),
                PRODUCT: Variant(sides.own, as_works),
            }
            for size in SIZES:
                rates = alternate(variants, size, settings.seconds, dice)
                found.setdefault(_name(size), []).append(rates)
            if engine == "PostgreSQL":
                rates = _threads(sides, settings.seconds, dice)
                found.setdefault(f"{THREADS} threads", []).append(rates)
        brief = {name: f"{r[-1][PRODUCT] / r[-1][YARDSTICK]:.2f}" for name, r in found.items()}
        settings.tell(f"turns on {engine}, round {number + 1}: {brief}")
    return found


def _name(size: int) -> str:
    return "one at a time" if size == 1 else f"batches of {size}"


def _row(name: str, found: Sequence[Rates]) -> list[object]:
    is_of_interest = ratio(found, PRODUCT, YARDSTICK)
    rates = [f"{median_of(found, side):,.0f}" for side in (YARDSTICK, PRODUCT)]
    return [name, *rates, is_of_interest, GOAL, met(is_of_interest.median >= GOAL)]


def as_works(events: Sequence[Event]) -> list[Work]:
    return [
        Work(f"t-{event.at}", f"r-{event.at}", f"user-{event.at // 1000 % USERS}")
        for event in events
    ]


def _threads(sides: Sides, seconds: float, dice: random.Random) -> Rates:
    """Turns a second of eight threads that settle one at a time, in alternating slices."""
    steps = {
        YARDSTICK: [sides.by_hand() for _ in range(THREADS)],
        PRODUCT: [sides.own] * THREADS,
    }
    counts, elapsed = dict.fromkeys(steps, 0), dict.fromkeys(steps, 0.0)
    for side in steps.values():
        _together(side, seconds / SLICES, dice)  # connections and plans are made here
    for _ in range(SLICES):
        names = list(steps)
        dice.shuffle(names)
        for name in names:
            count, took = _together(steps[name], seconds / SLICES, dice)
            counts[name] += count
            elapsed[name] += took
    return {name: counts[name] / elapsed[name] for name in steps}


def _together(steps: Sequence[Step], seconds: float, dice: random.Random) -> tuple[int, float]:
    ready = [as_works(Feed(dice.getrandbits(60)).batch(MADE_AHEAD)) for _ in steps]
    begin = threading.Barrier(len(steps) + 1)
    counts: list[int] = []

    def repeat(step: Step, works: Sequence[Work]) -> None:
        begin.wait()
        until = time.perf_counter() + seconds
        count = 0
        for work in works:
            if time.perf_counter() >= until:
                break
            step([work])
            count += 1
        counts.append(count)

    threads = [
        threading.Thread(target=repeat, args=pair) for pair in zip(steps, ready, strict=True)
    ]
    for thread in threads:
        thread.start()
    begin.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return sum(counts), time.perf_counter() - started


def _yardstick_template(server: Server) -> str:
    name = server.create()
    with psycopg.connect(server.owner_url(name), autocommit=True) as conn:
        conn.execute(turns_by_hand.POSTGRES_SCHEMA)
        conn.execute("vacuum analyze")
    return name


@contextlib.contextmanager
def _on_postgres(server: Server, yardstick: str, own: str) -> Iterator[Sides]:
    with (
        contextlib.ExitStack() as ending,
        places.copy_of(server, yardstick, OWNER) as yardstick_url,
        places.copy_of(server, own) as own_url,
    ):

        def by_hand() -> Step:
            step, close = turns_by_hand.postgres(yardstick_url)
            ending.callback(close)
            return step

        watched = product.Product(own_url)
        try:
            yield Sides(by_hand, watched.settle)
        finally:
            ending.close()
            watched.close()


@contextlib.contextmanager
def _on_sqlite() -> Iterator[Sides]:
    with places.folder() as home:
        path = home / "by-hand.db"
        turns_by_hand.create_sqlite(str(path))
        step, close = turns_by_hand.sqlite(str(path))
        watched = product.Product(f"sqlite:///{places.product_file(home)}")
        try:
            yield Sides(lambda: step, watched.settle)
        finally:
            close()
            watched.close()
