"""What goes wrong: drawn from the seed, each with a mixture of its own, until it has to stop."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import NoReturn

from tests.hostile import ANSWERS, RAISED, RETURNED, Behaviour
from tests.sim.baton import Baton, Strand
from watchkeeper.core.time import Instant, seconds
from watchkeeper.errors import CommitUnknown, LeaseLost, Unavailable

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

BAD_ANSWER = "answers badly"
RAISING = (*HANDLERS[:2], BAD_ANSWER)
HOSTILE = {"run": "decision", "pull": "connector", "action": "action"}
"""Handlers that are called once at most, by the names that `tests/hostile.py` has for them.

They may do whatever stands there. A Reject or a Retry of the others would end or put off what the
oracles wait for.
"""

UNHEARD = ("returns an object that dies badly",)
"""Behaviours that the interpreter is told of, and not the product."""

BAD_ANSWERS: dict[str, dict[str, Behaviour]] = {
    kind: {
        name: behave
        for name, behave in {**RETURNED, **ANSWERS[hostile]}.items()
        if name not in UNHEARD
    }
    for kind, hostile in HOSTILE.items()
}

ERRORS: tuple[Callable[[], Exception], ...] = (
    lambda: RuntimeError("it did not work"),
    lambda: TimeoutError("no answer in time"),
    lambda: ValueError("a \x00 that no database takes, \ud800 that no encoding takes"),
    lambda: KeyError("x" * 100_000),
    lambda: ExceptionGroup("both", [ValueError("this"), OSError(28, "that")]),
    lambda: AssertionError(),
    lambda: StopIteration("nothing left"),
    lambda: sqlite3.OperationalError("database is locked"),
    lambda: Unavailable("as if the product had said so"),
    lambda: CommitUnknown("as if the product had said so"),
    lambda: LeaseLost("as if the product had said so"),
)
"""What a handler may raise, some of it what the product itself raises for another reason."""

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
        self.handler = some(0.2, 0.5, 0.9)
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

    def of_handler(self, baton: Baton, kind: str) -> str:
        """How a handler, or a receiver outside, behaves this time.

        Handlers of runs, pulls and actions go on raising when the other faults are over.
        """
        if not self.is_on and kind in HOSTILE and self.rng.random() < self.handler / 2:
            return self.rng.choice(RAISING)
        if not self._may(baton, self.handler):
            return "well"
        return self.rng.choice((*HANDLERS, BAD_ANSWER) if kind in HOSTILE else HANDLERS)

    def fail(self, baton: Baton, kind: str) -> NoReturn:
        """Raise whatever a handler of this kind may raise."""
        if kind in HOSTILE and self.rng.random() < 0.5:
            self._drawn(baton, kind, RAISED)()
        made = self.rng.choice(ERRORS)()
        self.reached[f"raised {type(made).__name__}"] += 1
        raise made

    def bad_answer(self, baton: Baton, kind: str) -> Behaviour:
        """Returns what makes the answer; each call of it makes new objects."""
        return self._drawn(baton, kind, BAD_ANSWERS[kind])

    def _drawn(self, baton: Baton, kind: str, table: dict[str, Behaviour]) -> Behaviour:
        name = self.rng.choice(list(table))
        self.reached[f"hostile {kind}: {name}"] += 1
        baton.note(f"{kind} {name}")
        return table[name]

    def _may(self, baton: Baton, rate: float) -> bool:
        strand = baton.current
        if not self.is_on or strand is None or not strand.process.is_killable:
            return False
        return self.rng.random() < rate
