"""The policy document: what it may say, what it means for a tenant, how mistakes are named."""

import json
import pickle
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.default_policy import DEFAULT_POLICY_TOML
from watchkeeper.core.policy import (
    Change,
    TriggerRule,
    delivery_for,
    diff,
    leaves,
    merged_view,
    retention_days,
    rules_for,
)
from watchkeeper.core.policy_parse import (
    DOCUMENT_BYTES_MAX,
    PROBLEMS_MAX,
    parse_policy,
    parse_policy_json,
    shipped_policy,
)
from watchkeeper.core.time import SECOND
from watchkeeper.core.toml_text import to_toml
from watchkeeper.errors import Invalid


def problems(text):
    with pytest.raises(Invalid) as refused:
        parse_policy(text)
    return [(problem.place, problem.message) for problem in refused.value.problems]


def refusal(parse, document):
    """The Invalid that it raises, if it does; anything else it raises is a bug."""
    try:
        parse(document)
    except Invalid as refused:
        return refused
    return None


def places(text):
    return [place for place, _ in problems(text)]


@pytest.mark.req("D-01")
@pytest.mark.parametrize(
    ("trigger_type", "debounce", "cooldown", "cap"),
    [
        ("SIGNAL_ARRIVED", 60, 300, 12),
        ("LIFECYCLE_STATE_CHANGE", 120, 600, 6),
        ("POSTURE_CHANGE", 120, 600, 6),
        ("TIME_RITUAL_DAILY_BRIEF", 72_000, 300, 1),
        ("TIME_RITUAL_WEEKLY_REVIEW", 518_400, 300, 1),
        ("TIME_RITUAL_RENEWAL_RUNWAY", 72_000, 300, 2),
    ],
)
def test_the_shipped_registry(trigger_type, debounce, cooldown, cap):
    rules = rules_for(shipped_policy(), "acme", None)
    expected = TriggerRule(debounce * SECOND, cooldown * SECOND, account_cap=cap, tenant_cap=None)
    assert rules.triggers[trigger_type] == expected
    assert rules.source_of(f"triggers.{trigger_type}.cooldown_seconds") == "default"


@pytest.mark.req("D-01", "D-04", "D-08", "D-10")
def test_the_shipped_limits():
    rules = rules_for(shipped_policy(), "acme", "gold")
    assert rules.policy_version == 0
    assert rules.policy_hash == shipped_policy().hash
    assert rules.run_budget_per_day is None
    assert rules.idempotency_ttl_us == 24 * 3600 * SECOND
    assert rules.spread_seconds == 300
    assert rules.signals_per_run_max == 1000
    assert retention_days(shipped_policy()) == 7


LAYERED = """
spread_seconds = 10
run_budget_per_day = 100

[triggers.SIGNAL_ARRIVED]
cooldown_seconds = 1
max_per_tenant_per_hour = 50

[triggers.AUDIT]
debounce_seconds = 5
cooldown_seconds = 6

[tiers.gold]
run_budget_per_day = 1000
[tiers.gold.triggers.SIGNAL_ARRIVED]
cooldown_seconds = 2
max_per_account_per_hour = "unlimited"

[tenants.acme]
run_budget_per_day = "unlimited"
[tenants.acme.triggers.SIGNAL_ARRIVED]
cooldown_seconds = 3

[tenants."other:1"]
spread_seconds = 0
"""
COOLDOWN = "triggers.SIGNAL_ARRIVED.cooldown_seconds"


@pytest.mark.req("D-01", "D-09", "T-02")
@pytest.mark.parametrize(
    ("tenant_id", "tier", "cooldown", "cap", "budget", "source"),
    [
        pytest.param("x", None, 1, 12, 100, "policy", id="the document over the default"),
        pytest.param("x", "lead", 1, 12, 100, "policy", id="a tier that it does not name"),
        pytest.param("x", "gold", 2, None, 1000, "tier:gold", id="the tier over the document"),
        pytest.param("acme", None, 3, 12, None, "tenant:acme", id="the tenant over the document"),
        pytest.param("acme", "gold", 3, None, None, "tenant:acme", id="the tenant over its tier"),
    ],
)
def test_the_most_particular_place_wins(tenant_id, tier, cooldown, cap, budget, source):
    rules = rules_for(parse_policy(LAYERED, version=7), tenant_id, tier)
    rule = rules.triggers["SIGNAL_ARRIVED"]
    assert rule == TriggerRule(60 * SECOND, cooldown * SECOND, account_cap=cap, tenant_cap=50)
    assert rules.run_budget_per_day == budget
    assert rules.source_of(COOLDOWN) == source
    assert rules.source_of("triggers.SIGNAL_ARRIVED.debounce_seconds") == "default"
    assert rules.source_of("spread_seconds") == "policy"
    assert rules.policy_version == 7


