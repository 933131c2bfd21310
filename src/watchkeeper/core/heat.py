"""Heat: how warm an account is, and which tier that makes it. Whole millionths, no floats.

Between two pieces of news the score only falls, at instants that are known beforehand. So
`advance` walks through those instants, and where an account stands never depends on how
often somebody looked: promotion is immediate, demotion goes one tier at a time, after the
raw tier has stayed lower for the whole cooldown of the tier that is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from watchkeeper.core.time import Instant

ONE = 1_000_000
"""A score of 1."""
NEVER = Instant(2**62)


class Tier(IntEnum):
    """Comparable: hotter is more."""

    COLD = 0
    WARM = 1
    HOT = 2


class Depth(IntEnum):
    SHALLOW = 0
    DEEP = 1


@dataclass(frozen=True, slots=True)
class TierRule:
    cadence_us: int
    depth: Depth
    demotion_cooldown_us: int
    promotion_signals: int = 0
    promotion_window_us: int = 0
    pulls_on_signal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRules:
    """How heat is scored, from policy. Recency steps are sorted by age."""

    posture_percent: int = 0
    recency_percent: int = 0
    volume_percent: int = 0
    postures: Mapping[str, int] = field(default_factory=dict)  # in millionths
    recency: tuple[tuple[int, int], ...] = ()  # (at most so old, in millionths)
    recency_older: int = 0
    volume_signals: int = 1
    volume_window_us: int = 0
    hot: int = ONE
    warm: int = ONE
    tiers: Mapping[Tier, TierRule] = field(default_factory=dict)
    rollup_days: int = 0
    kept: int = field(init=False)  # signals that an account remembers

    def __post_init__(self) -> None:
        promoting = max((rule.promotion_signals for rule in self.tiers.values()), default=0)
        object.__setattr__(self, "kept", max(1, self.volume_signals, promoting))


class HeatState(NamedTuple):
    """What an account's heat follows from. `recent` are its latest signals, oldest first."""

    posture: str | None = None
    recent: tuple[Instant, ...] = ()
    tier: Tier = Tier.COLD
    entered_at: Instant = Instant(0)
    below_warm_at: Instant | None = Instant(0)  # since when the raw tier is below WARM
    below_hot_at: Instant | None = Instant(0)
    computed_at: Instant = Instant(0)


class Score(NamedTuple):
    """The factors and their weighted sum, in millionths."""

    posture: int
    recency: int
    volume: int
    heat: int


def score(state: HeatState, rules: HeatRules, at: Instant) -> Score:
    posture = 0 if state.posture is None else rules.postures.get(state.posture, 0)
    recency = _recency(state.recent, rules, at)
    count = 0
    for heard_at in reversed(state.recent):
        if at - heard_at > rules.volume_window_us or count == rules.volume_signals:
            break
        count += 1
    volume = count * ONE // rules.volume_signals
    heat = (
        posture * rules.posture_percent
        + recency * rules.recency_percent
        + volume * rules.volume_percent
    ) // 100
    return Score(posture, recency, volume, min(heat, ONE))


def _recency(recent: tuple[Instant, ...], rules: HeatRules, at: Instant) -> int:
    if not recent:
        return 0
    age = at - recent[-1]
    for most, value in rules.recency:
        if age <= most:
            return value
    return rules.recency_older


def raw_tier(heat: int, rules: HeatRules) -> Tier:
    if heat >= rules.hot:
        return Tier.HOT
    return Tier.WARM if heat >= rules.warm else Tier.COLD


def heard(
    state: HeatState, rules: HeatRules, signals: tuple[Instant, ...], now: Instant
) -> HeatState:
    """News arrived: what it is about counts from when it happened, never from the future."""
    state = advance(state, rules, now)
    recent = sorted([*state.recent, *(min(at, now) for at in signals)])[-rules.kept :]
    return _settled(state._replace(recent=tuple(recent)), rules, now)


def told_posture(
    state: HeatState, rules: HeatRules, posture: str | None, now: Instant
) -> HeatState:
    state = advance(state, rules, now)
    return _settled(state._replace(posture=posture), rules, now)


def advance(state: HeatState, rules: HeatRules, now: Instant) -> HeatState:
    """Where the account stands now, if nothing was heard of it since. Time never goes back."""
    at = state.computed_at
    while at < now:
        at = min(now, next_change(state, rules))
        state = _settled(state, rules, at)
    return state


def _settled(state: HeatState, rules: HeatRules, at: Instant) -> HeatState:
    """The state at one instant: what fell or rose, then the tier."""
    posture, recent, tier, entered_at, below_warm_at, below_hot_at, computed_at = state
    heat = score(state, rules, at).heat
    if heat >= rules.warm:
        below_warm_at = None
    elif below_warm_at is None:
        below_warm_at = at
    if heat >= rules.hot:
        below_hot_at = None
    elif below_hot_at is None:
        below_hot_at = at
    computed_at = max(at, computed_at)
    # Made whole: replacing parts of it would be most of what a sweep costs.
    state = HeatState(posture, recent, tier, entered_at, below_warm_at, below_hot_at, computed_at)
    raw = raw_tier(heat, rules)
    while raw > tier:
        if _is_signalled(state, rules.tiers[raw], at):
            return state._replace(tier=raw, entered_at=at)
        raw = Tier(raw - 1)
    while at >= demotion_at(state, rules):  # more than once only where a cooldown is none
        state = state._replace(tier=Tier(state.tier - 1), entered_at=at)
    return state


def _is_signalled(state: HeatState, rule: TierRule, at: Instant) -> bool:
    inside = [heard_at for heard_at in state.recent if at - heard_at <= rule.promotion_window_us]
    return len(inside) >= rule.promotion_signals


def demotion_at(state: HeatState, rules: HeatRules) -> Instant:
    """When the account leaves its tier, if it stays as quiet as it is."""
    if state.tier is Tier.COLD:
        return NEVER
    below = state.below_hot_at if state.tier is Tier.HOT else state.below_warm_at
    if below is None:
        return NEVER
    waited_from = max(below, state.entered_at)
    return Instant(waited_from + rules.tiers[state.tier].demotion_cooldown_us)


def next_change(state: HeatState, rules: HeatRules) -> Instant:
    """The next instant at which score or tier can change by themselves; strictly later."""
    after = state.computed_at
    soonest = max(demotion_at(state, rules), after + 1)
    recent = state.recent
    if recent:
        for age, _ in rules.recency:
            at = recent[-1] + age + 1
            if after < at < soonest:
                soonest = at
        for heard_at in recent:  # the oldest that still counts is the first to leave the window
            at = heard_at + rules.volume_window_us + 1
            if at > after:
                soonest = min(soonest, at)
                break
    return Instant(soonest)
