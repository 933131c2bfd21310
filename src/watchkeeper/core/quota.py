"""Quota: what a turn may reserve, and what it is charged. Whole micro-credits, no floats.

A reserve is checked in every period and bucket it touches. Where one is full, or a kill
switch is on for the model's tier, the next lower model is tried; when none is left the
reserve is refused, and the answer names what each of them was refused by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from watchkeeper.core.time import DAY, SECOND, Instant, from_datetime, to_datetime

MICRO = 1_000_000
TOKENS_MAX = 1_000_000_000
"""Tokens of one kind that a turn may name: what they cost stays within 64 bits."""
TOTAL = "total"
TENANT_WIDE = ""
"""The user of a bucket that belongs to the tenant as a whole."""


class Period(StrEnum):
    DAILY = "daily"
    MONTHLY = "monthly"


class Scope(StrEnum):
    TENANT = "tenant"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Model:
    """A model as policy prices it: a token costs multiplier / 1,000,000 micro-credits.

    What the tokens of one kind cost together is rounded up.
    """

    name: str
    tier: str
    input_multiplier_micro: int
    output_multiplier_micro: int
    downgrade_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRules:
    """What rules the turns of one tenant."""

    models: Mapping[str, Model]
    default_model: str = "standard"
    limits: Mapping[tuple[Scope, Period, str], int] = field(default_factory=dict)
    tolerance_percent: int = 110
    generation_floor_tokens: int = 50
    timeout_us: int = 300 * SECOND


class BucketKey(NamedTuple):
    user_id: str
    period: Period
    start_at: Instant
    bucket: str


class Level(NamedTuple):
    """How full a bucket is."""

    reserved: int = 0
    spent: int = 0

    @property
    def used(self) -> int:
        return self.reserved + self.spent


EMPTY = Level()
Levels: TypeAlias = Mapping[BucketKey, Level]


class Asked(NamedTuple):
    """A reserve that somebody asks for."""

    turn_id: str
    request_id: str
    model: str
    estimated_input_tokens: int
    max_output_tokens: int
    user_id: str | None = None
    decision_id: str | None = None
    is_started: bool = False  # the work begins with the reserve
    is_done: bool = False  # the work is done already: no limit can refuse it any more


class Full(NamedTuple):
    """Why a model was refused: the bucket that has no room, or the switch that is on."""

    model: str
    reserve_micro: int
    switch: str | None = None
    bucket: BucketKey | None = None
    used_micro: int = 0
    limit_micro: int = 0


@dataclass(frozen=True, slots=True)
class Granted:
    model: Model
    reserve_micro: int
    buckets: tuple[BucketKey, ...]
    refused: tuple[Full, ...] = ()  # the models that were tried before


@dataclass(frozen=True, slots=True)
class Refused:
    refused: tuple[Full, ...]

    @property
    def retry_at(self) -> Instant | None:
        """The next reset after which one of the models may have room; none if none ever will."""
        resets = [
            next_start(full.bucket)
            for full in self.refused
            if full.bucket is not None and full.reserve_micro <= full.limit_micro
        ]
        return min(resets, default=None)


def reserve(
    asked: Asked, rules: QuotaRules, levels: Levels, switches: Mapping[str, str], now: Instant
) -> Granted | Refused:
    """Find the first model of the cascade whose reserve fits into every bucket it touches."""
    refused: list[Full] = []
    for model in cascade(asked.model, rules.models):
        needed = credits(model, asked.estimated_input_tokens, asked.max_output_tokens)
        buckets = buckets_of(asked.user_id, model.tier, now)
        full = None if asked.is_done else _refusal(model, needed, buckets, rules, levels, switches)
        if full is None:
            return Granted(model, needed, buckets, tuple(refused))
        refused.append(full)
    return Refused(tuple(refused))


def cascade(name: str, models: Mapping[str, Model]) -> Iterator[Model]:
    """The model that was asked for, then the one it is downgraded to, and so on."""
    seen: set[str] = set()
    following: str | None = name
    while following is not None and following not in seen:
        seen.add(following)
        yield models[following]
        following = models[following].downgrade_to


def _refusal(
    model: Model,
    needed: int,
    buckets: tuple[BucketKey, ...],
    rules: QuotaRules,
    levels: Levels,
    switches: Mapping[str, str],
) -> Full | None:
    for switch in ("all", "tenant", f"tier:{model.tier}"):
        if switch in switches:
            return Full(model.name, needed, switch=switch)
    for key in buckets:
        limit = limit_of(key, rules)
        used = levels.get(key, EMPTY).used
        if limit is not None and used + needed > limit:
            return Full(model.name, needed, None, key, used, limit)
    return None


def limit_of(key: BucketKey, rules: QuotaRules) -> int | None:
    """What a bucket may hold; None is unlimited."""
    scope = Scope.TENANT if key.user_id == TENANT_WIDE else Scope.USER
    return rules.limits.get((scope, key.period, key.bucket))


def buckets_of(user_id: str | None, tier: str, now: Instant) -> tuple[BucketKey, ...]:
    """Every bucket that a turn of this tier touches, for the tenant and for the user."""
    return bucket_keys(user_id, tier, day_start(now), month_start(now))


@lru_cache(maxsize=4096)
def bucket_keys(
    user_id: str | None, tier: str, day: Instant, month: Instant
) -> tuple[BucketKey, ...]:
    return tuple(
        BucketKey(owner, period, start, bucket)
        for owner in ((TENANT_WIDE,) if user_id is None else (TENANT_WIDE, user_id))
        for period, start in ((Period.DAILY, day), (Period.MONTHLY, month))
        for bucket in (TOTAL, tier_bucket(tier))
    )


def tier_bucket(tier: str) -> str:
    return f"tier:{tier}"


def credits(model: Model, input_tokens: int, output_tokens: int) -> int:
    """What so many tokens cost: each kind rounded up by itself."""
    return cost(input_tokens, model.input_multiplier_micro) + cost(
        output_tokens, model.output_multiplier_micro
    )


def cost(tokens: int, multiplier_micro: int) -> int:
    return -(-tokens * multiplier_micro // MICRO)


def day_start(at: Instant) -> Instant:
    return Instant(at - at % DAY)


def month_start(at: Instant) -> Instant:
    return _month_of(day_start(at))


@lru_cache(maxsize=64)
def _month_of(day: Instant) -> Instant:
    first = to_datetime(day).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return from_datetime(first)


def next_start(key: BucketKey) -> Instant:
    """When the bucket's period is over, and a fresh one takes its place."""
    if key.period is Period.DAILY:
        return Instant(key.start_at + DAY)
    return month_start(Instant(key.start_at + 32 * DAY))
