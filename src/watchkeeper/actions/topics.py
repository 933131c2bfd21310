"""The topics that Watchkeeper delivers to itself, and the one that is your decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.admit_messages import admit_messages, lose_retries
from watchkeeper.actions.fire_schedules import fire_due, fire_slice
from watchkeeper.actions.run_decisions import end_runs, lose_runs, start_runs
from watchkeeper.core import envelope
from watchkeeper.core.delivery import AttemptResult
from watchkeeper.core.ids import TenantId
from watchkeeper.handlers.registry import Registry, is_async
from watchkeeper.results import Run
from watchkeeper.store.database import Database
from watchkeeper.store.leases import Message
from watchkeeper.telemetry import handling

Fire = Callable[[Admission, TenantId, str], AttemptResult]


def register_own(registry: Registry, admission: Admission) -> None:
    """Retries, schedules, and what follows when one of our messages is lost."""

    def admit(_db: Database, messages: list[Message]) -> Sequence[AttemptResult]:
        return admit_messages(admission, messages)

    registry.handle_batch(envelope.RETRY, admit)
    registry.handle_batch(envelope.SCHEDULED, admit)
    registry.handle_batch(envelope.SCHEDULE_DUE, partial(_fire, admission, fire_due))
    registry.handle_batch(envelope.SCHEDULE_SLICE, partial(_fire, admission, fire_slice))
    registry.when_lost(envelope.RETRY, lose_retries)
    registry.when_lost(envelope.EVALUATION_REQUESTED, lose_runs)


def register_decision(registry: Registry, handler: Callable[..., Any]) -> None:
    """Call `handler` once for each ALLOW."""
    registry.handle(
        envelope.EVALUATION_REQUESTED,
        _watched(handler),
        prepare=start_runs,
        finish=lambda db, ended: end_runs(db, registry, ended),
    )


def _watched(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The handler, timed, and in the trace that its run came with."""
    if is_async(handler):

        async def call_async(run: Run) -> Any:
            with handling(envelope.EVALUATION_REQUESTED, run.traceparent, run.correlation_id):
                return await handler(run)

        return call_async

    def call(run: Run) -> Any:
        with handling(envelope.EVALUATION_REQUESTED, run.traceparent, run.correlation_id):
            return handler(run)

    return call


def _fire(
    admission: Admission, fire: Fire, _db: Database, messages: list[Message]
) -> Sequence[AttemptResult]:
    return [fire(admission, message.tenant_id, message.payload) for message in messages]
