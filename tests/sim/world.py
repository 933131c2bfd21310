"""One run: a seed, a database, the processes that a seed brings, and what they were seen to do.

What outlives a process is here: its intentions (a client that is started again goes on where it
was), the journal of what handlers and receivers were called with, and what callers were told.
"""

import contextlib
import gc
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.sim.baton import Baton, Process, Strand, Walk
from tests.sim.faults import Faults
from tests.sim.outside import Receiver
from tests.sim.places import Ground, PostgresSite, Site
from tests.sim.seams import Seam
from watchkeeper import App, ids
from watchkeeper.actions.act_topics import register_actions
from watchkeeper.actions.perceive_topics import register_pulls
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.pull_signals import signals_of
from watchkeeper.store.outage import is_outage
from watchkeeper.store.sinks import SinkBook

NAP_SECONDS = 6 * 3600.0
RESTART_SECONDS = (0.2, 2, 20)
_OPEN = (
    "select count(*) from outbox where done_at is null and (status = 'processing'"
    " or next_attempt_at <= {now}"
    " or topic not in ('schedule.due', 'pull.tick', 'heat.sweep', 'plan.cycle'))"
)
_RUNNING = "select count(*) from turns where state = 'running'"
_MOVING = (
    "select count(*) from plans p where p.status = 'ACTIVE' and (exists (select 1 from intents i"
    " where i.plan_id = p.plan_id and i.state in ('APPROVED', 'EXECUTING')) or exists (select 1"
    " from plan_steps s where s.plan_id = p.plan_id and s.retry_at is not null))"
)
_NEXT = (
    "select min(case when status = 'processing' then locked_until else next_attempt_at end)"
    " from outbox where done_at is null"
)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What fails in here was meant to; others want to hear of it."""
    loggers = [logging.getLogger(name) for name in ("watchkeeper", "sqlalchemy.pool")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)


@dataclass
class Script:
    """What a client wants, one thing after the other. It goes on after whatever happens to it."""

    name: str
    wants: list[tuple[Any, ...]]
    done: int = 0


@dataclass
class Seen:
    """What the world saw, whoever has died since."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    bodies: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    arrived: Counter[str] = field(default_factory=Counter)  # receivers outside, by event id
    verdicts: list[tuple[str, Any]] = field(default_factory=list)  # by key
    pulls: list[Any] = field(default_factory=list)
    letters: set[str] = field(default_factory=set)  # written, as far as their writer knows
    plans: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


