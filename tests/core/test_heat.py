"""Heat: the table of scores at its edges, and tiers that rise at once and fall slowly."""

from dataclasses import replace

import pytest

from tests.databases import START_AT
from watchkeeper.core.heat import (
    ONE,
    HeatState,
    Tier,
    advance,
    heard,
    next_change,
    raw_tier,
    score,
    told_posture,
)
from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_parse import parse_policy, shipped_policy
from watchkeeper.core.time import DAY, HOUR, MINUTE, Instant

RULES = rules_for(shipped_policy(), "acme", None).heat
NOW = START_AT
COLD, WARM, HOT = Tier.COLD, Tier.WARM, Tier.HOT
POSTURES = [None, "DORMANT", "OK", "WATCH", "AT_RISK", "EXPAND", "UNHEARD_OF"]
COOLDOWNS = {tier: RULES.tiers[tier].demotion_cooldown_us for tier in Tier}


def at(us: int) -> Instant:
    return Instant(NOW + us)


def fresh(posture: str | None = None, when: Instant = NOW) -> HeatState:
    return HeatState(
        posture, entered_at=when, below_warm_at=when, below_hot_at=when, computed_at=when
    )


def signalled(*ages: int, posture: str | None = None) -> HeatState:
    return HeatState(posture, tuple(sorted(Instant(NOW - age) for age in ages)))


# -- the table ---------------------------------------------------------------------------------


@pytest.mark.req("P-01")
@pytest.mark.parametrize(
    ("posture", "expected"),
    [
        (None, 0),
        ("DORMANT", 0),
        ("OK", 300_000),
        ("WATCH", 500_000),
        ("AT_RISK", 700_000),
        ("EXPAND", 900_000),
        ("UNHEARD_OF", 0),
    ],
)
def test_what_a_posture_is_worth(posture: str | None, expected: int) -> None:
    found = score(HeatState(posture), RULES, NOW)
    assert (found.posture, found.heat) == (expected, expected * 40 // 100)


@pytest.mark.req("P-01")
@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (0, ONE),
        (HOUR, ONE),
        (HOUR + 1, 700_000),
        (6 * HOUR, 700_000),
        (6 * HOUR + 1, 400_000),
        (DAY, 400_000),
        (DAY + 1, 100_000),
        (365 * DAY, 100_000),
    ],
)
def test_what_the_last_signal_is_worth(age: int, expected: int) -> None:
    assert score(signalled(age), RULES, NOW).recency == expected


@pytest.mark.req("P-01")
def test_no_signal_is_worth_nothing() -> None:
    assert score(HeatState(), RULES, NOW) == (0, 0, 0, 0)


@pytest.mark.req("P-01")
@pytest.mark.parametrize(
    ("ages", "expected"),
    [
        ([0], 200_000),
        ([0] * 4, 800_000),
        ([0] * 5, ONE),
        ([0] * 9, ONE),
        ([DAY, DAY, 0], 600_000),
        ([DAY + 1, DAY, 0], 400_000),
        ([DAY + 1], 0),
    ],
)
def test_what_many_signals_are_worth(ages: list[int], expected: int) -> None:
    assert score(signalled(*ages), RULES, NOW).volume == expected


@pytest.mark.req("P-01")
@pytest.mark.parametrize(
    ("posture", "ages", "expected"),
    [
        ("WATCH", [0, 0, 0], 700_000),  # 0.20 + 0.35 + 0.15: on the line
        ("EXPAND", [0] * 5, 960_000),
        (None, [0], 400_000),
        ("OK", [2 * HOUR], 415_000),
        (None, [7 * HOUR] * 4, 340_000),
        ("EXPAND", [], 360_000),
        ("EXPAND", [30 * DAY], 395_000),
    ],
)
def test_the_weighted_sum(posture: str | None, ages: list[int], expected: int) -> None:
    assert score(signalled(*ages, posture=posture), RULES, NOW).heat == expected


