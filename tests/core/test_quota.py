"""Quota: credits in whole numbers, the cascade of models, and which bucket refuses what."""

from datetime import UTC, datetime
from fractions import Fraction
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core import quota
from watchkeeper.core.quota import (
    TENANT_WIDE,
    TOKENS_MAX,
    Asked,
    BucketKey,
    Full,
    Granted,
    Level,
    Model,
    Period,
    QuotaRules,
    Refused,
    Scope,
)
from watchkeeper.core.time import DAY, HOUR, LATEST, Instant, from_datetime, to_datetime

NOON = from_datetime(datetime(2030, 1, 15, 12, tzinfo=UTC))
STANDARD = Model("standard", "standard", 1_000_000, 3_000_000)
PREMIUM = Model("premium", "premium", 5_000_000, 15_000_000, downgrade_to="standard")
MODELS = {"standard": STANDARD, "premium": PREMIUM}
DAILY, MONTHLY = Period.DAILY, Period.MONTHLY
TENANT, USER = Scope.TENANT, Scope.USER

tokens = st.integers(0, TOKENS_MAX)
multipliers = st.integers(0, 10**12)


def rules(**limits: Any) -> QuotaRules:
    """`rules(tenant_daily_total=5, user_monthly_premium=7)`."""
    named = {}
    for name, limit in limits.items():
        scope, period, bucket = name.split("_")
        bucket = bucket if bucket == "total" else f"tier:{bucket}"
        named[Scope(scope), Period(period), bucket] = limit
    return QuotaRules(models=MODELS, limits=named)


def asked(model: str = "premium", **more: Any) -> Asked:
    """100 in and 100 out: 2,000 credits of premium, 400 of standard."""
    return Asked("t", "r", model, 100, 100, **more)


def judged(
    one: Asked,
    by: QuotaRules,
    levels: quota.Levels | None = None,
    switches: dict[str, str] | None = None,
) -> Granted | Refused:
    return quota.reserve(one, by, levels or {}, switches or {}, NOON)


def model_of(verdict: Granted | Refused) -> str | None:
    return verdict.model.name if isinstance(verdict, Granted) else None


# -- credits --------------------------------------------------------------------------


@pytest.mark.req("S-03")
@pytest.mark.parametrize(
    ("tokens", "multiplier", "cost"),
    [
        pytest.param(0, 5_000_000, 0, id="nothing costs nothing"),
        pytest.param(7, 0, 0, id="a free model is free"),
        pytest.param(1, 1, 1, id="a millionth is rounded up to a whole one"),
        pytest.param(1_000_000, 1, 1, id="a million millionths are one"),
        pytest.param(1_000_001, 1, 2, id="and one more begins the next"),
        pytest.param(3, 333_333, 1, id="999,999 millionths are one"),
        pytest.param(3, 333_334, 2, id="1,000,002 millionths are two"),
        pytest.param(TOKENS_MAX, 10**12, 10**15, id="the most there can be"),
    ],
)
def test_a_kind_of_token_is_rounded_up(tokens: int, multiplier: int, cost: int) -> None:
    assert quota.cost(tokens, multiplier) == cost


@pytest.mark.req("S-03")
def test_each_kind_is_rounded_up_by_itself() -> None:
    model = Model("m", "m", 500_000, 500_000)
    assert quota.credits(model, 1, 1) == 2
    assert quota.cost(2, 500_000) == 1


@pytest.mark.req("S-03")
@given(tokens, multipliers)
def test_it_is_the_exact_quotient_rounded_up(tokens: int, multiplier: int) -> None:
    """Far beyond what a float can tell apart."""
    found = quota.cost(tokens, multiplier)
    assert type(found) is int
    assert found == ceil(Fraction(tokens * multiplier, 1_000_000))


@pytest.mark.req("S-03")
def test_a_float_would_be_wrong() -> None:
    tokens, multiplier = 999_999_999, 999_999_999_999
    assert quota.cost(tokens, multiplier) != ceil(tokens * multiplier / 1e6)


@pytest.mark.req("S-03")
@given(tokens, tokens, multipliers, multipliers)
def test_what_may_ever_be_charged_fits_64_bits(a: int, b: int, x: int, y: int) -> None:
    reserve = quota.credits(Model("m", "m", x, y), a, b)
    assert reserve * 1_000 < 2**63


# -- the cascade ------------------------------------------------------------------------


