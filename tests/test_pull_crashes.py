"""A worker that is killed in the middle of a pull: it is called once, charged once, and told lost.

Each worker is a process of its own. Time is real; the tests wait for what happens, with a limit.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.databases import Clock, Place
from tests.looking import Lookout, spent
from tests.pulling import dead, slots, states
from tests.test_workers import until
from tests.verify_clean import assert_verified
from watchkeeper.core.pulls import PullReason
from watchkeeper.store.database import Database

ROOT = Path(__file__).parents[1]
PATIENCE = 50.0
"""Seconds until something is taken not to happen: a process may start slowly."""

pytestmark = pytest.mark.slow


@pytest.fixture
def run(place: Place) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.pull_process", place.url, how]
        started.append(
            subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=PATIENCE)


@pytest.mark.req("P-07", "P-08", "P-10", "O-11")
def test_a_pull_whose_worker_was_killed_is_told_lost_and_charged_once(
    db: Database, place: Place, clock: Clock, run: Callable[[str], subprocess.Popen[str]]
) -> None:
    clock.make_real()
    lookout = Lookout(db, clock)
    lookout.connector(has_cadence=False, max_concurrency=1)
    lookout.budget(10)
    assert lookout.ask("ann", pull_job_id="mine").is_scheduled
    first = run("die")
    first.wait(PATIENCE)
    assert first.stdout
    assert first.stdout.read().split("\n").count("begin mine") == 1
    assert states(place) == ["RUNNING"]
    assert slots(place) == 1

    place.execute("update outbox set locked_until = 1 where status = 'processing'")  # time passes
    second = run("work")
    until(lambda: states(place) == ["OUTCOME_UNKNOWN"], PATIENCE)
    assert dead(place) == ["OUTCOME_UNKNOWN"]
    assert slots(place) == 0, "the dead give back what they held"
    assert spent(place)["crm"] == (1, 1)
    assert lookout.ask("ann", pull_job_id="mine").reason is PullReason.DUPLICATE
    assert lookout.ask("ann", pull_job_id="another").is_scheduled
    until(lambda: sorted(states(place)) == ["OUTCOME_UNKNOWN", "SUCCEEDED"], PATIENCE)
    assert spent(place)["crm"] == (2, 2)
    said, _ = second.communicate("", timeout=PATIENCE)
    assert [line for line in said.split("\n") if line.startswith("begin")] == ["begin another"]
    assert_verified(db)
