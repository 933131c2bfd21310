"""The gate by itself: every boundary as a case, every promise as a property of any history."""

import pytest

from watchkeeper.core.admission import (
    CHECKS,
    Case,
    Duplicate,
    Event,
    Reason,
    Result,
    decide,
    evolve,
    switch_for,
)
from watchkeeper.core.ids import AccountId, DecisionId
from watchkeeper.core.policy import TenantRules, TriggerRule, rules_for
from watchkeeper.core.policy_parse import shipped_policy
from watchkeeper.core.run_state import Pending, RunState, TenantRuns, TriggerState
from watchkeeper.core.spread import spread
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant, ceil_epoch, day_of, hour_of

T0 = Instant(1_893_456_000 * SECOND)  # 2030-01-01T00:00:00Z
SIGNAL, LIFECYCLE = "SIGNAL_ARRIVED", "LIFECYCLE_STATE_CHANGE"
BRIEF = "TIME_RITUAL_DAILY_BRIEF"
SHIPPED = rules_for(shipped_policy(), "acme", None)
DEFERRAL = DecisionId("deferral")
H0, D0 = hour_of(T0), day_of(T0)


def at(seconds: float) -> Instant:
    return Instant(T0 + round(seconds * SECOND))


def rules(account_cap=None, tenant_cap=None, budget=None, **more) -> TenantRules:
    """Signal 60/300, lifecycle 120/600, with the caps given; no spread unless asked for."""
    signal = TriggerRule(60 * SECOND, 300 * SECOND, account_cap, tenant_cap)
    lifecycle = TriggerRule(120 * SECOND, 600 * SECOND, account_cap, tenant_cap)
    more = {"spread_seconds": 0, **more}
    triggers = {SIGNAL: signal, LIFECYCLE: lifecycle}
    return TenantRules(triggers=triggers, run_budget_per_day=budget, **more)


def state(allowed=None, signal=None, pending=None, was_retry=False) -> RunState:
    return RunState(
        last_allowed_at=None if allowed is None else at(allowed),
        last_run_was_retry=was_retry,
        triggers={} if signal is None else {SIGNAL: signal},
        pending={t: Pending(at(due), DEFERRAL) for t, due in (pending or {}).items()},
    )


def ask(now, where=None, trigger=SIGNAL, ruled=None, tenant=None, event=None, **more) -> str:
    """What the gate says, in short; a DEFER with its seconds after T0."""
    asked = Event(AccountId("ann"), trigger, "k", **(event or {}))
    case = Case(asked, where or state(), tenant or TenantRuns(), ruled or rules(), at(now), **more)
    verdict = decide(case)
    parts = [verdict.result, verdict.reason, verdict.inner]
    if verdict.defer_until is not None:
        parts.append(f"{(verdict.defer_until - T0) / SECOND:g}")
    return " ".join(part for part in parts if part)


RETRY = {"retry_of": DEFERRAL}
MOVED = RETRY | {"moved": True}
RESERVED = RETRY | {"slot_cooldown_us": 100 * SECOND}
FIRED = TriggerState(last_trigger_at=at(0))
BRIEFED = TriggerState(last_trigger_at=at(0), last_deferred_at=None, hour=H0, run_count=1)


def counted(runs: int, hour: int = H0) -> TriggerState:
    return TriggerState(hour=hour, run_count=runs)


def spent(runs: int = 0, hour_runs: int = 0, day: int = D0, hour: int = H0) -> TenantRuns:
    return TenantRuns(hour, {SIGNAL: hour_runs}, day, runs)