@pytest.mark.req("S-01")
@pytest.mark.parametrize(
    ("limits", "effective"),
    [
        pytest.param({}, "premium", id="without limits the model that was asked for"),
        pytest.param({"tenant_daily_total": 2000}, "premium", id="exactly the limit fits"),
        pytest.param({"tenant_daily_total": 1999}, "standard", id="one too many is downgraded"),
        pytest.param({"tenant_daily_total": 400}, "standard", id="the lower one exactly fits"),
        pytest.param({"tenant_daily_total": 399}, None, id="none is left"),
        pytest.param({"tenant_monthly_total": 1999}, "standard", id="the month counts too"),
        pytest.param({"tenant_daily_premium": 1999}, "standard", id="a tier of its own"),
        pytest.param({"tenant_monthly_premium": 0}, "standard", id="a tier that is closed"),
        pytest.param(
            {"tenant_daily_premium": 0, "tenant_daily_standard": 399}, None, id="both tiers"
        ),
        pytest.param({"user_daily_total": 1999}, "standard", id="the user's day"),
        pytest.param({"user_monthly_premium": 1999}, "standard", id="the user's month, by tier"),
        pytest.param({"user_monthly_total": 0}, None, id="a user with nothing"),
        pytest.param(
            {"tenant_daily_total": 10**9, "user_daily_total": 399}, None, id="both must have room"
        ),
    ],
)
def test_the_first_model_that_fits_everywhere(limits: dict, effective: str | None) -> None:
    assert model_of(judged(asked(user_id="u"), rules(**limits))) == effective


@pytest.mark.req("S-01")
def test_a_limit_for_users_does_not_bind_work_of_nobody() -> None:
    assert model_of(judged(asked(), rules(user_daily_total=0))) == "premium"


@pytest.mark.req("S-01")
@pytest.mark.parametrize(
    ("level", "effective"),
    [
        (Level(reserved=0, spent=8000), "premium"),
        (Level(reserved=8000, spent=0), "premium"),
        (Level(reserved=4000, spent=4000), "premium"),
        (Level(reserved=4000, spent=4001), "standard"),
        (Level(reserved=9600, spent=1), None),
        (Level(reserved=0, spent=20_000), None),
    ],
)
def test_what_is_spent_and_what_is_reserved_both_count(level: Level, effective: str | None) -> None:
    key = BucketKey(TENANT_WIDE, DAILY, quota.day_start(NOON), "total")
    assert model_of(judged(asked(), rules(tenant_daily_total=10_000), {key: level})) == effective


@pytest.mark.req("S-01")
@pytest.mark.parametrize(
    "elsewhere",
    [
        BucketKey(TENANT_WIDE, DAILY, Instant(quota.day_start(NOON) - DAY), "total"),
        BucketKey("u", DAILY, quota.day_start(NOON), "total"),
        BucketKey(TENANT_WIDE, MONTHLY, quota.month_start(NOON), "total"),
        BucketKey(TENANT_WIDE, DAILY, quota.day_start(NOON), "tier:premium"),
    ],
    ids=["yesterday", "a user's", "the month", "a tier"],
)
def test_other_buckets_do_not_fill_this_one(elsewhere: BucketKey) -> None:
    full = {elsewhere: Level(10_000, 10_000)}
    assert model_of(judged(asked(), rules(tenant_daily_total=2000), full)) == "premium"


@pytest.mark.req("S-01")
def test_a_refusal_says_what_each_model_was_refused_by() -> None:
    by = rules(tenant_monthly_premium=100, user_daily_total=300)
    verdict = judged(asked(user_id="u"), by)
    assert isinstance(verdict, Refused)
    first, second = verdict.refused
    month = BucketKey(TENANT_WIDE, MONTHLY, quota.month_start(NOON), "tier:premium")
    day = BucketKey("u", DAILY, quota.day_start(NOON), "total")
    assert first == Full("premium", 2000, None, month, 0, 100)
    assert second == Full("standard", 400, None, day, 0, 300)
    assert verdict.retry_at is None, "neither fits into an empty bucket"


@pytest.mark.req("S-01")
def test_a_refusal_names_the_next_reset_that_may_help() -> None:
    month = BucketKey(TENANT_WIDE, MONTHLY, quota.month_start(NOON), "tier:premium")
    day = BucketKey("u", DAILY, quota.day_start(NOON), "total")
    full = {month: Level(0, 2000), day: Level(100, 200)}
    by = rules(tenant_monthly_premium=2000, user_daily_total=600)
    verdict = judged(asked(user_id="u"), by, full)
    assert isinstance(verdict, Refused)
    assert verdict.retry_at == quota.day_start(NOON) + DAY


@pytest.mark.req("S-01")
def test_a_downgrade_remembers_what_was_tried() -> None:
    verdict = judged(asked(), rules(tenant_daily_premium=0))
    assert isinstance(verdict, Granted)
    assert [full.model for full in verdict.refused] == ["premium"]
    assert verdict.reserve_micro == 400
    assert {key.bucket for key in verdict.buckets} == {"total", "tier:standard"}


