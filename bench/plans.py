"""Plans of five steps whose actions do nothing, beside DBOS workflows of five such steps.

On the product's side every step is claimed, begun, carried out by the real dispatcher and handler,
and its outcome recorded with the next one's start: attempt, intent, ledger lines and messages
included. So many plans are under way together; what is timed is from their activation until the
last is completed. On the other side workflows run in the threads of the peer's own pool.
"""

import random
from collections.abc import Callable
from functools import partial

from bench import carrier, places
from bench.measure import median_of, met, ratio, table
from bench.peers import peer
from bench.settings import Settings

STEPS = 5
GOALS = {1: 1.8, 10: 8.0, 100: 20.0}
PLANS = {1: 60, 10: 300, 100: 1500}  # of the product, in one round
WORKFLOWS = 60
DBOS = "DBOS, threads"


def plans(settings: Settings) -> str:
    """Steps a second at 1, 10 and 100 plans in a cycle, against DBOS in the same round."""
    dice = random.Random(settings.seed)
    rounds: list[dict[str, float]] = []
    with places.postgres() as server, peer(server, "bench.dbos_peer", "") as ask:
        name = places.product_template(server)
        bearer = carrier.Carrier(server.tcp_url(name))
        ask("run 20")
        bearer.carry(20, 10)
        for number in range(settings.rounds):
            sides: dict[str, Callable[[], float]] = {DBOS: partial(ask, f"run {WORKFLOWS}")}
            for width in GOALS:
                sides[str(width)] = partial(bearer.carry, PLANS[width], width)
            names = list(sides)
            dice.shuffle(names)
            rounds.append({side: sides[side]() for side in names})
            shown = {side: f"{rate:,.0f}/s" for side, rate in rounds[-1].items()}
            settings.tell(f"plans, round {number + 1}, steps: {shown}")
        bearer.close()
    rows = []
    for width, goal in GOALS.items():
        found = ratio(rounds, str(width), DBOS)
        rates = [f"{median_of(rounds, side):,.0f}" for side in (DBOS, str(width))]
        rows.append([f"{width} in a cycle", *rates, found, goal, met(found.median >= goal)])
    header = ["plans", "DBOS, steps/s", "product, steps/s", "ratio", "goal", "met"]
    return f"### Plan steps against DBOS, PostgreSQL\n\n{table(header, rows)}\n"