@pytest.mark.req("D-01")
def test_the_shipped_registry() -> None:
    found = {
        name: (r.debounce_us // SECOND, r.cooldown_us // SECOND, r.account_cap, r.tenant_cap)
        for name, r in SHIPPED.triggers.items()
    }
    assert found == {
        "SIGNAL_ARRIVED": (60, 300, 12, None),
        "LIFECYCLE_STATE_CHANGE": (120, 600, 6, None),
        "POSTURE_CHANGE": (120, 600, 6, None),
        "TIME_RITUAL_DAILY_BRIEF": (72000, 300, 1, None),
        "TIME_RITUAL_WEEKLY_REVIEW": (518400, 300, 1, None),
        "TIME_RITUAL_RENEWAL_RUNWAY": (72000, 300, 2, None),
    }
    assert SHIPPED.run_budget_per_day is None
    assert SHIPPED.idempotency_ttl_us == DAY
    assert SHIPPED.spread_seconds == 300


@pytest.mark.req("D-06")
@pytest.mark.parametrize(
    ("now", "event", "expected"),
    [
        pytest.param(0, {}, "SKIP DEBOUNCED", id="two at one instant are one"),
        pytest.param(59.999999, {}, "SKIP DEBOUNCED", id="a microsecond too close is too close"),
        pytest.param(60, {}, "ALLOW", id="exactly the debounce later passes"),
        pytest.param(-60, {}, "ALLOW", id="a clock that stepped back by it passes too"),
        pytest.param(-59, {}, "SKIP DEBOUNCED", id="a smaller step back does not"),
        pytest.param(
            90,
            {"scheduled_at": at(59)},
            "SKIP DEBOUNCED",
            id="a scheduled one counts from its plan",
        ),
        pytest.param(90, {"scheduled_at": at(60)}, "ALLOW", id="and passes by its plan"),
        pytest.param(
            30, {"scheduled_at": at(90)}, "SKIP DEBOUNCED", id="the future is not an excuse"
        ),
        pytest.param(1, RETRY, "ALLOW", id="a retry is not debounced"),
    ],
)
def test_debounce(now, event, expected) -> None:
    assert ask(now, state(signal=FIRED), event=event) == expected


@pytest.mark.req("D-06")
def test_debounce_is_of_one_type() -> None:
    assert ask(1, state(signal=FIRED), trigger=LIFECYCLE) == "ALLOW"


@pytest.mark.req("D-02", "D-07")
@pytest.mark.parametrize(
    ("now", "where", "trigger", "expected"),
    [
        pytest.param(0, state(), SIGNAL, "ALLOW", id="the first run has nothing to wait for"),
        pytest.param(299, state(0), SIGNAL, "DEFER COOLDOWN 300", id="too close to the last run"),
        pytest.param(
            299.999999, state(0), SIGNAL, "DEFER COOLDOWN 300", id="a microsecond too close"
        ),
        pytest.param(300, state(0), SIGNAL, "ALLOW", id="exactly the cooldown later passes"),
        pytest.param(
            300, state(0), LIFECYCLE, "DEFER COOLDOWN 600", id="it is the incoming one's cooldown"
        ),
        pytest.param(600, state(0), LIFECYCLE, "ALLOW", id="and passes at exactly that"),
        pytest.param(
            10, state(0.25), SIGNAL, "DEFER COOLDOWN 301", id="seconds are rounded up, never down"
        ),
        pytest.param(
            100,
            state(0, pending={LIFECYCLE: 600}),
            SIGNAL,
            "DEFER COOLDOWN 900",
            id="a fresh event queues behind a reserved slot",
        ),
        pytest.param(
            700,
            state(0, pending={LIFECYCLE: 600}),
            SIGNAL,
            "DEFER COOLDOWN 900",
            id="also when that retry is late",
        ),
        pytest.param(
            600,
            state(0, pending={LIFECYCLE: 300, BRIEF: 700}),
            SIGNAL,
            "DEFER COOLDOWN 1000",
            id="behind the latest of several",
        ),
        pytest.param(
            4199,
            state(0, pending={LIFECYCLE: 4000}),
            SIGNAL,
            "DEFER COOLDOWN 4300",
            id="a slot holds while its retry is on time",
        ),
        pytest.param(
            4200,
            state(0, pending={LIFECYCLE: 600}),
            SIGNAL,
            "ALLOW",
            id="a retry overdue by an hour holds nothing",
        ),
        pytest.param(
            -1000, state(0), SIGNAL, "DEFER COOLDOWN 300", id="a clock that stepped back waits"
        ),
    ],
)
def test_cooldown(now, where, trigger, expected) -> None:
    assert ask(now, where, trigger) == expected


@pytest.mark.req("D-13")
@pytest.mark.parametrize(
    ("now", "where", "event", "expected"),
    [
        pytest.param(
            300,
            state(0, pending={SIGNAL: 300, LIFECYCLE: 900}),
            RETRY,
            "ALLOW",
            id="a retry owns its slot: later ones do not hold it up",
        ),
        pytest.param(
            100,
            state(0, pending={SIGNAL: 300}),
            RETRY,
            "SKIP RETRY_EXHAUSTED COOLDOWN",
            id="early for its own reasons: it is over",
        ),
        pytest.param(
            600,
            state(400.4, pending={SIGNAL: 600}, was_retry=True),
            RETRY,
            "DEFER COOLDOWN 701",
            id="early because another retry ran late: moved behind that one",
        ),
        pytest.param(
            600,
            state(400.4, pending={SIGNAL: 600, LIFECYCLE: 1000}, was_retry=True),
            RETRY,
            "DEFER COOLDOWN 701",
            id="but not behind slots further on, which move themselves",
        ),
        pytest.param(
            600,
            state(400.4, pending={SIGNAL: 600, LIFECYCLE: 702}, was_retry=True),
            RETRY,
            "DEFER COOLDOWN 1002",
            id="behind a slot that it would fall upon",
        ),
        pytest.param(
            600,
            state(400.4, pending={SIGNAL: 600, LIFECYCLE: 500, BRIEF: 701}, was_retry=True),
            RETRY,
            "DEFER COOLDOWN 1001",
            id="and behind each of several",
        ),
        pytest.param(
            600,
            state(400.4, pending={SIGNAL: 600}, was_retry=True),
            MOVED,
            "SKIP RETRY_EXHAUSTED COOLDOWN",
            id="it is moved once",
        ),
        pytest.param(
            100,
            state(0, pending={SIGNAL: 100}),
            RESERVED,
            "DEFER COOLDOWN 300",
            id="early because its cooldown has grown: moved to the end of the longer one",
        ),
        pytest.param(
            100,
            state(0, pending={SIGNAL: 100, LIFECYCLE: 310}),
            RESERVED,
            "DEFER COOLDOWN 610",
            id="and behind a slot that it would fall upon",
        ),
        pytest.param(
            99.5,
            state(0, pending={SIGNAL: 100}),
            RESERVED,
            "SKIP RETRY_EXHAUSTED COOLDOWN",
            id="early also by the cooldown that it was reserved under",
        ),
        pytest.param(
            100,
            state(0, pending={SIGNAL: 100}),
            RESERVED | {"moved": True},
            "SKIP RETRY_EXHAUSTED COOLDOWN",
            id="moved once, also where the cooldown grows again",
        ),
        pytest.param(
            600,
            state(0, counted(9), pending={SIGNAL: 600}),
            RETRY,
            "SKIP RETRY_EXHAUSTED ACCOUNT_HOURLY_CAP",
            id="a cap does not defer it again",
        ),
    ],
)
def test_the_retry_of_a_deferral(now, where, event, expected) -> None:
    assert ask(now, where, event=event, ruled=rules(account_cap=9)) == expected


@pytest.mark.req("D-13")
@pytest.mark.parametrize(
    ("now", "event", "expected"),
    [
        pytest.param(1, {}, "SKIP COALESCED", id="a retry of the type waits"),
        pytest.param(600, {}, "SKIP COALESCED", id="also when it is a little late"),
        pytest.param(4199.999999, {}, "SKIP COALESCED", id="up to an hour"),
        pytest.param(4200, {}, "ALLOW", id="nothing coalesces for ever"),
        pytest.param(600, RETRY, "ALLOW", id="the retry itself does not coalesce"),
    ],
)
def test_coalescing(now, event, expected) -> None:
    assert ask(now, state(0, pending={SIGNAL: 600}), event=event) == expected


@pytest.mark.req("D-08")
@pytest.mark.parametrize(
    ("now", "runs", "expected"),
    [
        pytest.param(1800, counted(2), "ALLOW", id="below the cap"),
        pytest.param(1800, counted(3), "DEFER ACCOUNT_HOURLY_CAP 3600", id="the cap is reached"),
        pytest.param(
            3599.999999, counted(3), "DEFER ACCOUNT_HOURLY_CAP 3600", id="until the hour is over"
        ),
        pytest.param(3600, counted(3), "ALLOW", id="the next hour begins at nothing"),
        pytest.param(
            1800,
            counted(3, H0 + 1),
            "DEFER ACCOUNT_HOURLY_CAP 7200",
            id="a clock that stepped back opens no older hour",
        ),
        pytest.param(1800, counted(2, H0 + 1), "ALLOW", id="and counts on in the later one"),
    ],
)
def test_account_cap(now, runs, expected) -> None:
    assert ask(now, state(signal=runs), ruled=rules(account_cap=3)) == expected


@pytest.mark.req("D-08")
@pytest.mark.parametrize(
    ("now", "tenant", "expected"),
    [
        pytest.param(1800, spent(hour_runs=2), "ALLOW", id="below the cap"),
        pytest.param(
            1800, spent(hour_runs=3), "DEFER TENANT_HOURLY_CAP 3600", id="the cap is reached"
        ),
        pytest.param(3600, spent(hour_runs=3), "ALLOW", id="the next hour begins at nothing"),
        pytest.param(
            1800,
            spent(hour_runs=3, hour=H0 + 1),
            "DEFER TENANT_HOURLY_CAP 7200",
            id="a clock that stepped back opens no older hour",
        ),
    ],
)
def test_tenant_cap(now, tenant, expected) -> None:
    assert ask(now, tenant=tenant, ruled=rules(tenant_cap=3)) == expected


@pytest.mark.req("D-08")
def test_a_tenant_cap_is_of_one_type() -> None:
    full = spent(hour_runs=3)
    assert ask(1800, tenant=full, ruled=rules(tenant_cap=3), trigger=LIFECYCLE) == "ALLOW"


@pytest.mark.req("D-08")
def test_the_next_hour_is_spread_by_account() -> None:
    ruled = rules(account_cap=0, spread_seconds=300)
    wait = spread("ann", 300)
    assert 0 < wait < 300
    assert ask(1800, ruled=ruled) == f"DEFER ACCOUNT_HOURLY_CAP {3600 + wait}"
    seconds = {spread(f"account-{n}", 300) for n in range(5000)}
    assert seconds == set(range(300)), "every second of the span is somebody's"


@pytest.mark.req("D-10")
@pytest.mark.parametrize(
    ("now", "tenant", "budget", "expected"),
    [
        pytest.param(0, spent(4), 5, "ALLOW", id="one run is left"),
        pytest.param(0, spent(5), 5, "SKIP BUDGET_EXHAUSTED", id="none is left"),
        pytest.param(0, spent(6), 5, "SKIP BUDGET_EXHAUSTED", id="less than none, after a change"),
        pytest.param(0, TenantRuns(), 0, "SKIP BUDGET_EXHAUSTED", id="a budget of nothing"),
        pytest.param(0, spent(10**9), None, "ALLOW", id="absent is unlimited"),
        pytest.param(86399, spent(5), 5, "SKIP BUDGET_EXHAUSTED", id="to the end of the UTC day"),
        pytest.param(86400, spent(5), 5, "ALLOW", id="the next day begins at nothing"),
        pytest.param(0, spent(5, day=D0 + 1), 5, "SKIP BUDGET_EXHAUSTED", id="no day begins twice"),
    ],
)
def test_run_budget(now, tenant, budget, expected) -> None:
    assert ask(now, tenant=tenant, ruled=rules(budget=budget)) == expected


@pytest.mark.req("D-09")
@pytest.mark.parametrize(
    ("score", "expected"),
    [
        pytest.param(None, "ALLOW", id="nobody gave one"),
        pytest.param(0.999, "ALLOW", id="below one"),
        pytest.param(1.0, "SKIP MARGINAL_VALUE_LOW", id="at one"),
        pytest.param(7, "SKIP MARGINAL_VALUE_LOW", id="above"),
    ],
)
def test_saturation(score, expected) -> None:
    assert ask(0, event={"saturation": score}) == expected


ALL_AT_ONCE = {
    "where": RunState(
        last_allowed_at=at(0),
        triggers={SIGNAL: TriggerState(at(0), None, H0, 9)},
        pending={SIGNAL: Pending(at(300), DEFERRAL)},
    ),
    "tenant": spent(9, 9),
    "ruled": rules(account_cap=9, tenant_cap=9, budget=9),
    "event": {"saturation": 1.0},
    "kill_switch": "tenant",
    "duplicate": Duplicate(DecisionId("first")),
}


@pytest.mark.req("D-09", "D-03")
def test_the_first_objection_wins() -> None:
    """Everything objects at once; taking away the one that speaks lets the next one speak."""
    asked = dict(ALL_AT_ONCE)
    assert ask(1, trigger="NEVER_HEARD_OF", **asked) == "SKIP UNKNOWN_TRIGGER_TYPE"
    assert ask(1, **asked) == "SKIP DUPLICATE_IDEMPOTENCY_KEY"
    asked["duplicate"] = None
    assert ask(1, **asked) == "SKIP KILL_SWITCH"
    asked["kill_switch"] = None
    assert ask(1, **asked) == "SKIP DEBOUNCED"
    asked["where"].triggers[SIGNAL].last_trigger_at = None
    assert ask(1, **asked) == "SKIP COALESCED"
    asked["where"].pending.clear()
    assert ask(1, **asked) == "SKIP BUDGET_EXHAUSTED"
    asked["ruled"] = rules(account_cap=9, tenant_cap=9)
    assert ask(1, **asked) == "DEFER COOLDOWN 300"
    assert ask(300, **asked) == "DEFER ACCOUNT_HOURLY_CAP 3600"
    asked["ruled"] = rules(tenant_cap=9)
    assert ask(300, **asked) == "DEFER TENANT_HOURLY_CAP 3600"
    asked["ruled"] = rules()
    assert ask(300, **asked) == "SKIP MARGINAL_VALUE_LOW"
    asked["event"] = {}
    assert ask(300, **asked) == "ALLOW"


@pytest.mark.req("D-09")
def test_the_table_of_checks_is_in_the_order_of_the_reasons() -> None:
    assert [name for name, _ in CHECKS] == [
        "known_trigger_type",
        "idempotency",
        "kill_switch",
        "debounce",
        "coalescing",
        "run_budget",
        "cooldown",
        "account_hourly_cap",
        "tenant_hourly_cap",
        "saturation",
    ]


@pytest.mark.req("D-09")
@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        pytest.param({}, None, id="none is on"),
        pytest.param({"tenant": "x", "all": "y"}, "all", id="the widest is named"),
        pytest.param(
            {"trigger:OTHER": "x"}, None, id="another trigger's does not stand in the way"
        ),
        pytest.param({f"trigger:{SIGNAL}": "x"}, f"trigger:{SIGNAL}", id="its own does"),
        pytest.param({"connector:crm": "x"}, None, id="a connector's is for pulls"),
    ],
)
def test_kill_switches(switches, expected) -> None:
    assert switch_for(switches, SIGNAL) == expected


