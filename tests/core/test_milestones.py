"""When a report is due: the boundaries to the microsecond, the backoff, the windows that passed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core.milestones import (
    BackingOff,
    Due,
    Milestone,
    MilestoneState,
    NothingDue,
    NotInstalled,
    ReportRules,
    attempted,
    backoff_us,
    due,
    failed,
    judge,
    missed,
    next_tick,
)
from watchkeeper.core.policy import rules_for
from watchkeeper.core.policy_parse import parse_policy, shipped_policy
from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND, Instant
from watchkeeper.errors import Invalid

M12, M24 = Milestone(12 * HOUR, "AUTO_12H"), Milestone(24 * HOUR, "AUTO_24H")
BOTH = (M12, M24)
RULES = ReportRules(milestones=BOTH)
BORN = Instant(1_900_000_000 * SECOND)


@pytest.mark.req("R-01")
@pytest.mark.parametrize(
    ("age", "done", "expected"),
    [
        pytest.param(0, (), None, id="just installed"),
        pytest.param(-HOUR, (), None, id="installed in the future"),
        pytest.param(12 * HOUR - SECOND, (), None, id="11:59:59"),
        pytest.param(12 * HOUR - 1, (), None, id="a microsecond before twelve hours"),
        pytest.param(12 * HOUR, (), M12, id="12:00:00"),
        pytest.param(24 * HOUR - SECOND, (), M12, id="23:59:59"),
        pytest.param(24 * HOUR - 1, (), M12, id="a microsecond before a day"),
        pytest.param(24 * HOUR, (), M24, id="24:00:00"),
        pytest.param(48 * HOUR, (), M24, id="two days"),
        pytest.param(13 * HOUR, ("AUTO_12H",), None, id="the first is done"),
        pytest.param(25 * HOUR, ("AUTO_24H",), None, id="the second is done, the first passed"),
        pytest.param(25 * HOUR, ("AUTO_12H",), M24, id="the first is done, the second due"),
        pytest.param(48 * HOUR, ("AUTO_12H", "AUTO_24H"), None, id="both are done"),
        pytest.param(13 * HOUR, ("AUTO_24H",), M12, id="the second was done before a step back"),
    ],
)
def test_what_is_due(age: int, done: tuple[str, ...], expected: Milestone | None) -> None:
    assert due(BOTH, age, done) == expected


@pytest.mark.req("R-01")
@given(age=st.integers(-DAY, 10 * DAY), done=st.sets(st.sampled_from(["AUTO_12H", "AUTO_24H"])))
def test_never_two_at_once_and_never_one_that_is_done(age: int, done: set[str]) -> None:
    found = due(BOTH, age, done)
    passed = missed(BOTH, age, done)
    assert found is None or (found.name not in done and found.after_us <= age)
    assert found not in passed
    assert all(one.name not in done for one in passed)


@pytest.mark.req("R-02")
@pytest.mark.parametrize(
    ("age", "done", "expected"),
    [
        (24 * HOUR - 1, (), ()),
        (24 * HOUR, (), (M12,)),
        (24 * HOUR, ("AUTO_12H",), ()),
        (10 * DAY, (), (M12,)),
    ],
)
def test_a_window_that_passed_is_missed_and_the_last_has_no_end(age, done, expected) -> None:
    assert missed(BOTH, age, done) == expected


@pytest.mark.req("R-04")
@pytest.mark.parametrize(
    ("failures", "minutes"), [(1, 30), (2, 120), (3, 120), (4, 120), (1000, 120)]
)
def test_half_an_hour_then_two_hours_for_every_further_failure(failures, minutes) -> None:
    assert backoff_us(failures) == minutes * MINUTE


@pytest.mark.req("R-04", "R-03")
def test_a_failure_is_told_with_its_time_and_count() -> None:
    state = failed(MilestoneState("AUTO_12H"), BORN, "first")
    assert state == MilestoneState(
        "AUTO_12H", BORN, 1, 1, "first", BORN, Instant(BORN + 30 * MINUTE)
    )
    later = Instant(BORN + 31 * MINUTE)
    state = failed(state, later, "x" * 5000)
    assert (state.attempts, state.failures) == (2, 2)
    assert state.backoff_until_at == later + 120 * MINUTE
    assert len(state.last_error) == 1000
    well = attempted(state, Instant(later + 3 * HOUR))
    assert (well.attempts, well.failures, well.backoff_until_at) == (3, 2, None)
    assert well.last_error == state.last_error, "what failed once stays on the record"


@pytest.mark.req("R-04")
@given(steps=st.lists(st.integers(-2 * DAY, 2 * DAY), max_size=20))
def test_a_clock_that_steps_back_never_shortens_a_backoff(steps: list[int]) -> None:
    state, now = MilestoneState("AUTO_12H"), BORN
    for step in steps:
        now = Instant(max(0, now + step))
        before = state.backoff_until_at or 0
        state = failed(state, now, "no")
        assert state.backoff_until_at >= before
        assert state.backoff_until_at >= now + 30 * MINUTE
        assert state.is_backing_off(now)


@pytest.mark.req("R-04")
def test_while_a_backoff_lasts_it_is_left_alone_and_then_tried() -> None:
    at = Instant(BORN + 13 * HOUR)
    states = {"AUTO_12H": failed(MilestoneState("AUTO_12H"), at, "no")}
    until = Instant(at + 30 * MINUTE)

    def at_moment(now: int):
        return judge(RULES, BORN, (), states, Instant(now))

    assert at_moment(at) == BackingOff(M12, until)
    assert at_moment(until - 1) == BackingOff(M12, until)
    assert at_moment(until) == Due(M12)
    assert at_moment(at - HOUR) == BackingOff(M12, until), "the clock stepped back"


@pytest.mark.req("R-04")
def test_a_backoff_is_of_one_milestone() -> None:
    at = Instant(BORN + 24 * HOUR - MINUTE)
    states = {"AUTO_12H": failed(MilestoneState("AUTO_12H"), at, "no")}
    assert judge(RULES, BORN, (), states, Instant(at + MINUTE)) == Due(M24)


@pytest.mark.req("R-06")
def test_without_an_installation_nothing_is_due() -> None:
    assert judge(RULES, None, (), {}, BORN) == NotInstalled()
    assert next_tick(RULES, None, (), {}) is None


def test_the_next_tick_is_when_there_is_something_to_do() -> None:
    assert next_tick(RULES, BORN, (), {}) == BORN + 12 * HOUR
    assert next_tick(RULES, BORN, ("AUTO_12H",), {}) == BORN + 24 * HOUR
    assert next_tick(RULES, BORN, ("AUTO_12H", "AUTO_24H"), {}) is None
    late = failed(MilestoneState("AUTO_12H"), Instant(BORN + 12 * HOUR), "no")
    assert next_tick(RULES, BORN, (), {"AUTO_12H": late}) == BORN + 12 * HOUR + 30 * MINUTE
    too_late = failed(MilestoneState("AUTO_12H"), Instant(BORN + 23 * HOUR + 45 * MINUTE), "no")
    assert next_tick(RULES, BORN, (), {"AUTO_12H": too_late}) == BORN + 24 * HOUR


@pytest.mark.req("R-01", "R-04")
@given(
    marked=st.sets(st.sampled_from(["AUTO_12H", "AUTO_24H"])),
    failures=st.lists(st.integers(0, 3 * DAY), max_size=4),
)
def test_before_the_next_tick_there_is_nothing_to_do(marked, failures) -> None:
    state = MilestoneState("AUTO_24H")
    for ago in sorted(failures):
        state = failed(state, Instant(BORN + ago), "no")
    states = {"AUTO_24H": state}
    at = next_tick(RULES, BORN, marked, states)
    moment = Instant((BORN + 9 * DAY if at is None else at) - 1)
    if moment >= BORN + 24 * HOUR and "AUTO_12H" not in marked:
        return  # it is still to be recorded as missed
    assert isinstance(judge(RULES, BORN, marked, states, moment), NothingDue | BackingOff)


# -- policy ----------------------------------------------------------------------------------------


def rules(text: str = "", tenant: str = "acme", tier: str | None = None) -> ReportRules:
    policy = parse_policy(text) if text else shipped_policy()
    return rules_for(policy, tenant, tier).reports


@pytest.mark.req("R-01", "R-08")
def test_the_shipped_milestones_are_half_a_day_and_a_day() -> None:
    found = rules()
    assert found.milestones == BOTH
    assert (found.tick_us, found.forecast_min_us) == (300 * SECOND, 6 * HOUR)
    assert found.kept_days >= 90


@pytest.mark.req("R-01")
def test_milestones_are_policy() -> None:
    text = """
    [reports.milestones.AUTO_7D]
    after_hours = 168
    [tiers.slow.reports.milestones.AUTO_12H]
    after_hours = "unlimited"
    """
    week = Milestone(168 * HOUR, "AUTO_7D")
    assert rules(text).milestones == (M12, M24, week)
    assert rules(text, tier="slow").milestones == (M24, week)


@pytest.mark.req("R-01", "R-03")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[reports]\nkept_days = 89\n", "reports.kept_days"),
        ("[reports]\ntick_seconds = 0\n", "reports.tick_seconds"),
        ("[reports.milestones.MANUAL]\nafter_hours = 3\n", "reports.milestones.MANUAL"),
        ("[reports.milestones.AUTO_X]\n", "reports.milestones.AUTO_X.after_hours"),
        ("[reports.milestones.AUTO_X]\nafter_hours = 24\n", "reports.milestones.AUTO_X"),
        (
            "[tenants.acme.reports.milestones.AUTO_12H]\nafter_hours = 24\n",
            "tenants.acme.reports.milestones",
        ),
    ],
)
def test_a_mistake_is_named_by_its_place(text: str, place: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_policy(text)
    assert place in str(refused.value.problems[0])
