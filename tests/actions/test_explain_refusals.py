"""Refused pulls and turns are explained from what was recorded of them."""

import pytest

from tests.databases import Clock
from tests.looking import DEEP, Lookout
from tests.play import ACME, Player, event
from watchkeeper.actions.explain_decision import is_decision
from watchkeeper.actions.explain_refusal import explain_refusal
from watchkeeper.actions.turns import Turns
from watchkeeper.core.ids import TenantId
from watchkeeper.core.quota import Asked
from watchkeeper.errors import NotFound, QuotaExceeded
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("T-10")

TIGHT = "[quota.tenant.daily]\ntotal = 300\n"


def test_a_pull_beyond_its_budget(db: Database, clock: Clock) -> None:
    lookout = Lookout(db, clock)
    lookout.connector("crm")
    lookout.budget(2)
    answer = lookout.ask("ann", "crm", DEEP)
    assert not answer.is_scheduled
    told = explain_refusal(db, ACME, answer.job.pull_job_id).to_json()
    assert told["refused"]["reason"] == "BUDGET_EXCEEDED"
    assert told["binding_check"] == "budget_exceeded"
    assert told["earliest_pass_at"] == "2030-01-02T00:00:00Z"
    assert told["smallest_change"] == "1 more units a day for crm, or for the tenant"
    by_entry = explain_refusal(db, ACME, told["refused"]["entry_id"])
    assert by_entry.to_json() == told


def test_a_pull_that_was_switched_off_has_no_earliest_moment(db: Database, clock: Clock) -> None:
    lookout = Lookout(db, clock)
    lookout.connector("crm")
    lookout.budget(9)
    lookout.kill("connector", "crm")
    answer = lookout.ask("ann", "crm", DEEP)
    told = explain_refusal(db, ACME, answer.job.pull_job_id).to_json()
    assert (told["binding_check"], told["earliest_pass_at"]) == ("kill_switch", None)
    assert told["smallest_change"] is None
    assert "is on" in told["checks"][0]["compared"]


def test_a_turn_without_room(db: Database, clock: Clock) -> None:
    player = Player(db, clock)
    player.policy(TIGHT)
    player.fire(event())
    turns = Turns(db, makes_tenants=True)
    with pytest.raises(QuotaExceeded):
        turns.reserve(ACME, Asked("turn-1", "r1", "premium", 100, 100))
    told = explain_refusal(db, ACME, "turn-1").to_json()
    assert [check["name"] for check in told["checks"]] == ["model premium", "model standard"]
    last = told["checks"][-1]
    assert last["source"] == "quota.tenant.daily.total"
    assert (last["compared"], last["threshold"]) == ("400 more on 0", "300")
    line = told["smallest_change"]
    assert line.startswith("quota.tenant.daily.total = ")
    player.policy(f"quota.tenant.daily.total = {line.partition(' = ')[2]}\n")
    assert turns.reserve(ACME, Asked("turn-2", "r2", "premium", 100, 100)).turn.turn_id == "turn-2"


def test_what_was_not_refused_is_not_explained(db: Database, clock: Clock) -> None:
    [decided] = Player(db, clock).fire(event())
    for name in ("nothing", decided.decision_id):
        with pytest.raises(NotFound):
            explain_refusal(db, ACME, name)
    assert is_decision(db, ACME, decided.decision_id)
    assert not is_decision(db, ACME, "nothing")
    assert not is_decision(db, TenantId("bolt"), decided.decision_id)
