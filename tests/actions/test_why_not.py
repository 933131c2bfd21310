"""Why-not tells what would happen, and nothing does."""

from random import Random

import pytest

from tests.databases import Clock, Place
from tests.moves.test_replay import live
from tests.play import ACME, Player, event
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.why_not import why_not
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.time import to_iso
from watchkeeper.errors import NotFound
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("T-11")

ANN = AccountId("ann")
TABLES = ("ledger", "outbox", "accounts", "tenants", "reservations", "signals", "heats")


def stored(place: Place) -> list[list[tuple]]:
    return [place.execute(f"select * from {name} order by 1, 2") for name in TABLES]


@pytest.mark.parametrize("seed", [4, 7])
def test_it_says_what_then_happens_and_changes_nothing(
    db: Database, clock: Clock, place: Place, seed: int
) -> None:
    """After any history: each type is asked, then really fired in a copy of the moment."""
    player = Player(db, clock)
    live(player, Random(seed), 40)
    before = stored(place)
    found = {one.trigger_type: one.trail.verdict for one in why_not(db, ACME, ANN).triggers}
    again = why_not(db, ACME, ANN)
    assert stored(place) == before
    assert [one.trail.verdict for one in again.triggers] == list(found.values())
    first = next(iter(found))
    [decided] = player.fire(event("ann", first))
    assert decided.verdict == found[first]
    assert to_iso(again.at) == to_iso(decided.now)


def test_a_switch_and_a_free_account_are_seen(db: Database, clock: Clock) -> None:
    player = Player(db, clock)
    player.fire(event("ann"))
    clock.advance(hours=30)
    assert {one.trail.verdict.result for one in why_not(db, ACME, ANN).triggers} == {"ALLOW"}
    set_kill_switch(db, ACME, "trigger", "POSTURE_CHANGE", on=True, reason="x", set_by="eve")
    found = {one.trigger_type: one for one in why_not(db, ACME, ANN).triggers}
    assert found["POSTURE_CHANGE"].trail.binding_check == "kill_switch"
    assert found["SIGNAL_ARRIVED"].trail.binding_check is None


def test_nobody_is_asked_for_who_is_not_there(db: Database, clock: Clock) -> None:
    Player(db, clock).fire(event("ann"))
    with pytest.raises(NotFound):
        why_not(db, ACME, AccountId("bob"))
    with pytest.raises(NotFound):
        why_not(db, TenantId("bolt"), ANN)
