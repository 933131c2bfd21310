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


_COLD, _WARM, _HOT = Tier  # naming them by their class is slow
TIERS = tuple(Tier)
"""By their numbers."""


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
    recent = state.recent
    posture = 0 if state.posture is None else rules.postures.get(state.posture, 0)
    if not recent:
        heat = posture * rules.posture_percent // 100
        return Score(posture, 0, 0, heat if heat < ONE else ONE)
    recency = _recency(at - recent[-1], rules)
    count, most = 0, rules.volume_signals
    since = at - rules.volume_window_us
    for heard_at in reversed(recent):
        if heard_at < since or count == most:
            break
        count += 1
    volume = count * ONE // most
    heat = (
        posture * rules.posture_percent
        + recency * rules.recency_percent
        + volume * rules.volume_percent
    ) // 100
    return Score(posture, recency, volume, heat if heat < ONE else ONE)


def _recency(age: int, rules: HeatRules) -> int:
    for most, value in rules.recency:
        if age <= most:
            return value
    return rules.recency_older


def raw_tier(heat: int, rules: HeatRules) -> Tier:
    if heat >= rules.hot:
        return _HOT
    return _WARM if heat >= rules.warm else _COLD


def heard(
    state: HeatState, rules: HeatRules, signals: tuple[Instant, ...], now: Instant
) -> HeatState:
    """News arrived: what it is about counts from when it happened, never from the future."""
    state = advance(state, rules, now)
    recent = sorted([*state.recent, *(min(at, now) for at in signals)])[-rules.kept :]
    return _settled(state._replace(recent=tuple(recent)), rules, now)[0]


def told_posture(
    state: HeatState, rules: HeatRules, posture: str | None, now: Instant
) -> HeatState:
    state = advance(state, rules, now)
    return _settled(state._replace(posture=posture), rules, now)[0]


def advance(state: HeatState, rules: HeatRules, now: Instant) -> HeatState:
    """Where the account stands now, if nothing was heard of it since. Time never goes back."""
    return stand(state, rules, now).state if state.computed_at < now else state


class Standing(NamedTuple):
    """Where an account stands, by which score, and when that changes by itself."""

    state: HeatState
    score: Score
    changes_at: Instant


def standing(state: HeatState, rules: HeatRules) -> Standing:
    """What follows from a state, at the moment for which it was computed."""
    return Standing(state, score(state, rules, state.computed_at), next_change(state, rules))


def stand(state: HeatState, rules: HeatRules, now: Instant) -> Standing:
    """The same as `advance`, with all that follows from it, for who needs that of thousands.

    From one change to the next nothing moves, so the last one before `now` tells how it is
    now. Where there was none it is judged all the same: the rules may be new.
    """
    at = min(next_change(state, rules), max(now, state.computed_at))
    state, found = _settled(state, rules, at)
    changes_at = next_change(state, rules)
    while changes_at <= now:
        state, found = _settled(state, rules, changes_at)
        changes_at = next_change(state, rules)
    return Standing(HeatState(*state[:6], max(now, state.computed_at)), found, changes_at)


def _settled(state: HeatState, rules: HeatRules, at: Instant) -> tuple[HeatState, Score]:
    """The state at one instant: what fell or rose, then the tier."""
    posture, recent, tier, entered_at, below_warm_at, below_hot_at, computed_at = state
    found = score(state, rules, at)
    heat = found.heat
    if heat >= rules.warm:
        below_warm_at = None
    elif below_warm_at is None:
        below_warm_at = at
    if heat >= rules.hot:
        below_hot_at = None
    elif below_hot_at is None:
        below_hot_at = at
    if at > computed_at:
        computed_at = at
    raw = raw_tier(heat, rules)
    while raw > tier:
        if _is_signalled(recent, rules.tiers[raw], at):
            tier, entered_at = raw, at
            break
        raw = Tier(raw - 1)
    # Made whole: replacing parts of it would be most of what a sweep costs.
    state = HeatState(posture, recent, tier, entered_at, below_warm_at, below_hot_at, computed_at)
    while at >= demotion_at(state, rules):  # more than once only where a cooldown is none
        state = state._replace(tier=Tier(state.tier - 1), entered_at=at)
    return state, found


def _is_signalled(recent: tuple[Instant, ...], rule: TierRule, at: Instant) -> bool:
    inside = [heard_at for heard_at in recent if at - heard_at <= rule.promotion_window_us]
    return len(inside) >= rule.promotion_signals


def demotion_at(state: HeatState, rules: HeatRules) -> Instant:
    """When the account leaves its tier, if it stays as quiet as it is."""
    tier = state.tier
    if tier is _COLD:
        return NEVER
    below = state.below_hot_at if tier is _HOT else state.below_warm_at
    if below is None:
        return NEVER
    waited_from = max(below, state.entered_at)
    return Instant(waited_from + rules.tiers[tier].demotion_cooldown_us)


def next_change(state: HeatState, rules: HeatRules) -> Instant:
    """The next instant at which score or tier can change by themselves; strictly later."""
    recent, after = state.recent, state.computed_at
    soonest = max(demotion_at(state, rules), after + 1)
    if recent:
        last = recent[-1]
        for age, _ in rules.recency:  # sorted: the first that is still to come is the next
            if last + age >= after:
                soonest = min(soonest, last + age + 1)
                break
        for heard_at in recent:  # the oldest that still counts is the first to leave the window
            left_at = heard_at + rules.volume_window_us + 1
            if left_at > after:
                soonest = min(soonest, left_at)
                break
    return Instant(soonest)
