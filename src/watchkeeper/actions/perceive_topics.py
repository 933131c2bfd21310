"""The topics of looking: ticks, sweeps, pulls on signals, and the pulls themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.request_pull import pull_on_signal
from watchkeeper.actions.run_pulls import end_pulls, lose_pulls, start_pulls
from watchkeeper.actions.sweep_heat import sweep_again, sweep_slice
from watchkeeper.actions.tick_pulls import tick_pulls
from watchkeeper.core.delivery import AttemptResult, Delivered
from watchkeeper.core.time import Instant
from watchkeeper.handlers.attempts import in_thread
from watchkeeper.handlers.registry import Registry, is_async
from watchkeeper.moves.heat import ON_SIGNAL, SWEEP, TICK
from watchkeeper.moves.pulls import PULL_REQUESTED
from watchkeeper.results import Pull
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message
from watchkeeper.telemetry import handling

THREADS_MAX = 64

Handlers = Mapping[str, Callable[[Pull], Any]]
Read = Callable[[Pull, object], Sequence[Any]]


def register_perceive(registry: Registry, db: Database) -> None:
    """What Watchkeeper does by itself, whether or not this process has connectors."""
    registry.handle_batch(TICK, _tick)
    registry.handle_batch(SWEEP, _sweep)
    registry.handle_batch(ON_SIGNAL, _on_signal)
    registry.when_lost(SWEEP, sweep_again)
    registry.when_lost(PULL_REQUESTED, partial(lose_pulls, db.policies))


def register_pulls(
    registry: Registry, admission: Admission, handlers: Handlers, read: Read
) -> None:
    """Call the connector of each pull, once; `read` makes signals of what it returns."""
    threads = ThreadPoolExecutor(THREADS_MAX, "watchkeeper pull")

    async def call(pull: Pull) -> Sequence[Any]:
        handler = handlers[pull.connector_id]
        with handling(PULL_REQUESTED, None, pull.correlation_id):
            if is_async(handler):
                found = await handler(pull)
                return await in_thread(threads, lambda pull: read(pull, found), pull)
            return await in_thread(threads, lambda pull: read(pull, handler(pull)), pull)

    registry.handle(
        PULL_REQUESTED,
        call,
        kind="connector",
        prepare=lambda db, messages: start_pulls(db, messages, handlers.keys()),
        finish=lambda db, ended: end_pulls(db, registry, admission, ended),
        is_one_by_one=True,
    )


def _tick(db: Database, messages: list[Message]) -> Sequence[AttemptResult]:
    for message in messages:
        tick_pulls(db, message.tenant_id, Instant(loads(message.payload)["due_at"]))
    return [Delivered() for _ in messages]


def _sweep(db: Database, messages: list[Message]) -> Sequence[AttemptResult]:
    for message in messages:
        sweep_slice(db, message.tenant_id, message.payload)
    return [Delivered() for _ in messages]


def _on_signal(db: Database, messages: list[Message]) -> Sequence[AttemptResult]:
    return [pull_on_signal(db, message.tenant_id, message.payload) for message in messages]
