"""A run that somebody outside worked on: its end and what it cost are told once, and together."""

from itertools import count

import pytest

from tests.books import balanced
from tests.databases import Clock, Place
from tests.play import ACME, Player, event
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from watchkeeper import telemetry
from watchkeeper.actions.report_outcome import Outcome, report_outcome
from watchkeeper.actions.show_turn import turns_of_decision
from watchkeeper.actions.turns import Turns
from watchkeeper.actions.watch_turns import watch_turns
from watchkeeper.core.ids import DecisionId
from watchkeeper.core.quota import Asked
from watchkeeper.core.turns import NAMESPACE, Usage
from watchkeeper.errors import Conflict
from watchkeeper.store import runs
from watchkeeper.store.database import Database

USED = Usage(90, 20)  # 90 + 3 * 20 micro-credits of the standard model
CHARGED = 150


@pytest.fixture
def run(db: Database, clock: Clock) -> DecisionId:
    """A run under way, elsewhere."""
    [decided] = Player(db, clock).fire(event("ann"))
    start(db, decided.decision_id)
    return decided.decision_id


def start(db: Database, name: DecisionId) -> None:
    with db.begin(ACME) as tx:
        assert runs.start(tx, name, event("ann").account_id, "SIGNAL_ARRIVED")


def reserve(db: Database, name: DecisionId) -> None:
    asked = Asked(name, name, "standard", 100, 50, decision_id=name, is_started=True)
    Turns(db).reserve(ACME, asked)


def report(db: Database, name: DecisionId, succeeded: bool, usage: Usage | None = None) -> None:
    report_outcome(db, ACME, name, Outcome(succeeded, usage=usage), NAMESPACE)


@pytest.mark.req("S-04", "D-12")
@pytest.mark.parametrize("is_reserved", [True, False], ids=["reserved before", "not announced"])
@pytest.mark.parametrize("usage", [USED, None], ids=["with usage", "without"])
@pytest.mark.parametrize("succeeded", [True, False], ids=["succeeded", "failed"])
def test_a_power_cut_leaves_the_run_and_its_turn_as_they_were(
    db: Database,
    place: Place,
    run: DecisionId,
    succeeded: bool,
    usage: Usage | None,
    is_reserved: bool,
) -> None:
    if is_reserved:
        reserve(db, run)
    before = contents(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                report(db, run, succeeded, usage)
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    assert seen.count("commit") == 1
    found = turns_of_decision(db, ACME, run)
    how = ("completed" if succeeded else "failed", "actual" if usage else "estimated")
    settled = [(turn.state, turn.settlement_method) for turn in found]
    assert settled == ([how] if is_reserved or usage else [])
    balanced(place)


@pytest.mark.req("S-04")
def test_a_second_report_changes_nothing_and_another_one_is_refused(
    db: Database, place: Place, run: DecisionId
) -> None:
    report(db, run, True, USED)
    before = contents(place)
    report(db, run, True, Usage(1_000_000, 1_000_000))
    with pytest.raises(Conflict):
        report(db, run, False, USED)
    assert contents(place) == before


@pytest.mark.req("S-04", "S-06")
def test_usage_that_comes_after_the_watchdog_is_not_charged_again(
    db: Database, place: Place, clock: Clock, run: DecisionId
) -> None:
    reserve(db, run)
    clock.advance(301)
    assert watch_turns(Turns(db)) == 1
    [ended] = turns_of_decision(db, ACME, run)
    report(db, run, True, USED)
    assert turns_of_decision(db, ACME, run) == [ended]
    balanced(place)


@pytest.mark.req("S-04")
def test_a_run_that_was_redriven_is_another_turn(
    db: Database, place: Place, run: DecisionId
) -> None:
    report(db, run, False, USED)
    place.execute(f"update outbox set generation = 1 where id = '{run}'")
    start(db, run)
    report(db, run, True, USED)
    found = turns_of_decision(db, ACME, run)
    assert {turn.turn_id: turn.state for turn in found} == {
        run: "failed",
        f"{run}:1": "completed",
    }
    balanced(place)


def charged() -> float:
    return telemetry.REGISTRY.get_sample_value(
        "watchkeeper_credits_micro_total", {"kind": "charged"}
    ) or 0.0  # fmt: skip


@pytest.mark.req("O-30")
def test_only_what_was_committed_is_counted(db: Database, run: DecisionId) -> None:
    before = charged()
    for step in count(1):
        try:
            with power_cut_at(step):
                report(db, run, True, USED)
            break
        except PowerCut:
            assert charged() == before
    assert charged() == before + CHARGED
