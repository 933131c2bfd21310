"""Plans of five steps whose actions do nothing, beside DBOS workflows of five such steps.

On the product's side every step is claimed, begun, carried out by the real dispatcher and handler,
and its outcome recorded with the next one's start: attempt, intent, ledger lines and messages
included. Plans wait, approved, and a cycle takes so many of them; what is timed is from their
approval until the last is completed. Beside that, stricter: so many are approved, which is in the
time too, and the next when they are completed, so that never more are under way together. On the
other side workflows run in the threads of the peer's own pool.
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
PLANS = {1: 150, 10: 500, 100: 1500}  # of the product, in one round
GROUPED = {1: 40, 10: 200, 100: 600}
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
        bearer.carry_groups(20, 10)
        for number in range(settings.rounds):
            sides: dict[str, Callable[[], float]] = {DBOS: partial(ask, f"run {WORKFLOWS}")}
            for width in GOALS:
                sides[f"{width} a cycle"] = partial(bearer.carry, PLANS[width], width)
                sides[f"{width} together"] = partial(bearer.carry_groups, GROUPED[width], width)
            names = list(sides)
            dice.shuffle(names)
            rounds.append({side: sides[side]() for side in names})
            shown = {side: f"{rate:,.0f}/s" for side, rate in rounds[-1].items()}
            settings.tell(f"plans, round {number + 1}, steps: {shown}")
        bearer.close()
    rows = []
    for how in ("a cycle", "together"):
        for width, goal in GOALS.items():
            side = f"{width} {how}"
            found = ratio(rounds, side, DBOS)
            rates = [f"{median_of(rounds, one):,.0f}" for one in (DBOS, side)]
            rows.append([side, *rates, found, goal, met(found.median >= goal)])
    header = ["plans", "DBOS, steps/s", "product, steps/s", "ratio", "goal", "met"]
    return f"### Plan steps against DBOS, PostgreSQL\n\n{table(header, rows)}\n"
