"""One pull at a time: what it takes, in which order, and what a refusal leaves untaken."""

from itertools import count

import pytest

from tests.databases import START_AT, Clock, Place
from tests.looking import DEEP, Lookout, decisions, messages, spent
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from tests.verify_clean import assert_verified
from watchkeeper.actions.set_connector import limit_for_tenant
from watchkeeper.actions.set_pull_budget import show_pull_budget
from watchkeeper.core.heat import Tier
from watchkeeper.core.ids import TenantId
from watchkeeper.core.pulls import PullReason
from watchkeeper.core.time import DAY, HOUR, SECOND, Instant, day_of
from watchkeeper.errors import NotFound
from watchkeeper.moves.heat import ON_SIGNAL
from watchkeeper.store import connectors
from watchkeeper.store.database import Database

REQUESTED = "pull.requested"


@pytest.fixture
def lookout(db: Database, clock: Clock) -> Lookout:
    made = Lookout(db, clock)
    made.budget(100)
    return made


def taken(place: Place) -> dict[str, list]:
    """All that a pull may take."""
    names = ("pulls", "pull_days", "connectors", "connector_slots", "connector_states", "outbox")
    found = contents(place)
    return {name: found[name] for name in names}


# -- what is scheduled ---------------------------------------------------------------------------


@pytest.mark.req("P-06", "P-08", "P-11", "P-13", "P-15")
def test_a_pull_takes_its_id_its_units_and_a_message(lookout: Lookout, place: Place) -> None:
    answer = lookout.ask(depth=DEEP, correlation_id="c-1")
    assert (answer.reason, answer.units, answer.remaining) == (None, 3, 97)
    [message] = messages(place, REQUESTED)
    assert message["detail"] == {
        "account_id": "ann",
        "budget_remaining": 97,
        "connector_id": "crm",
        "correlation_id": "c-1",
        "depth": "DEEP",
        "depth_units": 3,
        "origin": "manual",
        "pull_job_id": answer.job.pull_job_id,
        "scheduled_at": "2030-01-01T00:00:00Z",
        "tenant_id": "acme",
    }
    assert spent(place) == {"": (3, 1), "crm": (3, 1)}
    assert decisions(place) == {("SCHEDULED", None): 1}
    assert lookout.next_pulls("ann") == {}, "asking starts no cadence"
    assert_verified(lookout.db)


@pytest.mark.req("P-15")
def test_any_connector_will_do(lookout: Lookout, place: Place) -> None:
    assert lookout.ask(connector="nobody.knows:it").is_scheduled
    assert place.execute("select count(*) from connectors") == [(0,)]


@pytest.mark.req("P-08")
def test_depths_cost_what_their_connector_says(lookout: Lookout, place: Place) -> None:
    lookout.connector(shallow_units=2, deep_units=7)
    assert [lookout.ask().units, lookout.ask(depth=DEEP).units] == [2, 7]
    assert spent(place)[""] == (9, 2)