@pytest.mark.req("D-10")
def test_a_budget_of_nothing_is_not_unlimited():
    assert rules_for(parse_policy("run_budget_per_day = 0"), "acme", None).run_budget_per_day == 0


@pytest.mark.req("D-01")
def test_a_policy_registers_trigger_types_of_its_own():
    rule = rules_for(parse_policy(LAYERED), "acme", None).triggers["AUDIT"]
    assert rule == TriggerRule(5 * SECOND, 6 * SECOND, account_cap=None, tenant_cap=None)


@pytest.mark.req("T-20")
def test_a_tenants_view_is_its_own_policy_and_names_no_other_tenant():
    policy = parse_policy(LAYERED)
    view = merged_view(policy, "acme", "gold")
    assert "other" not in json.dumps(view)
    assert "tiers" not in view
    alone = rules_for(parse_policy(to_toml(view)), "somebody", None)
    ruled = rules_for(policy, "acme", "gold")
    assert alone.triggers == ruled.triggers
    assert alone.run_budget_per_day == ruled.run_budget_per_day


def test_a_view_leaves_the_policy_as_it_was():
    policy = parse_policy(LAYERED)
    before = json.dumps(policy.effective)
    merged_view(policy, "acme", "gold")
    rules_for(policy, "acme", "gold")
    assert json.dumps(policy.effective) == before


def test_rules_travel_between_processes():
    policy = parse_policy(LAYERED)
    assert pickle.loads(pickle.dumps(policy)) == policy
    rules = rules_for(policy, "acme", None)
    assert pickle.loads(pickle.dumps(rules)) == rules


@pytest.mark.req("T-20")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing said"),
        pytest.param("# only a comment", id="a comment"),
        pytest.param(DEFAULT_POLICY_TOML, id="everything said as it is shipped"),
        pytest.param("triggers = {SIGNAL_ARRIVED = {cooldown_seconds=300}}", id="another layout"),
        pytest.param("spread_seconds = 3_00\r\n", id="another spelling of a number"),
    ],
)
def test_what_means_the_same_has_the_same_hash(text):
    assert parse_policy(text).hash == shipped_policy().hash
    assert parse_policy(text).text == text


@pytest.mark.req("T-20")
def test_what_means_something_else_has_another_hash():
    texts = ["", "spread_seconds = 299", "[tenants.a]\nspread_seconds = 300", "[tiers.a]"]
    assert len({parse_policy(text).hash for text in texts}) == len(texts)


@pytest.mark.req("T-20")
def test_json_and_toml_are_one_document():
    policy = parse_policy_json(tomllib.loads(LAYERED), version=3)
    assert policy.hash == parse_policy(LAYERED).hash == parse_policy(policy.text).hash
    assert policy.version == 3


