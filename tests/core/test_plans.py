"""Plans without a database: their tables, when they are over, and what they do next."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.core import plans as core
from watchkeeper.core.plans import (
    ENDED,
    INTENT_MOVES,
    LIVE,
    OPEN,
    OVER,
    PLAN_MOVES,
    STEP_MOVES,
    AttemptStatus,
    Change,
    CompletionReason,
    Evaluated,
    IntentState,
    PlanStatus,
    Reason,
    Start,
    Step,
    StepStatus,
    Stuck,
    Wait,
    attempt_status,
    evaluate,
    next_step,
    order_of,
    resumed,
    retry_at,
)
from watchkeeper.core.time import DAY, MINUTE, Instant

NOW = Instant(1_000 * MINUTE)
S, P, I = StepStatus, PlanStatus, IntentState  # noqa: E741


def step(name: str = "a", status: StepStatus = S.PENDING, **more: object) -> Step:
    place = ord(name) - ord("a")
    return Step(name, "DO", **({"position": place, "sequence": place + 1} | more), status=status)


# -- tables ----------------------------------------------------------------------------------------


@pytest.mark.req("A-01", "A-06", "A-08")
@pytest.mark.parametrize(
    ("table", "words", "final"),
    [
        pytest.param(PLAN_MOVES, P, {P.COMPLETED, P.ABORTED, P.EXPIRED}, id="plans"),
        pytest.param(STEP_MOVES, S, {S.DONE, S.SKIPPED}, id="steps"),
        pytest.param(
            INTENT_MOVES, I, {I.REJECTED, I.SUCCEEDED, I.FAILED, I.CANCELLED}, id="intents"
        ),
    ],
)
def test_a_table_names_every_status_and_only_final_ones_have_no_way_out(table, words, final):
    assert set(table) == set(words)
    assert {status for status, ways in table.items() if not ways} == final
    for status, ways in table.items():
        assert ways <= set(words)
        assert status not in ways
    start = next(iter(words))
    reached, found = {start}, [start]
    while found:
        for way in table[found.pop()]:
            if way not in reached:
                reached.add(way)
                found.append(way)
    assert reached == set(words), "there is a way to each"


@pytest.mark.req("A-01")
def test_the_table_of_plans_is_the_one_that_was_asked_for() -> None:
    assert {
        P.DRAFT: {P.APPROVED, P.ABORTED},
        P.APPROVED: {P.ACTIVE, P.ABORTED, P.EXPIRED},
        P.ACTIVE: {P.PAUSED, P.COMPLETED, P.ABORTED, P.EXPIRED},
        P.PAUSED: {P.ACTIVE, P.ABORTED, P.EXPIRED},
        P.COMPLETED: set(),
        P.ABORTED: set(),
        P.EXPIRED: set(),
    } == PLAN_MOVES
    assert {P.COMPLETED, P.ABORTED, P.EXPIRED} == ENDED
    assert {status for status, ways in PLAN_MOVES.items() if P.EXPIRED in ways} == LIVE


@pytest.mark.req("A-06")
def test_a_failed_step_goes_on_by_a_new_attempt_or_is_skipped() -> None:
    assert STEP_MOVES[S.FAILED] == {S.PENDING_APPROVAL, S.AUTO_EXECUTED, S.SKIPPED}
    assert {S.DONE, S.SKIPPED} == OVER
    assert {s for s, ways in STEP_MOVES.items() if S.DONE in ways} == {
        S.PENDING_APPROVAL,
        S.AUTO_EXECUTED,
    }, "nothing is done that was not started"


@pytest.mark.req("A-09")
def test_nothing_is_carried_out_that_was_not_approved() -> None:
    assert {s for s, ways in INTENT_MOVES.items() if I.EXECUTING in ways} == {I.APPROVED}
    assert {s for s, ways in INTENT_MOVES.items() if I.SUCCEEDED in ways} == {I.EXECUTING}
    assert {s for s, ways in INTENT_MOVES.items() if I.CANCELLED in ways} == {
        I.PENDING_APPROVAL,
        I.APPROVED,
    }, "what is being carried out cannot be taken back"


@pytest.mark.req("A-05")
@pytest.mark.parametrize("state", list(I))
def test_an_attempt_is_started_as_long_as_its_intent_is_open(state: IntentState) -> None:
    assert (attempt_status(state) is AttemptStatus.STARTED) == (state in OPEN)
    assert (state in OPEN) == bool(INTENT_MOVES[state])


# -- when a plan is over ---------------------------------------------------------------------------

COMPLETE = Evaluated(Change.COMPLETE, CompletionReason.ALL_STEPS_DONE)
MET = Evaluated(Change.COMPLETE, CompletionReason.OBJECTIVE_MET)
EXPIRE = Evaluated(Change.EXPIRE)
NOTHING = Evaluated(Change.NO_CHANGE)


@pytest.mark.req("A-04")
@pytest.mark.parametrize(
    ("statuses", "expires_in", "is_met", "expected"),
    [
        pytest.param([S.PENDING], 1, False, NOTHING, id="a microsecond before it expires"),
        pytest.param([S.PENDING], 0, False, EXPIRE, id="at the very instant"),
        pytest.param([S.PENDING], -1, False, EXPIRE, id="after it"),
        pytest.param([S.DONE, S.DONE], 1, False, COMPLETE, id="all are done"),
        pytest.param([S.DONE, S.SKIPPED], 1, False, COMPLETE, id="done or skipped"),
        pytest.param([S.SKIPPED], 1, False, COMPLETE, id="all are skipped"),
        pytest.param([S.DONE, S.DONE], 0, False, EXPIRE, id="expiry comes before completion"),
        pytest.param([S.PENDING], 0, True, EXPIRE, id="and before the objective"),
        pytest.param([S.PENDING], 1, True, MET, id="the objective is met"),
        pytest.param([S.AUTO_EXECUTED], 1, True, MET, id="also while an action is under way"),
        pytest.param([S.FAILED], 1, True, MET, id="also after a failure"),
        pytest.param([S.DONE], 1, True, COMPLETE, id="steps come before the objective"),
        *[
            pytest.param([S.DONE, status], 1, False, NOTHING, id=f"one is {status}")
            for status in S
            if status not in OVER
        ],
    ],
)
def test_when_a_plan_is_over(statuses, expires_in, is_met, expected) -> None:
    steps = [step(chr(97 + n), status) for n, status in enumerate(statuses)]
    found = evaluate(steps, Instant(NOW + expires_in), NOW, is_objective_met=is_met)
    assert found == expected


statuses = st.sampled_from(list(S))
some_steps = st.lists(
    st.builds(
        Step,
        step_id=st.sampled_from("abcdef"),
        action_type=st.just("DO"),
        position=st.integers(0, 5),
        sequence=st.integers(0, 3),
        dependencies=st.lists(st.sampled_from("abcdef"), max_size=2).map(tuple),
        status=statuses,
        attempts=st.integers(0, 5),
        spared=st.integers(0, 2),
        retry_at=st.none() | st.integers(NOW - 5, NOW + 5).map(Instant),
    ),
    unique_by=(lambda s: s.step_id, lambda s: s.position),
    max_size=6,
)


@pytest.mark.req("A-04")
@given(some_steps, st.integers(-2, 2), st.booleans())
def test_the_evaluator_is_pure_and_says_one_thing(steps, expires_in, is_met) -> None:
    before = copy.deepcopy(steps)
    expires_at = Instant(NOW + expires_in)
    first = evaluate(steps, expires_at, NOW, is_objective_met=is_met)
    assert first == evaluate(steps, expires_at, NOW, is_objective_met=is_met)
    assert steps == before
    assert (first.change is Change.EXPIRE) == (expires_in <= 0)
    assert (first.reason is not None) == (first.change is Change.COMPLETE)
    assert evaluate(steps[::-1], expires_at, NOW, is_objective_met=is_met) == first


# -- what comes next -------------------------------------------------------------------------------

FAILED_ONCE = {"attempts": 1, "retry_at": Instant(NOW + 1)}


@pytest.mark.req("A-07", "A-09")
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([step()], ("start", "a", 1), id="the first"),
        pytest.param([step("a", S.DONE), step("b")], ("start", "b", 1), id="the one after it"),
        pytest.param([step("a", S.SKIPPED), step("b")], ("start", "b", 1), id="after a skipped"),
        pytest.param(
            [step("a", sequence=2), step("b", sequence=1)], ("start", "b", 1), id="lowest sequence"
        ),
        pytest.param(
            [step("b", sequence=1), step("a", sequence=1)], ("start", "a", 1), id="ties by the list"
        ),
        pytest.param([step("a", S.AUTO_EXECUTED), step("b")], ("wait", None), id="one at a time"),
        pytest.param([step("a", S.PENDING_APPROVAL), step("b")], ("wait", None), id="as asked for"),
        pytest.param(
            [step("a"), step("b", S.AUTO_EXECUTED)], ("wait", None), id="whichever is under way"
        ),
        pytest.param([step("a", S.DONE)], ("wait", None), id="nothing is left"),
        pytest.param(
            [step("a", S.FAILED, **FAILED_ONCE), step("b")],
            ("wait", NOW + 1),
            id="a failed one is waited for",
        ),
        pytest.param(
            [step("a", S.FAILED, attempts=1, retry_at=NOW), step("b")],
            ("start", "a", 2),
            id="until its time, and not a moment longer",
        ),
        pytest.param(
            [step("a", S.FAILED, attempts=1), step("b")], ("start", "a", 2), id="without a time"
        ),
        pytest.param(
            [step("a", S.FAILED, attempts=2, retry_at=NOW)], ("start", "a", 3), id="the last one"
        ),
        pytest.param(
            [step("a", S.FAILED, attempts=3, retry_at=Instant(NOW + 1)), step("b")],
            ("stuck", "a", Reason.RETRY_LIMIT),
            id="one beyond the limit is not waited for",
        ),
        pytest.param(
            [step("a", S.FAILED, attempts=9, spared=7)],
            ("start", "a", 10),
            id="spared attempts do not count",
        ),
        pytest.param(
            [step("a", S.FAILED, attempts=10, spared=7)],
            ("stuck", "a", Reason.RETRY_LIMIT),
            id="those after them do",
        ),
        pytest.param(
            [step("a", S.SKIPPED), step("b", dependencies=("a",))],
            ("start", "b", 1),
            id="a skipped dependency counts",
        ),
    ],
)
def test_what_comes_next(steps, expected) -> None:
    assert told(next_step(steps, NOW, attempts_max=3, skipped_counts=True)) == expected


def told(found) -> tuple:
    match found:
        case Start(step=one, attempt=attempt):
            return "start", one.step_id, attempt
        case Wait(until=until):
            return "wait", until
        case Stuck(step=one, reason=reason):
            return "stuck", one.step_id, reason


@pytest.mark.req("A-07")
def test_where_a_skipped_dependency_does_not_count() -> None:
    steps = [step("a", S.SKIPPED), step("b", S.DONE), step("c", dependencies=("b", "a"))]
    found = next_step(steps, NOW, attempts_max=3, skipped_counts=False)
    assert told(found) == ("stuck", "c", Reason.DEPENDENCY_SKIPPED)
    steps[2] = step("c", dependencies=("b",))
    assert told(next_step(steps, NOW, attempts_max=3, skipped_counts=False)) == ("start", "c", 1)


@pytest.mark.req("A-05", "A-07")
@given(some_steps, st.integers(1, 4), st.booleans())
def test_nothing_later_starts_before_and_never_two_at_once(steps, most, counts) -> None:
    before = copy.deepcopy(steps)
    found = next_step(steps, NOW, attempts_max=most, skipped_counts=counts)
    assert steps == before
    if isinstance(found, Start):
        chosen = found.step
        assert chosen.status in (S.PENDING, S.FAILED)
        assert not any(s.status in (S.PENDING_APPROVAL, S.AUTO_EXECUTED) for s in steps)
        assert all(s.status in OVER for s in steps if order_of(s) < order_of(chosen))
        assert found.attempt == chosen.attempts + 1
        assert chosen.retry_at is None or chosen.status is S.PENDING or chosen.retry_at <= NOW
        assert chosen.status is S.PENDING or chosen.attempts - chosen.spared < most
    if isinstance(found, Wait) and found.until is not None:
        assert found.until > NOW, "who waits until now waits for ever"


@pytest.mark.req("A-07")
@given(st.data(), st.integers(1, 6), st.integers(1, 3))
def test_a_plan_always_comes_to_an_end_or_a_stop(data, count, most) -> None:
    """Started again and again, with any outcomes, it ends after so many attempts at most."""
    steps = {
        chr(97 + n): step(chr(97 + n), sequence=data.draw(st.integers(0, 2))) for n in range(count)
    }
    now, started = NOW, []
    for _ in range(2 * count * most + 1):  # a wait may come before each
        match next_step(list(steps.values()), now, attempts_max=most, skipped_counts=True):
            case Start(step=one, attempt=attempt):
                assert (one.step_id, attempt) not in started
                started.append((one.step_id, attempt))
                begun = one._replace(attempts=attempt)
                if data.draw(st.booleans()):
                    steps[one.step_id] = begun._replace(status=S.DONE)
                else:
                    steps[one.step_id] = begun._replace(
                        status=S.FAILED, retry_at=retry_at(begun, now)
                    )
            case Wait(until=None):
                assert all(s.status in OVER for s in steps.values())
                return
            case Wait(until=until):
                now = until
            case Stuck():
                return
    raise AssertionError(f"it still goes on after {len(started)} attempts")


@pytest.mark.req("A-07")
@pytest.mark.parametrize(
    ("attempts", "spared", "minutes"),
    [(1, 0, 1), (2, 0, 2), (3, 0, 4), (4, 0, 8), (4, 3, 1), (5, 3, 2), (0, 0, 1)],
)
def test_backoff_doubles_from_a_minute(attempts: int, spared: int, minutes: int) -> None:
    failed = step("a", S.FAILED, attempts=attempts, spared=spared)
    assert retry_at(failed, NOW) == NOW + minutes * MINUTE


@pytest.mark.req("A-07")
@given(st.integers(1, 10_000), st.integers(0, 10_000))
def test_backoff_grows_and_has_an_end(attempts: int, spared: int) -> None:
    at = retry_at(step("a", attempts=attempts, spared=min(spared, attempts)), NOW)
    after = retry_at(step("a", attempts=attempts + 1, spared=min(spared, attempts)), NOW)
    assert NOW + MINUTE <= at <= after <= NOW + DAY


@pytest.mark.req("A-09")
@pytest.mark.parametrize("status", list(S))
def test_resuming_spares_what_a_failed_step_has_tried(status: StepStatus) -> None:
    before = step("a", status, attempts=3, spared=1, retry_at=NOW)
    after = resumed(before)
    if status is S.FAILED:
        assert after == before._replace(spared=3, retry_at=None)
        assert isinstance(next_step([after], NOW, attempts_max=1, skipped_counts=True), Start)
    else:
        assert after is before


@pytest.mark.req("A-09")
def test_the_key_of_a_handler_is_the_same_for_every_attempt() -> None:
    made = core.Intent("i1", "p", "s", 1, "a", "DO", I.APPROVED, NOW, NOW, "AUTO_EXECUTE")
    assert made.key == made._replace(intent_id="i2", attempt=2).key == "p/s"
