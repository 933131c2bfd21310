"""Shadow policies: every event is judged beside, once, and nothing acts by it."""

import contextlib
from random import Random

import pytest

from tests.databases import Clock, Place
from tests.play import ACME, Player, event
from watchkeeper.actions import follow_shadows as following
from watchkeeper.actions.follow_shadows import follow_shadows
from watchkeeper.actions.plan_policy import plan_policy
from watchkeeper.actions.set_shadow import (
    SHADOWS_MAX,
    list_shadows,
    promote_shadow,
    remove_shadow,
    set_shadow,
    show_shadow,
)
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.errors import Conflict, Invalid, NotFound
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("T-23")

SHORTER = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 100\n"


def shadow(db: Database, name: str, document: str) -> None:
    set_shadow(db, name, document, author="test", reason="test")


def divergence(db: Database, name: str) -> dict:
    return show_shadow(db, name).to_json()["divergence"]


@pytest.fixture
def player(db: Database, clock: Clock) -> Player:
    """A tenant that is there already when the shadows are set."""
    player = Player(db, clock)
    player.fire(event("zoe"))
    clock.advance(1)
    shadow(db, "same", "")
    shadow(db, "shorter", SHORTER)
    follow_shadows(db)
    return player


def test_each_event_is_judged_once_wherever_it_is_cut(
    db: Database, clock: Clock, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In small pages, by several who follow, with restarts between: as one plan over it all."""
    player = Player(db, clock)
    player.fire(event("zoe"))
    clock.advance(1)
    shadow(db, "same", "")
    shadow(db, "shorter", SHORTER)
    follow_shadows(db)
    monkeypatch.setattr(following, "ENTRIES", 7)
    for _ in range(12):
        player.fire(event("ann"), event("bob", "POSTURE_CHANGE"))
        clock.advance(90)
        player.settle()
        with contextlib.closing(place.open()) as other:
            follow_shadows(other)
    follow_shadows(db)
    assert follow_shadows(db) == 0
    assert divergence(db, "same")["flips"] == 0
    found = divergence(db, "shorter")
    plan = plan_policy(db, SHORTER)
    assert 0 < found["flips"] <= plan.flips, "a plan also matches retries with each other"
    assert found["events"] == plan.events - 1, "all but the one before it was set"
    assert found["runs_before"] == plan.runs_before - 1
    assert found["runs_after"] == plan.runs_after - 1
    assert sum(one["count"] for one in found["by_change"]) == found["flips"]
    rows = place.execute("select count(*) from shadow_flips where name = 'shorter'")
    assert rows == [(found["flips"],)], "each divergence is recorded"


@pytest.mark.parametrize("seed", [2])
def test_a_shadow_of_what_is_in_force_agrees(db: Database, clock: Clock, seed: int) -> None:
    player = Player(db, clock)
    player.fire(event("zoe"))
    clock.advance(1)
    shadow(db, "same", "")
    follow_shadows(db)
    dice = Random(seed)
    for _ in range(40):
        clock.advance(dice.choice([0, 30, 100, 400, 4000]))
        player.fire(*(event(dice.choice(["ann", "bob"])) for _ in range(dice.choice([1, 3]))))
        player.settle()
        if dice.random() < 0.3:
            follow_shadows(db)
    follow_shadows(db)
    found = divergence(db, "same")
    assert found["events"] > 40
    assert (found["flips"], found["by_change"], found["newest"]) == (0, [], [])
    assert found["runs_before"] == found["runs_after"]


def test_nothing_acts_by_a_shadow(player: Player, place: Place, clock: Clock) -> None:
    player.fire(event("ann"))
    clock.advance(100)
    assert player.tell(event("ann")) == ["DEFER COOLDOWN"]
    tables = ("ledger", "outbox", "accounts", "tenants", "reservations")
    before = [place.execute(f"select * from {name} order by 1, 2") for name in tables]
    follow_shadows(player.db)
    assert [place.execute(f"select * from {name} order by 1, 2") for name in tables] == before
    assert divergence(player.db, "shorter")["by_change"] == [
        {"was": "DEFER COOLDOWN", "now": "ALLOW", "count": 1}
    ]
    [flip] = divergence(player.db, "shorter")["newest"]
    assert (flip["tenant_id"], flip["account_id"]) == (ACME, "ann")


def test_a_failed_page_leaves_nothing(
    player: Player, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    player.fire(event("ann"))
    clock.advance(100)
    player.fire(event("ann"))
    with monkeypatch.context() as broken:
        broken.setattr("watchkeeper.store.shadows.save", None)
        with pytest.raises(TypeError):
            follow_shadows(player.db)
    follow_shadows(player.db)
    found = divergence(player.db, "shorter")
    assert (found["events"], found["flips"]) == (2, 1)


def test_one_that_is_set_again_begins_again(player: Player, clock: Clock) -> None:
    player.fire(event("ann"))
    clock.advance(100)
    player.fire(event("ann"))
    follow_shadows(player.db)
    clock.advance(1)
    shadow(player.db, "shorter", SHORTER + "# again\n")
    follow_shadows(player.db)
    assert divergence(player.db, "shorter")["events"] == 0
    clock.advance(1)
    player.fire(event("cat"))
    follow_shadows(player.db)
    assert divergence(player.db, "shorter")["events"] == 1


def test_a_tenant_that_comes_later_is_followed_from_its_first_event(
    player: Player, clock: Clock
) -> None:
    clock.advance(5)
    later = Player(player.db, clock, TenantId("later"))
    later.fire(event("ann"), event("bob"))
    follow_shadows(player.db)
    found = {one["tenant_id"]: one for one in divergence(player.db, "same")["tenants"]}
    assert found["later"]["events"] == 2


def test_promoting_puts_it_in_force(player: Player, clock: Clock, place: Place) -> None:
    policy = promote_shadow(player.db, "shorter", author="eve", reason="it was right")
    assert policy.version == 1
    player.fire(event("ann"))
    clock.advance(100)
    assert player.tell(event("ann")) == ["ALLOW"]
    assert [one.name for one in list_shadows(player.db)] == ["same"]
    assert place.execute("select count(*) from shadow_states where name = 'shorter'") == [(0,)]
    system = Player(player.db, clock, SYSTEM)
    assert [e.entry.subject for e in system.entries(kind="policy_shadow.removed")] == ["shorter"]
    assert len(system.entries(kind="policy_shadow.set")) == 2


def test_what_is_wrong_is_refused(player: Player) -> None:
    db = player.db
    with pytest.raises(Invalid, match="line 1"):
        shadow(db, "bad", "nonsense = 1")
    for deed in (
        lambda: show_shadow(db, "nobody"),
        lambda: remove_shadow(db, "nobody", author="x"),
        lambda: promote_shadow(db, "nobody", author="x", reason="x"),
    ):
        with pytest.raises(NotFound, match="no shadow policy nobody"):
            deed()
    for number in range(SHADOWS_MAX - 2):
        shadow(db, f"s{number}", "")
    with pytest.raises(Conflict, match="shadows already"):
        shadow(db, "one-more", "")
    shadow(db, "same", SHORTER)
