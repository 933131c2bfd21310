"""Seeds, each a world of its own: whatever happens in it, the audit finds nothing in the end."""

import pytest

from tests.sim.faults import HOSTILE
from tests.sim.mutants import SHORT
from tests.sim.oracles import audit
from tests.sim.places import Ground
from tests.sim.roles import cast
from tests.sim.tapes import TAPES
from tests.sim.world import Result, run, total

pytestmark = [pytest.mark.req("T-32"), pytest.mark.slow, pytest.mark.timeout(600)]

POSTGRESQL_SEEDS = (1, 3, 6, 8, 11)
REACHED = (
    "killed",
    "restarted",
    "paused beyond a lease",
    "clock stepped forward",
    "fenced",
    "stolen lease",
    "buried",
    "dead OUTCOME_UNKNOWN",
    "dead ATTEMPTS_EXHAUSTED",
    "deferral retried",
    "midnight crossed",
    "lost commit on claim",
    "lost commit on ack",
    "lost commit on settle",
    "lost commit on admit",
    "handler dies",
    "handler fails after its effect",
    "handler very late",
    "ledger OUTCOME_LATE",
    "ledger PLAN_PAUSED",
    "ledger PLAN_COMPLETED",
    "REFUSED BUDGET_EXCEEDED",
    "SKIP DUPLICATE_IDEMPOTENCY_KEY",
    "turn ended by watchdog",
    "turn ended by caller",
    "schedule fired",
    "file busy",
    "attempts used up",
    "edge of a cooldown",
    "reserve in the first second of a day",
    "raised CommitUnknown",
    "handler answers badly",
    "hostile run",
    "hostile pull",
    "hostile action",
    "verdict compared",
    "reserve compared",
)


def played(seed: int, ground: Ground, engine: str) -> Result:
    return run(seed, ground, engine, cast, audit)


def test_seeds_come_to_rest_and_reach_what_matters(ground: Ground) -> None:
    results = [played(seed, ground, "sqlite") for seed in SHORT]
    assert {one.seed: one.broken for one in results if one.broken} == {}
    counts = total(results)
    counts["schedule fired"] = counts["ledger schedule.fired"]
    for kind in HOSTILE:
        counts[f"hostile {kind}"] = sum(name.startswith(f"hostile {kind}:") for name in counts)
    assert [what for what in REACHED if not counts[what]] == []


@pytest.mark.postgresql
def test_seeds_on_postgresql(ground: Ground) -> None:
    results = [played(seed, ground, "postgresql") for seed in POSTGRESQL_SEEDS]
    assert {one.seed: one.broken for one in results if one.broken} == {}


@pytest.mark.parametrize(
    ("seed", "engine"),
    [
        (8, "sqlite"),
        (84, "sqlite"),
        pytest.param(0, "postgresql", marks=pytest.mark.postgresql),
    ],
)
def test_a_seed_plays_the_same_again(ground: Ground, seed: int, engine: str) -> None:
    first = played(seed, ground, engine)
    played(11, ground, engine)
    again = played(seed, ground, engine)
    assert first.trace == again.trace
    assert (first.hash, first.reached) == (again.hash, again.reached)


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: f"{tape.engine}-{tape.seed}")
def test_a_seed_that_found_something_finds_it_no_more(ground: Ground, tape) -> None:
    assert played(tape.seed, ground, tape.engine).broken == ()
