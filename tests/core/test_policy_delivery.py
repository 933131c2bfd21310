"""The delivery section of the policy: the rule of each topic, and rules that cannot be."""

import pytest

from watchkeeper.core.delivery import Guarantee, OnDead, Order
from watchkeeper.core.policy import delivery_for
from watchkeeper.core.policy_parse import parse_policy, shipped_policy
from watchkeeper.core.time import SECOND
from watchkeeper.errors import Invalid


@pytest.mark.req("S-17", "D-05")
def test_the_shipped_delivery():
    run = delivery_for(shipped_policy(), "decision.evaluation_requested")
    assert (run.guarantee, run.max_attempts) == (Guarantee.AT_MOST_ONCE, 1)
    assert (run.lease_us, run.concurrency) == (60 * SECOND, 16)
    assert delivery_for(shipped_policy(), "decision.retry").guarantee is Guarantee.AT_LEAST_ONCE
    assert delivery_for(shipped_policy(), "schedule.due").guarantee is Guarantee.AT_LEAST_ONCE


@pytest.mark.req("S-14", "S-17")
def test_a_topic_that_nobody_speaks_of_has_the_defaults():
    rule = delivery_for(shipped_policy(), "anything.else")
    assert (rule.guarantee, rule.max_attempts) == (Guarantee.AT_LEAST_ONCE, 10)
    assert rule.lease_us == 30 * SECOND
    assert (rule.backoff_base_us, rule.backoff_max_us) == (SECOND, 3600 * SECOND)
    assert (rule.concurrency, rule.concurrency_total, rule.timeout_us) == (16, None, None)
    assert rule.endpoint_concurrency == 4
    assert (rule.order, rule.on_dead) == (Order.NONE, OnDead.CONTINUE)


@pytest.mark.req("S-17")
def test_a_topic_overrides_the_defaults():
    text = """
[delivery.defaults]
max_attempts = 5
concurrency_total = 40
endpoint_concurrency = 2
[delivery.topics."invoice"]
order = "per_key"
on_dead = "block"
concurrency_total = "unlimited"
timeout_seconds = 20
[delivery.topics."once"]
guarantee = "at_most_once"
"""
    policy = parse_policy(text)
    invoice = delivery_for(policy, "invoice")
    assert (invoice.max_attempts, invoice.concurrency_total) == (5, None)
    assert (invoice.order, invoice.on_dead) == (Order.PER_KEY, OnDead.BLOCK)
    assert invoice.timeout_us == 20 * SECOND
    assert delivery_for(policy, "other").concurrency_total == 40
    assert delivery_for(policy, "other").endpoint_concurrency == 2
    assert delivery_for(policy, "once").max_attempts == 1


ONCE = 'guarantee = "at_most_once"'
RUNS = 'delivery.topics."decision.evaluation_requested"'


@pytest.mark.req("S-17", "D-05", "D-13")
@pytest.mark.parametrize(
    ("table", "line", "place"),
    [
        pytest.param("delivery.topics.x", "lease_seconds = 0", "lease_seconds", id="no lease"),
        pytest.param("delivery.topics.x", "lease_seconds = -1", "lease_seconds", id="less"),
        pytest.param("delivery.topics.x", "max_attempts = 0", "max_attempts", id="no attempt"),
        pytest.param(
            "delivery.topics.x", "backoff_base_seconds = 0", "backoff_base_seconds", id="no backoff"
        ),
        pytest.param(
            "delivery.topics.x",
            "backoff_base_seconds = 3601",
            "backoff_base_seconds",
            id="a base above the inherited maximum",
        ),
        pytest.param(
            "delivery.defaults",
            "backoff_base_seconds = 9\nbackoff_max_seconds = 8",
            "backoff_base_seconds",
            id="a base above its maximum, blamed once and not on each topic",
        ),
        pytest.param(
            "delivery.topics.x",
            f"max_attempts = 2\n{ONCE}",
            "max_attempts",
            id="two attempts at most once",
        ),
        pytest.param(RUNS, "max_attempts = 2", "max_attempts", id="a decision run tried twice"),
        pytest.param(
            RUNS, 'guarantee = "at_least_once"', "guarantee", id="a decision run at least once"
        ),
        pytest.param(
            'delivery.topics."decision.retry"', ONCE, "guarantee", id="a retry that may be lost"
        ),
        pytest.param(
            "delivery.topics.x", 'on_dead = "block"', "on_dead", id="block without an order"
        ),
        pytest.param("delivery.topics.x", "concurrency = 0", "concurrency", id="no concurrency"),
        pytest.param(
            "delivery.topics.x", "concurrency_total = 0", "concurrency_total", id="none at all"
        ),
        pytest.param("delivery.topics.x", 'order = "fifo"', "order", id="an unknown order"),
    ],
)
def test_an_impossible_delivery_is_refused(table, line, place):
    with pytest.raises(Invalid) as refused:
        parse_policy(f"[{table}]\n{line}")
    assert [problem.place for problem in refused.value.problems] == [f"line 2: {table}.{place}"]
