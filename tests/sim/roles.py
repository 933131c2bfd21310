"""Who takes part: services that work until nothing is left, and clients that want something.

To let another part of the product take part: write a service or a deed here, name it in `cast`,
and say in `oracles` what must hold in the end and in `REACHED` what must have happened.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.sim.baton import Process
from tests.sim.clients import DEEDS, wants_of
from tests.sim.crews import Renewing, dispatcher_of
from tests.sim.world import Script, World
from watchkeeper import App
from watchkeeper.actions.chores import chores
from watchkeeper.actions.dispatch import dispatch_once
from watchkeeper.actions.tidy_outbox import sweep_delivered
from watchkeeper.actions.watch_turns import next_timeout, watch_turns
from watchkeeper.core.time import SECOND
from watchkeeper.errors import CommitUnknown, Unavailable, WatchkeeperError

FEATURES = ("events", "turns", "pulls", "plans", "letters", "posts", "looking", "calendar")
AGAIN_SECONDS = 1.0
WATCH_SECONDS = 120.0
UPKEEP_SECONDS = 3 * 3600.0
RETENTION_DAYS = 7


def cast(world: World) -> None:
    """Two to four kinds of work for each seed, with workers of either kind and the chores."""
    world.features = set(world.rng.sample(FEATURES, world.rng.choice((1, 2, 3))))
    _services(world)
    for feature in sorted(world.features):
        for name, wants in wants_of(world, feature):
            world.scripts[name] = Script(name, wants)
            world.start(name, client)


def _services(world: World) -> None:
    may_thread = "posts" not in world.features  # sends of a dispatcher have a loop of their own
    for number in (1, 2):
        kind = worker if may_thread and world.rng.random() < 0.4 else rounds
        world.start(f"{kind.__name__}{number}", kind)
    world.start("watcher", watcher)
    world.start("chores", upkeep)


def _in_trouble(app: App, error: Exception) -> bool:
    return isinstance(error, CommitUnknown | Unavailable) or app.db.is_in_trouble(error)


def _trying(world: World, app: App, deed: Callable[[], Any]) -> Any:
    """As the product's loops: trouble of the database is waited out, anything else is a bug."""
    try:
        return deed()
    except Exception as error:
        if not _in_trouble(app, error):
            raise
        world.seen.counts["service in trouble"] += 1
        world.baton.sleep(AGAIN_SECONDS, "trouble")
        return None


def rounds(world: World, _process: Process, app: App) -> None:
    """A worker without threads: claim, deliver, write, one message after the other."""
    limit = world.rng.choice((1, 2, 5))
    while not world.is_at_rest:
        counts = _trying(world, app, lambda: dispatch_once(app.db, app.registry, limit))
        if counts is not None:
            world.seen.counts.update(counts)
            if not counts["claimed"]:
                world.nap()


def worker(world: World, process: Process, app: App) -> None:
    """The dispatcher of the product, its threads, and the one that renews its leases."""
    baton = world.baton
    dispatcher = dispatcher_of(app, baton, process, world.rng.choice((1, 2)))
    renewing = Renewing(app, dispatcher, baton, process)
    before = dispatcher.counts.copy()
    while dispatcher.held or not world.is_at_rest:
        found = _trying(world, app, dispatcher.step)
        world.seen.counts.update(dispatcher.counts - before)
        before = dispatcher.counts.copy()
        renewing.look()
        if dispatcher.held:
            dispatcher.grow()
            baton.sleep(0.5, "held")
        elif found is not None and not found.claimed:
            world.nap()


def watcher(world: World, _process: Process, app: App) -> None:
    while not world.is_at_rest:
        ended = _trying(world, app, lambda: watch_turns(app.turns))
        world.seen.counts["timed out by the watchdog"] += ended or 0
        at = _trying(world, app, lambda: next_timeout(app.turns))
        until = WATCH_SECONDS if at is None else (at - world.baton.now) / SECOND
        world.baton.sleep(min(max(1.0, until), WATCH_SECONDS), "watch")


def upkeep(world: World, _process: Process, app: App) -> None:
    while not world.is_at_rest:
        sweep = partial(sweep_delivered, app.db, RETENTION_DAYS)
        for chore in (*chores(app.db, app.registry), sweep):
            _trying(world, app, chore)
        world.baton.sleep(UPKEEP_SECONDS, "upkeep")


def client(world: World, process: Process, app: App) -> None:
    """Do one thing after the other; what is in doubt is asked for again, by the same key."""
    script = world.scripts[process.name]
    while script.done < len(script.wants):
        deed, *given = script.wants[script.done]
        try:
            DEEDS[deed](world, app, *given)
        except Exception as error:
            if _in_trouble(app, error):
                world.seen.counts["client in doubt"] += 1
                world.baton.sleep(AGAIN_SECONDS, "again")
                continue
            if not isinstance(error, WatchkeeperError):
                raise
            world.seen.counts[f"refused: {error.code}"] += 1
        script.done += 1
