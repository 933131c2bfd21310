"""The sweep: bounded slices, fenced against what was heard since; whoever is missing is made."""

import json
from itertools import count, pairwise
from typing import Any
from unittest.mock import patch

import pytest

from tests.databases import START_AT, Clock, Databases, Place
from tests.looking import Lookout, messages
from tests.play import ACME, event
from tests.power_cut import STEPS_MAX, PowerCut, contents, power_cut_at
from tests.verify_clean import assert_verified
from watchkeeper.actions import sweep_heat
from watchkeeper.actions.sweep_heat import sweep_now, sweep_slice
from watchkeeper.core.heat import Tier, stand
from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import HOUR, MINUTE, Instant
from watchkeeper.moves.heat import SWEEP, TICK
from watchkeeper.store import tenants
from watchkeeper.store.database import Database
from watchkeeper.store.timers import TICKS

COLD, WARM, HOT = Tier.COLD, Tier.WARM, Tier.HOT


@pytest.fixture
def lookout(db: Database, clock: Clock) -> Lookout:
    return Lookout(db, clock)


def standing(place: Place) -> dict:
    """The message that the sweep waits for; older ones may lie beside it."""
    [(round_at, after)] = place.execute(
        "select round_at, after_account from sweeps where tenant_id = 'acme'"
    )
    told = {"after": after, "round_at": round_at}
    assert told in messages(place, SWEEP), "nobody will go on"
    return told


def sweep_round(lookout: Lookout, place: Place, size: int = 10_000) -> list[int]:
    """Play the messages of one round; how many changed with each."""
    told = standing(place)
    lookout.clock.set(Instant(max(lookout.clock.at, told["round_at"])))
    changed = []
    for _ in range(100):
        changed.append(sweep_slice(lookout.db, ACME, json.dumps(told), size))
        told = standing(place)
        if not told["after"]:
            return changed
    raise AssertionError("the round does not end")


