"""Eight callers, each waiting for the answer to one event of the same tenant.

With the product's sharing of transactions, and without: then each caller has a connection of its
own, and they take turns at the tenant's row.
"""

import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bench import places, product
from bench.events import Feed
from bench.measure import SLICES, median_of, met, percentile, ratio, table
from bench.settings import Settings

CALLERS = 8
SHARED, ALONE = "shared", "a connection each"
RATIO_GOAL = 2.0
EVENTS_MADE_AHEAD = 4_000

Call = Callable[[list[dict[str, object]]], None]


@dataclass
class Tally:
    """What eight callers got done, and how long each of them waited each time."""

    elapsed: float = 0.0
    waits: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.waits) / self.elapsed


def callers(settings: Settings) -> str:
    dice = random.Random(settings.seed)
    rounds: list[dict[str, Tally]] = []
    with places.postgres() as server:
        template = places.product_template(server)
        for number in range(settings.rounds):
            with places.copy_of(server, template) as url:
                rounds.append(_round(url, settings.seconds, dice))
            rates = {name: round(tally.rate) for name, tally in rounds[-1].items()}
            settings.tell(f"callers, round {number + 1}: {rates}")
    return f"### Eight callers with single events, PostgreSQL\n\n{_report(rounds)}\n"


def _round(url: str, seconds: float, dice: random.Random) -> dict[str, Tally]:
    with contextlib.closing(product.Product(url)) as watched:
        calls: dict[str, Call] = {SHARED: watched.admit, ALONE: watched.admit_alone}
        tallies = {name: Tally() for name in calls}
        for call in calls.values():
            _together(call, Tally(), seconds / SLICES, dice)  # connections and plans are made here
        for _ in range(SLICES):
            names = list(calls)
            dice.shuffle(names)
            for name in names:
                _together(calls[name], tallies[name], seconds / SLICES, dice)
    return tallies


def _together(call: Call, tally: Tally, seconds: float, dice: random.Random) -> None:
    feeds = [Feed(dice.getrandbits(60)) for _ in range(CALLERS)]
    ready = [
        [product.as_requests(feed.batch(1)) for _ in range(EVENTS_MADE_AHEAD)] for feed in feeds
    ]
    begin = threading.Barrier(CALLERS + 1)

    def repeat(requests: list[list[dict[str, object]]]) -> None:
        waits = []
        begin.wait()
        until = time.perf_counter() + seconds
        for request in requests:
            started = time.perf_counter()
            if started >= until:
                break
            call(request)
            waits.append(time.perf_counter() - started)
        tally.waits.extend(waits)

    threads = [threading.Thread(target=repeat, args=(requests,)) for requests in ready]
    for thread in threads:
        thread.start()
    begin.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    tally.elapsed += time.perf_counter() - started


def _report(rounds: list[dict[str, Tally]]) -> str:
    rates = [{name: tally.rate for name, tally in found.items()} for found in rounds]
    found = ratio(rates, SHARED, ALONE)
    rows = []
    for name in (ALONE, SHARED):
        waits = [wait * 1000 for tallies in rounds for wait in tallies[name].waits]
        cells = [f"{percentile(waits, share):.1f} ms" for share in (0.5, 0.99)]
        rows.append([name, f"{median_of(rates, name):,.0f}", *cells])
    p99 = {
        name: percentile([w for tallies in rounds for w in tallies[name].waits], 0.99)
        for name in (ALONE, SHARED)
    }
    is_met = met(found.median >= RATIO_GOAL and p99[SHARED] < p99[ALONE])
    return (
        table(["transactions", "events/s", "p50", "p99"], rows)
        + f"\n\nShared / a connection each: {found}; goal {RATIO_GOAL} and a lower p99: {is_met}."
    )
