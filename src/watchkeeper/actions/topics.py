"""The topics that Watchkeeper delivers to itself, and the one that is your decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.admit_messages import admit_messages, lose_retries
from watchkeeper.actions.fire_schedules import fire_due, fire_slice
from watchkeeper.actions.hand_in_signals import admit_signals
from watchkeeper.actions.lose_usage import lose_usage
from watchkeeper.actions.meter_runs import Metering
from watchkeeper.actions.outside_topics import register_outside
from watchkeeper.actions.run_decisions import (
    UNMETERED,
    Suggested,
    end_runs,
    lose_runs,
    start_runs,
)
from watchkeeper.core import envelope
from watchkeeper.core.delivery import AttemptResult
from watchkeeper.core.ids import TenantId
from watchkeeper.core.turns import USAGE_SNAPSHOT
from watchkeeper.handlers.plain import plain_decision
from watchkeeper.handlers.registry import Registry, is_async
from watchkeeper.results import Run
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.leases import Message
from watchkeeper.telemetry import handling

Fire = Callable[[Admission, TenantId, str], AttemptResult]


def register_own(registry: Registry, admission: Admission, usage_namespace: str) -> None:
    """Retries, schedules, and what follows when one of our messages is lost."""

    def admit(_db: Database, messages: list[Message]) -> Sequence[AttemptResult]:
        return admit_messages(admission, messages)

    registry.handle_batch(envelope.RETRY, admit)
    registry.handle_batch(envelope.SCHEDULED, admit)
    registry.handle_batch(
        envelope.SIGNAL_HANDED_IN, lambda _db, messages: admit_signals(admission, messages)
    )
    registry.handle_batch(envelope.SCHEDULE_DUE, partial(_fire, admission, fire_due))
    registry.handle_batch(envelope.SCHEDULE_SLICE, partial(_fire, admission, fire_slice))
    registry.when_lost(envelope.RETRY, lose_retries)
    registry.when_lost(envelope.EVALUATION_REQUESTED, partial(lose_runs, namespace=usage_namespace))
    registry.when_lost(USAGE_SNAPSHOT, lose_usage, namespace=usage_namespace)
    register_outside(registry, admission)


def register_decision(
    registry: Registry,
    handler: Callable[..., Any],
    metering: Metering = UNMETERED,
    suggested: Suggested | None = None,
) -> None:
    """Call `handler` once for each ALLOW; the plans it suggests become drafts."""
    registry.handle(
        envelope.EVALUATION_REQUESTED,
        _watched(handler),
        kind="decision",
        prepare=lambda db, messages: start_runs(db, messages, metering),
        finish=lambda db, ended: end_runs(db, registry, ended, metering, suggested),
    )


def register_usage_sink(
    registry: Registry, handler: Callable[..., Any], usage_namespace: str
) -> None:
    """Call `handler` with each usage event, until it has returned once."""
    if is_async(handler):

        async def call_async(message: Message) -> Any:
            return await handler(loads(message.payload))

        registry.handle(USAGE_SNAPSHOT, call_async, namespace=usage_namespace, kind="usage sink")
        return

    def call(message: Message) -> Any:
        return handler(loads(message.payload))

    registry.handle(USAGE_SNAPSHOT, call, namespace=usage_namespace, kind="usage sink")


def _watched(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The handler, timed, in the trace that its run came with; what it returns as plain values."""
    if is_async(handler):

        async def call_async(run: Run) -> Any:
            with handling(envelope.EVALUATION_REQUESTED, run.traceparent, run.correlation_id):
                return plain_decision(await handler(run))

        return call_async

    def call(run: Run) -> Any:
        with handling(envelope.EVALUATION_REQUESTED, run.traceparent, run.correlation_id):
            return plain_decision(handler(run))

    return call


def _fire(
    admission: Admission, fire: Fire, _db: Database, messages: list[Message]
) -> Sequence[AttemptResult]:
    return [fire(admission, message.tenant_id, message.payload) for message in messages]