# -- what a verdict leaves behind -------------------------------------------------------


def evolved(verdict_of: str, where: RunState, now: float, event=None, **more) -> RunState:
    asked = Event(AccountId("ann"), SIGNAL, "k", **(event or {}))
    case = Case(asked, where, TenantRuns(), rules(**more), at(now))
    verdict = decide(case)
    assert verdict.result == verdict_of
    evolve(case, verdict, DecisionId("new"), 7)
    return where


@pytest.mark.req("D-06", "D-13")
def test_an_allow_is_remembered() -> None:
    after = evolved("ALLOW", state(), 10.5)
    assert (after.last_allowed_at, after.last_allowed_seq) == (at(10.5), 7)
    assert after.last_run_was_retry is False
    trigger = after.triggers[SIGNAL]
    assert (trigger.last_trigger_at, trigger.hour, trigger.run_count) == (at(10.5), H0, 1)
    assert after.pending == {}


@pytest.mark.req("D-13")
def test_a_deferral_is_remembered_as_pending() -> None:
    after = evolved("DEFER", state(0), 10.5)
    assert after.last_allowed_at == at(0)
    trigger = after.triggers[SIGNAL]
    assert (trigger.last_trigger_at, trigger.last_deferred_at) == (at(10.5), at(10.5))
    assert trigger.run_count == 0
    assert after.pending == {SIGNAL: Pending(at(300), DecisionId("new"))}


