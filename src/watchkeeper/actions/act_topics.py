"""The topics of acting: cycles, and the actions themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from watchkeeper.act_results import Action
from watchkeeper.actions.outside_topics import is_heard
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.run_actions import (
    end_actions,
    hand_over_actions,
    lose_actions,
    start_actions,
)
from watchkeeper.actions.run_cycle import cycle_again, end_cycles
from watchkeeper.core.envelope import PLAN_CHANGED
from watchkeeper.core.ids import TenantId
from watchkeeper.handlers.attempts import in_thread
from watchkeeper.handlers.plain import plain_outcome
from watchkeeper.handlers.registry import Registry, is_async
from watchkeeper.moves.plan_desk import ACTION_REQUESTED, CYCLE
from watchkeeper.store.sinks import in_force
from watchkeeper.telemetry import handling

THREADS_MAX = 64

Handlers = Mapping[str, Callable[[Action], Any]]


def register_act(registry: Registry, carrier: Plans) -> None:
    """What Watchkeeper does by itself, whether or not this process has actions."""
    registry.handle_at_once(
        CYCLE,
        lambda _db, ended: end_cycles(carrier, registry, ended),
        lambda _db, ended, follow: end_cycles(carrier, registry, ended, follow),
        leads_to=ACTION_REQUESTED,
    )
    registry.when_lost(CYCLE, cycle_again)
    registry.when_lost(ACTION_REQUESTED, partial(lose_actions, carrier))
    registry.send(
        ACTION_REQUESTED,
        prepare=lambda db, messages: start_actions(db, messages, None),
        finish=lambda _db, ended: hand_over_actions(carrier, registry, ended),
    )

    def hears_changes(tenant_id: TenantId) -> bool:
        return is_heard(carrier.db.sinks, registry, tenant_id, PLAN_CHANGED)

    carrier.hears_changes = hears_changes
    carrier.look = lambda: in_force(carrier.db)


def register_actions(registry: Registry, carrier: Plans, handlers: Handlers) -> None:
    """Call the handler of each action, once for each attempt."""
    threads = ThreadPoolExecutor(THREADS_MAX, "watchkeeper action")

    async def call(action: Action) -> Any:
        handler = handlers[action.action_type]
        with handling(ACTION_REQUESTED, None, action.correlation_id):
            if is_async(handler):
                return plain_outcome(await handler(action))
            return await in_thread(threads, lambda action: plain_outcome(handler(action)), action)

    registry.handle(
        ACTION_REQUESTED,
        call,
        kind="action",
        prepare=lambda db, messages: start_actions(db, messages, handlers.keys()),
        finish=lambda _db, ended: end_actions(carrier, registry, ended),
        carry_on=lambda _db, ended, follow: end_actions(carrier, registry, ended, follow),
    )
    carrier.known = handlers.keys()
