"""From when on an event passes: at that second it is allowed, and at no second before."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from functools import partial
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.fold import Fold
from tests.core.test_admission import BRIEF, H0, LIFECYCLE, RETRY, SIGNAL, at, rules, spent, state
from tests.core.test_admission_properties import T0, ruled, steps
from watchkeeper import App, ids
from watchkeeper.core.admission import Case, Duplicate, Event, Result, decide
from watchkeeper.core.earliest_pass import CANDIDATES_MAX, Passing, earliest_pass
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import TenantRules, TriggerRule
from watchkeeper.core.run_state import RunState, TenantRuns, TriggerState
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant, ceil_second, to_datetime

pytestmark = pytest.mark.req("T-10", "T-11")


def passing(
    now, where=None, trigger=SIGNAL, ruled=None, tenant=None, event=None, **more
) -> Passing:
    asked = Event(AccountId("ann"), trigger, "k", **(event or {}))
    case = Case(asked, where or state(), tenant or TenantRuns(), ruled or rules(), at(now), **more)
    assert decide(case).result is not Result.ALLOW
    return earliest_pass(case)


FIRED = TriggerState(at(0))
ZERO = TenantRules(triggers={SIGNAL: TriggerRule(0, 0)}, spread_seconds=0)
FULL = TriggerState(at(0), None, H0, 1)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        pytest.param(
            {"now": 5, "where": state(0, FIRED)}, 300, id="debounced, and the cooldown binds next"
        ),
        pytest.param({"now": 5, "where": state(signal=FIRED)}, 60, id="debounced alone"),
        pytest.param({"now": 100, "where": state(0)}, 300, id="the end of the cooldown"),
        pytest.param(
            {"now": 100, "where": state(0.5)}, 301, id="in whole seconds, never too early"
        ),
        pytest.param(
            {"now": 400, "where": state(100, FULL), "ruled": rules(account_cap=1)},
            3600,
            id="a full hour begins anew without its spread",
        ),
        pytest.param(
            {
                "now": 400,
                "where": state(100, FULL),
                "ruled": rules(account_cap=1, spread_seconds=300),
            },
            3600,
            id="whatever the spread of retries",
        ),
        pytest.param(
            {"now": 110, "where": state(100, FULL), "ruled": rules(account_cap=1)},
            3600,
            id="a cooldown that hides a full cap",
        ),
        pytest.param(
            {"now": 1800, "tenant": spent(hour_runs=3), "ruled": rules(tenant_cap=3)},
            3600,
            id="the tenant's hour",
        ),
        pytest.param(
            {"now": 0, "tenant": spent(5), "ruled": rules(budget=5)}, 86_400, id="the next day"
        ),
        pytest.param(
            {"now": 400, "where": state(0, pending={SIGNAL: 500})},
            800,
            id="coalesced: behind the run of the retry that waits",
        ),
        pytest.param(
            {"now": 600, "where": state(0, pending={SIGNAL: 500})},
            901,
            id="behind a retry that is late, and comes in the next second",
        ),
        pytest.param(
            {"now": 100, "where": state(0, pending={LIFECYCLE: 600, BRIEF: 300})},
            900,
            id="behind the last slot that is reserved; a type that is gone runs no more",
        ),
        pytest.param(
            {
                "now": 400,
                "where": RunState(
                    at(0), triggers={SIGNAL: FULL}, pending=state(pending={SIGNAL: 500}).pending
                ),
                "ruled": rules(account_cap=1),
            },
            3600,
            id="a retry that finds its hour full runs not, and its slot is free",
        ),
        pytest.param(
            {
                "now": 600,
                "where": state(0, TriggerState(at(0), None, H0, 9), pending={SIGNAL: 600}),
                "event": RETRY,
                "ruled": rules(account_cap=9),
            },
            3600,
            id="a retry that is over asks for a fresh event",
        ),
        pytest.param(
            {"now": 90, "where": state(signal=FIRED), "event": {"scheduled_at": at(10)}},
            91,
            id="a late firing that is debounced by its plan: a fresh event passes at once",
        ),
    ],
)
def test_the_moment(asked, seconds) -> None:
    assert passing(**asked) == Passing(at(seconds))


@pytest.mark.parametrize(
    ("asked", "because"),
    [
        pytest.param({"trigger": "X"}, "the policy has no trigger of this type", id="unknown"),
        pytest.param(
            {"duplicate": Duplicate(DecisionId("d"))},
            "a repeat has the answer of the decision that holds its key",
            id="a repeat",
        ),
        pytest.param({"kill_switch": "tenant"}, "the kill switch tenant is on", id="a switch"),
        pytest.param({"ruled": rules(budget=0)}, "run_budget_per_day is 0", id="no budget"),
        pytest.param(
            {"ruled": rules(account_cap=0)}, "max_per_account_per_hour is 0", id="no run of it"
        ),
        pytest.param(
            {"ruled": rules(tenant_cap=0)}, "max_per_tenant_per_hour is 0", id="of nobody's"
        ),
        pytest.param(
            {"where": state(0), "ruled": rules(tenant_cap=0)},
            "max_per_tenant_per_hour is 0",
            id="also behind a check that time satisfies",
        ),
        pytest.param(
            {"event": {"saturation": 1.0}},
            "the event's own saturation score is 1 or more",
            id="a score",
        ),
    ],
)
def test_where_there_is_none_it_says_why(asked, because) -> None:
    assert passing(1, **asked) == Passing(None, because)


def test_a_retry_meets_the_switch_of_its_own_type() -> None:
    """Then it does not run, and nothing is in cooldown because of it."""
    where = state(0, pending={LIFECYCLE: 600})
    case = Case(Event(AccountId("ann"), SIGNAL, "k"), where, TenantRuns(), rules(), at(100))
    assert earliest_pass(case) == Passing(at(900))
    assert earliest_pass(case, {f"trigger:{LIFECYCLE}": "x"}) == Passing(at(600))


def test_a_retry_whose_cooldown_has_grown_is_moved_first() -> None:
    """It was reserved for 100 under a shorter one; it runs at 300, and the event behind it."""
    assert passing(50, state(0, pending={SIGNAL: 100})) == Passing(at(600))


def test_asking_changes_nothing() -> None:
    where = state(0, FIRED, pending={SIGNAL: 300, LIFECYCLE: 900})
    before = repr((where.last_allowed_at, where.pending, where.triggers[SIGNAL].run_count))
    passing(1, where)
    assert repr((where.last_allowed_at, where.pending, where.triggers[SIGNAL].run_count)) == before


@given(ruled, st.integers(0, DAY), steps, st.sampled_from("ABC"), st.data())
def test_at_that_second_it_is_allowed_and_at_none_before(rules, start, history, kind, data) -> None:
    """Of one account, whose retries come when they are due."""
    fold = Fold(rules, Instant(T0 + start))
    for pause, what, _, trigger, pick in history:
        fold.now = Instant(ceil_second(fold.now + pause))
        fold.fire("ann", trigger) if what == "fire" else fold.deliver(pick)
    go_to(fold, fold.now)
    case = Case(Event(AccountId("ann"), kind, ""), fold.states["ann"], fold.tenant, rules, fold.now)
    if decide(case).result is Result.ALLOW:
        return
    told = earliest_pass(case)
    if told.at is None:
        assert told.never_because is not None
        latest = fold.now + 2 * DAY
    else:
        latest = told.at - SECOND
        assert allowed(fold, told.at, kind)
    asked = st.integers(fold.now // SECOND, latest // SECOND)
    for second in {latest // SECOND, data.draw(asked), data.draw(asked)}:
        assert not allowed(fold, second * SECOND, kind)


def go_to(fold: Fold, moment: int) -> None:
    while due := [one.due_at for one in fold.waiting if one.due_at <= moment]:
        fold.now = max(fold.now, min(due))
        fold.deliver()
    fold.now = max(fold.now, Instant(moment))


def allowed(fold: Fold, moment: int, kind: str) -> bool:
    then = deepcopy(fold)
    go_to(then, moment)
    return then.fire("ann", kind).result is Result.ALLOW


def test_as_many_candidates_as_there_are_checks_are_enough() -> None:
    """Debounce, budget, cooldown and both caps object in turn."""
    cap = TriggerRule(60 * SECOND, 90_000 * SECOND, 1, 1)
    where = state(0, TriggerState(at(0), None, H0 + 30, 1))
    tenant = TenantRuns(H0 + 31, {SIGNAL: 1}, T0 // DAY, 1)
    ruled = TenantRules(triggers={SIGNAL: cap}, run_budget_per_day=1)
    assert passing(5, where, ruled=ruled, tenant=tenant) == Passing(Instant(T0 + 32 * HOUR))
    assert CANDIDATES_MAX == 16


@pytest.fixture
def later_ids() -> Iterator[None]:
    """Ids that are a second apart, as those of a program that does not move its clock."""
    ids.follow(1, partial(next, count(10**18, 10**9)))
    yield
    ids.follow_nobody()


@pytest.mark.usefixtures("later_ids")
def test_of_two_retries_of_one_moment_the_older_deferral_comes_first() -> None:
    app = App("sqlite://", virtual_clock=True)
    seconds = {"SIGNAL_ARRIVED": (0, 300), "POSTURE_CHANGE": (0, 0)}
    triggers = {
        name: {"debounce_seconds": debounce, "cooldown_seconds": cooldown}
        for name, (debounce, cooldown) in seconds.items()
    }
    app.apply_policy({"triggers": triggers}, reason="ties")
    start = app.clock.now()
    names = ["SIGNAL_ARRIVED", "SIGNAL_ARRIVED", "POSTURE_CHANGE", "SIGNAL_ARRIVED"]
    for number, name in enumerate(names):
        verdict = app.trigger("acme", "a", name, idempotency_key=str(number))
        app.clock.advance(seconds=10)
    told = app.explain(verdict.decision_id).trail.earliest_pass_at
    [other] = [t for t in app.why_not("a").triggers if t.trigger_type == "SIGNAL_ARRIVED"]
    assert told == other.trail.earliest_pass_at
    assert told is not None
    assert to_datetime(told) - start == timedelta(seconds=600)
    app.close()
