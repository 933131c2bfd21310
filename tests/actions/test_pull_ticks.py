"""The tick: who is looked at first, how many at a time, and that there is one row of ticks."""

import json
from itertools import count
from unittest.mock import patch

import pytest

from tests.databases import START_AT, Clock, Place
from tests.looking import Lookout, decisions, messages, reasons, spent
from tests.play import ACME
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from tests.verify_clean import assert_verified
from watchkeeper.actions import tick_pulls as tick_module
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.actions.tick_pulls import tick_pulls
from watchkeeper.core.heat import Tier
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import DAY, HOUR, MINUTE, SECOND, Instant, day_of
from watchkeeper.moves.heat import TICK, plan_tick
from watchkeeper.store import tenants
from watchkeeper.store.connectors import Connector
from watchkeeper.store.database import Database

REQUESTED = "pull.requested"
COLD, WARM, HOT = Tier.COLD, Tier.WARM, Tier.HOT


@pytest.fixture
def lookout(db: Database, clock: Clock) -> Lookout:
    made = Lookout(db, clock)
    made.connector()
    made.budget(10_000)
    return made


def due(
    place: Place, accounts: dict[str, tuple[Tier, int]], tenant: str = ACME, now: int = START_AT
) -> None:
    """Accounts of a tier whose slot came so long ago."""
    cadences = {HOT: HOUR, WARM: 6 * HOUR, COLD: 3 * DAY}
    rows = ", ".join(
        f"('{tenant}', '{account}', 'crm', {int(tier)}, {now - ago}, {now - ago},"
        f" {now - ago + cadences[tier]})"
        for account, (tier, ago) in accounts.items()
    )
    place.execute(
        "insert into next_pulls (tenant_id, account_id, connector_id, tier, slot_at, due_at,"
        f" overdue_at) values {rows}"
    )


def pulled(place: Place, tenant: str = ACME) -> list[str]:
    """Accounts in the order in which the ledger says that they were scheduled."""
    rows = place.execute(
        f"select subject from ledger where tenant_id = '{tenant}' and kind = 'pull.decided'"
        " and result = 'SCHEDULED' order by seq"
    )
    return [name for (name,) in rows]


@pytest.mark.req("P-05", "P-03")
@pytest.mark.parametrize(
    ("tier", "depth", "cadence"),
    [(HOT, "DEEP", HOUR), (WARM, "SHALLOW", 6 * HOUR), (COLD, "SHALLOW", 3 * DAY)],
)
def test_a_tier_is_a_depth_and_a_cadence(
    lookout: Lookout, place: Place, tier: Tier, depth: str, cadence: int
) -> None:
    due(place, {"ann": (tier, 10 * SECOND)})
    lookout.tick()
    [message] = messages(place, REQUESTED)
    assert (message["detail"]["depth"], message["detail"]["origin"]) == (depth, "cadence")
    [after] = lookout.next_pulls("ann").values()
    slot = START_AT - 10 * SECOND + cadence
    assert (after.slot_at, after.due_at, after.overdue_at) == (slot, slot, slot + cadence)
    assert after.pulled_at == START_AT
    assert messages(place, TICK)[-1]["due_at"] == slot
    assert_verified(lookout.db)


@pytest.mark.req("P-05", "P-14")
def test_the_hottest_and_longest_waiting_first_and_overdue_before_all(
    lookout: Lookout, place: Place
) -> None:
    due(
        place,
        {
            "hot late": (HOT, 50 * MINUTE),
            "hot": (HOT, MINUTE),
            "warm late": (WARM, 5 * HOUR),
            "warm": (WARM, MINUTE),
            "cold late": (COLD, 70 * HOUR),
            "cold overdue": (COLD, 80 * HOUR),
            "hot overdue": (HOT, 2 * HOUR),
            "not yet": (HOT, -1),
        },
    )
    lookout.tick()
    assert pulled(place) == [
        "cold overdue",  # by eight hours
        "hot overdue",  # by one
        "hot late",
        "hot",
        "warm late",
        "warm",
        "cold late",
    ]


@pytest.mark.req("P-05")
def test_at_most_so_many_at_a_time(lookout: Lookout, place: Place) -> None:
    lookout.policy("[pulls]\nper_tick_max = 3\n")
    due(place, {f"a{n}": (WARM, n * SECOND) for n in range(8)})
    sizes = [len(lookout.tick()) for _ in range(4)]
    assert sizes == [3, 3, 2, 0]
    assert pulled(place) == [f"a{n}" for n in reversed(range(8))]
    assert spent(place)["crm"] == (8, 8)