@pytest.mark.req("T-20")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("a = 1", "line 1: a", id="an unknown key"),
        pytest.param("\n[heatt]\n", "line 2: heatt", id="an unknown section"),
        pytest.param("\n[triggers.X]\ny = 1", "line 3: triggers.X.y", id="an unknown inner key"),
        pytest.param("[tenants.a]\ntier = 'b'", "line 2: tenants.a.tier", id="no tier in a tenant"),
        pytest.param("[tiers.a.delivery]", "line 1: tiers.a.delivery", id="no delivery in a tier"),
        pytest.param("spread_seconds = true", "line 1: spread_seconds", id="true is no number"),
        pytest.param("spread_seconds = 1.0", "line 1: spread_seconds", id="nor is a fraction"),
        pytest.param("spread_seconds = '1'", "line 1: spread_seconds", id="nor is a string"),
        pytest.param("spread_seconds = [1]", "line 1: spread_seconds", id="nor is an array"),
        pytest.param("spread_seconds = 2030-01-01", "line 1: spread_seconds", id="nor is a date"),
        pytest.param("spread_seconds = {}", "line 1: spread_seconds", id="nor is a table"),
        pytest.param("spread_seconds = -1", "line 1: spread_seconds", id="below the least"),
        pytest.param("spread_seconds = 3601", "line 1: spread_seconds", id="above the most"),
        pytest.param("spread_seconds = 'unlimited'", "line 1: spread_seconds", id="not a limit"),
        pytest.param(
            "run_budget_per_day = 2147483648", "line 1: run_budget_per_day", id="a number too big"
        ),
        pytest.param(
            "run_budget_per_day = 'Unlimited'", "line 1: run_budget_per_day", id="misspelt"
        ),
        pytest.param(
            "idempotency_ttl_seconds = 0", "line 1: idempotency_ttl_seconds", id="a key for no time"
        ),
        pytest.param("triggers = 1", "line 1: triggers", id="a section is a table"),
        pytest.param("[[triggers]]", "line 1: triggers", id="and not an array of tables"),
        pytest.param("[triggers.lower]", "line 1: triggers.lower", id="a trigger is upper case"),
        pytest.param("[tenants.'a/b']", "line 1: tenants.a?b", id="a tenant id has no slash"),
        pytest.param("[tenants.'']", 'line 1: tenants.""', id="nor is it empty"),
        pytest.param(
            "\n\n[triggers.NEW]\ncooldown_seconds = 1",
            "line 3: triggers.NEW.debounce_seconds",
            id="a new trigger lacks its debounce: the line of its table",
        ),
        pytest.param(
            "[tenants.a.triggers.SIGNAL_ARIVED]\ncooldown_seconds = 1",
            "line 1: tenants.a.triggers.SIGNAL_ARIVED",
            id="an override of no trigger is a slip",
        ),
        pytest.param("a = 1\nb = = 2", "line 2, column 5", id="not TOML"),
        pytest.param("a = 1\na = 2", "line 2, column 6", id="the same key twice"),
        pytest.param("a = [1,\n", "line 2, column 1", id="an end too soon"),
        pytest.param("a = " + "9" * 5000, "line 1", id="a line too long"),
        pytest.param("a = " + "[" * 4000, "", id="nested without end"),
        pytest.param("a = '\ud800'", "", id="half a character"),
        pytest.param("#" * 4000 + "\n" + "# x\n" * 70_000, "", id="a document too large"),
    ],
)
def test_a_mistake_is_named_by_its_line(text, place):
    assert places(text) == [place]


@pytest.mark.req("T-20")
def test_each_mistake_is_one_problem_in_the_order_of_the_document():
    text = """\
spread_seconds = -1
colour = "red"

[triggers.SIGNAL_ARRIVED]   # the busy one
debounce_seconds = 60
cooldown_seconds = "5 min"
"""
    assert problems(text) == [
        ("line 1: spread_seconds", "must be a whole number from 0 to 3600"),
        (
            "line 2: colour",
            "is not known here; there are idempotency_ttl_seconds, spread_seconds, "
            "signals_per_run_max, run_budget_per_day, triggers, models, quota, heat, heat_tiers, "
            "pulls, plan_types, actions, autonomy, plans, reports, tiers, tenants, delivery, "
            "retention",
        ),
        (
            "line 6: triggers.SIGNAL_ARRIVED.cooldown_seconds",
            "must be a whole number from 0 to 2147483647, not a string",
        ),
    ]


@pytest.mark.req("T-20")
def test_there_is_an_end_to_the_problems():
    found = problems("\n".join(f"key_{n} = 1" for n in range(PROBLEMS_MAX + 5)))
    assert len(found) == PROBLEMS_MAX + 1
    assert found[-1] == ("", "and 5 more mistakes")


@pytest.mark.req("T-20")
@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"triggers": {"SIGNAL_ARRIVED": {"cooldown_seconds": None}}}, COOLDOWN),
        ({"triggers": {"SIGNAL_ARRIVED": {"cooldown_seconds": False}}}, COOLDOWN),
        ({"triggers": {"SIGNAL_ARRIVED": {"cooldown_seconds": 1.5}}}, COOLDOWN),
        ({"triggers": {"SIGNAL_ARRIVED": {"cooldown_seconds": 10**400}}}, COOLDOWN),
        ({"tenants": {"a\nb\ud800": {}}}, "tenants.a?b?"),
        ({"x" * 1000: 1}, "x" * 64),
        ([], ""),
    ],
)
def test_a_mistake_in_json_is_named_by_its_path(document, place):
    with pytest.raises(Invalid) as refused:
        parse_policy_json(document)
    assert [problem.place for problem in refused.value.problems] == [place]


