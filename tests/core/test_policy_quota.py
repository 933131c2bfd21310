"""Models and quota in the policy: what ships, who overrides whom, every mistake by its line."""

import pytest

from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_parse import parse_policy, parse_policy_json, shipped_policy
from watchkeeper.core.quota import Model, Period, QuotaRules, Scope
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Invalid

TENANT, USER, DAILY, MONTHLY = Scope.TENANT, Scope.USER, Period.DAILY, Period.MONTHLY


def quota(text: str = "", tenant: str = "acme", tier: str | None = None) -> QuotaRules:
    return rules_for(parse_policy(text), tenant, tier).quota


def problems(text: str) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refused:
        parse_policy(text)
    return [(problem.place, problem.message) for problem in refused.value.problems]


@pytest.mark.req("S-01", "S-05", "S-06")
def test_what_is_shipped() -> None:
    shipped = rules_for(shipped_policy(), "acme", None).quota
    assert shipped.models == {
        "standard": Model("standard", "standard", 1_000_000, 3_000_000),
        "premium": Model("premium", "premium", 5_000_000, 15_000_000, "standard"),
    }
    assert shipped.default_model == "standard"
    assert shipped.tolerance_percent == 110
    assert shipped.generation_floor_tokens == 50
    assert shipped.timeout_us == 300 * SECOND
    assert shipped.limits == {
        (TENANT, DAILY, "total"): 10**9,
        (TENANT, DAILY, "tier:premium"): 5 * 10**8,
        (TENANT, MONTHLY, "total"): 2 * 10**10,
        (TENANT, MONTHLY, "tier:premium"): 10**10,
        (USER, DAILY, "total"): 10**8,
        (USER, DAILY, "tier:premium"): 5 * 10**7,
        (USER, MONTHLY, "total"): 2 * 10**9,
        (USER, MONTHLY, "tier:premium"): 10**9,
    }
    assert all(type(limit) is int for limit in shipped.limits.values())


LAYERS = """\
[quota]
tolerance_percent = 120
[quota.tenant.daily]
total = 5
tiers.mini = 3
[models.mini]
tier = "mini"
input_multiplier_micro = 1
output_multiplier_micro = 2
[models.premium]
downgrade_to = "mini"
[tiers.gold.quota]
tolerance_percent = 130
watchdog_seconds = 60
tenant.daily.total = "unlimited"
[tiers.gold.models.premium]
downgrade_to = "none"
[tenants.acme.quota]
tolerance_percent = 140
user.monthly.tiers.mini = 9
[tenants.acme.models.mini]
output_multiplier_micro = 7
"""


@pytest.mark.req("S-01")
@pytest.mark.parametrize(
    ("tenant", "tier", "tolerance", "timeout", "total", "following", "multiplier"),
    [
        pytest.param("bolt", None, 120, 300, 5, "mini", 2, id="the document"),
        pytest.param("bolt", "gold", 130, 60, None, None, 2, id="its tier"),
        pytest.param("acme", None, 140, 300, 5, "mini", 7, id="the tenant itself"),
        pytest.param("acme", "gold", 140, 60, None, None, 7, id="the tenant over its tier"),
        pytest.param("bolt", "steel", 120, 300, 5, "mini", 2, id="a tier nobody described"),
    ],
)
def test_the_most_particular_place_wins(
    tenant, tier, tolerance, timeout, total, following, multiplier
) -> None:
    found = quota(LAYERS, tenant, tier)
    assert found.tolerance_percent == tolerance
    assert found.timeout_us == timeout * SECOND
    assert found.limits.get((TENANT, DAILY, "total")) == total
    assert found.models["premium"].downgrade_to == following
    assert found.models["mini"] == Model("mini", "mini", 1, multiplier)
    assert found.limits[TENANT, DAILY, "tier:mini"] == 3
    assert found.limits.get((USER, MONTHLY, "tier:mini")) == (9 if tenant == "acme" else None)


@pytest.mark.req("S-01")
def test_unlimited_lifts_a_limit_and_zero_is_one() -> None:
    text = '[quota.user.daily]\ntotal = "unlimited"\ntiers.premium = 0\n'
    found = quota(text)
    assert (USER, DAILY, "total") not in found.limits
    assert found.limits[USER, DAILY, "tier:premium"] == 0


MINI = "[models.mini]\ntier = 'mini'\ninput_multiplier_micro = 1\noutput_multiplier_micro = 1\n"


