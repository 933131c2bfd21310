"""An outbox that has seen much: a claim beside millions of rows, and how large the table gets."""

import contextlib
import random
import statistics
import time
from collections.abc import Callable, Iterator

import psycopg

from bench import places, product
from bench.drain import BATCH, ENQUEUED_AT_ONCE, PAYLOAD
from bench.measure import Ratio, met, table
from bench.settings import Settings
from tests.postgres import Server

CLAIM_GOAL = 1.5
BLOAT_GOAL = 2.0
DEEP, SHALLOW = "deep", "shallow"
WARM_UP_CLAIMS = 8
CLAIMS_PER_ROUND = 24
PENDING_MIN = 2 * BATCH
"""What is always due on the almost empty side, so that its claims are as full as the others."""

BACKLOG_MAX = 20_000
"""Messages that the feeder is ahead of the worker."""
PASSED_FIRST = 10
"""The size is first taken when a tenth has passed."""
PASS_SECONDS_MAX = 900.0
LOOK_SECONDS = 0.002
MEGABYTE = 1 << 20

OUTBOX_SIZE = "select pg_total_relation_size('outbox')"


def deep_claim(settings: Settings) -> str:
    """A claim with a long history and a long backlog against one on an almost empty table."""
    dice = random.Random(settings.seed)
    rounds: list[dict[str, float]] = []
    with (
        places.postgres() as server,
        _claims(server, settings.delivered_deep, settings.backlog) as deep,
        _claims(server, 0, PENDING_MIN) as shallow,
    ):
        sides = {DEEP: deep, SHALLOW: shallow}
        for side in sides.values():
            for _ in range(WARM_UP_CLAIMS):
                side()
        for number in range(settings.rounds):
            rounds.append(_round(sides, dice))
            shown = {name: f"{1e3 * seconds:.2f} ms" for name, seconds in rounds[-1].items()}
            settings.tell(f"deep-claim, round {number + 1}: {shown}")
    found = Ratio(tuple(times[DEEP] / times[SHALLOW] for times in rounds))
    times = [f"{1e3 * statistics.median(r[name] for r in rounds):.2f}" for name in (SHALLOW, DEEP)]
    row = [
        f"{settings.delivered_deep:,} delivered, {settings.backlog:,} due",
        *times,
        found,
        f"<= {CLAIM_GOAL}",
        met(found.median <= CLAIM_GOAL),
    ]
    header = ["", "almost empty, ms", "deep, ms", "ratio", "goal", "met"]
    return f"### A claim of {BATCH} messages, PostgreSQL\n\n{table(header, [row])}\n"


def _round(sides: dict[str, Callable[[], float]], dice: random.Random) -> dict[str, float]:
    """The median claim of each side; they alternate."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(CLAIMS_PER_ROUND):
        names = list(sides)
        dice.shuffle(names)
        for name in names:
            times[name].append(sides[name]())
    return {name: statistics.median(taken) for name, taken in times.items()}


@contextlib.contextmanager
def _claims(server: Server, delivered: int, due: int) -> Iterator[Callable[[], float]]:
    """Claims of full batches: the seconds of each. What it took is delivered and made up for."""
    name = places.product_template(server)
    if delivered:
        places.fill_history(server, name, delivered, "{}")
    places.fill_backlog(server, name, due, PAYLOAD)
    with contextlib.closing(product.Product(server.tcp_url(name))) as watched:

        def claim() -> float:
            started = time.perf_counter()
            claimed = watched.claim(BATCH)
            elapsed = time.perf_counter() - started
            assert len(claimed) == BATCH
            watched.ack(claimed)
            watched.enqueue([PAYLOAD] * BATCH)
            return elapsed

        yield claim


def bloat(settings: Settings) -> str:
    """How large the outbox is after many messages against after the first tenth of them."""
    with places.postgres() as server:
        name = places.product_template(server)
        with (
            contextlib.closing(product.Product(server.tcp_url(name))) as watched,
            psycopg.connect(server.admin_url(name), autocommit=True) as looking,
        ):
            sizes = _sizes(settings, watched, looking)
    first, last = sizes[0], sizes[-1]
    row = [
        f"{settings.passed // PASSED_FIRST:,} and {settings.passed:,}",
        f"{first / MEGABYTE:.0f}",
        f"{last / MEGABYTE:.0f}",
        f"{max(sizes) / MEGABYTE:.0f}",
        f"{last / first:.2f}",
        f"<= {BLOAT_GOAL}",
        met(last <= BLOAT_GOAL * first),
    ]
    header = ["messages passed", "first, MB", "last, MB", "largest, MB", "ratio", "goal", "met"]
    return f"### Size of the outbox with its indexes, PostgreSQL\n\n{table(header, [row])}\n"


def _sizes(settings: Settings, watched: product.Product, looking: psycopg.Connection) -> list[int]:
    """The size at each tenth of the way; one worker, and a feeder that is a little ahead."""
    sizes: list[int] = []
    workers = watched.workers(lambda _message: None)
    workers.start()
    fed, tenth = 0, settings.passed // PASSED_FIRST
    until = time.monotonic() + PASS_SECONDS_MAX
    while len(sizes) < PASSED_FIRST:
        delivered = workers.counts["delivered"]
        if delivered >= tenth * (len(sizes) + 1):
            sizes.append(looking.execute(OUTBOX_SIZE).fetchone()[0])
            settings.tell(f"bloat: {delivered:,} passed, {sizes[-1] / MEGABYTE:.0f} MB")
        elif fed < settings.passed and fed - delivered < BACKLOG_MAX:
            watched.enqueue([PAYLOAD] * ENQUEUED_AT_ONCE)
            fed += ENQUEUED_AT_ONCE
        else:
            time.sleep(LOOK_SECONDS)
        if time.monotonic() > until:
            raise RuntimeError(f"only {workers.counts} of {settings.passed}")
    workers.stop()
    return sizes
