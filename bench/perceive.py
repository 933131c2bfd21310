"""Looking: a sweep over every account beside a bare fetch of the same rows, and ticks of pulls.

Every round a tenth of the accounts have something to cool down by; the fetch reads the columns
that a sweep would need, slice by slice as the sweep goes, and does nothing with them.
"""

import random
import resource
import time
from collections.abc import Iterator, Mapping
from itertools import islice

import psycopg

from bench import places, product
from bench.measure import Ratio, met, table
from bench.settings import Settings
from tests.postgres import LOGIN, Server

SWEEP_GOAL = 0.5
PULLS_GOAL = 5_000
SLICE = 10_000
STEPS = 4
"""Slices that one side does before the other takes its turn: a tenth of a second."""
ONE_IN = 10
FETCH, SWEEP = "fetch", "sweep"


def sweep(settings: Settings) -> str:
    """Accounts a second, against a bare fetch of the same rows; memory before and after."""
    rounds: list[dict[str, float]] = []
    dice = random.Random(settings.seed)
    with places.postgres() as server, _filled(server, product.FILL_HEATS, settings) as name:
        owner = product.Looker(server.tcp_url(name))
        for _ in owner.sweep(SLICE):  # the first makes what is missing
            pass
        before = _memory()
        for number in range(settings.rounds):
            _warm(server, name)
            fetched, swept = _fetch(server, name), owner.sweep(SLICE)
            rates = _by_turns(dice, {FETCH: fetched, SWEEP: swept}, settings.accounts)
            rounds.append(rates)
            shown = {side: f"{rate:,.0f}/s" for side, rate in rates.items()}
            settings.tell(f"sweep, round {number + 1}: {shown}")
        grown = _memory() - before
        owner.close()
    found = Ratio(tuple(rates[SWEEP] / rates[FETCH] for rates in rounds))
    rates = [f"{sorted(r[side] for r in rounds)[len(rounds) // 2]:,.0f}" for side in (FETCH, SWEEP)]
    row = [
        f"{settings.accounts:,} accounts, 1 in {ONE_IN} changes",
        *rates,
        found,
        f">= {SWEEP_GOAL}",
        met(found.median >= SWEEP_GOAL),
        f"+{grown} MB",
    ]
    header = ["sweep", "bare fetch, accounts/s", "product, accounts/s", "ratio", "goal", "met"]
    return f"### Heat sweep\n\n{table([*header, 'memory'], [row])}\n"


def pulls(settings: Settings) -> str:
    """Pulls scheduled a second by ticks of one tenant, whatever a tick takes at most."""
    rows = []
    for size in (100, 1000):
        with places.postgres() as server, _filled(server, product.FILL_PULLS, settings) as name:
            looker = product.Looker(server.tcp_url(name), per_tick=size)
            rates = []
            for number in range(settings.rounds):
                rates.append(looker.tick_for(settings.seconds * 3))
                settings.tell(f"pulls, ticks of {size}, round {number + 1}: {rates[-1]:,.0f}/s")
            looker.close()
        rate = sorted(rates)[len(rates) // 2]
        spread = f"{rate:,.0f} [{min(rates):,.0f}..{max(rates):,.0f}]"
        rows.append([f"ticks of {size}", spread, f">= {PULLS_GOAL:,}", met(rate >= PULLS_GOAL)])
    return f"### Pulls\n\n{table(['pulls', 'scheduled/s', 'goal', 'met'], rows)}\n"


class _filled:
    """A database with accounts, and what `statement` makes of each of them."""

    def __init__(self, server: Server, statement: str, settings: Settings) -> None:
        self.server = server
        self.statement = statement
        self.accounts = settings.accounts

    def __enter__(self) -> str:
        name = self.server.create()
        product.migrate(self.server.owner_url(name), LOGIN)
        product.prepare(self.server.tcp_url(name))
        with psycopg.connect(self.server.admin_url(name), autocommit=True) as conn:
            conn.execute(product.FILL_ACCOUNTS, {"count": self.accounts})
            conn.execute(self.statement, {"count": self.accounts})
            conn.execute("vacuum analyze")
            conn.execute("checkpoint")
        return name

    def __exit__(self, *_: object) -> None:
        pass


def _warm(server: Server, name: str) -> None:
    """Give a tenth of the accounts something that is over by now."""
    with psycopg.connect(server.admin_url(name), autocommit=True) as conn:
        conn.execute(product.WARM_HEATS, {"one_in": ONE_IN})
        conn.execute("vacuum heats")


def _fetch(server: Server, name: str) -> Iterator[None]:
    """One slice with each step."""
    with psycopg.connect(server.tcp_url(name), autocommit=True) as conn:
        conn.execute(product.AS_TENANT)
        after = ""
        while True:
            rows = conn.execute(product.FETCH_HEATS, (product.TENANT, after, SLICE)).fetchall()
            if not rows:
                return
            after = rows[-1][0]
            yield


def _by_turns(
    dice: random.Random, sides: Mapping[str, Iterator[None]], accounts: int
) -> dict[str, float]:
    """Both go over all accounts, some slices at a time; accounts a second."""
    spent = dict.fromkeys(sides, 0.0)
    going = list(sides)
    while going:
        dice.shuffle(going)
        for side in list(going):
            started = time.perf_counter()
            done = sum(1 for _ in islice(sides[side], STEPS))
            spent[side] += time.perf_counter() - started
            if done < STEPS:
                going.remove(side)
    return {side: accounts / seconds for side, seconds in spent.items()}


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
