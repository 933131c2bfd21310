"""The smallest change: written into a policy it flips the verdict, and nothing less does."""

import tomllib
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.core.test_admission_properties import T0
from watchkeeper.core.admission import Case, Duplicate, Event, Result, decide
from watchkeeper.core.explain import trail
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import overlay, rules_for
from watchkeeper.core.policy_parse import parse_policy, parse_policy_json
from watchkeeper.core.run_state import Pending, RunState, TenantRuns, TriggerState
from watchkeeper.core.smallest_change import smallest_change
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant

pytestmark = pytest.mark.req("T-10")

LAYERS = ["{}", "tiers.gold.{}", "tenants.acme.{}"]
TYPES = ["SIGNAL_ARRIVED", "POSTURE_CHANGE"]


def a_policy(dice: Random) -> str:
    """Thresholds that object often, each set in one layer or another."""
    lines = ["run_budget_per_day = 3"]
    for name in TYPES:
        for key, most in (("debounce_seconds", 900), ("cooldown_seconds", 900)):
            where = dice.choice(LAYERS)
            lines.append(f"{where.format(f'triggers.{name}.{key}')} = {dice.randrange(most)}")
        for key in ("max_per_account_per_hour", "max_per_tenant_per_hour"):
            where = dice.choice(LAYERS)
            lines.append(f"{where.format(f'triggers.{name}.{key}')} = {dice.randrange(4)}")
    where = dice.choice(LAYERS[1:])
    lines.append(f"{where.format('run_budget_per_day')} = {dice.randrange(4)}")
    return "\n".join(lines)


def a_case(dice: Random, rules) -> Case:
    now = Instant(T0 + 10 * HOUR + dice.randrange(HOUR) // SECOND * SECOND)
    hour, day = now // HOUR, now // DAY

    def past() -> Instant | None:
        return None if dice.random() < 0.3 else Instant(now - dice.randrange(1000 * SECOND))

    triggers = {
        name: TriggerState(past(), None, hour - dice.randrange(2), dice.randrange(5))
        for name in TYPES
        if dice.random() < 0.8
    }
    pending = {}
    if dice.random() < 0.3:
        due_at = Instant(now + dice.randrange(-600, 600) * SECOND)
        pending[dice.choice(TYPES)] = Pending(due_at, DecisionId("p"))
    retry = {"retry_of": DecisionId("p"), "moved": dice.random() < 0.5}
    event = Event(
        AccountId("ann"),
        dice.choice([*TYPES, *TYPES, *TYPES, "NEVER_HEARD_OF"]),
        "k",
        **(retry if dice.random() < 0.2 else {}),
    )
    state = RunState(past(), 0, dice.random() < 0.3, triggers, pending)
    runs = {name: dice.randrange(5) for name in TYPES}
    tenant = TenantRuns(hour - dice.randrange(2), runs, day, dice.randrange(5))
    return Case(event, state, tenant, rules, now)


def with_lines(said: str, lines) -> dict:
    """The document, with these lines written into it."""
    document = tomllib.loads(said)
    for line in lines:
        document = overlay(document, tomllib.loads(str(line)))
    return document


def verdict_under(case: Case, document: dict):
    ruled = rules_for(parse_policy_json(document), "acme", "gold")
    return decide(case.under(ruled))


@given(st.integers(0, 2**32))
def test_written_into_the_policy_it_flips_the_verdict_and_nothing_less_does(seed) -> None:
    dice = Random(seed)
    said = a_policy(dice)
    case = a_case(dice, rules_for(parse_policy(said), "acme", "gold"))
    verdict, lines = decide(case), smallest_change(case).lines
    assert trail(case).smallest_change == ("\n".join(map(str, lines)) or None)
    if verdict.result is Result.ALLOW:
        assert lines == ()
    assume(lines)
    assert verdict_under(case, with_lines(said, lines)).result is Result.ALLOW
    for left_out in range(len(lines)):
        fewer = [line for n, line in enumerate(lines) if n != left_out]
        if case.event.trigger_type in TYPES:
            assert verdict_under(case, with_lines(said, fewer)).result is not Result.ALLOW
    for line in lines:
        step = 1 if line.path.endswith(("debounce_seconds", "cooldown_seconds")) else -1
        if case.event.trigger_type in TYPES and line.value + step >= 0:
            stricter = [x._replace(value=x.value + step) if x is line else x for x in lines]
            assert verdict_under(case, with_lines(said, stricter)).result is not Result.ALLOW


@given(st.integers(0, 2**32))
def test_it_is_found_unless_something_stands_in_the_way_that_is_no_policy(seed) -> None:
    """A retry that waits, or a slot that is reserved: nothing else."""
    dice = Random(seed)
    case = a_case(dice, rules_for(parse_policy(a_policy(dice)), "acme", "gold"))
    if decide(case).result is Result.ALLOW or smallest_change(case).lines:
        return
    assert case.state.pending, "only a reserved slot cannot be argued away"


SHIPPED = rules_for(parse_policy(""), "acme", None)


def repeat(seconds: int, **more) -> Case:
    event = Event(AccountId("ann"), "SIGNAL_ARRIVED", "k")
    held = Duplicate(DecisionId("d"))
    now = Instant(T0 + seconds * SECOND)
    return Case(event, RunState(), TenantRuns(), SHIPPED, now, duplicate=held, **more)


def test_a_repeat_had_been_none_under_a_shorter_hold() -> None:
    assert [str(line) for line in smallest_change(repeat(100), T0).lines] == [
        "idempotency_ttl_seconds = 99"
    ]
    assert smallest_change(repeat(1), T0).lines == (), "no hold is that short"
    assert smallest_change(repeat(100)).lines == (), "nobody knows since when"


@pytest.mark.parametrize("switch", ["all", "tenant"])
def test_a_switch_is_no_policy(switch: str) -> None:
    assert smallest_change(repeat(100, kill_switch=switch), T0).lines == ()
