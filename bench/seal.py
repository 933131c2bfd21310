"""Admission with a sealer beside it, against admission alone; and what a seal costs by itself.

One process admits batches of 100 through the product's public call. Another seals what was
committed, ten times a second (a worker does so once), and keeps pace. On and off take turns every
0.4 seconds on the same database, so that whatever else the machine does hits both; what was
admitted while it was off is sealed before it is on again, and not on anybody's time.
"""

import contextlib
import multiprocessing
import random
import statistics
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from typing import Any

from bench import places, product
from bench.events import Feed
from bench.measure import WARM_UP_BATCHES, median_of, met, ratio, table
from bench.settings import Settings

SIZE = 100
GOAL = 0.90
SLICES = 20
SLICE = 0.5  # times `seconds`: the sealer must have had its turns
OFF, ON = "admission alone", "beside a sealer"
EVERY_SECONDS = 0.1


def seal(settings: Settings) -> str:
    rows, speeds = [], []
    with places.postgres() as server, places.folder() as home:
        template, file = places.product_template(server), places.product_file(home)

        @contextlib.contextmanager
        def on_sqlite() -> Iterator[str]:
            yield f"sqlite:///{places.fresh_file(file)}"

        sides = {
            "PostgreSQL": lambda: places.copy_of(server, template),
            "SQLite": on_sqlite,
        }
        for engine, fresh in sides.items():
            rounds = []
            for number in range(settings.rounds):
                with fresh() as url:
                    found = _round(url, settings, settings.seed + number)
                rounds.append(found)
                shown = {name: f"{rate:,.0f}" for name, rate in found.items()}
                settings.tell(f"seal on {engine}, round {number + 1}: {shown}")
            found = ratio(rounds, ON, OFF)
            rates = [f"{median_of(rounds, name):,.0f}" for name in (OFF, ON)]
            rows.append([engine, *rates, found, f">= {GOAL:.2f}", met(found.median >= GOAL)])
            speeds.append([engine, f"{statistics.median(r['sealed'] for r in rounds):,.0f}"])
    header = ["batches of 100", f"{OFF}, events/s", f"{ON}, events/s", "ratio", "goal", "met"]
    own = table(["", "sealer alone, entries/s"], speeds)
    return f"### Sealing\n\n{table(header, rows)}\n\n{own}\n"


def _round(url: str, settings: Settings, seed: int) -> dict[str, float]:
    """Events a second with and without, then what a sealer does when nobody else is there."""
    context = multiprocessing.get_context("spawn")
    may_seal, quiet, ending = context.Event(), context.Event(), context.Event()
    sealer = context.Process(target=_seal_while, args=(url, may_seal, quiet, ending), daemon=True)
    sealer.start()
    with contextlib.closing(product.Product(url)) as watched:
        tallies = {OFF: [0, 0.0], ON: [0, 0.0]}
        feed, dice = Feed(seed), random.Random(seed)
        for _ in range(WARM_UP_BATCHES):
            watched.admit(product.as_requests(feed.batch(SIZE)))
        for _ in range(SLICES):
            order = [OFF, ON]
            dice.shuffle(order)
            for name in order:
                watched.seal()
                _switch(name == ON, may_seal, quiet)
                _admit(watched, feed, tallies[name], SLICE * settings.seconds)
        _switch(False, may_seal, quiet)
        ending.set()
        sealer.join()
        rates = {name: count / elapsed for name, (count, elapsed) in tallies.items()}
        _admit(watched, feed, [0, 0.0], settings.seconds)
        rates["sealed"] = watched.seal_rate()
    return rates


def _switch(on: bool, may_seal: Event, quiet: Event) -> None:
    """A sealer that is to stop has stopped when this returns."""
    if on:
        quiet.clear()
        may_seal.set()
    else:
        may_seal.clear()
        quiet.wait()


def _admit(watched: product.Product, feed: Feed, tally: list[Any], seconds: float) -> None:
    until = tally[1] + seconds
    while tally[1] < until:
        batch = product.as_requests(feed.batch(SIZE))
        started = time.perf_counter()
        watched.admit(batch)
        tally[1] += time.perf_counter() - started
        tally[0] += SIZE


def _seal_while(url: str, may_seal: Event, quiet: Event, ending: Event) -> None:
    """In a process of its own: seal, pause, seal again, whenever it may; keep pace, no more."""
    with contextlib.closing(product.Product(url)) as sealer:
        sealer.seal()
        sealed_at = time.monotonic()
        while not ending.is_set():
            if not may_seal.is_set():
                quiet.set()
                may_seal.wait(0.01)
                sealed_at = time.monotonic()
            elif time.monotonic() - sealed_at >= EVERY_SECONDS:
                sealed_at = time.monotonic()
                sealer.seal()
            else:
                ending.wait(0.01)
