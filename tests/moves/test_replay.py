"""What is in the ledger is enough: random verdicts, recorded, give themselves again."""

from random import Random

import pytest

from tests.databases import Clock, EngineName
from tests.play import LATER, Player, event
from tests.verify_clean import assert_verified
from watchkeeper.actions.change_tenant import change_tenant
from watchkeeper.actions.explain_decision import explain_decision
from watchkeeper.actions.set_kill_switch import set_kill_switch
from watchkeeper.core.admission import CHECKS, Reason
from watchkeeper.core.explain import Outcome
from watchkeeper.core.ids import TenantId
from watchkeeper.core.policy import rules_for
from watchkeeper.core.verdict_record import read_verdict, recompute
from watchkeeper.errors import NotFound
from watchkeeper.store import ledger
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads

CHECK_OF = {
    Reason.UNKNOWN_TRIGGER_TYPE: "known_trigger_type",
    Reason.DUPLICATE_IDEMPOTENCY_KEY: "idempotency",
    Reason.KILL_SWITCH: "kill_switch",
    Reason.DEBOUNCED: "debounce",
    Reason.COALESCED: "coalescing",
    Reason.BUDGET_EXHAUSTED: "run_budget",
    Reason.COOLDOWN: "cooldown",
    Reason.ACCOUNT_HOURLY_CAP: "account_hourly_cap",
    Reason.TENANT_HOURLY_CAP: "tenant_hourly_cap",
    Reason.MARGINAL_VALUE_LOW: "saturation",
}
POLICY = """
    run_budget_per_day = {budget}
    spread_seconds = 120
    [triggers.SIGNAL_ARRIVED]
    debounce_seconds = {debounce}
    max_per_account_per_hour = 3
    [triggers.FAST]
    debounce_seconds = 0
    cooldown_seconds = {fast}
    max_per_tenant_per_hour = 3
    [triggers.BUSY]
    debounce_seconds = 0
    cooldown_seconds = 0
    max_per_account_per_hour = 2
    [tiers.gold]
    run_budget_per_day = 40
"""
WEIRD = ["ann", "bob", "Ünï", "a'b", 'x"y', "tab_\\t", "🦉"]


def live(player: Player, dice: Random, steps: int) -> None:
    """A few days of everything: bursts, repeats, switches, policies, tiers, late retries."""
    player.fire(event())
    player.policy(POLICY.format(budget=1000, debounce=60, fast=10))
    for step in range(steps):
        player.clock.advance(dice.choice([0, 0, 0.3, 1, 30, 61, 299.5, 300, 300, 900]))
        match dice.randrange(16):
            case 0:
                text = POLICY.format(
                    budget=dice.choice([6, 1000, 1000]),
                    debounce=dice.choice([0, 60]),
                    fast=dice.choice([0, 10, 400]),
                )
                player.policy(f"# {step}\n{text}")
            case 1:
                on = dice.random() < 0.25
                scope, target = dice.choice([("tenant", None), ("trigger", "FAST")])
                set_kill_switch(
                    player.db, player.tenant_id, scope, target, on=on, reason="x", set_by="eve"
                )
            case 2:
                change_tenant(player.db, player.tenant_id, {"tier": dice.choice([None, "gold"])})
            case 3:
                player.clock.advance(-dice.choice([1, 400, 4000]))
            case 4 | 5 | 6:
                player.deliver(LATER, limit=dice.choice([1, 100]))
            case _:
                player.fire(*(random_event(dice, player) for _ in range(dice.choice([1, 2, 20]))))
    set_kill_switch(player.db, player.tenant_id, "tenant", None, on=False, reason="x", set_by="e")
    player.settle()


def random_event(dice: Random, player: Player):
    more = {}
    if dice.random() < 0.2:
        more["saturation"] = dice.choice([0.25, 1 / 3, 0.999999999999, 1.0, 2.5])
    if dice.random() < 0.3:
        more["scheduled_at"] = player.clock.at - dice.randrange(10**10)
    if dice.random() < 0.3:
        more["correlation_id"] = dice.choice(WEIRD)
    types = [
        "SIGNAL_ARRIVED",
        "FAST",
        "FAST",
        "FAST",
        "BUSY",
        "BUSY",
        "POSTURE_CHANGE",
        "TIME_RITUAL_DAILY_BRIEF",
    ]
    types += ["LIFECYCLE_STATE_CHANGE", "UNKNOWN_TYPE"] if dice.random() < 0.3 else []
    key = f"shared-{dice.randrange(30)}" if dice.random() < 0.15 else None
    return event(dice.choice(WEIRD), dice.choice(types), key, **more)


@pytest.mark.req("T-02", "D-11", "D-18")
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_recorded_verdicts_give_themselves_again(
    db: Database, clock: Clock, engine: EngineName, seed: int
) -> None:
    player = Player(db, clock)
    live(player, Random(seed), 200)
    seen: set[str] = set()
    with db.read(player.tenant_id) as tx:
        entries = [e for e in ledger.after(tx, 0, 10_000) if e.entry.kind == "verdict"]
        assert len(entries) > 500
        for found in entries:
            data = loads(found.entry.data)
            policy = db.policies.policy(tx, found.entry.policy_version)
            rules = rules_for(policy, player.tenant_id, data["tenant"]["tier"])
            assert recompute(data, rules) == read_verdict(data)
            seen.add(found.entry.reason or found.entry.result)
    assert seen >= {"ALLOW", *CHECK_OF}, "the dice must have met every verdict"
    check_explanations(player, entries[:: max(1, len(entries) // 200)])
    assert_verified(db)


def check_explanations(player: Player, entries: list[ledger.Recorded]) -> None:
    names = [name for name, _ in CHECKS]
    for found in entries:
        told = explain_decision(player.db, player.tenant_id, found.entry.entry_id)
        verdict = told.trail.verdict
        assert told.agrees
        assert [check.name for check in told.trail.checks] == names
        reason = verdict.inner or verdict.reason
        assert told.trail.binding_check == (None if reason is None else CHECK_OF[reason])
        outcomes = [check.outcome for check in told.trail.checks]
        if reason is None:
            assert set(outcomes) <= {Outcome.PASSED, Outcome.NOT_APPLICABLE}
        else:
            at = names.index(CHECK_OF[reason])
            assert outcomes[at] is Outcome.BOUND
            assert set(outcomes[at + 1 :]) <= {Outcome.NOT_REACHED}
            assert set(outcomes[:at]) <= {Outcome.PASSED, Outcome.NOT_APPLICABLE}


@pytest.mark.req("T-10")
@pytest.mark.parametrize("id", ["nonsense", "00000000-0000-7000-8000-000000000000", ""])
def test_what_does_not_exist_is_not_explained(db: Database, clock: Clock, id: str) -> None:
    player = Player(db, clock)
    player.fire(event())
    with pytest.raises(NotFound):
        explain_decision(db, player.tenant_id, id)
    [created] = player.entries(kind="tenant.created")
    with pytest.raises(NotFound):
        explain_decision(db, player.tenant_id, created.entry.entry_id)
    [decided] = player.fire(event())
    with pytest.raises(NotFound):
        explain_decision(db, TenantId("bolt"), decided.decision_id)
