"""Many who end one turn, many who reserve at the edge of a limit: one winner, and exact counts."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.actions.test_races import wait_until_blocked
from tests.books import ACME, Meter, balanced, events, levels
from tests.databases import START_AT, Clock, Databases, EngineName, Place
from tests.rivals import race
from watchkeeper.core.turns import Ending, TurnState, Usage
from watchkeeper.ids import new_id
from watchkeeper.moves import settlement
from watchkeeper.store import tenants
from watchkeeper.store import turns as turn_rows
from watchkeeper.store.database import Database, open_database

MANY = 16


def at_once(count: int, deed: Callable[[int], Any]) -> list[Any]:
    """Call `deed` in as many threads, which all begin at the same moment."""
    start = threading.Barrier(count)

    def wait_and_do(number: int) -> Any:
        start.wait(60)
        return deed(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(wait_and_do, range(count)))


# -- one turn, many ends ---------------------------------------------------------------------


def end_number(meter: Meter, number: int) -> settlement.Finalized:
    """Each of them would settle it in another way."""
    outcome = ["completed", "failed", "cancelled"][number % 3]
    usage = [(number, 2 * number), None][number % 2]
    return meter.finalize("t1", outcome, started=bool(number % 4), usage=usage)


def one_won(found: list[settlement.Finalized], place: Place) -> None:
    assert sorted(one.won for one in found) == [False] * (len(found) - 1) + [True]
    assert len({one.turn for one in found}) == 1, "the losers are told what the winner did"
    assert len(events(place)) == 1
    assert place.execute("select count(*) from ledger where kind = 'turn.settled'") == [(1,)]
    assert balanced(place) == {found[0].turn.state: 1}


@pytest.mark.req("S-04")
def test_sixteen_threads_end_one_turn(db: Database, place: Place) -> None:
    meter = Meter(db)
    meter.reserve("t1", user_id="u")
    one_won(at_once(MANY, lambda n: end_number(meter, n)), place)


@pytest.mark.req("S-04")
def test_sixteen_connections_end_one_turn(db: Database, place: Place) -> None:
    """Each with a database handle of its own, so that nobody's calls are combined."""
    Meter(db).reserve("t1", user_id="u")
    with contextlib.ExitStack() as opened:
        handles = [
            opened.enter_context(contextlib.closing(place.open(pool_size=1))) for _ in range(MANY)
        ]
        one_won(at_once(MANY, lambda n: end_number(Meter(handles[n]), n)), place)


def end_in_process(url: str, number: int) -> tuple[bool, str, int | None, str | None]:
    with contextlib.closing(open_database(url, pool_size=1)) as db:
        ended = end_number(Meter(db), number)
        return ended.won, ended.turn.state, ended.turn.charged_micro, ended.turn.event_id


@pytest.mark.stress
@pytest.mark.req("S-04")
def test_processes_end_one_turn(db: Database, place: Place, db_url: str) -> None:
    Meter(db).reserve("t1", user_id="u")
    answers = race(end_in_process, [(db_url, number) for number in range(6)])
    assert sorted(won for won, *_ in answers) == [False] * 5 + [True]
    assert len({told for _, *told in answers for told in [tuple(told)]}) == 1
    assert len(events(place)) == 1
    balanced(place)


# -- reserves at the edge ----------------------------------------------------------------------


@pytest.mark.req("S-01")
def test_the_same_request_from_sixteen_threads(db: Database, place: Place) -> None:
    meter = Meter(db)
    found = at_once(MANY, lambda n: meter.reserve(f"t{n}", "r"))
    assert sorted(one.is_new for one in found) == [False] * 15 + [True]
    assert len({one.turn for one in found}) == 1
    assert balanced(place) == {"running": 1}


@pytest.mark.req("S-01")
def test_a_limit_is_used_up_exactly(db: Database, place: Place) -> None:
    """Sixteen threads, three tenants of several users: not one too many, and not one too few."""
    meters = [Meter(db, tenant) for tenant in ("a", "b", "c")]
    meters[0].policy(
        "[quota.tenant.daily]\ntotal = 10000\n[quota.user.daily]\ntotal = 5999\n"
        "[tenants.b.quota.tenant.daily]\ntotal = 399\n"
    )
    asked = [(meter, n, f"u{n % 4}") for n in range(32) for meter in meters]

    def reserve_all(number: int) -> list[tuple[str, bool]]:
        return [
            (meter.tenant_id, meter.fits(f"t{n}", user_id=user))
            for meter, n, user in asked[number::MANY]
        ]

    said = [one for answers in at_once(MANY, reserve_all) for one in answers]
    fitted = {tenant: sum(ok for who, ok in said if who == tenant) for tenant in "abc"}
    assert fitted == {"a": 25, "b": 0, "c": 25}
    assert balanced(place) == {"running": 50}


