"""A policy is tried on what was recorded: what is unchanged flips nothing, the rest is counted."""

import contextlib
from random import Random

import pytest

from tests.databases import START_AT, Clock, Place
from tests.metered import USED, Worker
from tests.moves.test_replay import live
from tests.play import ACME, BRIEF, Player, event
from watchkeeper import App
from watchkeeper.actions.plan_policy import plan_policy
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.set_schedule import NewSchedule, set_schedule
from watchkeeper.core.envelope import RETRY
from watchkeeper.core.ids import AccountId, ScheduleId, TenantId
from watchkeeper.core.replay_tally import ADDED, SAVED
from watchkeeper.core.time import HOUR, SECOND, Instant, hour_of
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("T-21")


def in_force(db: Database) -> str:
    with db.read(ACME) as tx:
        policy = db.policies.current(tx)
    return policy.text if policy.version else ""


def lose_messages(place: Place, dice: Random) -> None:
    """A crash that takes messages with it, on the way or at rest."""
    place.execute(f"delete from outbox where topic = '{RETRY}' and {dice.randrange(2)} = 1")


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_in_force_flips_nothing(
    db: Database, clock: Clock, place: Place, seed: int
) -> None:
    """Whatever happened: policies, tiers, switches, repeats, late and lost retries, restarts."""
    dice = Random(seed)
    Player(db, clock).fire(event())
    hourly = NewSchedule(trigger_type=BRIEF, cron="0 * * * *", account_id=AccountId("ann"))
    set_schedule(db, ACME, ScheduleId("s"), hourly)
    for _ in range(3):
        with contextlib.closing(place.open()) as own:  # another process takes over
            live(Player(own, clock), dice, 40)
        lose_messages(place, dice)
        clock.advance(dice.choice([10, 3000, 90_000]))
    plan = plan_policy(db, in_force(db))
    assert plan.events > 150
    assert (plan.flips, plan.extra_runs, plan.by_change, plan.accounts) == (0, 0, [], [])
    assert sum(one.retimed for one in plan.tenants) == 0
    later = plan_policy(db, in_force(db), since_us=3 * HOUR)
    assert (later.flips, later.extra_runs) == (0, 0)


# -- a change is counted ---------------------------------------------------------------------

EVERY = 100
SHORTER = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 100\n"
LONGER = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 900\n"


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    """Two accounts: ann hears something every hundred seconds, bob once."""
    player = Player(db, clock)
    player.fire(event("bob"))
    for _ in range(11):
        player.fire(event("ann"))
        player.live_until(Instant(clock.at + EVERY * SECOND))
    return player


def test_a_shorter_cooldown_adds_runs_and_takes_waiting_away(player: Player) -> None:
    plan = plan_policy(player.db, SHORTER)
    said = plan.to_json()
    assert plan.flips > 0
    assert plan.extra_runs > 0
    assert {was for was, _, _ in plan.by_change} <= {"DEFER COOLDOWN", "SKIP COALESCED"}
    assert {now for _, now, _ in plan.by_change} == {"ALLOW"}
    assert sum(count for _, _, count in plan.by_change) == plan.flips
    [account] = plan.accounts
    assert (account.account_id, account.flips) == ("ann", plan.flips)
    assert account.runs == plan.extra_runs
    [second] = [
        e
        for e in player.entries(kind="verdict", subject="ann")
        if e.seq == account.inferred_from_seq
    ]
    assert second.entry.entry_id == account.decision_id
    assert second.entry.reason == "COOLDOWN", "the first that would have gone otherwise"
    delay = said["signal_delay"]
    assert delay["mean_seconds_after"] == 0 < delay["mean_seconds_before"]
    assert said["runs"]["after"] == plan.runs_before + plan.extra_runs
    assert said["runs"]["added"] - said["runs"]["saved"] == plan.extra_runs
    assert said["changes"] == [
        {"path": "triggers.SIGNAL_ARRIVED.cooldown_seconds", "before": 300, "after": 100}
    ]


def test_a_longer_cooldown_saves_runs(player: Player) -> None:
    plan = plan_policy(player.db, LONGER)
    assert plan.extra_runs < 0
    assert plan.to_json()["runs"]["saved"] >= -plan.extra_runs
    delay = plan.to_json()["signal_delay"]
    assert delay["mean_seconds_after"] > delay["mean_seconds_before"]


@pytest.mark.req("U-31")
def test_flips_are_told_by_their_hour(player: Player) -> None:
    """And by what they did. All of it happened in the first hours of the record."""
    first = hour_of(START_AT)
    for document, what in ((SHORTER, ADDED), ("run_budget_per_day = 0\n", SAVED)):
        plan = plan_policy(player.db, document)
        assert sum(plan.by_hour.values()) == plan.flips
        assert {hour for hour, _ in plan.by_hour} <= {first, first + 1}
        assert what in {done for _, done in plan.by_hour}
    assert plan_policy(player.db, "").by_hour == {}


