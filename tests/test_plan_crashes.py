"""Orchestrators that are killed with -9 at each boundary: nothing is begun twice, all goes on.

Each is a process of its own that delivers what is due and dies where it is told to. Time is the
database's virtual one, so that a lease ends when the test says so.
"""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.carrying import MEET, STEPS, Orchestrator, entries, kinds, sound
from tests.databases import Clock, EngineName, Place
from tests.rivals import processes
from watchkeeper.act_results import Action
from watchkeeper.store.database import Database

pytestmark = pytest.mark.slow

BOUNDARIES_MAX = 60
PATIENCE_SECONDS = 60


def carry(url: str, called: str, kill_at: int, poison: str | None) -> None:
    """Deliver what is due; die before or after the n-th commit, or in the poisoned step."""
    one = Orchestrator(url, None)

    def call(action: Action) -> None:
        with Path(called).open("a") as file:
            file.write(f"{action.plan_id} {action.step_id} {action.attempt}\n")
        if poison is not None and action.step_id == poison:
            os.kill(os.getpid(), signal.SIGKILL)

    one.answers[""] = call
    if kill_at:
        _kill_at(kill_at)
    one.drain()
    os._exit(0)


def _kill_at(number: int) -> None:
    """Odd numbers: before a commit; even ones: right after it."""
    commits = count(1)

    def killing(original: Any) -> Any:
        def commit(self: Database, driver: Any) -> None:
            place = next(commits)
            if number == 2 * place - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            original(self, driver)
            if number == 2 * place:
                if self.engine == "postgresql":
                    driver.execute("select 1")  # in a pipeline the commit was only sent
                os.kill(os.getpid(), signal.SIGKILL)

        return commit

    Database._commit = killing(Database._commit)
    Database._send_commit = killing(Database._send_commit)


class Crew:
    """Processes on one database, one after the other, and what they have called."""

    def __init__(self, place: Place, clock: Clock, folder: Path) -> None:
        self.place, self.clock = place, clock
        self.file = folder / "called"
        self.context = processes()
        self.context.set_forkserver_preload([__name__])
        self.one = Orchestrator(place.url)

    def run(self, kill_at: int = 0, poison: str | None = None) -> bool:
        """Whether it came to its end by itself."""
        given = (self.place.url, str(self.file), kill_at, poison)
        process = self.context.Process(target=carry, args=given, daemon=True)
        process.start()
        process.join(PATIENCE_SECONDS)
        assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
        return process.exitcode == 0

    def calls(self) -> Counter[str]:
        return Counter(self.file.read_text().splitlines() if self.file.exists() else [])


@pytest.fixture
def crew(place: Place, clock: Clock, tmp_path: Path) -> Iterator[Crew]:
    made = Crew(place, clock, tmp_path)
    yield made
    made.one.close()


@pytest.mark.req("A-05", "A-09", "A-12")
def test_killed_at_each_boundary_and_in_recovery(crew: Crew, place, engine: EngineName) -> None:
    """Before and after every commit; the one that takes over is killed as well, somewhere else."""
    one = crew.one
    for boundary in count(1):
        assert boundary < BOUNDARIES_MAX
        plan_id = one.approved(f"a{boundary}", STEPS[:2])
        is_last = crew.run(boundary)
        sound(place)
        crew.clock.advance(61)
        if not is_last:
            crew.run(boundary * 5 % 11 + 1)
            sound(place)
        for _ in range(8):
            crew.clock.advance(120)
            one.drain()
            sound(place)
        assert one.status(plan_id) == "COMPLETED", boundary
        if is_last:
            break
    assert boundary > 10, "the kills did not reach it"
    assert set(crew.calls().values()) == {1}, "no attempt was called twice"


@pytest.mark.req("A-09")
def test_a_step_that_kills_its_process_is_counted_and_the_plan_pauses(crew, place) -> None:
    one = crew.one
    poisoned = one.approved("ann", [MEET, {"step_id": "deadly", "action_type": STEPS[1]}])
    others = [one.approved(f"b{n}", STEPS[:2]) for n in range(3)]
    for _ in range(20):
        crew.run(poison="deadly")
        crew.clock.advance(130)
        others_now = {one.status(plan_id) for plan_id in others}
        if one.status(poisoned) == "PAUSED" and others_now == {"COMPLETED"}:
            break
    assert one.status(poisoned) == "PAUSED"
    assert one.get(poisoned).reason == "retry_limit_exceeded"
    deadly = {call: n for call, n in crew.calls().items() if " deadly " in call}
    assert deadly == {f"{poisoned} deadly {n}": 1 for n in (1, 2, 3)}
    reasons = [entry["reason"] for entry in entries(place, poisoned, "STEP_FAILED")]
    assert reasons == ["outcome_unknown"] * 3 + ["retry_limit_exceeded"]
    assert kinds(place, poisoned).count("PLAN_PAUSED") == 1
    assert {one.status(plan_id) for plan_id in others} == {"COMPLETED"}
    assert set(crew.calls().values()) == {1}
    sound(place)