@pytest.mark.req("D-13")
def test_a_retry_ends_its_wait_and_does_not_debounce_others() -> None:
    after = evolved("ALLOW", state(0, pending={SIGNAL: 300}), 300, RETRY)
    assert after.pending == {}
    assert after.last_run_was_retry is True
    assert after.triggers[SIGNAL].last_trigger_at is None


@pytest.mark.req("D-13")
def test_a_retry_that_is_over_ends_its_wait_too() -> None:
    assert evolved("SKIP", state(0, pending={SIGNAL: 300}), 100, RETRY).pending == {}


@pytest.mark.req("D-13")
def test_a_moved_retry_still_waits_for_its_deferral() -> None:
    after = evolved("DEFER", state(400, pending={SIGNAL: 600}, was_retry=True), 600, RETRY)
    assert after.pending == {SIGNAL: Pending(at(700), DEFERRAL)}


@pytest.mark.req("D-13")
def test_somebody_elses_wait_goes_on() -> None:
    where = state(0, pending={SIGNAL: 300})
    assert not where.end_pending(SIGNAL, DecisionId("another"))
    assert where.pending
    assert where.end_pending(SIGNAL, DEFERRAL)
    assert not where.end_pending(SIGNAL, DEFERRAL)


@pytest.mark.req("D-13", "D-04")
def test_a_retry_delivered_twice_does_not_end_the_wait_for_the_moved_one() -> None:
    where = state(400, pending={SIGNAL: 700}, was_retry=True)
    again = Duplicate(DecisionId("first delivery"))
    case = Case(
        Event(AccountId("ann"), SIGNAL, "k", **RETRY),
        where,
        TenantRuns(),
        rules(),
        at(610),
        duplicate=again,
    )
    evolve(case, decide(case), DecisionId("new"), 7)
    assert where.pending == {SIGNAL: Pending(at(700), DEFERRAL)}