def test_nothing_is_written(player: Player, place: Place) -> None:
    tables = ("ledger", "outbox", "accounts", "tenants", "policies", "reservations")
    before = [place.execute(f"select * from {name} order by 1, 2") for name in tables]
    plan_policy(player.db, SHORTER)
    assert [place.execute(f"select * from {name} order by 1, 2") for name in tables] == before


def test_the_change_is_laid_on_what_ruled_then(player: Player) -> None:
    """An older version stays what it was; only what the document changes is tried on it."""
    player.policy(SHORTER)
    player.fire(*(event(name) for name in ("ann", "cat")))
    assert plan_policy(player.db, SHORTER).flips == 0
    assert (
        plan_policy(player.db, SHORTER + "[triggers.POSTURE_CHANGE]\ncooldown_seconds = 1\n").flips
        == 0
    )
    assert plan_policy(player.db, "").flips == 0, "back to 300 only where 100 ruled"
    stopped = plan_policy(player.db, f"run_budget_per_day = 0\n{SHORTER}")
    assert stopped.runs_after == 0
    assert stopped.runs_before > 0


def test_switches_were_as_they_were(db: Database, clock: Clock) -> None:
    """Also for a retry that comes only in the replay."""
    player = Player(db, clock)
    player.fire(event("ann"))
    clock.advance(100)
    player.fire(event("ann"))
    clock.advance(20)
    set_kill_switch(db, ACME, "tenant", None, on=True, reason="x", set_by="eve")
    clock.advance(400)
    player.settle()
    set_kill_switch(db, ACME, "tenant", None, on=False, reason="x", set_by="eve")
    clock.advance(1000)
    player.fire(event("bob"))
    plan = plan_policy(db, "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 200\n")
    assert plan.runs_after == plan.runs_before == 2
    assert plan.flips == 0
    later = plan_policy(db, "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 600\n")
    assert later.runs_after == 3, "by then the switch was off"


@pytest.mark.req("T-22")
@pytest.mark.parametrize("processes", [1, 2])
def test_tenants_are_replayed_side_by_side(db: Database, clock: Clock, processes: int) -> None:
    for name in ("acme", "bolt", "calm"):
        player = Player(db, clock, TenantId(name))
        for _ in range(3):
            player.fire(event("ann"))
            clock.advance(100)
    seen: list[tuple[int, int]] = []
    plan = plan_policy(
        db, SHORTER, processes=processes, on_progress=lambda *told: seen.append(told)
    )
    assert {one.tenant_id: one.flips for one in plan.tenants} == {"acme": 2, "bolt": 2, "calm": 2}
    assert seen[-1][0] == seen[-1][1] > 0
    outside = 0 if processes == 1 else None  # in a process of its own, though it is one
    only = plan_policy(db, SHORTER, tenant_ids=[TenantId("bolt")], outside_above=outside)
    assert [(one.tenant_id, one.flips) for one in only.tenants] == [("bolt", 2)]


@pytest.mark.req("T-22")
def test_a_plan_says_the_same_with_any_number_of_processes(db: Database, clock: Clock) -> None:
    """To the last line, also where counts are equal."""
    for seed, name in enumerate(("acme", "bolt", "calm", "dusk")):
        live(Player(db, clock, TenantId(name)), Random(seed), 25)
    told = [
        plan_policy(db, f"run_budget_per_day = 9\n{SHORTER}", processes=processes).to_json()
        for processes in (1, 2, 3)
    ]
    assert told[0]["flips"] > 0
    assert len(told[0]["tenants"]) == 4
    for one in told[1:]:
        assert {**one, "until": ""} == {**told[0], "until": ""}


def test_what_runs_cost_is_told_in_credits(db_url: str) -> None:
    app = App(db_url, migrate=False)
    worker = Worker(app)
    worker.do(USED)
    app.clock.advance(3600)
    worker.do(USED)
    saved = plan_policy(app.db, "run_budget_per_day = 1\n").to_json()
    assert saved["runs"] == {"before": 2, "after": 1, "saved": 1, "added": 0}
    charged = 10 * 1_000_000 + 10 * 3_000_000
    assert (
        saved["credits_micro"]["saved"] == charged // 1_000_000
        or saved["credits_micro"]["saved"] > 0
    )
    app.close()


def test_what_cannot_be_planned_is_refused(db: Database, clock: Clock) -> None:
    Player(db, clock).fire(event())
    with pytest.raises(Invalid, match="line 1"):
        plan_policy(db, "run_budget_per_day = -1")
    with pytest.raises(NotFound):
        plan_policy(db, "", tenant_ids=[TenantId("nobody")])
    with pytest.raises(Invalid, match="processes"):
        plan_policy(db, "", processes=0)


def test_an_empty_history_flips_nothing(db: Database) -> None:
    plan = plan_policy(db, SHORTER)
    assert plan.to_json()["flips"] == 0
    assert plan.tenants == ()