@pytest.mark.req("T-20")
def test_json_nested_without_end_is_refused_at_the_depth_of_the_schema():
    document = deep = {}
    for _ in range(100_000):
        deep["tenants"] = deep = {}
    with pytest.raises(Invalid):
        parse_policy_json(document)


@pytest.mark.req("T-20")
def test_json_is_bound_like_toml():
    tenants = {f"tenant-{n:0100}": {"spread_seconds": 1} for n in range(3000)}
    with pytest.raises(Invalid, match=f"larger than {DOCUMENT_BYTES_MAX // 1024} KiB"):
        parse_policy_json({"tenants": tenants})


@pytest.mark.req("T-20")
def test_a_difference_names_what_changed_in_effect():
    changed = parse_policy("spread_seconds = 300\n[tenants.'a:b']\nrun_budget_per_day = 5")
    assert diff(shipped_policy(), changed) == [Change('tenants."a:b".run_budget_per_day', None, 5)]
    assert diff(changed, shipped_policy()) == [Change('tenants."a:b".run_budget_per_day', 5, None)]
    assert diff(changed, changed) == []


whole = st.integers(0, 2**31 - 1)
limits = whole | st.just("unlimited")
triggers = st.fixed_dictionaries(
    {},
    optional={
        "debounce_seconds": whole,
        "cooldown_seconds": whole,
        "max_per_account_per_hour": limits,
        "max_per_tenant_per_hour": limits,
    },
)
shipped_types = st.sampled_from(sorted(rules_for(shipped_policy(), "a", None).triggers))
layers = {
    "spread_seconds": st.integers(0, 3600),
    "idempotency_ttl_seconds": st.integers(1, 2**31 - 1),
    "run_budget_per_day": limits,
    "triggers": st.dictionaries(shipped_types, triggers, max_size=3),
}
layer = st.fixed_dictionaries({}, optional=layers)
documents = st.fixed_dictionaries(
    {},
    optional=layers
    | {
        "tiers": st.dictionaries(st.sampled_from(["gold", "lead"]), layer),
        "tenants": st.dictionaries(st.sampled_from(["acme", "b:1"]), layer),
    },
)


@pytest.mark.req("D-01", "T-20")
@given(documents, st.sampled_from(["acme", "b:1", "c"]), st.sampled_from([None, "gold", "lead"]))
def test_every_value_is_that_of_its_source(document, tenant_id, tier):
    policy = parse_policy_json(document)
    rules = rules_for(policy, tenant_id, tier)
    by_source = {
        "default": dict(leaves(shipped_policy().effective)),
        "policy": dict(leaves(document)),
        f"tier:{tier}": dict(leaves(document.get("tiers", {}).get(tier, {}))),
        f"tenant:{tenant_id}": dict(leaves(document.get("tenants", {}).get(tenant_id, {}))),
    }
    order = list(by_source)
    for path, value in leaves(merged_view(policy, tenant_id, tier)):
        source = rules.source_of(path)
        assert by_source[source][path] == value
        stronger = order[order.index(source) + 1 :]
        assert not any(path in by_source[each] for each in stronger)


@pytest.mark.req("T-20")
@given(documents)
def test_a_document_keeps_its_meaning_as_json_and_as_toml(document):
    policy = parse_policy_json(document)
    again = parse_policy(policy.text)
    assert again.hash == policy.hash
    assert again.said == policy.said == document
    assert diff(policy, again) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
sections = st.sampled_from(["triggers", "tiers", "tenants", "delivery", "retention", "x"])


@pytest.mark.req("T-20")
@given(st.dictionaries(sections, json_values))
def test_no_document_is_a_bug(document):
    refused = refusal(parse_policy_json, document)
    assert refused is None or refused.problems
    assert refused is None or all(problem.place.isascii() for problem in refused.problems)
    if refused is None:
        rules_for(parse_policy_json(document), "acme", "gold")
        delivery_for(parse_policy_json(document), "x")


@pytest.mark.req("T-20")
@given(st.text("ab.=[]{}\"'\\#\n ,0123_-", max_size=40) | st.text(max_size=40))
def test_no_text_is_a_bug(text):
    refused = refusal(parse_policy, text)
    assert refused is None or refused.problems