@pytest.mark.req("D-06")
def test_a_skip_leaves_nothing_behind() -> None:
    after = evolved("SKIP", state(0, TriggerState(last_trigger_at=at(5))), 10)
    assert after.triggers[SIGNAL].last_trigger_at == at(5)
    assert after.last_allowed_at == at(0)


@pytest.mark.req("D-06")
def test_a_late_firing_does_not_reopen_the_debounce() -> None:
    late = {"scheduled_at": at(-400)}
    after = evolved("ALLOW", state(signal=TriggerState(last_trigger_at=at(0))), 500, late)
    assert after.triggers[SIGNAL].last_trigger_at == at(0)


@pytest.mark.req("D-08", "D-10")
def test_windows_roll_over_by_themselves_and_never_back() -> None:
    tenant = TenantRuns(H0, {SIGNAL: 5, LIFECYCLE: 2}, D0, 7)
    tenant.count(H0, D0, SIGNAL)
    assert (tenant.hour_runs, tenant.day_runs) == ({SIGNAL: 6, LIFECYCLE: 2}, 8)
    tenant.count(H0 + 24, D0 + 1, LIFECYCLE)
    assert (tenant.hour_runs, tenant.day_runs) == ({LIFECYCLE: 1}, 1)
    assert tenant.runs_in_hour(H0, SIGNAL) == 0
    assert tenant.runs_in_day(D0) == 0


@pytest.mark.req("D-11")
def test_the_gate_changes_nothing() -> None:
    where = state(0, counted(3), pending={LIFECYCLE: 600})
    before = repr((where.last_allowed_at, where.pending, vars_of(where.triggers[SIGNAL])))
    asked = Event(AccountId("ann"), SIGNAL, "k")
    case = Case(asked, where, TenantRuns(), rules(), at(1))
    assert decide(case) == decide(case.under(case.rules))
    after = repr((where.last_allowed_at, where.pending, vars_of(where.triggers[SIGNAL])))
    assert before == after


def vars_of(trigger: TriggerState) -> list:
    return [getattr(trigger, name) for name in trigger.__slots__]


@pytest.mark.req("D-02")
def test_whole_seconds_are_rounded_up() -> None:
    assert ceil_epoch(Instant(10 * SECOND)) == 10
    assert ceil_epoch(Instant(10 * SECOND + 1)) == 11
    assert HOUR == 3600 * SECOND


def test_reasons_are_their_own_names() -> None:
    assert all(reason == reason.name for reason in Reason)
    assert all(result == result.name for result in Result)
