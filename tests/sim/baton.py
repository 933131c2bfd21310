"""The baton: of many threads exactly one runs, and a seed says which, for how long, and who dies.

A process is an identity with one or more strands. A strand runs until its next point (a statement,
a COMMIT, a call of a handler, a sleep) and hands the baton on there. A process that is killed has
its connections rolled back at once, and whatever its strands try afterwards raises `Killed`.
"""

import threading
import time
import traceback
from collections.abc import Callable
from hashlib import sha256
from random import Random
from typing import Any

from tests.databases import START_AT
from watchkeeper.core.time import SECOND, Instant

STEP_US = 1_000
"""What every step takes, so that no two of them are at the same instant."""

STEPS_MAX = 60_000
LOOK_SECONDS = 0.002
SURE_LOOKS = 3
"""A lock may be another's for a moment, while those who waited for it line up again."""

THREAD_ENDS_SECONDS = 30.0


class Killed(BaseException):
    """As kill -9: nothing that the strand does from here on touches the world."""


class Process:
    """Who runs: a name, and how often it was started before. No two are ever the same."""

    def __init__(self, name: str, boot: int) -> None:
        self.name = name
        self.boot = boot
        self.is_dead = False
        self.is_killable = True
        self.on_kill: list[Callable[[], None]] = []
        self.reborn: Callable[[], None] | None = None
        self.priority = 0.0

    @property
    def id(self) -> str:
        return f"{self.name}.{self.boot}"


class Strand:
    """One thread of a process."""

    __slots__ = (
        "blocked",
        "blockers",
        "gate",
        "in_db",
        "pid",
        "process",
        "returned",
        "thread",
        "wake_at",
    )

    def __init__(self, process: Process, wake_at: int) -> None:
        self.process = process
        self.wake_at = wake_at
        self.gate = threading.Semaphore(0)
        self.thread: threading.Thread | None = None
        self.in_db = False  # waits for an answer of the database
        self.blocked = False  # and the database waits for another strand
        self.returned = False  # but has its answer by now
        self.pid = 0
        self.blockers: set[Process] = set()


