"""What policy says of looking: how heat is scored, how often each tier is pulled."""

from __future__ import annotations

from watchkeeper.core.heat import ONE, Depth, HeatRules, Tier, TierRule
from watchkeeper.core.limits import BreakerRule
from watchkeeper.core.policy_read import Document, table, whole
from watchkeeper.core.pulls import PullRules
from watchkeeper.core.time import HOUR, SECOND

PERCENT = ONE // 100


def heat_rules(merged: Document) -> HeatRules:
    heat = table(merged["heat"])
    steps = [
        (whole(step, "within_hours") * HOUR, whole(step, "percent") * PERCENT)
        for step in map(table, table(heat["recency"]).values())
    ]
    return HeatRules(
        posture_percent=whole(heat, "posture_weight"),
        recency_percent=whole(heat, "recency_weight"),
        volume_percent=whole(heat, "volume_weight"),
        postures={
            name: whole(table(heat["postures"]), name) * PERCENT for name in table(heat["postures"])
        },
        recency=tuple(sorted(steps)),
        recency_older=whole(heat, "older_percent") * PERCENT,
        volume_signals=whole(heat, "volume_signals"),
        volume_window_us=whole(heat, "volume_hours") * HOUR,
        rollup_days=whole(heat, "rollup_days"),
        hot=whole(heat, "hot_percent") * PERCENT,
        warm=whole(heat, "warm_percent") * PERCENT,
        tiers={tier: _tier_rule(table(table(merged["heat_tiers"])[tier.name])) for tier in Tier},
    )


def _tier_rule(values: Document) -> TierRule:
    return TierRule(
        cadence_us=whole(values, "cadence_seconds") * SECOND,
        depth=Depth[str(values["depth"])],
        demotion_cooldown_us=whole(values, "demotion_cooldown_hours") * HOUR,
        promotion_signals=whole(values, "promotion_signals"),
        promotion_window_us=whole(values, "promotion_window_hours") * HOUR,
        pulls_on_signal=values["pull_on_signal"] == "yes",
    )


def pull_rules(merged: Document) -> PullRules:
    values = table(merged["pulls"])
    return PullRules(
        per_tick_max=whole(values, "per_tick_max"),
        lease_us=whole(values, "lease_seconds") * SECOND,
        breaker=BreakerRule(
            whole(values, "breaker_failures"),
            whole(values, "breaker_pause_seconds") * SECOND,
            whole(values, "lease_seconds") * SECOND,
        ),
    )
