"""Whatever happens, in whatever order: the promises of the gate."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.fold import Fold, Waiting
from watchkeeper.core.admission import Reason, Result
from watchkeeper.core.policy import TenantRules, TriggerRule, rules_for
from watchkeeper.core.policy_parse import shipped_policy
from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND, Instant

T0 = Instant(1_893_456_000 * SECOND)
SIGNAL = "SIGNAL_ARRIVED"
BRIEF, REVIEW = "TIME_RITUAL_DAILY_BRIEF", "TIME_RITUAL_WEEKLY_REVIEW"
RUNWAY = "TIME_RITUAL_RENEWAL_RUNWAY"
SHIPPED = rules_for(shipped_policy(), "acme", None)

caps = st.none() | st.integers(0, 4)
seconds = st.sampled_from([0, 1, 30, 60, 300, 600, 3600]).map(lambda s: s * SECOND)
triggers = st.builds(TriggerRule, seconds, seconds, caps, caps)
ruled = st.builds(
    lambda rules, budget, spread: TenantRules(
        triggers=dict(zip("ABC", rules, strict=True)),
        run_budget_per_day=budget,
        spread_seconds=spread,
    ),
    st.tuples(triggers, triggers, triggers),
    st.none() | st.integers(0, 8),
    st.sampled_from([0, 300]),
)
pauses = st.one_of(
    st.integers(0, 2 * SECOND),
    st.sampled_from([s * SECOND for s in (1, 59, 60, 299, 300, 301, 600, 3599, 3600, 7200)]),
)
steps = st.lists(
    st.tuples(
        pauses,
        st.sampled_from(["fire", "fire", "deliver"]),
        st.sampled_from(["ann", "bob"]),
        st.sampled_from("ABC"),
        st.integers(0, 3),
    ),
    max_size=60,
)


@pytest.mark.req("D-07", "D-08", "D-10", "D-11", "D-12", "D-13")
@given(ruled, st.integers(0, DAY), steps)
def test_any_history_keeps_every_promise(rules, start, history) -> None:
    fold = Fold(rules, Instant(T0 + start))
    for pause, what, account, trigger, pick in history:
        fold.now = Instant(fold.now + pause)
        if what == "fire":
            fold.fire(account, trigger)
        else:
            fold.deliver(pick)


@pytest.mark.req("D-13")
@given(ruled, steps)
def test_a_deferral_ends(rules, history) -> None:
    """Every deferral is answered by an ALLOW or a SKIP after at most two more looks."""
    fold = Fold(rules, T0)
    for pause, _, account, trigger, _ in history:
        fold.now = Instant(fold.now + pause)
        fold.fire(account, trigger)
        while fold.deliver() is not None:
            pass
    for _ in range(1000):
        if not fold.waiting:
            break
        fold.now = max(fold.now, min(one.due_at for one in fold.waiting))
        while fold.deliver() is not None:
            pass
    assert not fold.waiting
    looks: dict[str, int] = {}
    for _, event, _ in fold.verdicts:
        if event.retry_of is not None:
            looks[event.retry_of] = looks.get(event.retry_of, 0) + 1
    assert all(count <= 2 for count in looks.values())
    assert all(state.pending == {} for state in fold.states.values())


@pytest.mark.req("D-08")
@given(st.lists(st.integers(-2 * HOUR, 2 * HOUR), max_size=40), st.integers(1, 3))
def test_a_clock_that_jumps_never_opens_a_window_twice(jumps, cap) -> None:
    """Counted in windows that only move forward, no window ever holds more than its cap."""
    rules = TenantRules(
        triggers={"A": TriggerRule(0, 0, cap, cap)}, run_budget_per_day=5, spread_seconds=0
    )
    fold = Fold(rules, Instant(T0 + 12 * HOUR))
    fold.check_allow = lambda _: None  # by the wall clock an hour may come twice
    windows: dict[tuple[str, int], int] = {}
    hour = day = 0
    for account, jump in enumerate(jumps):
        fold.now = Instant(max(fold.now + jump, T0))
        if fold.fire(f"a{account}", "A").result is Result.ALLOW:
            hour, day = max(hour, fold.now // HOUR), max(day, fold.now // DAY)
            for window, most in ((("hour", hour), cap), (("day", day), 5)):
                windows[window] = windows.get(window, 0) + 1
                assert windows[window] <= most


# -- rituals are not starved --------------------------------------------------------------


def live(fold: Fold, until: int, events: list[tuple[int, str]], lateness) -> None:
    """Play events at their moments, and retries as late as the next number says."""
    events = sorted(events, reverse=True)
    late = iter(lateness)
    due: dict[Waiting, int] = {}
    while True:
        for one in fold.waiting:
            if one not in due:
                due[one] = one.due_at + next(late, 0)
        coming = min(fold.waiting, key=lambda one: due[one], default=None)
        at = due[coming] if coming is not None else until
        if events and events[-1][0] <= at:
            at, trigger = events.pop()
            fold.now = Instant(max(fold.now, at))
            scheduled = {"scheduled_at": Instant(at)} if trigger.startswith("TIME") else {}
            fold.fire("ann", trigger, **scheduled)
        elif coming is not None and at <= until:
            fold.now = Instant(max(fold.now, at))
            fold.waiting.remove(coming)
            fold.admit(coming.event)
        else:
            return


def runs_of(fold: Fold, trigger: str) -> list[Instant]:
    return [at for at, kind in fold.allowed["ann"] if kind == trigger]


def story(fold: Fold) -> str:
    return "\n".join(
        f"{(at - T0) / SECOND:g} {event.trigger_type} {'moved ' * event.moved}"
        f"{'retry ' * (event.retry_of is not None)}{verdict.result} {verdict.reason or ''}"
        f" {verdict.defer_until and (verdict.defer_until - T0) / SECOND}"
        for at, event, verdict in fold.verdicts
        if verdict.reason not in (Reason.COALESCED, Reason.DEBOUNCED)
    )


lateness = st.lists(st.integers(0, 3 * SECOND), max_size=300)


@pytest.mark.req("D-16")
@given(
    st.sampled_from([7, 31, 61, 290, 300, 301]),
    st.integers(0, DAY - 1),
    lateness,
)
def test_a_stream_of_signals_starves_no_daily_brief(every, hour, lateness) -> None:
    fold = Fold(SHIPPED, T0)
    days = 2
    every = max(every, 45)  # fewer events, the same crowd: what comes sooner is debounced
    signals = [(T0 + n * every * SECOND, SIGNAL) for n in range(days * 86_400 // every)]
    briefs = [(T0 + day * DAY + hour, BRIEF) for day in range(days)]
    live(fold, T0 + days * DAY + 2 * HOUR, signals + briefs, lateness)
    assert len(runs_of(fold, BRIEF)) == days, story(fold)


@pytest.mark.req("D-16", "D-13")
@given(st.integers(-600 * SECOND, 600 * SECOND), lateness)
@example(-10 * SECOND, [400_000, 100_000, 50_000, 200_000, 100_000])
def test_three_rituals_at_one_instant_all_run(offset, lateness) -> None:
    """Also under signals, and also when each retry comes a little late."""
    fold = Fold(SHIPPED, Instant(T0 - HOUR))
    rituals = [(int(T0), kind) for kind in (BRIEF, REVIEW, RUNWAY)]
    signals = [(T0 + offset + n * 61 * SECOND, SIGNAL) for n in range(-10, 40)]
    live(fold, T0 + 2 * HOUR, rituals + signals, lateness)
    for kind in (BRIEF, REVIEW, RUNWAY):
        assert len(runs_of(fold, kind)) == 1, story(fold)


@pytest.mark.req("D-13")
def test_after_an_outage_each_retry_finds_a_slot() -> None:
    """All come at once, and late; each is moved behind the one before it."""
    fold = Fold(SHIPPED, T0)
    for kind in (SIGNAL, BRIEF, REVIEW, RUNWAY):
        fold.fire("ann", kind)
    assert [one.due_at - T0 for one in fold.waiting] == [300 * SECOND, 600 * SECOND, 900 * SECOND]
    fold.now = Instant(T0 + 40 * MINUTE + 123_456)
    said = [fold.deliver().result for _ in range(3)]
    assert said == [Result.ALLOW, Result.DEFER, Result.DEFER]
    assert [one.due_at - T0 for one in fold.waiting] == [2701 * SECOND, 3001 * SECOND]
    for _ in range(2):
        fold.now = fold.waiting[0].due_at
        assert fold.deliver().result is Result.ALLOW
