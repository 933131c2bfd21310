"""Many processes, one budget: exactly what one process alone would have allowed."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.databases import Clock, EngineName, Place
from tests.play import ACME, SIGNAL, Player, event, told
from tests.rivals import fire_all, meet_tenants, race
from tests.verify_clean import assert_verified
from watchkeeper.core.ids import DecisionId
from watchkeeper.ids import new_id
from watchkeeper.moves.admission import Asked, admit
from watchkeeper.store.database import Database

stress = pytest.mark.stress


def calls(prefix: str, accounts: list[str], size: int) -> list[list[tuple[str, str, str]]]:
    events = [(account, SIGNAL, f"{prefix}-{n}") for n, account in enumerate(accounts)]
    return [events[start : start + size] for start in range(0, len(events), size)]


def counted(answers: list[list[tuple]]) -> Counter:
    return Counter(result for said in answers for _, result, _ in said)


@stress
@pytest.mark.req("D-12", "D-07")
def test_one_cooldown_under_eight_processes(db: Database, clock: Clock, db_url: str) -> None:
    player = Player(db, clock)
    player.policy("[triggers.SIGNAL_ARRIVED]\ndebounce_seconds = 0\n")
    answers = race(fire_all, [(db_url, "acme", calls(f"p{n}", ["ann"] * 200, 5)) for n in range(8)])
    assert counted(answers) == {"ALLOW": 1, "DEFER COOLDOWN": 1, "SKIP COALESCED": 1598}
    assert_verified(db)


@stress
@pytest.mark.req("D-12", "D-10")
def test_a_budget_under_sixteen_workers(db: Database, clock: Clock, db_url: str) -> None:
    """Exactly the budget, and not one refusal too many."""
    Player(db, clock).policy("run_budget_per_day = 37\n")
    arguments = [
        (db_url, "acme", calls(f"p{n}", [f"a{n}-{i}" for i in range(20)], 2)) for n in range(16)
    ]
    assert counted(race(fire_all, arguments)) == {"ALLOW": 37, "SKIP BUDGET_EXHAUSTED": 283}
    assert_verified(db)


@stress
@pytest.mark.req("D-12", "D-08")
def test_a_tenant_cap_under_eight_processes(db: Database, clock: Clock, db_url: str) -> None:
    Player(db, clock).policy("[triggers.SIGNAL_ARRIVED]\nmax_per_tenant_per_hour = 11\n")
    arguments = [
        (db_url, "acme", calls(f"p{n}", [f"a{n}-{i}" for i in range(20)], 3)) for n in range(8)
    ]
    assert counted(race(fire_all, arguments)) == {"ALLOW": 11, "DEFER TENANT_HOURLY_CAP": 149}
    assert_verified(db)


@stress
@pytest.mark.req("D-12")
def test_first_events_of_tenants_nobody_has_seen(db: Database, clock: Clock, db_url: str) -> None:
    answers = race(meet_tenants, [(db_url, number, 15) for number in range(8)])
    for tenant in range(15):
        assert Counter(said[tenant] for said in answers) == {"ALLOW": 1, "SKIP": 7}
    made = clock.place.execute("select count(*) from ledger where kind = 'tenant.created'")
    assert made == [(15,)]
    assert_verified(db)


@stress
@pytest.mark.req("D-04")
def test_the_same_keys_from_eight_processes(db: Database, clock: Clock, db_url: str) -> None:
    keys = [(f"a{n}", SIGNAL, f"k{n}") for n in range(100)]
    rivals = [[keys[start : start + 4] for start in range(0, 100, 4)] for _ in range(8)]
    answers = race(fire_all, [(db_url, "acme", one) for one in rivals])
    for number in range(100):
        said = [one[number] for one in answers]
        [(winner, _, _)] = [one for one in said if one[1] == "ALLOW"]
        losers = [one for one in said if one[1] != "ALLOW"]
        assert len(losers) == 7
        assert {result for _, result, _ in losers} == {"SKIP DUPLICATE_IDEMPOTENCY_KEY"}
        assert {repeats for _, _, repeats in losers} == {winner}
    assert_verified(db)


@stress
@pytest.mark.req("D-12", "D-08")
def test_workers_whose_clocks_are_wrong(db: Database, clock: Clock, db_url: str) -> None:
    """On SQLite the process's clock is the clock; on PostgreSQL nobody asks it."""
    Player(db, clock).policy(
        "run_budget_per_day = 25\nspread_seconds = 0\n[triggers.SIGNAL_ARRIVED]\n"
        "debounce_seconds = 0\ncooldown_seconds = 30\nmax_per_tenant_per_hour = 9\n"
    )
    clock.make_real()
    names = [f"a{n % 7}" for n in range(60)]
    skews = [-90, 0, 90, 3600, 86_400, -86_400]
    answers = race(
        fire_all,
        [(db_url, "acme", calls(f"p{n}", names, 2), skew) for n, skew in enumerate(skews)],
    )
    allowed = counted(answers)["ALLOW"]
    assert 0 < allowed <= 18 if db.engine == "postgresql" else allowed > 0
    assert_verified(db)


