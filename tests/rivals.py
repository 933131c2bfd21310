"""Processes that do the same at the same moment, each with a database handle of its own."""

import contextlib
import multiprocessing
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerContext
from typing import Any

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.fire_triggers import fire_triggers
from watchkeeper.core.admission import Event
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.time import SECOND, Instant
from watchkeeper.store.database import open_database, wall_clock

PATIENCE_SECONDS = 60


def processes() -> ForkServerContext:
    """Processes that start from a server which has imported this already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def race(deed: Callable[..., Any], arguments: Sequence[tuple]) -> list[Any]:
    """Call `deed` in as many processes as there are arguments, all at once; their answers."""
    context = processes()
    start = context.Barrier(len(arguments))
    answers = context.Queue()
    rivals = [
        context.Process(target=_run, args=(start, answers, number, deed, given), daemon=True)
        for number, given in enumerate(arguments)
    ]
    for rival in rivals:
        rival.start()
    try:
        found = dict(answers.get(timeout=PATIENCE_SECONDS) for _ in rivals)
    finally:
        for rival in rivals:
            rival.join(5)
            if rival.is_alive():
                rival.kill()
    for answer in found.values():
        assert not isinstance(answer, str), answer
    return [found[number] for number in range(len(rivals))]


def _run(start: Any, answers: Any, number: int, deed: Callable[..., Any], given: tuple) -> None:
    try:
        start.wait(PATIENCE_SECONDS)
        answers.put((number, deed(*given)))
    except BaseException:
        answers.put((number, traceback.format_exc()))


def fire_all(
    url: str,
    tenant: str,
    calls: Sequence[Sequence[tuple[str, str, str]]],
    skew_seconds: float = 0,
) -> list[tuple[str, str, str | None]]:
    """Fire calls of (account, type, key); for each event its decision, verdict and whom it repeats.

    `skew_seconds` is how wrong this process's own clock is.
    """

    def wall() -> Instant:
        return Instant(wall_clock() + round(skew_seconds * SECOND))

    with contextlib.closing(open_database(url, pool_size=2, wall=wall)) as db:
        admission = Admission(db, makes_tenants=True)
        said = []
        for call in calls:
            events = [Event(AccountId(a), trigger, key) for a, trigger, key in call]
            for decided in fire_triggers(admission, TenantId(tenant), events):
                verdict = decided.verdict
                repeats = None if verdict.duplicate is None else verdict.duplicate.decision_id
                result = " ".join(p for p in (verdict.result, verdict.reason) if p)
                said.append((str(decided.decision_id), result, repeats))
        return said


def meet_tenants(url: str, number: int, tenants: int) -> list[str]:
    """The first event of each of many tenants, from this process too."""
    with contextlib.closing(open_database(url, pool_size=2)) as db:
        admission = Admission(db, makes_tenants=True)
        said = []
        for tenant in range(tenants):
            event = Event(AccountId("ann"), "SIGNAL_ARRIVED", f"{number}-{tenant}")
            [decided] = fire_triggers(admission, TenantId(f"t{tenant}"), [event])
            said.append(str(decided.verdict.result))
        return said