@pytest.mark.req("P-02")
def test_accounts_that_hear_nothing_cool_down(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.heat_up("ann")
    lookout.signal("bob")
    for _ in range(20):
        sweep_round(lookout, place)
    clock.advance(days=4)
    sweep_round(lookout, place)
    assert (lookout.tier("ann"), lookout.tier("bob")) == (WARM, COLD)
    entries = lookout.entries(kind="heat.tier_changed", subject="ann")
    assert [one.entry.result for one in entries] == ["COLD", "HOT", "WARM"]
    assert_verified(lookout.db)


@pytest.mark.req("P-02")
def test_each_account_is_seen_at_least_hourly(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.signal("ann")
    rounds = []
    for _ in range(5):
        sweep_round(lookout, place)
        rounds.append(standing(place)["round_at"])
    gaps = {b - a for a, b in pairwise(rounds)}
    assert gaps == {30 * MINUTE}
    clock.advance(hours=9)  # nobody worked: one round, not eighteen
    sweep_round(lookout, place)
    assert standing(place)["round_at"] >= clock.at


@pytest.mark.req("P-02")
def test_slices_are_bounded_and_cover_everybody(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    names = [f"a{n:03}" for n in range(25)]
    lookout.signal(*names)
    changed = sweep_round(lookout, place, size=10)
    assert changed == [0, 0, 0, 0], "nothing has changed within half an hour"
    clock.advance(hours=2)
    assert sweep_round(lookout, place, size=10) == [10, 10, 5, 0]
    assert {lookout.heat(name).score.recency for name in names} == {700_000}
    assert sweep_round(lookout, place, size=10) == [0, 0, 0, 0], "and nothing is written twice"


@pytest.mark.req("P-02")
def test_names_of_any_kind_cool_down(lookout: Lookout, place: Place, clock: Clock) -> None:
    """They reach the database in a list, where each of these could mean something else."""
    names = ['a"b', "a\\b", "{a}", "a,b", "null", "NULL", "a\tb", "ä", "'", "a b", "%s"]
    lookout.signal(*names)
    clock.advance(hours=2)
    assert sweep_round(lookout, place) == [len(names), 0]
    assert {lookout.heat(name).score.recency for name in names} == {700_000}
    assert {lookout.heat(name).version for name in names} == {2}


@pytest.mark.req("P-02")
def test_what_a_sweep_writes_is_what_it_found(lookout: Lookout, place: Place, clock: Clock) -> None:
    """Every column: as if the account had been judged at that moment by somebody else."""
    lookout.heat_up("ann")
    lookout.signal("bob")
    with lookout.db.read(ACME) as tx:
        rules = lookout.db.policies.exact(tx).rules.heat
    before = {name: lookout.heat(name) for name in ("ann", "bob")}
    clock.advance(hours=7)
    sweep_round(lookout, place)
    for name, old in before.items():
        found = lookout.heat(name)
        assert (found.state, found.score, found.changes_at) == stand(old.state, rules, clock.at)
        assert found.version == old.version + 1


@pytest.mark.req("P-02")
def test_a_message_that_comes_twice_does_nothing(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.signal("ann")
    clock.advance(hours=2)
    [claimed] = lookout.claim([SWEEP])
    assert sweep_slice(lookout.db, ACME, claimed.payload) == 1
    before = contents(place)
    assert sweep_slice(lookout.db, ACME, claimed.payload) == 0
    assert contents(place) == before


@pytest.mark.req("P-02", "P-05")
def test_whoever_has_no_heat_gets_it(lookout: Lookout, place: Place) -> None:
    lookout.connector()
    lookout.fire(event("ann"))  # no signal, so nothing has warmed it
    lookout.posture("bob", "EXPAND")
    place.execute("delete from heats")
    place.execute("delete from next_pulls")
    sweep_now(lookout.db)
    sweep_round(lookout, place)
    assert lookout.heat("ann").score.heat == 0
    assert lookout.heat("bob").score.heat == 360_000
    found = lookout.next_pulls("ann", "bob")
    assert sorted(found) == [("ann", "crm"), ("bob", "crm")]


@pytest.mark.req("P-05")
def test_a_connector_that_comes_later_gets_every_account(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.signal(*[f"a{n}" for n in range(30)])
    assert lookout.next_pulls("a1") == {}
    lookout.connector("late")
    sweep_round(lookout, place, size=7)
    found = lookout.next_pulls(*[f"a{n}" for n in range(30)])
    assert len(found) == 30
    assert all(clock.at <= one.due_at < clock.at + 6 * HOUR for one in found.values())
    assert len({one.due_at for one in found.values()}) > 20, "spread"
    [tick] = messages(place, TICK)
    assert tick["due_at"] == min(one.due_at for one in found.values())
    before = lookout.next_pulls("a1")
    sweep_round(lookout, place)
    assert lookout.next_pulls("a1") == before


@pytest.mark.req("P-02")
def test_another_policy_scores_everybody_anew(lookout: Lookout, place: Place) -> None:
    lookout.signal("ann", "ann")
    assert lookout.tier("ann") is WARM
    lookout.policy("[heat]\nhot_percent = 40\n")
    sweep_round(lookout, place)
    assert lookout.tier("ann") is HOT
    assert lookout.heat("ann").policy_version == 1


@pytest.mark.req("P-05", "P-03")
def test_a_shorter_cadence_holds_from_the_next_sweep_on(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    """No slot of the old cadence is waited for, and nobody is pulled at once with all others."""
    names = [f"a{n}" for n in range(40)]
    lookout.connector()
    lookout.signal(*names)
    lookout.make_due(place, ago=-5 * HOUR)
    lookout.make_due(place, "account_id = 'a0'", ago=-MINUTE)
    place.execute(f"update next_pulls set due_at = {clock.at + 20 * HOUR} where account_id = 'a1'")
    lookout.policy("[heat_tiers.WARM]\ncadence_seconds = 3600\n")
    sweep_round(lookout, place)
    found = lookout.next_pulls(*names)
    assert all(one.slot_at <= clock.at + HOUR for one in found.values())
    assert all(one.overdue_at == one.slot_at + HOUR for one in found.values())
    assert len({one.slot_at for one in found.values()}) > 30, "spread"
    assert found["a0", "crm"].slot_at == START_AT + MINUTE, "it would come sooner"
    assert found["a1", "crm"].due_at == START_AT + 20 * HOUR, "a limit said so"
    tick = min(one.due_at for one in found.values())
    assert messages(place, TICK)[0]["due_at"] <= tick
    lookout.policy("[heat_tiers.WARM]\ncadence_seconds = 360000\n")
    sweep_round(lookout, place)
    after = lookout.next_pulls(*names)
    assert {k: v.slot_at for k, v in after.items()} == {k: v.slot_at for k, v in found.items()}
    assert_verified(lookout.db)


@pytest.mark.req("P-02")
def test_tenants_that_were_there_before_are_swept_when_a_connector_comes(
    lookout: Lookout, place: Place
) -> None:
    lookout.fire(event("ann"))
    other = Lookout(lookout.db, lookout.clock, TenantId("other"))
    other.fire(event("bob"))
    assert messages(place, SWEEP) == []
    lookout.connector()
    lookout.pass_on(SWEEP)
    assert (lookout.tier("ann"), other.tier("bob")) == (COLD, COLD)
    assert len(messages(place, SWEEP)) == len(messages(place, SWEEP, "other")) == 1


@pytest.mark.req("P-05")
def test_a_tick_that_was_lost_is_mended(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.connector()
    lookout.budget(100)
    lookout.heat_up("ann")
    place.execute("delete from outbox where topic = 'pull.tick'")
    clock.advance(hours=2)
    sweep_round(lookout, place)
    assert len(messages(place, TICK)) == 1
    lookout.pass_on(TICK)
    assert len(messages(place, "pull.requested")) == 1


# -- somebody was faster ---------------------------------------------------------------------------


def interleaved(lookout: Lookout, place: Place, deed: Any) -> int:
    """Sweep a slice; when it has read and judged and wants the lock, `deed` is done first."""
    real, done = tenants.lock, []

    def lock(tx: Any) -> Any:
        if not done:
            done.append(True)
            deed()
        return real(tx)

    [claimed] = lookout.claim([SWEEP])
    with patch.object(sweep_heat.tenants, "lock", lock):
        found = sweep_slice(lookout.db, ACME, claimed.payload)
    assert done, "the sweep took no lock"
    return found


@pytest.mark.req("P-02")
@pytest.mark.postgresql
def test_a_signal_that_was_faster_stays(databases: Databases) -> None:
    with databases.opened("postgresql") as (db, clock):
        lookout = Lookout(db, clock)
        lookout.signal("ann", "bob")
        clock.advance(hours=2)
        with databases_other(db) as second:
            other = Lookout(second, clock)
            assert interleaved(lookout, clock.place, lambda: other.signal("ann")) == 1
        assert lookout.heat("ann").score.recency == 1_000_000, "the sweep wrote over the signal"
        assert lookout.heat("bob").score.recency == 700_000


@pytest.mark.req("P-02")
@pytest.mark.postgresql
def test_the_first_signal_of_an_account_that_was_faster_stays(databases: Databases) -> None:
    """The sweep read that there was no heat; when it writes, there is."""
    with databases.opened("postgresql") as (db, clock):
        lookout = Lookout(db, clock)
        lookout.signal("bob")
        lookout.fire(event("ann"))
        clock.advance(hours=1)
        with databases_other(db) as second:
            other = Lookout(second, clock)
            interleaved(lookout, clock.place, lambda: other.signal("ann"))
        found = lookout.heat("ann")
        assert (found.state.tier, len(found.state.recent)) == (WARM, 1)
        entries = lookout.entries(kind="heat.tier_changed", subject="ann")
        assert [one.entry.result for one in entries] == ["WARM"]


@pytest.mark.req("P-02")
@pytest.mark.postgresql
def test_two_sweepers_of_one_slice_are_one(databases: Databases) -> None:
    with databases.opened("postgresql") as (db, clock):
        lookout = Lookout(db, clock)
        lookout.signal("ann")
        clock.advance(hours=2)
        told = json.dumps(messages(clock.place, SWEEP)[0])
        with databases_other(db) as second:
            found = interleaved(lookout, clock.place, lambda: sweep_slice_alone(second, told))
        assert found == 0
        assert lookout.heat("ann").version == 2
        assert len([m for m in messages(clock.place, SWEEP) if m["after"]]) == 1


def sweep_slice_alone(db: Database, told: str) -> None:
    assert sweep_slice(db, ACME, told) == 1


def databases_other(db: Database) -> Any:
    from contextlib import closing

    return closing(db.of_its_own())


# -- all or nothing --------------------------------------------------------------------------------


@pytest.mark.req("P-02", "P-05")
def test_a_power_cut_leaves_all_or_nothing(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.heat_up("ann")
    lookout.fire(event("bob"))
    lookout.connector()
    clock.advance(days=3)
    told = json.dumps(standing(place))
    before = contents(place)
    for step in count(1):
        assert step < STEPS_MAX
        try:
            with power_cut_at(step) as seen:
                assert sweep_slice(lookout.db, ACME, told) == 2
            break
        except PowerCut:
            assert contents(place) == before, f"half done after a cut at step {step}: {seen}"
    after = contents(place)
    for table in ("heats", "ledger", "next_pulls", "sweeps", "outbox", "pull_ticks"):
        assert after[table] != before[table], table
    assert after["accounts"] == before["accounts"]
    assert_verified(lookout.db)


@pytest.mark.req("P-05")
def test_the_end_of_a_round_is_one_too(lookout: Lookout, place: Place, clock: Clock) -> None:
    lookout.connector()
    lookout.signal("ann")
    place.execute("delete from outbox where topic = 'pull.tick'")
    clock.advance(hours=8)
    told = standing(place)
    sweep_slice(lookout.db, ACME, json.dumps(told))
    told = json.dumps(told | {"after": "ann"})
    before = contents(place)
    for step in count(1):
        try:
            with power_cut_at(step):
                sweep_slice(lookout.db, ACME, told)
            break
        except PowerCut:
            assert contents(place) == before
    assert contents(place)["sweeps"] != before["sweeps"]
    with lookout.db.read(ACME) as tx:
        assert TICKS.at(tx) == clock.at >= START_AT