@pytest.mark.req("P-05")
def test_who_is_behind_ticks_again_at_once(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.policy("[pulls]\nper_tick_max = 3\n")
    due(place, {f"a{n}": (WARM, 0) for n in range(7)})
    lookout.tick()
    assert messages(place, TICK) == [{"due_at": START_AT}]
    assert lookout.pass_on(TICK) == 2
    assert len(pulled(place)) == 7
    assert [one["due_at"] > START_AT for one in messages(place, TICK)] == [True]


@pytest.mark.req("P-07")
def test_two_schedulers_of_one_slot_make_one_pull(lookout: Lookout, place: Place) -> None:
    """The second has read what was due before the first wrote: its id refuses it."""
    due(place, {"ann": (HOT, 0)})
    before = place.execute("select * from next_pulls")
    lookout.tick()
    place.execute("delete from next_pulls")
    due(place, {"ann": (HOT, 0)})
    assert [row[:5] for row in place.execute("select * from next_pulls")] == [
        row[:5] for row in before
    ]
    assert reasons(lookout.tick()) == {"DUPLICATE_PULL_JOB_ID": 1}
    assert len(messages(place, REQUESTED)) == 1
    [after] = lookout.next_pulls("ann").values()
    assert after.due_at == START_AT + HOUR, "it goes on all the same"


@pytest.mark.req("P-05")
def test_missed_slots_are_not_made_up_for(lookout: Lookout, place: Place, clock: Clock) -> None:
    due(place, {"ann": (HOT, 0)})
    clock.advance(hours=26, minutes=10)
    lookout.tick()
    assert lookout.tick() == []
    [after] = lookout.next_pulls("ann").values()
    assert (len(messages(place, REQUESTED)), after.slot_at) == (1, START_AT + 27 * HOUR)


# -- one row of ticks ------------------------------------------------------------------------------


@pytest.mark.req("P-05")
def test_however_many_ticks_were_planned_one_goes_on(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    """Each promotion plans a tick of its own, and takes away the one that it comes before."""
    for n in range(5):
        lookout.heat_up(f"a{n}")
        lookout.pass_on(TICK)
        clock.advance(minutes=10)
        assert len(messages(place, TICK)) == 1
    for _ in range(20):
        lookout.pass_on(TICK)
        clock.advance(hours=4)
    lookout.pass_on(TICK)
    assert len(messages(place, TICK)) == 1
    assert_verified(lookout.db)


@pytest.mark.req("P-05")
def test_a_tick_that_somebody_has_is_left_to_him_and_no_longer_meant(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.heat_up("ann")
    [tick] = lookout.claim([TICK])
    at = Instant(json.loads(tick.payload)["due_at"])
    clock.advance(minutes=1)
    lookout.heat_up("bob")
    with lookout.db.begin(ACME) as tx:
        tenants.lock(tx)
        plan_tick(tx, Instant(at - 1))
    assert len(messages(place, TICK)) == 2
    before = contents(place)
    assert tick_pulls(lookout.db, ACME, at) == []
    assert contents(place) == before


@pytest.mark.req("P-05")
def test_a_tick_that_comes_twice_does_nothing(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.heat_up("ann")
    [tick] = lookout.claim([TICK])
    at = Instant(json.loads(tick.payload)["due_at"])
    assert len(tick_pulls(lookout.db, ACME, at)) == 1
    before = contents(place)
    assert tick_pulls(lookout.db, ACME, at) == []
    assert contents(place) == before


@pytest.mark.req("P-05")
def test_a_connector_that_lost_its_cadence_is_left_alone(lookout: Lookout, place: Place) -> None:
    due(place, {"ann": (HOT, 0)})
    register_connector(lookout.db, Connector("crm", has_cadence=False))
    assert lookout.tick() == []
    assert lookout.next_pulls("ann") == {}
    register_connector(lookout.db, Connector("crm", has_cadence=True))
    lookout.heat_up("bob")
    lookout.pass_on()
    assert pulled(place)[:1] == ["bob"], "and ticks come again when there is something to do"


# -- budgets and limits ----------------------------------------------------------------------------


@pytest.mark.req("P-14")
@pytest.mark.parametrize(("budget", "reason"), [(None, "NO_BUDGET"), (0, "BUDGET_EXCEEDED")])
def test_without_budget_to_the_next_day_spread(
    lookout: Lookout, place: Place, budget: int | None, reason: str
) -> None:
    lookout.budget(budget)
    due(place, {f"a{n}": (WARM, 0) for n in range(50)})
    assert reasons(lookout.tick()) == {reason: 50}
    assert lookout.tick() == []
    found = [one.due_at for one in lookout.next_pulls(*[f"a{n}" for n in range(50)]).values()]
    assert {day_of(at) for at in found} == {day_of(START_AT) + 1}
    assert len(set(found)) > 40
    assert spent(place) == {}


@pytest.mark.req("P-14")
def test_what_was_refused_for_longer_than_its_cadence_goes_first(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    """Each day the hot ones would use up the budget; a cold one is not starved for ever."""
    lookout.budget(30)
    due(place, {f"hot{n}": (HOT, 0) for n in range(10)} | {"cold": (COLD, 0)})
    days = 0
    while "cold" not in pulled(place):
        days += 1
        assert days < 7, "it is starved"
        for _ in range(24):
            lookout.tick()
            clock.advance(hours=1)
    assert days > 1, "it had to wait, for hot goes before cold"
    assert_verified(lookout.db)


@pytest.mark.req("P-14")
def test_a_tenant_without_budget_blocks_nobody(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    poor = Lookout(lookout.db, clock, TenantId("poor"))
    due(place, {f"a{n}": (HOT, HOUR) for n in range(250)}, "poor")
    due(place, {"ann": (COLD, 0)})
    poor.tick()
    lookout.tick()
    lookout.pass_on(TICK)
    assert pulled(place) == ["ann"]
    assert pulled(place, "poor") == []
    assert decisions(place, "poor") == {("REFUSED", "NO_BUDGET"): 250}


@pytest.mark.slow
@pytest.mark.req("P-05", "P-14")
def test_twenty_thousand_due_accounts_do_not_delay_another_tenant(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    """Tenants take turns: one tick of the great one, then the small one's."""
    small = Lookout(lookout.db, clock, TenantId("small"))
    small.budget(100)
    lookout.budget(100_000)
    for part in range(4):
        due(place, {f"a{part}-{n}": (HOT, HOUR) for n in range(5000)})
    due(place, {"ann": (COLD, 0)}, "small")
    lookout.tick()
    with lookout.db.begin(small.tenant_id) as tx:
        plan_tick(tx, START_AT)
    claimed = lookout.claim([TICK], limit=2)
    assert sorted(message.tenant_id for message in claimed) == ["acme", "small"]
    for message in claimed:
        lookout.handle(message)
    assert pulled(place, "small") == ["ann"]
    assert len(pulled(place)) == 200, "two ticks of the great one"


@pytest.mark.req("P-10", "P-05")
def test_behind_a_rate_as_many_are_taken_as_may_pass(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    """The others stay where they are, and the next tick comes when the limiter says."""
    lookout.connector("slow", milli_per_second=1000, burst=2)
    due(place, {f"a{n}": (HOT, MINUTE + n) for n in range(5)})
    place.execute("update next_pulls set connector_id = 'slow'")
    assert reasons(lookout.tick()) == {"SCHEDULED": 2}
    assert messages(place, TICK)[-1]["due_at"] == START_AT + SECOND
    assert spent(place)["slow"] == (6, 2)
    for _ in range(3):
        clock.advance(1)
        assert lookout.pass_on(TICK) == 1
    assert pulled(place) == ["a4", "a3", "a2", "a1", "a0"]
    assert decisions(place) == {("SCHEDULED", None): 5}
    assert_verified(lookout.db)


@pytest.mark.req("P-10", "P-05")
def test_a_full_connector_is_asked_again_soon(lookout: Lookout, place: Place) -> None:
    lookout.connector("slow", max_concurrency=2)
    due(place, {f"a{n}": (HOT, MINUTE) for n in range(6)})
    place.execute("update next_pulls set connector_id = 'slow'")
    assert reasons(lookout.tick()) == {"SCHEDULED": 2}
    assert messages(place, TICK)[-1]["due_at"] == START_AT + SECOND


@pytest.mark.req("P-10", "P-13")
@pytest.mark.parametrize("stop", ["kill switch", "breaker", "hold", "rate", "slots"])
def test_whoever_waits_behind_a_limit_writes_no_line_each(
    lookout: Lookout, place: Place, clock: Clock, stop: str
) -> None:
    """One is refused for all of them; nothing is consumed, and all go when the way is free."""
    due(place, {f"a{n}": (HOT, MINUTE + n) for n in range(300)})
    start = clock.at
    shut(lookout, place, stop, until=Instant(start + 10 * MINUTE))
    while clock.at < start + 9 * MINUTE:
        lookout.tick()
        planned = messages(place, TICK)[-1]["due_at"]
        clock.set(Instant(max(planned, clock.at + 20 * SECOND)))
    lines = decisions(place)
    assert {result for result, _ in lines} <= {"REFUSED"}
    assert sum(lines.values()) == {"kill switch": 9, "slots": 0}.get(stop, 1)
    assert spent(place) == {}
    assert len(lookout.next_pulls(*[f"a{n}" for n in range(300)])) == 300
    open_up(lookout, place, stop)
    clock.set(Instant(start + 11 * MINUTE))
    lookout.tick()
    lookout.pass_on(TICK)
    assert len(set(pulled(place))) == 300
    assert_verified(lookout.db)


def shut(lookout: Lookout, place: Place, stop: str, until: Instant) -> None:
    match stop:
        case "kill switch":
            lookout.kill("connector", "crm")
        case "breaker":
            place.execute(
                "insert into connector_states (tenant_id, connector_id, failures, open_until_at)"
                f" values ('acme', 'crm', 5, {until})"
            )
        case "hold":
            place.execute(f"update connectors set held_until_at = {until}")
        case "rate":  # other tenants have used it up
            slow = f"milli_per_second = 1, burst = 1, scheduled_at = {until}"
            place.execute(f"update connectors set {slow}")
        case "slots":
            place.execute("update connectors set max_concurrency = 1")
            taken = "'crm', '00000000-0000-7000-8000-000000000001'"
            place.execute(f"insert into connector_slots values ({taken}, {until})")


def open_up(lookout: Lookout, place: Place, stop: str) -> None:
    if stop == "kill switch":
        lookout.kill("connector", "crm", on=False)
    place.execute("delete from connector_states")
    place.execute("delete from connector_slots")
    limits = "milli_per_second = null, max_concurrency = null, held_until_at = null"
    place.execute(f"update connectors set {limits}")


@pytest.mark.req("P-14", "P-10")
def test_a_connector_that_is_shut_keeps_nobody_from_another(lookout: Lookout, place: Place) -> None:
    """Its pulls are the more urgent, and more than a tick takes."""
    lookout.policy("[pulls]\nper_tick_max = 5\n")
    lookout.connector("other")
    due(place, {f"a{n}": (HOT, 2 * HOUR) for n in range(50)})
    due(place, {f"b{n}": (COLD, 0) for n in range(3)})
    place.execute("update next_pulls set connector_id = 'other' where account_id like 'b%'")
    lookout.kill("connector", "crm")
    assert reasons(lookout.tick()) == {"SCHEDULED": 3, "KILL_SWITCH": 1}
    assert sorted(pulled(place)) == ["b0", "b1", "b2"]


@pytest.mark.req("P-14", "P-10")
def test_behind_a_limit_who_is_overdue_goes_first(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.connector("slow", milli_per_second=1000, burst=1)
    due(place, {f"hot{n}": (HOT, MINUTE) for n in range(20)} | {"cold": (COLD, 4 * DAY)})
    place.execute("update next_pulls set connector_id = 'slow'")
    lookout.tick()
    assert pulled(place) == ["cold"]


@pytest.mark.req("P-05")
def test_pulls_of_a_connector_without_cadence_end_some_at_a_time(
    lookout: Lookout, place: Place
) -> None:
    due(place, {f"a{n}": (HOT, 0) for n in range(8)})
    register_connector(lookout.db, Connector("crm", has_cadence=False))
    with patch.object(tick_module, "ENDED_MAX", 5):
        assert lookout.tick() == []
        assert len(lookout.next_pulls(*[f"a{n}" for n in range(8)])) == 3
        lookout.clock.advance(1)
        assert lookout.pass_on(TICK) == 1
    assert place.execute("select count(*) from next_pulls") == [(0,)]


@pytest.mark.req("P-05")
def test_a_kill_switch_keeps_the_slot(lookout: Lookout, place: Place, clock: Clock) -> None:
    due(place, {"ann": (HOT, 0)})
    lookout.kill("connector", "crm")
    assert reasons(lookout.tick()) == {"KILL_SWITCH": 1}
    [after] = lookout.next_pulls("ann").values()
    assert (after.slot_at, after.due_at) == (START_AT, START_AT + MINUTE)
    lookout.kill("connector", "crm", on=False)
    clock.advance(60)
    assert reasons(lookout.tick()) == {"SCHEDULED": 1}


# -- all or nothing --------------------------------------------------------------------------------


@pytest.mark.req("P-06", "P-05")
def test_a_power_cut_leaves_all_or_nothing(lookout: Lookout, place: Place) -> None:
    lookout.connector("slow", milli_per_second=1000, burst=1, max_concurrency=5)
    due(place, {"ann": (HOT, 0), "bob": (COLD, 0), "eve": (WARM, 0)})
    place.execute("update next_pulls set connector_id = 'slow' where account_id <> 'ann'")
    before = contents(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                found = lookout.tick()
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    assert reasons(found) == {"SCHEDULED": 2}
    after = contents(place)
    for table in ("pulls", "pull_days", "connectors", "connector_slots", "next_pulls", "outbox"):
        assert after[table] != before[table], table
    assert seen.count("commit") == 1
    assert_verified(lookout.db)
