"""What goes wrong: drawn from the seed, each with a mixture of its own, until it has to stop."""

from collections import Counter
from random import Random

from tests.sim.baton import Baton, Strand
from watchkeeper.core.time import Instant, seconds

PAUSES = (3, 40, 70, 400)
"""Seconds: shorter than every lease, longer than some, longer than all."""

HANDLERS = (
    "fails",
    "fails after its effect",
    "late",
    "very late",
    "fails late",
    "dies",
    "dies after",
)

STEPS_FORWARD = (61, 3_600, 26 * 3_600)
STEPS_BACK = (-0.5, -5)


class Faults:
    """Swarm: a seed leaves out some kinds of faults altogether, so that the others go further."""

    def __init__(self, rng: Random, engine: str) -> None:
        def some(*rates: float) -> float:
            return rng.choice((0.0, *rates))

        self.rng = rng
        self.engine = engine
        self.until = rng.choice((250, 500, 900))
        self.kill = some(0.003, 0.008)
        self.pause = some(0.003, 0.008)
        self.clock = some(0.0005, 0.002)
        self.commit = some(0.01, 0.04)
        self.statement = some(0.001, 0.003)
        self.handler = some(0.2, 0.5)
        self.reached: Counter[str] = Counter()
        self.is_on = True

    def off(self) -> None:
        self.is_on = False

    def strikes(self, baton: Baton, strand: Strand) -> bool:
        """Before a strand goes on; whether it does not, and another must be chosen."""
        if self.is_on and baton.steps > self.until:
            self.is_on = False
            baton.note("CALM")
        process = strand.process
        if not self.is_on or process.is_dead or not process.is_killable:
            return False
        drawn = self.rng.random()
        if drawn < self.kill:
            self.reached["killed"] += 1
            baton.kill(process)
            return True
        drawn -= self.kill
        if drawn < self.pause:
            return self._pause(baton, strand)
        drawn -= self.pause
        if drawn < self.clock:
            self._step(baton)
        return False

    def _pause(self, baton: Baton, strand: Strand) -> bool:
        long = self.rng.choice(PAUSES)
        self.reached["paused beyond a lease" if long > 60 else "paused"] += 1
        baton.note(f"{strand.process.id} STOPPED {long}")
        for one in baton.strands:
            if one.process is strand.process:
                one.wake_at = max(one.wake_at, baton.now + seconds(long))
        return True

    def _step(self, baton: Baton) -> None:
        """The clock of the database jumps."""
        by = self.rng.choice(STEPS_FORWARD if self.rng.random() < 0.8 else STEPS_BACK)
        self.reached["clock stepped forward" if by > 0 else "clock stepped back"] += 1
        baton.note(f"CLOCK {by:+g}")
        baton.now = Instant(baton.now + seconds(by))

    def at_commit(self, baton: Baton) -> str | None:
        """What becomes of a COMMIT: None, or one of the ways to lose it or its answer."""
        if not self._may(baton, self.commit):
            return None
        if self.engine == "sqlite":
            kinds = ("killed before", "killed after", "killed after", "busy", "stopped after")
        else:
            kinds = ("killed before", "killed after", "lost", "answer lost", "stopped after")
        return self.rng.choice(kinds)

    def long_pause(self) -> float:
        return self.rng.choice(PAUSES[2:])

    def at_statement(self, baton: Baton) -> str | None:
        if not self._may(baton, self.statement):
            return None
        if self.engine == "sqlite":
            return "busy"
        return self.rng.choice(("deadlock", "connection lost"))

    def of_handler(self, baton: Baton) -> str:
        """How a handler, or a receiver outside, behaves this time."""
        if not self._may(baton, self.handler):
            return "well"
        return self.rng.choice(HANDLERS)

    def _may(self, baton: Baton, rate: float) -> bool:
        strand = baton.current
        if not self.is_on or strand is None or not strand.process.is_killable:
            return False
        return self.rng.random() < rate