@pytest.mark.req("P-07")
def test_the_same_by_hand_within_an_hour_is_one(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    first = lookout.ask()
    clock.advance(seconds=3599)
    again = lookout.ask()
    assert again.reason is PullReason.DUPLICATE
    assert again.job.pull_job_id == first.job.pull_job_id
    assert spent(place)[""] == (1, 1), "a duplicate consumes no budget"
    assert lookout.ask(depth=DEEP).is_scheduled
    assert lookout.ask("bob").is_scheduled
    clock.advance(seconds=1)
    assert lookout.ask().is_scheduled


@pytest.mark.req("P-07")
def test_an_id_of_the_callers_is_taken_for_its_time_to_live(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    assert lookout.ask(pull_job_id="mine").is_scheduled
    clock.advance(hours=23, minutes=59, seconds=59)
    assert lookout.ask("bob", pull_job_id="mine").reason is PullReason.DUPLICATE
    clock.advance(seconds=1)
    assert lookout.ask("bob", pull_job_id="mine").is_scheduled
    assert len(messages(place, REQUESTED)) == 2
    assert_verified(lookout.db)


@pytest.mark.req("P-09")
def test_a_new_day_is_a_new_row_by_itself(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.budget(1)
    clock.set(Instant(START_AT + DAY - 1))
    assert lookout.ask("ann").is_scheduled
    assert lookout.ask("bob").reason is PullReason.BUDGET_EXCEEDED
    clock.advance(0.000001)
    assert lookout.ask("bob").is_scheduled
    today = day_of(START_AT)
    rows = place.execute("select day, units from pull_days where connector_id = '' order by 1")
    assert rows == [(today, 1), (today + 1, 1)]
    for day, total in ((today, 1), (today + 1, 1), (today + 2, 0)):
        assert show_pull_budget(lookout.db, lookout.tenant_id, day).total.units == total
    assert_verified(lookout.db)


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.req("P-08")
def test_without_a_budget_nothing_is_pulled(lookout: Lookout, place: Place) -> None:
    lookout.budget(None)
    before = taken(place)
    answer = lookout.ask()
    assert (answer.reason, answer.remaining) == (PullReason.NO_BUDGET, 0)
    assert taken(place) == before
    assert decisions(place) == {("REFUSED", "NO_BUDGET"): 1}


@pytest.mark.req("P-08", "P-06")
def test_refused_by_the_budget_the_id_is_free_again(lookout: Lookout, place: Place) -> None:
    lookout.budget(2)
    answer = lookout.ask(depth=DEEP, pull_job_id="mine")
    assert (answer.reason, answer.remaining) == (PullReason.BUDGET_EXCEEDED, 2)
    assert spent(place) == {}
    lookout.budget(3)
    assert lookout.ask(depth=DEEP, pull_job_id="mine").remaining == 0


@pytest.mark.req("P-08")
def test_both_scopes_or_neither(lookout: Lookout, place: Place) -> None:
    """The connector has units, the tenant has none; and the other way round."""
    lookout.budget(3, crm=100)
    lookout.ask("ann", depth=DEEP)
    assert lookout.ask("bob").reason is PullReason.BUDGET_EXCEEDED
    assert spent(place) == {"": (3, 1), "crm": (3, 1)}
    lookout.budget(100, crm=3)
    assert lookout.ask("bob").reason is PullReason.BUDGET_EXCEEDED
    assert lookout.ask("bob", "erp").remaining == 96
    assert spent(place) == {"": (4, 2), "crm": (3, 1), "erp": (1, 1)}
    assert_verified(lookout.db)


@pytest.mark.req("P-06", "P-10")
def test_refused_by_a_limit_neither_id_nor_budget_is_taken(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.connector(milli_per_second=100, burst=2)
    lookout.ask("a1")
    lookout.ask("a2")
    before = taken(place)
    answer = lookout.ask("a3")
    assert (answer.reason, answer.retry_at) == (PullReason.RATE_LIMIT, START_AT + 10 * SECOND)
    assert taken(place) == before
    clock.set(Instant(answer.retry_at - 1))
    assert lookout.ask("a3").reason is PullReason.RATE_LIMIT
    clock.set(answer.retry_at)
    assert lookout.ask("a3").is_scheduled


@pytest.mark.req("P-06")
def test_a_duplicate_costs_no_token(lookout: Lookout) -> None:
    lookout.connector(milli_per_second=100, burst=2)
    assert [lookout.ask().reason for _ in range(3)] == [None] + [PullReason.DUPLICATE] * 2
    assert lookout.ask("bob").is_scheduled


@pytest.mark.req("P-06")
def test_who_is_refused_by_the_budget_costs_no_token(lookout: Lookout) -> None:
    lookout.connector(milli_per_second=100, burst=1)
    lookout.budget(0)
    assert lookout.ask().reason is PullReason.BUDGET_EXCEEDED
    lookout.budget(1)
    assert lookout.ask().is_scheduled


@pytest.mark.req("P-10")
def test_the_limit_is_shared_by_all_tenants(lookout: Lookout, clock: Clock) -> None:
    other = Lookout(lookout.db, clock, TenantId("other"))
    other.budget(100)
    lookout.connector(milli_per_second=1000, burst=1)
    assert lookout.ask().is_scheduled
    assert other.ask().reason is PullReason.RATE_LIMIT
    assert lookout.ask(connector="erp").is_scheduled


@pytest.mark.req("P-10")
def test_a_tenants_own_limit_is_nobody_elses(lookout: Lookout, clock: Clock) -> None:
    other = Lookout(lookout.db, clock, TenantId("other"))
    other.budget(100)
    mine = {"milli_per_second": 1000, "burst": 1, "by": "test"}
    limit_for_tenant(lookout.db, lookout.tenant_id, "crm", **mine)
    assert lookout.ask("a1").is_scheduled
    assert lookout.ask("a2").retry_at == START_AT + SECOND
    assert [other.ask(f"a{n}").reason for n in range(3)] == [None] * 3
    limit_for_tenant(lookout.db, lookout.tenant_id, "crm", **mine | {"milli_per_second": None})
    assert lookout.ask("a2").is_scheduled


@pytest.mark.req("P-10")
@pytest.mark.parametrize("whose", ["everybody's", "the tenant's"])
def test_a_clock_that_steps_back_neither_admits_nor_locks_out(
    lookout: Lookout, clock: Clock, whose: str
) -> None:
    if whose == "everybody's":
        lookout.connector(milli_per_second=1000, burst=3)
    else:
        told = {"milli_per_second": 1000, "burst": 3, "by": "test"}
        limit_for_tenant(lookout.db, lookout.tenant_id, "crm", **told)
    assert [lookout.ask(f"a{n}").reason for n in range(3)] == [None] * 3
    clock.advance(hours=-5)
    refused = lookout.ask("b")
    assert (refused.reason, refused.retry_at) == (PullReason.RATE_LIMIT, clock.at + SECOND)
    for n in range(3):
        clock.advance(1)
        assert lookout.ask(f"c{n}").is_scheduled
        assert lookout.ask(f"d{n}").reason is PullReason.RATE_LIMIT


@pytest.mark.req("P-10")
def test_pulls_at_once_are_leases(lookout: Lookout, clock: Clock) -> None:
    lookout.connector(max_concurrency=2)
    assert [lookout.ask(f"a{n}").reason for n in range(3)] == [None, None, PullReason.RATE_LIMIT]
    clock.advance(299)
    assert lookout.ask("a3").reason is PullReason.RATE_LIMIT
    clock.advance(1)
    assert lookout.ask("a3").is_scheduled, "a slot that nobody gave back has ended"


@pytest.mark.req("P-10")
def test_upstreams_patience_holds_for_all_but_one_probe(lookout: Lookout, clock: Clock) -> None:
    other = Lookout(lookout.db, clock, TenantId("other"))
    other.budget(100)
    until = Instant(START_AT + 100 * SECOND)
    with lookout.db.begin(lookout.tenant_id) as tx:
        connectors.hold(tx, "crm", until)
    for one in (lookout, other):
        refused = one.ask("a1")
        assert (refused.reason, refused.retry_at) == (PullReason.RATE_LIMIT, until)
    clock.advance(50)
    probes = [one.ask(account).reason for one in (other, lookout) for account in ("a2", "a3")]
    assert probes == [None] + [PullReason.RATE_LIMIT] * 3
    clock.advance(50)
    assert lookout.ask("a4").is_scheduled
    assert other.ask("a4").is_scheduled


@pytest.mark.req("P-06")
@pytest.mark.parametrize(("scope", "id"), [("all", None), ("tenant", None), ("connector", "crm")])
def test_a_kill_switch_stops_pulls(lookout: Lookout, place: Place, scope, id) -> None:
    lookout.kill(scope, id)
    before = taken(place)
    assert lookout.ask().reason is PullReason.KILL_SWITCH
    assert taken(place) == before
    assert lookout.ask(connector="erp").is_scheduled == (scope == "connector")
    lookout.kill(scope, id, on=False)
    assert lookout.ask().is_scheduled


@pytest.mark.req("P-13")
def test_every_answer_is_in_the_ledger(lookout: Lookout, place: Place) -> None:
    lookout.connector("slow", milli_per_second=1, burst=1)
    lookout.ask("ann")
    lookout.ask("ann")
    lookout.ask("ann", "slow")
    lookout.ask("bob", "slow")
    lookout.budget(0)
    lookout.ask("bob")
    assert decisions(place) == {
        ("SCHEDULED", None): 2,
        ("REFUSED", "DUPLICATE_PULL_JOB_ID"): 1,
        ("REFUSED", "RATE_LIMIT"): 1,
        ("REFUSED", "BUDGET_EXCEEDED"): 1,
    }
    assert_verified(lookout.db)


def test_a_tenant_that_nobody_knows(lookout: Lookout) -> None:
    lookout.tenant_id = TenantId("unknown")
    with pytest.raises(NotFound):
        lookout.ask()
    assert lookout.ask(makes_tenant=True).reason is PullReason.NO_BUDGET


# -- on a signal -----------------------------------------------------------------------------------


@pytest.mark.req("P-03", "P-07")
def test_a_signal_of_a_hot_account_is_a_shallow_pull_by_each_connector(
    lookout: Lookout, place: Place
) -> None:
    lookout.connector("crm")
    lookout.connector("erp")
    lookout.connector("by_hand", has_cadence=False)
    lookout.heat_up("ann")
    assert lookout.tier("ann") is Tier.HOT
    place.execute("delete from outbox where topic in ('pull.tick', 'pull.on_signal')")
    lookout.signal("ann", id="s-3")
    [told] = lookout.claim([ON_SIGNAL])
    lookout.handle(told)
    lookout.handle(told)  # its worker died before it could say so
    found = [message["detail"] for message in messages(place, REQUESTED)]
    assert sorted((one["connector_id"], one["depth"], one["origin"]) for one in found) == [
        ("crm", "SHALLOW", "signal"),
        ("erp", "SHALLOW", "signal"),
    ]
    assert decisions(place)["REFUSED", "DUPLICATE_PULL_JOB_ID"] == 2


@pytest.mark.req("P-10", "P-03")
def test_a_signal_that_a_limit_refuses_comes_again(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.connector(milli_per_second=1000, burst=1)
    lookout.heat_up("ann")
    place.execute("delete from outbox where topic = 'pull.tick'")
    from watchkeeper.actions.request_pull import pull_on_signal
    from watchkeeper.core.delivery import Delivered, Retry

    results = [
        pull_on_signal(lookout.db, lookout.tenant_id, told.payload)
        for told in lookout.claim([ON_SIGNAL])
    ]
    assert [type(result) for result in results] == [Delivered, Retry]
    assert results[1].after_seconds == pytest.approx(1)
    assert len(messages(place, REQUESTED)) == 1


# -- all or nothing --------------------------------------------------------------------------------


@pytest.mark.req("P-06")
def test_a_power_cut_leaves_all_or_nothing(lookout: Lookout, place: Place) -> None:
    lookout.connector(milli_per_second=1000, burst=9, max_concurrency=5)
    lookout.ask("zoe")
    before = contents(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                assert lookout.ask("ann").is_scheduled
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    after = contents(place)
    for table in ("pulls", "pull_days", "connectors", "connector_slots", "outbox", "ledger"):
        assert after[table] != before[table], table
    assert seen.count("commit") == 1
    assert_verified(lookout.db)


@pytest.mark.req("P-07", "P-09")
def test_an_hour_by_hand_and_a_day_of_budget_go_by_the_shared_clock(
    lookout: Lookout, clock: Clock, place: Place
) -> None:
    """The process's own clock is a day off; the database's has a virtual time here."""
    wrong = place.open(wall=lambda: Instant(START_AT + 5 * DAY + HOUR))
    try:
        other = Lookout(wrong, clock)
        assert lookout.ask().is_scheduled
        assert other.ask().reason is PullReason.DUPLICATE
        other.ask("bob")
    finally:
        wrong.close()
    assert {row[0] for row in place.execute("select day from pull_days")} == {day_of(START_AT)}