class Baton:
    """Who runs next, what time it is, and everything that happened, in order."""

    def __init__(self, seed: int, chooser: Any, faults: Any) -> None:
        self.rng = Random(f"{seed}/steps")
        self.chooser = chooser
        self.faults = faults
        self.now = Instant(START_AT)
        self.steps = 0
        self.strands: list[Strand] = []
        self.current: Strand | None = None
        self.trace: list[str] = []
        self.errors: list[str] = []
        self.is_over = False  # everybody unwinds
        self.blocked_pids: Callable[[list[int]], set[int]] | None = None
        self.blocking_pids: Callable[[int], list[int]] = lambda _pid: []
        self._processes: dict[int, Process] = {}
        self.after_choice: Callable[[], None] = lambda: None
        self._mutex = threading.Lock()
        self._ended = threading.Semaphore(0)

    # -- for whoever plays ------------------------------------------------------------

    def spawn(self, process: Process, deed: Callable[[], None], after_us: int = 0) -> None:
        strand = Strand(process, self.now + after_us)
        name = f"sim {process.id}"
        strand.thread = threading.Thread(
            target=self._body, args=(strand, deed), name=name, daemon=True
        )
        self.strands.append(strand)
        strand.thread.start()

    def run(self) -> None:
        """Until every strand has ended."""
        first = self._choose(None)
        if first is None:
            return
        self._give(first)
        if self.blocked_pids is None:
            self._ended.acquire()
        else:
            while not self._ended.acquire(timeout=LOOK_SECONDS):
                self._look()

    def point(self, label: str) -> None:
        """Hand the baton on; come back when the seed says so, or not at all."""
        me = self.current
        assert me is not None
        if me.process.is_dead:
            raise Killed
        self.trace.append(f"{me.process.id} {label}")
        chosen = self._choose(me)
        if chosen is not me:
            assert chosen is not None
            self._give(chosen)
            me.gate.acquire()
        if me.process.is_dead:
            raise Killed

    def sleep(self, seconds: float, label: str = "sleep") -> None:
        assert self.current is not None
        self.current.wake_at = self.now + round(seconds * SECOND)
        self.point(f"{label} {seconds:g}")

    def note(self, text: str) -> None:
        self.trace.append(text)

    def kill(self, process: Process) -> None:
        """At once; whoever of it is next simply ends."""
        if process.is_dead:
            return
        self.note(f"{process.id} KILLED")
        process.is_dead = True
        for undo in process.on_kill:
            undo()
        for strand in self.strands:
            if strand.process is process:
                strand.wake_at = self.now
        self.settle_blocked()
        if process.reborn is not None and not self.is_over:
            process.reborn()

    def die(self) -> None:
        """The strand that holds the baton takes its process down with it."""
        assert self.current is not None
        self.kill(self.current.process)
        raise Killed

    @property
    def hash(self) -> str:
        return sha256("\n".join(self.trace).encode()).hexdigest()[:16]

    def monotonic(self) -> float:
        return (self.now - START_AT) / SECOND

    # -- waiting for a database that makes others wait -----------------------------------

    def asking(self, pid: int, deed: Callable[[], Any]) -> Any:
        """A statement that may have to wait for another strand, which gets the baton then."""
        me = self.current
        assert me is not None
        self._processes[pid] = me.process
        me.pid, me.in_db = pid, True
        try:
            return deed()
        finally:
            with self._mutex:
                me.in_db = False
                was_blocked = me.blocked
                me.returned = was_blocked
            if was_blocked:
                me.gate.acquire()
                me.blocked = me.returned = False
                if me.process.is_dead:
                    raise Killed

    def settle_blocked(self) -> None:
        """Locks were let go: whoever waited for them either has them now or waits again."""
        waiting = [one for one in self.strands if one.blocked and not one.returned]
        still = 0
        while waiting and still < SURE_LOOKS:
            assert self.blocked_pids is not None
            pids = self.blocked_pids([one.pid for one in waiting])
            waiting = [one for one in waiting if not one.returned]
            still = still + 1 if all(one.pid in pids for one in waiting) else 0
            time.sleep(0.0005)

    def _look(self) -> None:
        """From the main thread: the one that runs may wait for one that does not."""
        me = self.current
        if me is None or not me.in_db or me.blocked or self.blocked_pids is None:
            return
        for _ in range(SURE_LOOKS):
            if me.pid not in self.blocked_pids([me.pid]):
                return
        with self._mutex:
            if not me.in_db or self.current is not me:
                return
            me.blocked = True
        found = [self._processes.get(pid) for pid in self.blocking_pids(me.pid)]
        me.blockers = {process for process in found if process is not None}
        self.trace.append(f"{me.process.id} WAITS")
        chosen = self._choose(me)
        assert chosen is not None
        self._give(chosen)

    # -- inside ---------------------------------------------------------------------------

    def _body(self, strand: Strand, deed: Callable[[], None]) -> None:
        strand.gate.acquire()
        try:
            if not strand.process.is_dead:
                deed()
        except Killed:
            self.strands.remove(strand)
        except BaseException:
            self.strands.remove(strand)
            self.end(f"{strand.process.id}: {traceback.format_exc(limit=-8)}")
        else:
            self.strands.remove(strand)
        chosen = self._choose(None)
        if chosen is None:
            self._ended.release()
        else:
            self._give(chosen)

    def _give(self, strand: Strand) -> None:
        self.current = strand
        strand.gate.release()

    def _choose(self, me: Strand | None) -> Strand | None:
        while self.strands:
            self.steps += 1
            if self.steps > STEPS_MAX and not self.is_over:
                self.end("it does not come to rest")
            ready = self._ready()
            if not ready:
                self._wait()
                continue
            self.now = Instant(self.now + STEP_US)
            chosen: Strand = self.chooser.choose(self, me, ready)
            if not self.is_over and self.faults.strikes(self, chosen):
                continue
            return chosen
        return None

    def _ready(self) -> list[Strand]:
        """Who can run. While one waits in the database, only those it waits for can.

        Of several who wait for the same row PostgreSQL serves any first; of one, that one.
        """
        now = self.now
        return [
            one
            for one in self._allowed()
            if (one.returned or not one.blocked) and (one.wake_at <= now or self.is_over)
        ]

    def _allowed(self) -> list[Strand]:
        if self.blocked_pids is None:
            return self.strands
        wanted = [one.blockers for one in self.strands if one.blocked and not one.returned]
        if not wanted:
            return self.strands
        holders = set.union(*wanted)
        found = [one for one in self.strands if one.process in holders]
        return found or self.strands

    def _wait(self) -> None:
        """Nobody can run now: time passes, or the database finds that all wait for each other."""
        times = [one.wake_at for one in self._allowed() if not one.blocked]
        if times:
            self.now = Instant(max(self.now, min(times)))
        else:
            time.sleep(0.01)

    def end(self, why: str) -> None:
        """Break off: everybody unwinds as if killed."""
        if self.is_over:
            return
        self.errors.append(why)
        self.note(f"END {why}")
        self.is_over = True
        for process in {one.process.id: one.process for one in self.strands}.values():
            self.kill(process)


class Walk:
    """Who is next: anybody; or rather the same again; or by priorities that change now and then."""

    def __init__(self, rng: Random) -> None:
        self.kind = rng.choice(("any", "same", "priority"))
        self.stay = rng.choice((0.5, 0.8, 0.95))
        self.changes = {rng.randrange(4_000) for _ in range(8)}
        self.rng = rng

    def choose(self, baton: Baton, me: Strand | None, ready: list[Strand]) -> Strand:
        if len(ready) == 1:
            return ready[0]
        if self.kind == "same" and me in ready and self.rng.random() < self.stay:
            assert me is not None
            return me
        if self.kind != "priority" or self.rng.random() < 0.02:
            return self.rng.choice(ready)
        for strand in ready:
            if not strand.process.priority:
                strand.process.priority = self.rng.random()
        best = max(ready, key=lambda one: (one.process.priority, one.process.id))
        if baton.steps in self.changes:
            best.process.priority /= 1_000
        return best