@pytest.mark.req("S-01")
def test_a_users_limit_is_used_up_exactly_by_many_connections(db: Database, place: Place) -> None:
    Meter(db).policy("[quota.user.monthly]\ntiers.premium = 4000\n[quota.user.daily]\ntotal=6400\n")
    with contextlib.ExitStack() as opened:
        handles = [
            opened.enter_context(contextlib.closing(place.open(pool_size=1))) for _ in range(8)
        ]

        def reserve_some(number: int) -> list[str]:
            meter = Meter(handles[number])
            return [
                meter.reserve(f"t{number}-{n}", model="premium", user_id="u").turn.effective_model
                for n in range(1)
            ]

        models = [name for names in at_once(8, reserve_some) for name in names]
    assert sorted(models) == ["premium"] * 2 + ["standard"] * 6
    assert levels(place, "u")["daily", START_AT, "total"] == (6400, 0)
    assert not Meter(db).fits("more", tokens=(1, 0), user_id="u")
    balanced(place)


@pytest.mark.req("S-01", "S-04")
def test_reserves_and_ends_at_the_same_time(db: Database, place: Place) -> None:
    meter = Meter(db)
    meter.policy("[quota.tenant.daily]\ntotal = 1200\n")

    def live(number: int) -> int:
        done = 0
        for n in range(4):
            turn_id = f"t{number}-{n}"
            if meter.fits(turn_id):
                meter.finalize(turn_id, usage=(1, 1))
                done += 1
        return done

    done = sum(at_once(8, live))
    assert 8 <= done <= 32
    assert levels(place)["daily", START_AT, "total"] == (0, 4 * done)
    assert balanced(place) == {"completed": done}


# -- scripted -------------------------------------------------------------------------------------


def ending(turn_id: str = "t1", **more: Any) -> Ending:
    told: dict[str, Any] = {"outcome": TurnState.COMPLETED, "started": True, "usage": Usage(5, 5)}
    return Ending(turn_id, ended_by="test", finalize_id=new_id(), **(told | more))


@pytest.mark.req("S-04")
def test_a_second_ender_waits_and_is_told_the_truth(
    db: Database, place: Place, engine: EngineName
) -> None:
    """Also when the first rolls back: then the second is the one."""
    Meter(db).reserve("t1")
    Meter(db).reserve("t2")
    elsewhere = place.open()
    rival = Meter(elsewhere)

    class Crash(Exception):
        pass

    for turn_id, crashes in (("t1", False), ("t2", True)):
        with ThreadPoolExecutor(1) as pool:
            with contextlib.suppress(Crash), db.batch(ACME) as tx:
                tenant = tenants.lock(tx)
                [first] = settlement.finalize(tx, tenant, [ending(turn_id)], "mini-chat")
                tenants.save_seq(tx, tenant)
                assert first is not None
                assert first.won
                answer = pool.submit(rival.finalize, turn_id, "failed")
                wait_until_blocked(place, engine)
                assert not answer.done()
                if crashes:
                    raise Crash
            second = answer.result(60)
        assert second.won is crashes
        assert second.turn.state == ("failed" if crashes else "completed")
    elsewhere.close()
    assert balanced(place) == {"completed": 1, "failed": 1}


@pytest.mark.req("S-06", "S-04")
def test_a_late_end_and_the_watchdog_in_both_orders(
    db: Database, place: Place, clock: Clock
) -> None:
    meter = Meter(db)
    meter.reserve("t1")
    meter.reserve("t2")
    clock.advance(301)
    assert meter.finalize("t1", usage=(7, 0)).won
    assert meter.watch() == 1
    late = meter.finalize("t2", usage=(7, 0))
    assert (late.won, late.turn.ended_by, late.turn.charged_micro) == (False, "watchdog", 0)
    assert balanced(place) == {"completed": 1, "failed": 1}


@pytest.mark.req("S-06")
def test_progress_between_the_watchdogs_look_and_its_deed(
    db: Database, place: Place, clock: Clock
) -> None:
    """It looks without a lock, so it judges again under one."""
    meter = Meter(db)
    meter.reserve("t1")
    clock.advance(301)
    meter.progress("t1")
    timeout = ending(outcome=TurnState.FAILED, usage=None, is_timeout=True)
    [answer] = meter.turns.finalize_many(ACME, [timeout])
    assert answer is not None
    assert not answer.won
    assert answer.turn.is_running
    assert meter.watch() == 0
    clock.advance(300)
    assert meter.watch() == 0
    clock.advance(0.000001)
    assert meter.watch() == 1
    balanced(place)


