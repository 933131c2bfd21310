"""Crash enumeration: a deed is played once, its points are counted, and then it dies at each.

After a death the deed is asked for again, as its client would, and workers finish what is left;
with a second death anywhere in that. The audit must find nothing, wherever it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.sim.baton import Baton, Process, Strand
from tests.sim.oracles import audit
from tests.sim.places import Ground
from tests.sim.roles import client, rounds, watcher
from tests.sim.world import Result, Script, World, run

Wants = list[tuple[Any, ...]]

LETTERS: Wants = [("write", "acme", "l1", "letters"), ("clerk", "ack", 0.1)]
DEEDS: dict[str, Wants] = {
    "admit": [("trigger", "acme", "a", "k1")],
    "signal": [("signal", "acme", "a", "k1")],
    "account": [("posture", "acme", "a", "WATCH")],
    "reserve": [("reserve", "acme", "t1", "standard")],
    "finalize": [
        ("reserve", "acme", "t1", "premium"),
        ("finalize", "acme", "t1", "completed", 20),
    ],
    "schedule a pull": [("pull", "acme", "a", "DEEP", "p1")],
    "claim and ack": LETTERS,
    "nack": [LETTERS[0], ("clerk", "nack", 0.1)],
    "dead and redrive": [LETTERS[0], ("clerk", "nack", 70), ("redrive", "acme")],
    "plan": [("draft", "acme", "a", 1), ("with plan", "approve", 0)],
    "pause and resume": [
        ("draft", "acme", "a", 2),
        ("with plan", "approve", 0),
        ("with plan", "pause", 0),
        ("with plan", "resume", 0),
    ],
    "abort": [("draft", "acme", "a", 1), ("with plan", "approve", 0), ("with plan", "abort", 0)],
    "post": [("write", "acme", "x1", "posted")],
    "look": [("look",), ("signal", "acme", "a", "s1")],
    "calendar": [("schedule", "acme"), ("pause", 700), ("unschedule", "acme")],
}


@dataclass
class Straight:
    """One after the other, the first that can; nobody is hurried and nothing fails."""

    kind: str = "straight"

    def choose(self, _baton: Baton, me: Strand | None, ready: list[Strand]) -> Strand:
        return me if me is not None and me in ready else ready[0]


class Deaths:
    """Of the process that is looked at, so many points into its lives, one after the other."""

    def __init__(self, world: World, at: tuple[int, ...]) -> None:
        self._real = world.faults
        self._left = list(at)
        self.points = 0
        self.reached = world.faults.reached
        self.is_on = True

    def off(self) -> None:
        pass

    def strikes(self, baton: Baton, strand: Strand) -> bool:
        process: Process = strand.process
        if process.is_dead or not process.is_killable:
            return False
        self.points += 1
        if not self._left or self.points < self._left[0]:
            return False
        self.points = 0
        self._left.pop(0)
        baton.kill(process)
        return True

    def at_commit(self, _baton: Baton) -> None:
        return None

    def at_statement(self, _baton: Baton) -> None:
        return None

    def of_handler(self, _baton: Baton, _kind: str) -> str:
        return "well"


def played(deed: str, victim: str, at: tuple[int, ...], ground: Ground, engine: Any) -> Result:
    """One deed, with its client or the worker dying at these points."""
    kept: list[Deaths] = []

    def cast(world: World) -> None:
        world.rng.seed(1)
        deaths = Deaths(world, at)
        kept.append(deaths)
        world.faults = world.baton.faults = deaths  # type: ignore[assignment]
        world.baton.chooser = Straight()
        world.journal = "rollback"
        world.scripts["client"] = Script("client", DEEDS[deed])
        world.start("client", client, is_killable=victim == "client")
        world.start("rounds", rounds, after_seconds=1, is_killable=victim == "worker")
        world.start("other", rounds, after_seconds=40, is_killable=False)
        world.start("watcher", watcher, after_seconds=2, is_killable=False)

    result = run(1, ground, engine, cast, audit)
    result.reached["points"] = kept[0].points
    return result


def all_deaths(
    deed: str, victim: str, ground: Ground, engine: Any, *, pairs: int = 0, stride: int = 1
) -> Iterator[Result]:
    """The deed without a death, with one at each point, and with two at some `pairs` of points."""
    calm = played(deed, victim, (), ground, engine)
    yield calm
    points = calm.reached["points"]
    for first in range(1, points + 1, stride):
        yield played(deed, victim, (first,), ground, engine)
    for number in range(pairs):
        first = 1 + (number * 7919) % max(points, 1)
        second = 1 + (number * 104729) % max(points, 1)
        yield played(deed, victim, (first, second), ground, engine)