@pytest.mark.req("P-01")
@pytest.mark.parametrize(
    ("heat", "tier"),
    [(0, COLD), (349_999, COLD), (350_000, WARM), (699_999, WARM), (700_000, HOT), (ONE, HOT)],
)
def test_the_raw_tiers(heat: int, tier: Tier) -> None:
    assert raw_tier(heat, RULES) is tier


@pytest.mark.req("P-01")
def test_a_score_is_never_above_one() -> None:
    """Overrides of a tier and of a tenant may add up to more than each of them alone."""
    greedy = replace(RULES, posture_percent=100, recency_percent=100)
    assert score(signalled(*[0] * 5, posture="EXPAND"), greedy, NOW).heat == ONE


@pytest.mark.req("P-01")
def test_all_of_it_is_policy() -> None:
    text = """
    [heat]
    posture_weight = 0
    recency_weight = 0
    volume_weight = 100
    volume_signals = 2
    volume_hours = 1
    hot_percent = 50
    """
    rules = rules_for(parse_policy(text, version=1), "acme", None).heat
    found = score(signalled(HOUR), rules, NOW)
    assert (found.heat, raw_tier(found.heat, rules)) == (500_000, HOT)


@pytest.mark.req("P-03")
def test_the_tiers_that_ship() -> None:
    told = {
        tier: (
            rule.cadence_us,
            rule.depth.name,
            rule.pulls_on_signal,
            (rule.promotion_signals, rule.promotion_window_us),
            rule.demotion_cooldown_us,
        )
        for tier, rule in RULES.tiers.items()
    }
    assert told == {
        HOT: (HOUR, "DEEP", True, (2, HOUR), 4 * HOUR),
        WARM: (6 * HOUR, "SHALLOW", False, (1, 6 * HOUR), DAY),
        COLD: (3 * DAY, "SHALLOW", False, (0, 0), 2 * DAY),
    }


# -- promotion ---------------------------------------------------------------------------------


@pytest.mark.req("P-04")
@pytest.mark.parametrize(
    ("posture", "ages", "tier"),
    [
        ("EXPAND", [0, 0], HOT),  # 0.36 + 0.35 + 0.10, two within the hour: from cold at once
        ("EXPAND", [0, HOUR], HOT),
        ("EXPAND", [0, HOUR + 1], WARM),  # hot enough, but one of the two is too old
        ("EXPAND", [0], WARM),
        (None, [0], WARM),  # 0.40
        (None, [6 * HOUR] * 4, WARM),  # 0.445, and just within the six hours
        (None, [6 * HOUR + 1] * 5, COLD),  # 0.39 but nothing was heard for too long
        ("OK", [DAY], COLD),  # 0.31
        (None, [0] * 5, WARM),  # 0.60
    ],
)
def test_up_to_the_highest_tier_that_score_and_signals_allow(
    posture: str | None, ages: list[int], tier: Tier
) -> None:
    times = tuple(Instant(NOW - age) for age in ages)
    state = heard(fresh(posture), RULES, times, NOW)
    assert (state.tier, state.entered_at) == (tier, NOW)


@pytest.mark.req("P-04")
def test_a_posture_alone_promotes_nobody() -> None:
    assert told_posture(fresh(), RULES, "EXPAND", NOW).tier is COLD


@pytest.mark.req("P-04")
def test_a_posture_promotes_whom_signals_allow() -> None:
    state = heard(fresh(), RULES, (NOW, NOW), NOW)
    assert state.tier is WARM
    assert told_posture(state, RULES, "EXPAND", at(MINUTE)).tier is HOT


# -- demotion ----------------------------------------------------------------------------------


def hot() -> HeatState:
    state = heard(fresh("AT_RISK"), RULES, (NOW, NOW), NOW)
    assert state.tier is HOT
    return state


@pytest.mark.req("P-04")
def test_down_one_tier_after_the_whole_cooldown() -> None:
    """It falls below hot an hour after its signals: from 0.73 to 0.625."""
    fell = HOUR + 1
    left = fell + 4 * HOUR
    assert advance(hot(), RULES, at(left - 1)).tier is HOT
    state = advance(hot(), RULES, at(left))
    assert (state.tier, state.entered_at) == (WARM, at(left))


