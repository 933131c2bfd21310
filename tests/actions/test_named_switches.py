"""A verdict of KILL_SWITCH names its switch, and the reason where it is known."""

import pytest

from tests.databases import Clock
from tests.play import ACME, Player, event
from watchkeeper.actions.explain_decision import explain_decision
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.actions.why_not import why_not
from watchkeeper.core.entry_phrases import words_of
from watchkeeper.core.ids import SYSTEM, AccountId, TenantId
from watchkeeper.core.verdict_record import read_verdict
from watchkeeper.results import verdict_of
from watchkeeper.store import ledger
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads

TRIGGER = "SIGNAL_ARRIVED"


def throw(
    db: Database, scope: str, reason: str, tenant: TenantId = ACME, *, on: bool = True
) -> None:
    target = TRIGGER if scope == "trigger" else None
    set_kill_switch(db, tenant, scope, target, on=on, reason=reason, set_by="eve")


@pytest.mark.req("T-11")
@pytest.mark.parametrize(
    ("scope", "owner", "name"),
    [
        ("all", SYSTEM, "all"),
        ("tenant", ACME, "tenant"),
        ("trigger", ACME, f"trigger:{TRIGGER}"),
        ("trigger", SYSTEM, f"trigger:{TRIGGER}"),
    ],
)
def test_answer_explanation_and_prospect_name_the_switch(
    db: Database, clock: Clock, scope: str, owner: TenantId, name: str
) -> None:
    player = Player(db, clock)
    player.fire(event("ann"))
    clock.advance(hours=30)
    throw(db, scope, "the model talks nonsense.", owner)
    [decided] = player.fire(event("ann", TRIGGER))
    said = f"The kill switch {name} is on: the model talks nonsense."
    prospects = {one.trigger_type: one for one in why_not(db, ACME, AccountId("ann")).triggers}
    assert verdict_of(decided).explanation == said
    assert prospects[TRIGGER].to_json()["explanation"] == said
    clock.advance(minutes=1)
    throw(db, scope, "over", owner, on=False)
    throw(db, scope, "another day", owner)
    explained = explain_decision(db, ACME, decided.decision_id)
    assert (explained.verdict.explanation, explained.agrees) == (said, True)


def test_the_reason_is_that_of_the_owner_whose_switch_was_on(db: Database, clock: Clock) -> None:
    player = Player(db, clock)
    player.fire(event("ann"))
    throw(db, "trigger", "of the tenant, long ago")
    throw(db, "trigger", "released", on=False)
    throw(db, "trigger", "for all", SYSTEM)
    clock.advance(hours=30)
    [decided] = player.fire(event("ann", TRIGGER))
    explained = explain_decision(db, ACME, decided.decision_id).verdict.explanation
    assert explained == f"The kill switch trigger:{TRIGGER} is on: for all."


def test_the_entry_keeps_the_name_alone_and_is_told_with_it(db: Database, clock: Clock) -> None:
    player = Player(db, clock)
    player.fire(event("ann"))
    throw(db, "tenant", "secret plans")
    clock.advance(hours=30)
    [decided] = player.fire(event("ann", TRIGGER))
    with db.read(ACME) as tx:
        entry = ledger.by_ids(tx, [decided.decision_id])[decided.decision_id].entry
    data = loads(entry.data)
    assert (data["kill_switch"], "secret plans" in entry.data) == ("tenant", False)
    assert read_verdict(data) == decided.verdict
    assert words_of(entry, data).detail == f"{TRIGGER}. The kill switch tenant is on."


def test_a_repeat_under_a_switch_names_the_decision_and_not_the_switch(
    db: Database, clock: Clock
) -> None:
    player = Player(db, clock)
    [first] = player.fire(event("ann", TRIGGER, key="k"))
    throw(db, "tenant", "holidays")
    [again] = player.fire(event("ann", TRIGGER, key="k"))
    said = f"The idempotency key belongs to decision {first.decision_id}."
    assert verdict_of(again).explanation == said
    assert explain_decision(db, ACME, again.decision_id).verdict.explanation == said