@pytest.mark.req("S-01")
@pytest.mark.parametrize(
    ("switches", "effective", "blamed"),
    [
        ({"tier:premium": "x"}, "standard", ["tier:premium"]),
        ({"tier:standard": "x"}, "premium", []),
        ({"tier:premium": "x", "tier:standard": "y"}, None, ["tier:premium", "tier:standard"]),
        ({"tenant": "x"}, None, ["tenant", "tenant"]),
        ({"all": "x"}, None, ["all", "all"]),
        ({"trigger:SIGNAL_ARRIVED": "x", "action:tier": "y"}, "premium", []),
    ],
)
def test_kill_switches(switches: dict, effective: str | None, blamed: list[str]) -> None:
    verdict = judged(asked(), rules(), switches=switches)
    assert model_of(verdict) == effective
    assert [full.switch for full in verdict.refused] == blamed
    if isinstance(verdict, Refused):
        assert verdict.retry_at is None, "nobody knows when a switch is released"


@pytest.mark.req("S-01")
def test_what_is_done_already_is_refused_by_nothing() -> None:
    closed = rules(tenant_daily_total=0, tenant_daily_premium=0)
    verdict = judged(asked(is_done=True), closed, switches={"all": "x"})
    assert isinstance(verdict, Granted)
    assert verdict.model is PREMIUM


@pytest.mark.req("S-01")
def test_a_cascade_ends_also_where_it_leads_back() -> None:
    """A document that does is refused; the gate does not go round in circles all the same."""
    ring = {"a": Model("a", "x", 1, 1, "b"), "b": Model("b", "x", 1, 1, "a")}
    assert [model.name for model in quota.cascade("a", ring)] == ["a", "b"]


@pytest.mark.req("S-01", "S-03")
@given(
    limits=st.dictionaries(
        st.tuples(
            st.sampled_from(Scope),
            st.sampled_from(Period),
            st.sampled_from(["total", "tier:premium", "tier:standard"]),
        ),
        st.integers(0, 5_000),
    ),
    used=st.integers(0, 3_000),
    user=st.sampled_from([None, "u"]),
    size=st.integers(0, 200),
)
def test_a_grant_fits_and_a_refusal_did_not(
    limits: dict, used: int, user: str | None, size: int
) -> None:
    by = QuotaRules(models=MODELS, limits=limits)
    one = Asked("t", "r", "premium", size, size, user_id=user)
    keys = {key for m in MODELS.values() for key in quota.buckets_of(user, m.tier, NOON)}
    levels = {key: Level(used // 2, used - used // 2) for key in sorted(keys)}
    verdict = quota.reserve(one, by, levels, {}, NOON)
    for full in verdict.refused:
        assert full.bucket is not None
        assert full.used_micro + full.reserve_micro > full.limit_micro
        assert quota.limit_of(full.bucket, by) == full.limit_micro
    if isinstance(verdict, Granted):
        assert verdict.reserve_micro == quota.credits(verdict.model, size, size)
        assert len(verdict.buckets) == (4 if user is None else 8)
        for key in verdict.buckets:
            limit = quota.limit_of(key, by)
            assert limit is None or levels[key].used + verdict.reserve_micro <= limit
    else:
        assert [full.model for full in verdict.refused] == ["premium", "standard"]


# -- periods ------------------------------------------------------------------------------


def at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text).replace(tzinfo=UTC))


@pytest.mark.req("S-01", "S-02")
@pytest.mark.parametrize(
    ("moment", "day", "month", "next_month"),
    [
        ("2030-01-01T00:00:00", "2030-01-01", "2030-01-01", "2030-02-01"),
        ("2030-01-31T23:59:59.999999", "2030-01-31", "2030-01-01", "2030-02-01"),
        ("2028-02-29T12:00:00", "2028-02-29", "2028-02-01", "2028-03-01"),
        ("2030-02-28T23:59:59", "2030-02-28", "2030-02-01", "2030-03-01"),
        ("2100-02-28T00:00:00", "2100-02-28", "2100-02-01", "2100-03-01"),
        ("2030-12-31T23:59:59.999999", "2030-12-31", "2030-12-01", "2031-01-01"),
        ("2000-02-29T00:00:00.000001", "2000-02-29", "2000-02-01", "2000-03-01"),
    ],
)
def test_days_and_months_are_those_of_utc(
    moment: str, day: str, month: str, next_month: str
) -> None:
    assert quota.day_start(at(moment)) == at(day)
    assert quota.month_start(at(moment)) == at(month)
    starts = [BucketKey("", p, at(s), "total") for p, s in ((DAILY, day), (MONTHLY, month))]
    assert [quota.next_start(key) for key in starts] == [at(day) + DAY, at(next_month)]


@pytest.mark.req("S-02")
@given(st.integers(0, LATEST - 40 * DAY).map(Instant))
def test_a_moment_lies_within_its_periods(moment: Instant) -> None:
    for period, start in ((DAILY, quota.day_start), (MONTHLY, quota.month_start)):
        begun = start(moment)
        over = quota.next_start(BucketKey("", period, begun, "total"))
        assert type(begun) is type(over) is int
        assert begun <= moment < over
        assert start(begun) == begun
        assert start(Instant(over - 1)) == begun
        assert start(over) == over
    assert to_datetime(quota.month_start(moment)).day == 1
    assert quota.day_start(moment) % (24 * HOUR) == 0
