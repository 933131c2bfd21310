"""What callers get of turns and quota: the same in Python, over HTTP and on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from watchkeeper.core.quota import BucketKey, QuotaRules, limit_of, next_start
from watchkeeper.core.time import Instant, to_datetime
from watchkeeper.core.turns import Turn as StoredTurn
from watchkeeper.moves.settlement import Finalized
from watchkeeper.store.quotas import Bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Turn: a metered piece of work. Fields about its end are None while it runs."""

    turn_id: str
    request_id: str
    user_id: str | None
    decision_id: str | None
    state: str
    selected_model: str
    effective_model: str
    policy_version: int
    estimated_input_tokens: int
    max_output_tokens: int
    reserved_credits_micro: int
    reserved_at: datetime
    started_at: datetime | None
    progressed_at: datetime
    ended_at: datetime | None
    ended_by: str | None
    settlement_method: str | None
    input_tokens: int | None
    output_tokens: int | None
    charged_credits_micro: int | None
    computed_credits_micro: int | None
    overshoot_capped: bool | None
    event_id: str | None
    event_status: str | None = None  # pending, processing, delivered, dead or discarded
    event_at: datetime | None = None  # when it was delivered, or discarded
    existing: bool = False  # its request id was known already

    def to_json(self) -> dict[str, Any]:
        return {name: _json(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Settlement:
    """Settlement of a turn. `won` is true if this call ended the turn."""

    won: bool
    state: str
    settlement_method: str | None
    charged_credits_micro: int | None
    overshoot_capped: bool | None
    event_id: str | None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaBucket:
    """A quota bucket and its use, in micro-credits. A limit of None is unlimited."""

    user_id: str | None
    period: str
    bucket: str
    starts_at: datetime
    next_reset_at: datetime
    limit: int | None
    spent: int
    reserved: int
    remaining: int | None
    turns_reserved: int
    turns_settled: int
    input_tokens: int
    output_tokens: int

    def to_json(self) -> dict[str, Any]:
        return {name: _json(getattr(self, name)) for name in self.__slots__}


def turn_of(
    turn: StoredTurn,
    *,
    event: tuple[str, Instant | None] | None = None,
    existing: bool = False,
) -> Turn:
    status, at = event or (None, None)
    return Turn(
        turn_id=turn.turn_id,
        request_id=turn.request_id,
        user_id=turn.user_id,
        decision_id=turn.decision_id,
        state=str(turn.state),
        selected_model=turn.selected_model,
        effective_model=turn.effective_model,
        policy_version=turn.policy_version,
        estimated_input_tokens=turn.estimated_input_tokens,
        max_output_tokens=turn.max_output_tokens,
        reserved_credits_micro=turn.reserved_micro,
        reserved_at=to_datetime(turn.reserved_at),
        started_at=_moment(turn.started_at),
        progressed_at=to_datetime(turn.progressed_at),
        ended_at=_moment(turn.ended_at),
        ended_by=turn.ended_by,
        settlement_method=None if turn.settlement_method is None else str(turn.settlement_method),
        input_tokens=turn.input_tokens,
        output_tokens=turn.output_tokens,
        charged_credits_micro=turn.charged_micro,
        computed_credits_micro=turn.computed_micro,
        overshoot_capped=turn.is_capped,
        event_id=turn.event_id,
        event_status=status,
        event_at=_moment(at),
        existing=existing,
    )


def settlement_of(finalized: Finalized) -> Settlement:
    turn = finalized.turn
    return Settlement(
        finalized.won,
        str(turn.state),
        None if turn.settlement_method is None else str(turn.settlement_method),
        turn.charged_micro,
        turn.is_capped,
        turn.event_id,
    )


def bucket_of(bucket: Bucket, rules: QuotaRules) -> QuotaBucket:
    key: BucketKey = bucket.key
    limit = limit_of(key, rules)
    return QuotaBucket(
        user_id=key.user_id or None,
        period=str(key.period),
        bucket=key.bucket,
        starts_at=to_datetime(key.start_at),
        next_reset_at=to_datetime(next_start(key)),
        limit=limit,
        spent=bucket.level.spent,
        reserved=bucket.level.reserved,
        remaining=None if limit is None else max(0, limit - bucket.level.used),
        turns_reserved=bucket.turns_reserved,
        turns_settled=bucket.turns_settled,
        input_tokens=bucket.input_tokens,
        output_tokens=bucket.output_tokens,
    )


def _moment(at: Instant | None) -> datetime | None:
    return None if at is None else to_datetime(at)


def _json(value: object) -> object:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
