"""The tick: each milestone once, whatever fails, whoever ticks, whichever way the clock goes."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.actions.test_turn_races import at_once
from tests.databases import START_AT, Clock, EngineName, Place
from tests.messages import claim
from tests.play import ACME
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from tests.rivals import race
from tests.verify_clean import assert_verified, broken
from watchkeeper import App
from watchkeeper.actions.change_tenant import change_tenant
from watchkeeper.actions.chores import chores
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.generate_report import count_ledger, generate_report
from watchkeeper.actions.show_reports import list_milestones, list_reports
from watchkeeper.actions.tick_milestones import (
    TICK,
    Ticked,
    TickResult,
    plan_ticks,
    tick_message,
    tick_milestones,
)
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.core.time import HOUR, MINUTE, SECOND, Instant
from watchkeeper.moves import reporting
from watchkeeper.store.database import open_database

NOBODY: Callable[[str], bool] = lambda _tenant: False  # noqa: E731
MANY = 8


class World:
    """A program that ticks by its messages, and a look at what came of it."""

    def __init__(self, app: App, place: Place, clock: Clock) -> None:
        self.app, self.db, self.place, self.clock = app, app.db, place, clock

    def install(self, tenant: str = ACME, **options: object) -> TenantId:
        tenant_id = TenantId(tenant)
        assert create_tenant(self.db, tenant_id, **options)
        return tenant_id

    def tick(self, tenant: str = ACME) -> TickResult:
        """One out of turn."""
        return tick_milestones(self.db, TenantId(tenant), hears=NOBODY)

    def pass_time(self, **step: float) -> Counter:
        return self.app.clock.advance(**step).ran

    def reports(self, tenant: str = ACME) -> list[str]:
        return [one.trigger for one in reversed(list_reports(self.db, TenantId(tenant)))]

    def state(self, milestone: str, tenant: str = ACME):
        found = {one.milestone: one for one in list_milestones(self.db, TenantId(tenant))}
        return found[milestone]

    def outcomes(self, tenant: str = ACME) -> dict[str, str | None]:
        return {one.milestone: one.outcome for one in list_milestones(self.db, TenantId(tenant))}

    def ticks(self, tenant: str = ACME) -> list[int]:
        """When the ticks that wait in the outbox are due, as ages."""
        rows = self.place.execute(
            f"select payload from outbox where topic = '{TICK}' and tenant_id = '{tenant}'"
            " and done_at is null"
        )
        loaded = [row[0] if isinstance(row[0], dict) else json.loads(row[0]) for row in rows]
        return sorted(one["due_at"] - START_AT for one in loaded)


@pytest.fixture
def world(db_url: str, place: Place, clock: Clock) -> Iterator[World]:
    app = App(db_url, migrate=False)
    yield World(app, place, clock)
    app.close()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str | None], None]]:
    """Let the drawing up of reports fail, for one tenant or for all; None: no more."""
    original = reporting.draw_up
    whom: list[str | None] = [None]

    def draw_up(tx, *rest):
        if whom[0] in ("*", tx.tenant_id):
            raise ValueError(f"no report for {tx.tenant_id}")
        return original(tx, *rest)

    monkeypatch.setattr(reporting, "draw_up", draw_up)

    def fail(tenant: str | None) -> None:
        whom[0] = tenant

    return fail


# -- what is due comes, once -----------------------------------------------------------------------


@pytest.mark.req("R-01", "R-02", "R-08")
def test_both_come_by_themselves_each_at_its_moment(world: World) -> None:
    world.install()
    assert world.ticks() == [12 * HOUR]
    assert world.pass_time(hours=12, seconds=-1)["delivered"] == 0
    assert world.reports() == []
    assert world.pass_time(seconds=1)["delivered"] == 1
    assert world.reports() == ["AUTO_12H"]
    assert world.ticks() == [24 * HOUR]
    world.pass_time(hours=12, seconds=-1)
    assert world.reports() == ["AUTO_12H"]
    world.pass_time(seconds=1)
    assert world.reports() == ["AUTO_12H", "AUTO_24H"]
    assert world.ticks() == []
    world.pass_time(days=30)
    assert world.tick().outcome is Ticked.NOTHING_DUE
    assert world.reports() == ["AUTO_12H", "AUTO_24H"]
    assert_verified(world.db)


@pytest.mark.req("R-01")
@pytest.mark.parametrize(
    ("age", "outcome", "milestone"),
    [
        (12 * HOUR - SECOND, Ticked.NOTHING_DUE, None),
        (12 * HOUR, Ticked.GENERATED, "AUTO_12H"),
        (24 * HOUR - SECOND, Ticked.GENERATED, "AUTO_12H"),
        (24 * HOUR, Ticked.GENERATED, "AUTO_24H"),
    ],
    ids=["11:59:59", "12:00:00", "23:59:59", "24:00:00"],
)
def test_the_boundaries(world: World, age: int, outcome: Ticked, milestone: str | None) -> None:
    world.install()
    world.clock.set(Instant(START_AT + age))
    result = world.tick()
    assert (result.outcome, result.milestone) == (outcome, milestone)
    assert world.reports() == ([milestone] if milestone else [])
    assert_verified(world.db)


@pytest.mark.req("R-02")
def test_a_marker_makes_a_second_one_impossible(world: World) -> None:
    world.install()
    world.clock.advance(hours=13)
    first = world.tick()
    assert first.outcome is Ticked.GENERATED
    count_ledger(world.db, ACME)
    before = contents(world.place)
    again = world.tick()
    assert (again.outcome, again.milestone) == (Ticked.NOTHING_DUE, None)
    assert generate_report(world.db, ACME, "AUTO_12H", hears=NOBODY) is None
    assert contents(world.place) == before
    assert world.state("AUTO_12H").report_id == first.report_id


@pytest.mark.req("R-02")
def test_no_edit_of_policy_makes_it_again(world: World) -> None:
    world.install()
    world.pass_time(hours=13)
    for hours in (14, 20, 13):
        world.app.apply_policy(
            f"[reports.milestones.AUTO_12H]\nafter_hours = {hours}\n", reason="test"
        )
        plan_ticks(world.db)
        world.pass_time(hours=1)
    assert world.reports() == ["AUTO_12H"]
    assert_verified(world.db)


@pytest.mark.req("R-02")
@pytest.mark.parametrize(
    "statement",
    [
        "update milestones set outcome = 'MISSED', report_id = null",
        "update milestones set marked_at = 1",
        "delete from milestones",
        "update reports set generated_at = generated_at + 1",
        "delete from reports where trigger_name = 'AUTO_12H'",
    ],
)
def test_the_database_refuses_to_change_or_remove_a_marker(world: World, statement: str) -> None:
    world.install()
    world.pass_time(hours=12)
    before = contents(world.place)
    with pytest.raises(Exception, match="is refused"):
        world.place.execute(statement)
    assert contents(world.place) == before


@pytest.mark.req("R-02")
@pytest.mark.postgresql
@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
@pytest.mark.parametrize("table", ["milestones", "reports"])
def test_nor_are_they_emptied(world: World, table: str) -> None:
    world.install()
    world.pass_time(hours=12)
    with pytest.raises(Exception, match="is refused"):
        world.place.execute(f"truncate {table}")


@pytest.mark.req("R-02")
def test_a_window_that_passed_while_nobody_worked_is_recorded_as_missed(world: World) -> None:
    world.install()
    world.clock.advance(hours=26)  # nothing is delivered meanwhile
    result = world.tick()
    assert (result.outcome, result.milestone) == (Ticked.GENERATED, "AUTO_24H")
    assert result.missed == ("AUTO_12H",)
    assert world.reports() == ["AUTO_24H"]
    assert world.outcomes() == {"AUTO_12H": "MISSED", "AUTO_24H": "GENERATED"}
    assert world.state("AUTO_12H").missed_at is not None
    world.clock.advance(hours=-12)  # back into the window that was missed
    assert world.tick().outcome is Ticked.NOTHING_DUE
    assert world.reports() == ["AUTO_24H"]
    assert_verified(world.db)


@pytest.mark.req("R-02", "R-08")
def test_after_downtime_one_report_for_each_tenant(world: World) -> None:
    tenants = [world.install(f"t{n}") for n in range(20)]
    world.clock.advance(hours=26)
    assert world.app.drain()["delivered"] == 20
    for tenant in tenants:
        assert world.reports(tenant) == ["AUTO_24H"]
        assert world.outcomes(tenant)["AUTO_12H"] == "MISSED"
    assert_verified(world.db)


@pytest.mark.req("R-02", "R-04")
def test_a_clock_that_steps_back_makes_no_second_report(world: World) -> None:
    world.install()
    world.pass_time(hours=12)
    for _ in range(3):
        world.clock.advance(hours=-2)
        assert world.tick().outcome is Ticked.NOTHING_DUE
        world.clock.advance(hours=2)
        assert world.tick().outcome is Ticked.NOTHING_DUE
    world.pass_time(hours=12)
    world.clock.advance(hours=-20)
    world.pass_time(hours=40)
    assert world.reports() == ["AUTO_12H", "AUTO_24H"]
    assert_verified(world.db)


@pytest.mark.req("R-08")
def test_a_tick_that_came_too_early_comes_again(world: World) -> None:
    """The clock stepped back between the claim and the look."""
    world.install()
    world.clock.advance(hours=12)
    [message] = claim(world.db, topic=TICK)
    world.clock.advance(hours=-1)
    assert tick_message(world.db, message, hears=NOBODY).outcome is Ticked.NOTHING_DUE
    assert world.ticks().count(12 * HOUR) == 2, "the one that was claimed, and another"


# -- failures --------------------------------------------------------------------------------------


@pytest.mark.req("R-03", "R-04", "R-05")
def test_a_failure_is_stored_with_its_backoff_and_tried_again_when_that_is_over(
    world: World, failing
) -> None:
    world.install()
    failing(ACME)
    world.pass_time(hours=12)
    state = world.state("AUTO_12H")
    assert (state.attempts, state.failure_count, state.outcome) == (1, 1, None)
    assert state.last_error == "ValueError: no report for acme"
    assert state.last_error_at == state.last_run_at == world.clock.now
    assert world.ticks() == [12 * HOUR + 30 * MINUTE]
    assert world.tick().outcome is Ticked.BACKING_OFF
    world.pass_time(minutes=29, seconds=59)
    assert world.state("AUTO_12H").attempts == 1
    world.pass_time(seconds=1)
    assert world.state("AUTO_12H").failure_count == 2
    for failures in (3, 4):
        world.pass_time(minutes=119, seconds=59)
        assert world.state("AUTO_12H").failure_count == failures - 1
        world.pass_time(seconds=1)
        assert world.state("AUTO_12H").failure_count == failures
    failing(None)
    world.pass_time(minutes=120)
    state = world.state("AUTO_12H")
    assert (state.attempts, state.failure_count, state.outcome) == (5, 4, "GENERATED")
    assert state.backoff_until is None
    assert state.generated_at is not None
    assert world.reports() == ["AUTO_12H"]
    assert_verified(world.db)


@pytest.mark.req("R-04")
def test_a_clock_that_steps_back_makes_a_backoff_no_shorter(world: World, failing) -> None:
    world.install()
    failing(ACME)
    world.pass_time(hours=14)
    until = world.state("AUTO_12H").backoff_until
    attempts = world.state("AUTO_12H").attempts
    world.clock.advance(hours=-2)
    assert world.tick().outcome is Ticked.BACKING_OFF
    world.clock.advance(hours=2)
    assert world.tick().outcome is Ticked.BACKING_OFF
    state = world.state("AUTO_12H")
    assert (state.backoff_until, state.attempts) == (until, attempts)


@pytest.mark.req("R-04")
def test_the_failures_of_one_milestone_do_not_hold_up_the_next(world: World, failing) -> None:
    world.install()
    failing(ACME)
    world.pass_time(hours=23, minutes=59)
    assert world.state("AUTO_12H").failure_count > 5
    failing(None)
    world.pass_time(minutes=1)
    assert world.outcomes() == {"AUTO_12H": "MISSED", "AUTO_24H": "GENERATED"}
    assert world.state("AUTO_24H").failure_count == 0
    assert_verified(world.db)


@pytest.mark.req("R-05")
def test_one_failing_tenant_of_a_hundred_stops_no_other(world: World, failing) -> None:
    for n in range(100):
        world.install(f"t{n}")
    failing("t42")
    world.clock.advance(hours=12)
    assert world.app.drain()["delivered"] == 100
    made = {n for n in range(100) if world.reports(f"t{n}") == ["AUTO_12H"]}
    assert made == set(range(100)) - {42}
    assert world.state("AUTO_12H", "t42").failure_count == 1
    assert_verified(world.db)


@pytest.mark.req("R-05")
def test_a_tick_never_raises_wherever_the_storage_fails(world: World) -> None:
    """The n-th statement fails, for every n: the answer says so, and the next tick makes it."""
    for step in count(1):
        assert step < STEPS_MAX
        tenant = world.install(f"t{step}")
        world.clock.advance(hours=12)
        with power_cut_at(step) as seen:
            result = tick_milestones(world.db, tenant, hears=NOBODY)
        assert isinstance(result, TickResult)
        if len(seen) < step:
            break
        if result.outcome is not Ticked.GENERATED:  # a power cut after the commit changes nothing
            assert result.outcome is Ticked.FAILED
            assert "PowerCut" in result.error
            assert world.reports(tenant) == []
            is_known = world.state("AUTO_12H", tenant).failure_count == 1
            assert result.is_recorded == is_known
            world.clock.advance(minutes=30)
            assert world.tick(tenant).outcome is Ticked.GENERATED
        assert world.reports(tenant) == ["AUTO_12H"]
        world.clock.advance(hours=-12, minutes=-30)
    assert step > 10, "the cuts did not reach it"
    assert result.outcome is Ticked.GENERATED


@pytest.mark.req("R-05")
def test_a_failure_that_cannot_be_stored_comes_back_with_its_message(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.install()
    with monkeypatch.context() as broken_store:
        broken_store.setattr(reporting, "draw_up", None)
        broken_store.setattr(reporting, "fail", None)
        world.pass_time(hours=12)
        assert world.state("AUTO_12H").attempts == 0
        assert world.ticks() == [12 * HOUR], "it waits for its next attempt"
    world.pass_time(hours=1)
    assert world.reports() == ["AUTO_12H"]
    assert_verified(world.db)


@pytest.mark.req("R-02", "R-07")
def test_report_marker_and_state_are_one_transaction(world: World) -> None:
    world.install()
    world.app.signal(ACME, "ann", "opened")
    world.clock.advance(hours=12)
    generate_report(world.db, ACME, hears=NOBODY)  # so that all is counted, and nothing else left
    before = contents(world.place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                generate_report(world.db, ACME, "AUTO_12H", hears=lambda _tenant: True)
            break
        except PowerCut:
            after = contents(world.place)
            for table in ("tallies", "tally_places"):  # counting goes on by itself
                before.pop(table, None)
                after.pop(table)
            assert after == before, f"half done after a cut at step {step}: {seen}"
    assert step > 10
    assert world.reports() == ["MANUAL", "AUTO_12H"]
    assert_verified(world.db)


# -- nobody and nothing ----------------------------------------------------------------------------


@pytest.mark.req("R-06")
def test_without_an_installation_time_nothing_happens_and_nothing_fails(world: World) -> None:
    world.install(installed_now=False)
    assert world.ticks() == []
    world.pass_time(days=2)
    result = world.tick()
    assert (result.outcome, result.error) == (Ticked.NOT_INSTALLED, None)
    assert world.reports() == []
    assert world.outcomes() == {"AUTO_12H": None, "AUTO_24H": None}
    assert_verified(world.db)


@pytest.mark.req("R-06")
@pytest.mark.parametrize("tenant", ["", SYSTEM, "nobody"])
def test_no_tenant_is_refused_and_nothing_is_done(world: World, tenant: str) -> None:
    before = contents(world.place)
    result = world.tick(tenant)
    assert result.outcome is Ticked.REFUSED
    assert result.error
    with pytest.raises(Exception, match="tenant"):
        generate_report(world.db, TenantId(tenant), hears=NOBODY)
    assert contents(world.place) == before


@pytest.mark.req("R-06")
def test_a_tenant_that_is_installed_later_gets_its_ticks_then(world: World) -> None:
    world.install(installed_now=False)
    world.clock.advance(hours=5)
    change_tenant(world.db, ACME, {"installed_at": world.clock.at})
    assert world.ticks() == [17 * HOUR]
    change_tenant(world.db, ACME, {"name": "Acme"})
    assert world.ticks() == [17 * HOUR]
    change_tenant(world.db, ACME, {"installed_at": Instant(START_AT - 8 * HOUR)})
    assert world.app.drain()["delivered"] == 1
    assert world.reports() == ["AUTO_12H"]
    assert_verified(world.db)


@pytest.mark.req("R-06")
def test_one_that_is_uninstalled_is_left_alone(world: World) -> None:
    world.install()
    change_tenant(world.db, ACME, {"installed_at": None})
    world.pass_time(hours=13)
    assert world.reports() == []
    assert_verified(world.db)


# -- any number of machines ------------------------------------------------------------------------


def tick_in_another_process(url: str, tenant: str) -> tuple[str]:
    db = open_database(url, pool_size=1)
    try:
        return (str(tick_milestones(db, TenantId(tenant), hears=NOBODY).outcome),)
    finally:
        db.close()


@pytest.mark.req("R-08", "R-02")
def test_two_machines_that_tick_at_once_make_one_report(world: World, db_url: str) -> None:
    world.install()
    world.clock.advance(hours=12)
    outcomes = race(tick_in_another_process, [(db_url, ACME)] * 2)
    assert outcomes.count(("generated",)) == 1
    assert ("failed",) not in outcomes
    assert world.reports() == ["AUTO_12H"]
    assert world.state("AUTO_12H").attempts == 1
    assert_verified(world.db)


@pytest.mark.req("R-08", "R-02")
def test_many_threads_that_tick_at_once_make_one_report(
    world: World, db_url: str, engine: EngineName
) -> None:
    world.install()
    world.clock.advance(hours=24)
    handles = [
        open_database(db_url, pool_size=1) if engine == "postgresql" else world.db
        for _ in range(MANY)
    ]
    try:
        results = at_once(MANY, lambda n: tick_milestones(handles[n], ACME, hears=NOBODY))
    finally:
        for one in handles:
            if one is not world.db:
                one.close()
    assert Counter(one.outcome for one in results)[Ticked.GENERATED] == 1
    assert not [one for one in results if one.outcome is Ticked.FAILED]
    assert sum(len(one.missed) for one in results) == 1
    assert world.reports() == ["AUTO_24H"]
    assert_verified(world.db)


@pytest.mark.req("R-08")
def test_a_tick_that_comes_twice_does_nothing(world: World) -> None:
    world.install()
    world.clock.advance(hours=12)
    [message] = claim(world.db, topic=TICK)
    assert tick_message(world.db, message, hears=NOBODY).outcome is Ticked.GENERATED
    before = contents(world.place)
    assert tick_message(world.db, message, hears=NOBODY).outcome is Ticked.OUTDATED
    assert contents(world.place) == before


@pytest.mark.req("R-05")
def test_a_tick_that_says_nothing_is_answered(world: World) -> None:
    world.install()
    world.clock.advance(hours=12)
    [message] = claim(world.db, topic=TICK)
    for payload in ("{}", "[]", '{"due_at": null}', "null"):
        result = tick_message(world.db, message._replace(payload=payload), hears=NOBODY)
        assert result.outcome is Ticked.FAILED


# -- ticks that are not there ----------------------------------------------------------------------


@pytest.mark.req("R-08")
def test_a_tick_that_somebody_discarded_is_planned_again(world: World) -> None:
    world.install()
    [(message_id,)] = world.place.execute(f"select id from outbox where topic = '{TICK}'")
    from watchkeeper.actions.keep_desk import discard_message

    discard_message(world.db, world.app.registry, ACME, str(message_id))
    assert world.ticks() == []
    for chore in chores(world.db, world.app.registry):
        chore()
    assert world.ticks() == [12 * HOUR]
    world.pass_time(hours=12)
    assert world.reports() == ["AUTO_12H"]
    assert_verified(world.db)


@pytest.mark.req("R-08")
def test_a_tick_that_vanished_is_planned_again(world: World) -> None:
    world.install()
    world.place.execute(f"delete from outbox where topic = '{TICK}'")
    assert set(broken(world.db)) == {"tick_has_its_message"}
    world.clock.advance(hours=12, minutes=4)
    assert plan_ticks(world.db) == 0, "it may still be on its way"
    world.clock.advance(minutes=2)
    assert plan_ticks(world.db) == 1
    world.app.drain()
    assert world.reports() == ["AUTO_12H"]
    assert_verified(world.db)


@pytest.mark.req("R-08")
def test_a_tenant_from_before_there_were_reports_gets_its_tick(world: World) -> None:
    world.install()
    world.place.execute(f"delete from outbox where topic = '{TICK}'")
    world.place.execute("delete from milestone_ticks")
    assert plan_ticks(world.db) == 1
    assert plan_ticks(world.db) == 0
    assert world.ticks() == [12 * HOUR]


@pytest.mark.req("R-01", "R-08")
def test_a_new_policy_moves_the_ticks(world: World) -> None:
    world.install()
    world.install("beta", installed_now=False)
    world.app.apply_policy("[reports.milestones.AUTO_3H]\nafter_hours = 3\n", reason="test")
    assert plan_ticks(world.db) == 1
    assert world.ticks() == [3 * HOUR, 12 * HOUR]
    world.pass_time(hours=24)
    assert world.reports() == ["AUTO_3H", "AUTO_12H", "AUTO_24H"]
    assert world.ticks() == []
    assert_verified(world.db)