@pytest.mark.req("S-01", "S-03")
@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        pytest.param(
            MINI + "downgrade_to = 'gone'\n",
            "line 5: models.mini.downgrade_to",
            "names no model",
            id="downgraded to nothing",
        ),
        pytest.param(
            "[models.standard]\n# a ring\ndowngrade_to = 'premium'\n",
            "line 3: models.standard.downgrade_to",
            "leads back to the model itself",
            id="two that lead to each other",
        ),
        pytest.param(
            MINI + "downgrade_to = 'mini'\n",
            "line 5: models.mini.downgrade_to",
            "leads back to the model itself",
            id="one that leads to itself",
        ),
        pytest.param(
            "[models.mini]\ntier = 'mini'\ninput_multiplier_micro = 1\n",
            "line 1: models.mini.output_multiplier_micro",
            "is required for a model of your own",
            id="no multiplier",
        ),
        pytest.param(
            "[models.mini]\ninput_multiplier_micro = 1\noutput_multiplier_micro = 1\n",
            "line 1: models.mini.tier",
            "is required for a model of your own",
            id="no tier",
        ),
        pytest.param(
            "[quota]\ndefault_model = 'gone'\n",
            "line 2: quota.default_model",
            "names no model",
            id="a default that there is not",
        ),
        pytest.param(
            "[tenants.acme.models.premium]\ndowngrade_to = 'gone'\n",
            "line 2: tenants.acme.models.premium.downgrade_to",
            "names no model",
            id="a tenant's own mistake",
        ),
        pytest.param(
            "[tiers.gold.models.standard]\ndowngrade_to = 'premium'\n",
            "line 2: tiers.gold.models.standard.downgrade_to",
            "leads back to the model itself",
            id="a tier's own ring",
        ),
        pytest.param(
            "[tenants.acme.models.own]\ntier = 'own'\ninput_multiplier_micro = 1\n",
            "line 1: tenants.acme.models.own.output_multiplier_micro",
            "is required for a model of your own",
            id="a tenant's half of a model",
        ),
        pytest.param(
            "[tenants.acme.quota]\ndefault_model = 'gone'\n",
            "line 2: tenants.acme.quota.default_model",
            "names no model",
            id="a tenant's default that there is not",
        ),
        pytest.param(
            "[models.premium]\ninput_multiplier_micro = 1.5\n",
            "line 2: models.premium.input_multiplier_micro",
            "must be a whole number from 0 to 1000000000000, not a number with a decimal point",
            id="a float for money",
        ),
        pytest.param(
            "[models.premium]\noutput_multiplier_micro = -1\n",
            "line 2: models.premium.output_multiplier_micro",
            "must be a whole number from 0 to 1000000000000",
            id="a negative price",
        ),
        pytest.param(
            "[models.premium]\nprice = 3\n",
            "line 2: models.premium.price",
            "is not known here; there are tier, input_multiplier_micro, output_multiplier_micro, "
            "downgrade_to",
            id="an unknown key",
        ),
        pytest.param(
            "[models.'a b']\ntier = 'x'\n",
            "line 1: models.a?b",
            "is not a name for a model ([A-Za-z0-9][A-Za-z0-9_.:-]{0,63})",
            id="a name that is none",
        ),
        pytest.param(
            "[models.premium]\ntier = 'a:b'\n",
            "line 2: models.premium.tier",
            "must be the name of a tier ([A-Za-z0-9_-]{1,64})",
            id="a tier with a colon",
        ),
        pytest.param(
            "[quota]\ntolerance_percent = 99\n",
            "line 2: quota.tolerance_percent",
            "must be a whole number from 100 to 1000",
            id="a tolerance below the reserve",
        ),
        pytest.param(
            "[quota]\nwatchdog_seconds = 59\n",
            "line 2: quota.watchdog_seconds",
            "must be a whole number from 60 to 3600",
            id="a hasty watchdog",
        ),
        pytest.param(
            "[quota]\nwatchdog_seconds = 3601\n",
            "line 2: quota.watchdog_seconds",
            "must be a whole number from 60 to 3600",
            id="a sleepy watchdog",
        ),
        pytest.param(
            "[quota]\ngeneration_floor_tokens = -1\n",
            "line 2: quota.generation_floor_tokens",
            "must be a whole number from 0 to 1000000",
            id="a floor below nothing",
        ),
        pytest.param(
            "[quota.tenant.daily]\ntotal = 'none'\n",
            "line 2: quota.tenant.daily.total",
            'must be a whole number from 0 to 1000000000000000 or "unlimited", not a string',
            id="a word that is no limit",
        ),
        pytest.param(
            "[quota.tenant.weekly]\ntotal = 1\n",
            "line 1: quota.tenant.weekly",
            "is not known here; there are daily, monthly",
            id="a period there is not",
        ),
        pytest.param(
            "[quota.team.daily]\ntotal = 1\n",
            "line 1: quota.team",
            "is not known here; there are default_model, tolerance_percent, "
            "generation_floor_tokens, watchdog_seconds, tenant, user",
            id="a scope there is not",
        ),
        pytest.param(
            "[quota.user.daily]\ntiers.premium = 1e3\n",
            "line 2: quota.user.daily.tiers.premium",
            'must be a whole number from 0 to 1000000000000000 or "unlimited", '
            "not a number with a decimal point",
            id="a float for a limit",
        ),
        pytest.param(
            "[quota.user.daily]\ntotal = true\n",
            "line 2: quota.user.daily.total",
            'must be a whole number from 0 to 1000000000000000 or "unlimited", not true or false',
            id="a truth for a limit",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, place: str, message: str) -> None:
    assert (place, message) in problems(text)


@pytest.mark.req("S-01")
def test_a_ring_of_three_names_all_that_stand_in_it_and_nobody_else() -> None:
    text = "".join(
        f"[models.{name}]\ntier='x'\ninput_multiplier_micro=1\noutput_multiplier_micro=1\n"
        f"downgrade_to='{following}'\n"
        for name, following in [("a", "b"), ("b", "c"), ("c", "a"), ("outside", "a")]
    )
    assert [place for place, _ in problems(text)] == [
        f"line {n}: models.{name}.downgrade_to" for n, name in [(5, "a"), (10, "b"), (15, "c")]
    ]


@pytest.mark.req("S-01")
def test_a_document_from_json_is_held_to_the_same() -> None:
    with pytest.raises(Invalid, match="names no model"):
        parse_policy_json({"models": {"premium": {"downgrade_to": "gone"}}})
    found = parse_policy_json({"quota": {"user": {"daily": {"total": 7}}}})
    assert rules_for(found, "acme", None).quota.limits[USER, DAILY, "total"] == 7