# -- scripted ------------------------------------------------------------------------------------


@pytest.mark.req("D-04", "D-12")
def test_a_loser_waits_for_the_winner_and_answers_the_truth(
    db: Database, clock: Clock, place: Place, engine: EngineName
) -> None:
    """The first to reserve a key rolls back; the second must not name what never was."""
    player = Player(db, clock)
    player.fire(event("warm"))
    elsewhere = place.open()
    rival = Player(elsewhere, clock)
    rival.fire(event("warm too"))
    entered = threading.Event()

    def second() -> list[str]:
        entered.set()
        return rival.tell(event("ann", key="k"))

    class Crash(Exception):
        pass

    with ThreadPoolExecutor(1) as pool:
        try:
            with db.batch(ACME) as tx:
                asked = Asked(DecisionId(new_id()), event("ann", key="k"))
                [decided] = admit(tx, db.policies, [asked])
                assert told(decided) == "ALLOW"
                answer = pool.submit(second)
                entered.wait(60)
                wait_until_blocked(place, engine)
                assert not answer.done(), "it answered while the key was in doubt"
                raise Crash
        except Crash:
            pass
        assert answer.result(60) == ["ALLOW"]
    elsewhere.close()
    assert_verified(db)


def wait_until_blocked(place: Place, engine: EngineName) -> None:
    """PostgreSQL says who waits for whom; on SQLite a short while must do."""
    pause = threading.Event()
    for _ in range(3000):
        if engine == "sqlite":
            pause.wait(0.2)
            return
        blocked = place.execute(
            "select 1 from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0"
            " and datname = current_database()"
        )
        if blocked:
            return
        pause.wait(0.01)
    raise AssertionError("nobody waits")


@pytest.mark.req("D-12")
@pytest.mark.postgresql
def test_now_is_read_after_the_lock_is_held(databases) -> None:
    """A verdict that waited for its lock is decided at the time after the wait."""
    with databases.opened("postgresql") as (db, clock):
        player = Player(db, clock)
        player.fire(event("ann"))
        with ThreadPoolExecutor(1) as pool:
            with db.batch(ACME) as tx:
                admit(tx, db.policies, [Asked(DecisionId(new_id()), event("bob"))])
                answer = pool.submit(lambda: player.fire(event("cat")))
                wait_until_blocked(clock.place, "postgresql")
                later = clock.advance(250)
            [decided] = answer.result(60)
        assert decided.now == later
        assert_verified(db)


@pytest.mark.req("D-17")
def test_callers_that_wait_together_share_a_transaction(db: Database, clock: Clock) -> None:
    player = Player(db, clock)
    player.fire(event("warm"))
    commits: list[int] = []
    player.admission.observers.append(lambda decided: commits.append(len(decided)))
    start = threading.Barrier(12)

    def send(number: int) -> list[str]:
        start.wait(60)
        return player.tell(event(f"a{number}"), event(f"a{number}"))

    with ThreadPoolExecutor(12) as pool:
        said = list(pool.map(send, range(12)))
    assert said == [["ALLOW", "SKIP DEBOUNCED"]] * 12
    assert sum(commits) == 24
    assert len(commits) <= 12
    assert_verified(db)