class World:
    """Everything that one seed decides."""

    def __init__(self, seed: int, site: Site, cast: Callable[["World"], None]) -> None:
        self.seed = seed
        self.site = site
        self.engine = site.place.engine
        self.rng = Random(f"{seed}/world")
        self.faults = Faults(Random(f"{seed}/faults"), self.engine)
        self.baton = Baton(seed, Walk(Random(f"{seed}/walk")), self.faults)
        self.journal = self.rng.choice(("wal", "rollback"))
        self.refusals = self.rng.choice((0.2, 0.2, 0.75))  # how often an action comes to nothing
        self.seen = Seen()
        self.seams: list[Seam] = []
        self.scripts: dict[str, Script] = {}
        self.features: set[str] = set()
        self._is_over = False
        self._napping: list[Strand] = []
        self._boots: Counter[str] = Counter()
        self._apps: list[App] = []
        self._cast = cast

    # -- playing ----------------------------------------------------------------------

    def play(self) -> None:
        ids.follow(self.seed, lambda: self.baton.now * 1_000)
        gc.disable()  # a cursor that is let go of must not depend on how much was made before
        try:
            if isinstance(self.site, PostgresSite):
                self.baton.blocked_pids = self.site.blocked
                self.baton.blocking_pids = self.site.blocking
            self._cast(self)
            self.baton.run()
        finally:
            for app in self._apps:
                app.db.close()
            ids.follow_nobody()
            gc.enable()

    def start(
        self,
        name: str,
        role: Callable[["World", Process, App], None],
        *,
        after_seconds: float = 0,
        is_killable: bool = True,
    ) -> Process:
        """Start a process; if it is killed it is started again, as somebody else."""
        self._boots[name] += 1
        process = Process(name, self._boots[name])
        process.is_killable = is_killable

        def reborn() -> None:
            self.seen.counts["restarted"] += 1
            pause = self.rng.choice(RESTART_SECONDS)
            self.start(name, role, after_seconds=pause, is_killable=is_killable)

        process.reborn = reborn
        self.baton.spawn(
            process,
            lambda: role(self, process, self.open(process)),
            round(after_seconds * SECOND),
        )
        return process

    def open(self, process: Process) -> App:
        """The product, as this process has it."""
        app = App(
            self.site.place.url,
            migrate=False,
            journal=self.journal,
            wall=self._wall,
            webhooks_private=True,
            pool_size=4,
        )
        seam = Seam(self.baton, self.faults, process, self.site.told)
        seam.watch(app.db)
        self.seams.append(seam)
        self._apps.append(app)
        app.db.on_news.append(self._news)
        app.db.sinks = SinkBook(self.baton.monotonic)
        app.db.policies.clock = self.baton.monotonic
        app.carrier.recall.clock = self.baton.monotonic
        self._connect(app)
        self._bring(app)
        return app

    def _connect(self, app: App) -> None:
        """While nobody else of this process is there; it tries until it can."""
        for engine in (app.db.writer, app.db.reader):
            while True:
                try:
                    engine.connect().close()
                    break
                except Exception as error:
                    if not is_outage(error):
                        raise
                    self.baton.sleep(1, "cannot connect")

    def _bring(self, app: App) -> None:
        outside = Receiver(self)
        app.decision(model="standard", estimated_input_tokens=100, max_output_tokens=100)(
            outside.decide
        )
        app.usage_sink(outside.bill)
        app.on("letters")(outside.read)
        app.registry.make_sender = lambda _kind: outside
        app.connectors.update(dict.fromkeys(("crm", "web"), outside.look))
        register_pulls(app.registry, app.admission, app.connectors, signals_of)
        app.actions.update(dict.fromkeys(outside.actions, outside.act))
        register_actions(app.registry, app.carrier, app.actions)

    def _wall(self) -> Instant:
        return self.baton.now

    # -- how far it is ------------------------------------------------------------------

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is left to do but what comes again for ever."""
        if self._is_over or any(one.done < len(one.wants) for one in self.scripts.values()):
            return self._is_over
        asked = (_OPEN.format(now=int(self.baton.now)), _MOVING, _RUNNING)
        try:
            if any(self.site.ask(one)[0][0] for one in asked):
                return False
        except Exception:  # the file is busy
            return False
        self._is_over = True
        self.faults.off()
        return True

    def nap(self) -> None:
        """Until the next message is due, or there is news."""
        me = self.baton.current
        assert me is not None
        self._napping.append(me)
        try:
            self.baton.sleep(self._nap_seconds(), "nap")
        finally:
            self._napping.remove(me)

    def _nap_seconds(self) -> float:
        try:
            [(at,)] = self.site.ask(_NEXT)
        except Exception:
            return 0.5
        if at is None:
            return NAP_SECONDS
        return min(NAP_SECONDS, max(0.2, (int(at) - self.baton.now) / SECOND + 0.001))

    def _news(self) -> None:
        """Something was enqueued: who waits for work looks within a second."""
        for strand in self._napping:
            soon = self.baton.now + round(self.rng.random() * SECOND)
            strand.wake_at = min(strand.wake_at, soon)

    def errors(self) -> list[str]:
        wrong = [f"{seam.process.id} {one}" for seam in self.seams for one in seam.wrong]
        return self.baton.errors + wrong


def run(
    seed: int, ground: Ground, engine: Any, cast: Callable[[World], None], audit: Callable[..., Any]
) -> "Result":
    """Play a seed and look at what is left of it."""
    with _quiet(), ground.fresh(engine) as site:
        world = World(seed, site, cast)
        world.play()
        broken = world.errors() or audit(world)
        return Result(
            seed,
            engine,
            tuple(broken),
            world.baton.hash,
            world.baton.steps,
            world.faults.reached + world.seen.counts,
            tuple(world.baton.trace),
        )


@dataclass(frozen=True)
class Result:
    seed: int
    engine: str
    broken: tuple[str, ...]
    hash: str
    steps: int
    reached: Counter[str]
    trace: tuple[str, ...] = field(repr=False)


def total(results: Iterable[Result]) -> Counter[str]:
    """What a batch of seeds has reached."""
    counts: Counter[str] = Counter()
    for one in results:
        counts += one.reached
    return counts
