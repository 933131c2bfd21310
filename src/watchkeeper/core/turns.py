"""A turn: one metered piece of work, from its reserve to its settlement and usage event."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from watchkeeper.core.quota import (
    Asked,
    BucketKey,
    Granted,
    QuotaRules,
    bucket_keys,
    cost,
    day_start,
    month_start,
)
from watchkeeper.core.time import Instant, to_iso

USAGE_SNAPSHOT = "usage_snapshot"
NAMESPACE = "mini-chat"
"""Where usage events live unless the installation says otherwise."""


class TurnState(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Method(StrEnum):
    ACTUAL = "actual"
    ESTIMATED = "estimated"
    RELEASED = "released"


class Turn(NamedTuple):
    """A turn as it is stored. What stands before `state` never changes."""

    turn_id: str
    request_id: str
    user_id: str | None
    decision_id: str | None
    policy_version: int
    selected_model: str
    effective_model: str
    tier: str
    input_multiplier_micro: int
    output_multiplier_micro: int
    estimated_input_tokens: int
    max_output_tokens: int
    generation_floor_tokens: int
    tolerance_percent: int
    reserved_micro: int
    day_start_at: Instant
    month_start_at: Instant
    timeout_us: int
    reserved_at: Instant
    state: str
    started_at: Instant | None
    progressed_at: Instant
    deadline_at: Instant
    ended_at: Instant | None = None
    ended_by: str | None = None
    finalize_id: str | None = None
    settlement_method: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    computed_micro: int | None = None
    charged_micro: int | None = None
    is_capped: bool | None = None
    event_id: str | None = None
    event_fate: str | None = None
    event_fate_at: Instant | None = None

    @property
    def is_running(self) -> bool:
        return self.state == TurnState.RUNNING


class Usage(NamedTuple):
    """What the work used, as its provider counted it."""

    input_tokens: int
    output_tokens: int


class Ending(NamedTuple):
    """One way in which a turn can end; all of them are settled by the same rule."""

    turn_id: str
    outcome: TurnState
    started: bool
    usage: Usage | None
    ended_by: str
    finalize_id: str
    is_timeout: bool = False  # only if nothing was heard of it for too long


class Settlement(NamedTuple):
    method: Method
    input_tokens: int
    output_tokens: int
    computed_micro: int  # before the cap
    charged_micro: int


def begin(asked: Asked, granted: Granted, rules: QuotaRules, version: int, now: Instant) -> Turn:
    """The turn that a granted reserve makes, with everything its settlement will go by."""
    return Turn(
        turn_id=asked.turn_id,
        request_id=asked.request_id,
        user_id=asked.user_id,
        decision_id=asked.decision_id,
        policy_version=version,
        selected_model=asked.model,
        effective_model=granted.model.name,
        tier=granted.model.tier,
        input_multiplier_micro=granted.model.input_multiplier_micro,
        output_multiplier_micro=granted.model.output_multiplier_micro,
        estimated_input_tokens=asked.estimated_input_tokens,
        max_output_tokens=asked.max_output_tokens,
        generation_floor_tokens=rules.generation_floor_tokens,
        tolerance_percent=rules.tolerance_percent,
        reserved_micro=granted.reserve_micro,
        day_start_at=day_start(now),
        month_start_at=month_start(now),
        timeout_us=rules.timeout_us,
        reserved_at=now,
        state=TurnState.RUNNING.value,
        started_at=now if asked.is_started else None,
        progressed_at=now,
        deadline_at=Instant(now + rules.timeout_us),
    )


def may_end(turn: Turn, ending: Ending, now: Instant) -> bool:
    """Whether this ending is the one: the turn runs, and a timeout has really passed."""
    return turn.is_running and (not ending.is_timeout or turn.deadline_at < now)


def settle(turn: Turn, *, started: bool, usage: Usage | None) -> Settlement:
    """What the turn is charged, by the terms of its reserve and nothing else.

    Known usage is charged up to the tolerance; work of unknown usage by estimate, never above
    the reserve; what was never started costs nothing.
    """
    if usage is not None:
        computed = _credits(turn, *usage)
        most = turn.reserved_micro * turn.tolerance_percent // 100
        return Settlement(Method.ACTUAL, *usage, computed, min(computed, most))
    if started or turn.started_at is not None:
        tokens = (turn.estimated_input_tokens, turn.generation_floor_tokens)
        charged = min(turn.reserved_micro, _credits(turn, *tokens))
        return Settlement(Method.ESTIMATED, *tokens, charged, charged)
    return Settlement(Method.RELEASED, 0, 0, 0, 0)


def _credits(turn: Turn, input_tokens: int, output_tokens: int) -> int:
    return cost(input_tokens, turn.input_multiplier_micro) + cost(
        output_tokens, turn.output_multiplier_micro
    )


def end(turn: Turn, ending: Ending, settlement: Settlement, *, event_id: str, now: Instant) -> Turn:
    """The turn after its end."""
    return turn._replace(
        state=str(ending.outcome),
        ended_at=now,
        ended_by=ending.ended_by,
        finalize_id=ending.finalize_id,
        settlement_method=settlement.method.value,
        input_tokens=settlement.input_tokens,
        output_tokens=settlement.output_tokens,
        computed_micro=settlement.computed_micro,
        charged_micro=settlement.charged_micro,
        is_capped=settlement.computed_micro > settlement.charged_micro,
        event_id=event_id,
    )


def buckets(turn: Turn) -> tuple[BucketKey, ...]:
    """Where its reserve was taken and its charge goes, whatever day it is by then."""
    return bucket_keys(turn.user_id, turn.tier, turn.day_start_at, turn.month_start_at)


def usage_key(tenant_id: str, turn: Turn) -> str:
    """None of the three can hold a slash, so two turns never share a key."""
    return f"{tenant_id}/{turn.turn_id}/{turn.request_id}"


def usage_snapshot(tenant_id: str, turn: Turn) -> dict[str, Any]:
    """The usage event of a turn that has ended, from what is stored and nothing else."""
    assert turn.ended_at is not None
    event: dict[str, Any] = {
        "tenant_id": tenant_id,
        "turn_id": turn.turn_id,
        "request_id": turn.request_id,
        "policy_version_applied": turn.policy_version,
        "selected_model": turn.selected_model,
        "effective_model": turn.effective_model,
        "tier": turn.tier,
        "outcome": turn.state,
        "settlement_method": turn.settlement_method,
        "input_tokens": turn.input_tokens,
        "output_tokens": turn.output_tokens,
        "reserved_credits_micro": turn.reserved_micro,
        "charged_credits_micro": turn.charged_micro,
        "computed_credits_micro": turn.computed_micro,
        "overshoot_capped": turn.is_capped,
        "reserved_at": to_iso(turn.reserved_at),
        "settled_at": to_iso(turn.ended_at),
        "day": to_iso(turn.day_start_at)[:10],
        "month": to_iso(turn.month_start_at)[:7],
    }
    if turn.user_id is not None:
        event["user_id"] = turn.user_id
    if turn.decision_id is not None:
        event["decision_id"] = turn.decision_id
    return event
