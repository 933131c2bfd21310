"""Admission of batches: the product's public call beside hand-written statements."""

import contextlib
import random
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psycopg

from bench import places, product, yardstick_postgres, yardstick_sqlite
from bench.events import Event
from bench.measure import Variant, alternate, median_of, met, ratio, table
from bench.settings import Settings
from tests.postgres import Server

SIZES = (1, 10, 100, 1000)
GOALS = {
    "PostgreSQL": dict(zip(SIZES, (0.80, 0.90, 1.00, 1.10), strict=True)),
    "SQLite": dict(zip(SIZES, (0.75, 0.80, 0.85, 0.80), strict=True)),
}
YARDSTICK, PRODUCT = "by hand", "product"

Round = Mapping[int, Mapping[str, float]]
Opened = tuple[dict[str, Variant], Callable[[], str]]  # what is measured, and the verdicts it gave
Opener = Callable[[], contextlib.AbstractContextManager[Opened]]


def postgresql(settings: Settings) -> str:
    with places.postgres() as server:
        templates = places.yardstick_template(server), places.product_template(server)
        return _compare("PostgreSQL", settings, lambda: _on_postgres(server, *templates))


def sqlite(settings: Settings) -> str:
    with places.folder() as home:
        templates = places.yardstick_file(home), places.product_file(home)
        return _compare("SQLite", settings, lambda: _on_sqlite(*templates))


def _compare(engine: str, settings: Settings, opener: Opener) -> str:
    dice = random.Random(settings.seed)
    rounds: list[Round] = []
    mix = ""
    for number in range(settings.rounds):
        sizes = list(SIZES)
        dice.shuffle(sizes)
        with opener() as (variants, mixes):
            rounds.append(
                {size: alternate(variants, size, settings.seconds, dice) for size in sizes}
            )
            mix = mixes()
        settings.tell(f"{engine} admission, round {number + 1}: {_brief(rounds[-1])}")
    return f"### Admission on {engine}\n\n{_report(engine, rounds)}\n\n{mix}\n"


def _brief(found: Round) -> str:
    parts = (f"{n}: {rates[PRODUCT] / rates[YARDSTICK]:.2f}" for n, rates in sorted(found.items()))
    return ", ".join(parts)


def _report(engine: str, rounds: Sequence[Round]) -> str:
    rows = []
    for size in SIZES:
        cells = [found[size] for found in rounds]
        found, goal = ratio(cells, PRODUCT, YARDSTICK), GOALS[engine][size]
        rates = [f"{median_of(cells, name):,.0f}" for name in (YARDSTICK, PRODUCT)]
        rows.append([size, *rates, found, goal, met(found.median >= goal)])
    header = ["batch", "by hand, events/s", "product, events/s", "ratio", "goal", "met"]
    return table(header, rows)


@contextlib.contextmanager
def _on_postgres(server: Server, yardstick: str, own: str) -> Iterator[Opened]:
    with (
        places.yardstick_copy(server, yardstick) as yardstick_url,
        places.copy_of(server, own) as own_url,
    ):
        by_hand, close = yardstick_postgres.opened(yardstick_url)
        watched = product.Product(own_url)
        admin_url = server.admin_url(own_url.rpartition("/")[2])

        def mixes() -> str:
            with psycopg.connect(yardstick_url) as conn:
                theirs = conn.execute(yardstick_postgres.MIX).fetchall()
            with psycopg.connect(admin_url) as conn:
                ours = conn.execute(product.MIX).fetchall()
            return _mixes(theirs, ours)

        try:
            yield _variants(by_hand, watched), mixes
        finally:
            close()
            watched.close()


@contextlib.contextmanager
def _on_sqlite(yardstick: Path, own: Path) -> Iterator[Opened]:
    yardstick_path, own_path = places.fresh_file(yardstick), places.fresh_file(own)
    by_hand, close = yardstick_sqlite.opened(yardstick_path)
    watched = product.Product(f"sqlite:///{own_path}")

    def mixes() -> str:
        with contextlib.closing(sqlite3.connect(yardstick_path)) as conn:
            theirs = conn.execute(yardstick_sqlite.MIX).fetchall()
        with contextlib.closing(sqlite3.connect(own_path)) as conn:
            ours = conn.execute(product.MIX).fetchall()
        return _mixes(theirs, ours)

    try:
        yield _variants(by_hand, watched), mixes
    finally:
        close()
        watched.close()


def _variants(
    by_hand: Callable[[list[Event]], None], watched: product.Product
) -> dict[str, Variant]:
    return {YARDSTICK: Variant(by_hand), PRODUCT: Variant(watched.admit, product.as_requests)}


def _mixes(theirs: Sequence[tuple[str, int]], ours: Sequence[tuple[str, int]]) -> str:
    return f"Verdicts in the last round: by hand {_mix(theirs)}; product {_mix(ours)}."


def _mix(counts: Sequence[tuple[str, int]]) -> str:
    total = sum(count for _, count in counts) or 1
    return ", ".join(f"{name} {100 * count / total:.1f} %" for name, count in sorted(counts))