@pytest.mark.req("P-04")
def test_counted_from_entering_when_it_had_fallen_before() -> None:
    state = told_posture(hot(), RULES, "DORMANT", at(MINUTE))
    assert state.below_hot_at == at(MINUTE)
    state = advance(state, RULES, at(MINUTE + 4 * HOUR))
    assert (state.tier, state.entered_at) == (WARM, at(MINUTE + 4 * HOUR))
    cold_at = state.entered_at + DAY  # below warm since long before
    quiet = told_posture(state, RULES, None, Instant(state.entered_at + 1))
    assert quiet.below_warm_at is not None
    later = max(cold_at, quiet.below_warm_at + DAY)
    assert advance(quiet, RULES, Instant(later - 1)).tier is WARM
    assert advance(quiet, RULES, Instant(later)).tier is COLD


@pytest.mark.req("P-04")
def test_a_rise_in_between_begins_the_cooldown_anew() -> None:
    state = advance(hot(), RULES, at(4 * HOUR))
    state = heard(state, RULES, (at(4 * HOUR),) * 2, at(4 * HOUR))
    assert state.below_hot_at is None
    assert advance(state, RULES, at(14 * HOUR)).tier is HOT
    assert advance(state, RULES, at(14 * HOUR + 1)).tier is WARM


@pytest.mark.req("P-04")
def test_no_cooldown_at_all_falls_through_at_once() -> None:
    """However often somebody looks: both steps fall on the instant of the fall."""
    tiers = {t: replace(rule, demotion_cooldown_us=0) for t, rule in RULES.tiers.items()}
    rules = replace(RULES, tiers=tiers)
    state = heard(fresh(), rules, (NOW, NOW), NOW)
    state = told_posture(state, rules, "EXPAND", NOW)
    assert state.tier is HOT
    state = told_posture(state, rules, "DORMANT", at(25 * HOUR))
    assert state.tier is COLD


@pytest.mark.req("P-04")
def test_an_overdue_demotion_is_the_next_change() -> None:
    """A policy with a shorter cooldown came: the sweep has to find the account at once."""
    state = hot()._replace(below_hot_at=NOW, computed_at=at(2 * HOUR))
    tiers = {**RULES.tiers, HOT: replace(RULES.tiers[HOT], demotion_cooldown_us=HOUR)}
    assert next_change(state, replace(RULES, tiers=tiers)) == at(2 * HOUR + 1)


# -- strange times ------------------------------------------------------------------------------


@pytest.mark.req("P-01")
def test_news_from_the_future_is_of_now() -> None:
    assert heard(fresh(), RULES, (at(5 * DAY),), NOW).recent == (NOW,)


@pytest.mark.req("P-01")
def test_news_that_comes_late_counts_from_when_it_happened() -> None:
    state = heard(fresh(), RULES, (NOW,), NOW)
    state = heard(state, RULES, (Instant(NOW - 3 * HOUR),), at(MINUTE))
    assert state.recent == (Instant(NOW - 3 * HOUR), NOW)
    assert score(state, RULES, at(MINUTE)).recency == ONE, "the newest is the newest"


@pytest.mark.req("P-01")
def test_only_as_many_are_remembered_as_can_matter() -> None:
    state = fresh()
    for minute in range(50):
        state = heard(state, RULES, (at(minute * MINUTE),), at(minute * MINUTE))
    assert len(state.recent) == RULES.kept == 5


@pytest.mark.req("P-04")
def test_a_clock_that_stepped_back_changes_nothing_by_itself() -> None:
    state = advance(hot(), RULES, at(2 * HOUR))
    assert advance(state, RULES, at(HOUR)) == state
    again = heard(state, RULES, (at(HOUR),), at(HOUR))
    assert again.computed_at == state.computed_at
    assert again.tier is HOT