@pytest.mark.req("S-06")
@pytest.mark.postgresql
def test_the_watchdog_waits_for_a_progress_under_way(databases: Databases, caplog) -> None:
    """The progress holds the turn's row; the watchdog sees it once it is committed."""
    with databases.opened("postgresql") as (db, clock):
        meter = Meter(db)
        meter.reserve("t1")
        clock.advance(301)
        with ThreadPoolExecutor(1) as pool:
            with db.begin(ACME) as tx:
                assert turn_rows.progress(tx, "t1")
                answer = pool.submit(meter.watch)
                wait_until_blocked(clock.place, "postgresql")
            assert answer.result(60) == 0
        assert caplog.records == [], "it was left alone, not tried in vain"
        assert meter.stored("t1").is_running


@pytest.mark.req("S-04")
@pytest.mark.postgresql
def test_an_end_waits_for_a_progress_under_way(databases: Databases) -> None:
    with databases.opened("postgresql") as (db, clock):
        meter = Meter(db)
        meter.reserve("t1")
        with ThreadPoolExecutor(1) as pool:
            with db.begin(ACME) as tx:
                assert turn_rows.progress(tx, "t1")
                answer = pool.submit(meter.finalize, "t1", started=False)
                wait_until_blocked(clock.place, "postgresql")
            ended = answer.result(60)
        assert (ended.won, ended.turn.settlement_method) == (True, "estimated"), "it was started"
        assert balanced(clock.place) == {"completed": 1}


@pytest.mark.req("S-06")
@pytest.mark.postgresql
def test_a_progress_waits_for_another_and_is_one_too(databases: Databases) -> None:
    """The row that it finds after the wait is newer than what its statement had begun with."""
    with databases.opened("postgresql") as (db, clock):
        meter = Meter(db)
        meter.reserve("t1")
        with ThreadPoolExecutor(1) as pool:
            with db.begin(ACME) as tx:
                assert turn_rows.progress(tx, "t1")
                answer = pool.submit(meter.progress, "t1")
                wait_until_blocked(clock.place, "postgresql")
            assert answer.result(60) is None
        assert meter.stored("t1").started_at == START_AT


@pytest.mark.req("S-06")
@pytest.mark.postgresql
def test_a_progress_waits_for_an_end_under_way(databases: Databases) -> None:
    with databases.opened("postgresql") as (db, clock):
        meter = Meter(db)
        meter.reserve("t1")
        with ThreadPoolExecutor(1) as pool:
            with db.batch(ACME) as tx:
                tenant = tenants.lock(tx)
                settlement.finalize(tx, tenant, [ending()], "mini-chat")
                tenants.save_seq(tx, tenant)
                answer = pool.submit(meter.progress, "t1")
                wait_until_blocked(clock.place, "postgresql")
            with pytest.raises(Exception, match="completed: it cannot progress"):
                answer.result(60)
        assert balanced(clock.place) == {"completed": 1}


@pytest.mark.req("S-06", "S-04")
def test_watchdogs_at_once(db: Database, place: Place, clock: Clock) -> None:
    meter = Meter(db)
    for n in range(20):
        meter.reserve(f"t{n}")
    clock.advance(301)
    elsewhere = [place.open(pool_size=2) for _ in range(3)]
    ended = at_once(4, lambda n: Meter([db, *elsewhere][n]).watch())
    for one in elsewhere:
        one.close()
    assert sum(ended) == 20, "each is counted by the one who ended it"
    assert balanced(place) == {"failed": 20}


@pytest.mark.req("S-01")
def test_a_reserve_that_waited_is_judged_by_what_it_finds(
    db: Database, place: Place, engine: EngineName
) -> None:
    """It was asked for while the last room was taken, and given back before it was its turn."""
    meter = Meter(db)
    meter.policy("[quota.tenant.daily]\ntotal = 400\n")
    meter.reserve("t1")
    elsewhere = place.open()
    rival = Meter(elsewhere)
    with ThreadPoolExecutor(1) as pool:
        with db.batch(ACME) as tx:
            tenant = tenants.lock(tx)
            settlement.finalize(tx, tenant, [ending(usage=Usage(0, 0))], "mini-chat")
            tenants.save_seq(tx, tenant)
            answer = pool.submit(rival.fits, "t2")
            wait_until_blocked(place, engine)
        assert answer.result(60)
    elsewhere.close()
    balanced(place)


@pytest.mark.req("S-01", "S-02")
@pytest.mark.postgresql
def test_a_reserve_that_waited_belongs_to_the_time_after_the_wait(databases: Databases) -> None:
    """So a wait over midnight takes from the new day."""
    with databases.opened("postgresql") as (db, clock):
        meter = Meter(db)
        meter.reserve("t1")
        clock.make_real()
        with ThreadPoolExecutor(1) as pool:
            with db.batch(ACME) as tx:
                tenants.lock(tx)
                answer = pool.submit(meter.reserve, "t2")
                wait_until_blocked(clock.place, "postgresql")
                waited_at = clock.place.execute(
                    "select (extract(epoch from clock_timestamp()) * 1000000)::bigint"
                )[0][0]
            turn = answer.result(60).turn
        assert turn.reserved_at > waited_at
        balanced(clock.place)
