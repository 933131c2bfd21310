"""The audit of pulls and heat is audited: each invariant is broken on purpose and found."""

import pytest

from tests.actions.test_verify import json_text, ledger_copy
from tests.databases import Clock, Place
from tests.looking import DEEP, Lookout
from tests.verify_clean import assert_verified, broken
from watchkeeper.core.time import DAY
from watchkeeper.store.database import Database
from watchkeeper.store.questions_perceive import PERCEIVE_QUESTIONS

SCHEDULED = "kind = 'pull.decided' and result = 'SCHEDULED'"


@pytest.fixture
def lookout(db: Database, clock: Clock) -> Lookout:
    """A sound database: two days of pulls, by hand and by cadence, refused and scheduled."""
    lookout = Lookout(db, clock)
    lookout.connector()
    lookout.budget(5, crm=4)
    lookout.ask("bob", "erp")
    lookout.ask("bob", "erp")
    lookout.ask("eve", depth=DEEP, pull_job_id="mine")
    lookout.ask("zoe", depth=DEEP)
    clock.advance(days=1)
    lookout.budget(6)
    lookout.heat_up("ann")
    lookout.pass_on()
    assert lookout.ask("zoe", pull_job_id="mine").is_scheduled
    assert_verified(db)
    return lookout


def more_than_was_scheduled(place: Place) -> None:
    place.execute("update pull_days set units = units + 1 where connector_id in ('erp', '')")


def less_than_was_scheduled(place: Place) -> None:
    place.execute("delete from pull_days where pulls = 1 and connector_id = 'erp'")
    place.execute("update pull_days set units = units - 1, pulls = pulls - 1 where units = 4"
                  " and connector_id = '' and pulls = 2")  # fmt: skip


def another_total(place: Place) -> None:
    place.execute("update pull_days set units = units - 1 where connector_id = ''")


def beyond_the_total(place: Place) -> None:
    place.execute(_lowered(place, '"total":6', '"total":5'))


def beyond_the_connectors_cap(place: Place) -> None:
    place.execute(_lowered(place, '"crm":4', '"crm":2'))


def without_a_budget(place: Place) -> None:
    place.execute("update ledger set kind = 'x' where kind = 'pull_budget.set'")


def _lowered(place: Place, old: str, new: str) -> str:
    data = json_text(place, "data", old, new)
    return f"update ledger set data = {data} where kind = 'pull_budget.set'"


def one_id_twice(place: Place) -> None:
    ledger_copy(place, SCHEDULED, at=f"at + {DAY - 1}")


def a_pull_without_entry(place: Place) -> None:
    place.execute("update pulls set units = units + 1 where pull_job_id = 'mine'")


def an_entry_without_pull(place: Place) -> None:
    place.execute("delete from pulls where pull_job_id = 'mine'")


def a_pull_without_message(place: Place) -> None:
    place.execute("delete from outbox where topic = 'pull.requested'")


def a_message_of_two_pulls(place: Place) -> None:
    place.execute(
        "update pulls set message_id = (select p.message_id from pulls p"
        " where p.pull_job_id = 'mine') where connector_id = 'erp'"
    )


def a_tier_that_nobody_wrote_down(place: Place) -> None:
    place.execute("update heats set tier = 1")
    place.execute("update next_pulls set tier = 1")


def a_pull_of_another_tier(place: Place) -> None:
    place.execute("update next_pulls set tier = 0")


FAULTS = [
    (more_than_was_scheduled, "units_are_the_sum_of_pulls"),
    (less_than_was_scheduled, "units_are_the_sum_of_pulls"),
    (another_total, "total_is_the_sum_of_connectors"),
    (beyond_the_total, "budget_was_kept"),
    (beyond_the_connectors_cap, "budget_was_kept"),
    (without_a_budget, "budget_was_kept"),
    (one_id_twice, "pull_is_scheduled_once"),
    (a_pull_without_entry, "pull_has_its_entry"),
    (an_entry_without_pull, "entry_has_its_pull"),
    (a_pull_without_message, "pull_has_its_message"),
    (a_message_of_two_pulls, "pull_has_its_message"),
    (a_tier_that_nobody_wrote_down, "tier_is_the_last_in_the_ledger"),
    (a_pull_of_another_tier, "tier_is_the_last_in_the_ledger"),
]


@pytest.mark.req("P-08", "P-13")
@pytest.mark.parametrize(("fault", "invariant"), FAULTS, ids=lambda v: getattr(v, "__name__", v))
def test_it_is_found(lookout: Lookout, place: Place, fault, invariant: str) -> None:
    if place.engine == "postgresql":
        place.execute("alter table ledger disable trigger all")
    else:
        rows = place.execute("select name from sqlite_master where type = 'trigger'")
        for (name,) in rows:
            place.execute(f"drop trigger {name}")
    fault(place)
    found = broken(lookout.db)
    assert invariant in found
    assert all(row["tenant_id"] == "acme" for row in found[invariant])


def test_every_question_has_a_fault() -> None:
    assert {name for _, name in FAULTS} == {one.name for one in PERCEIVE_QUESTIONS}


@pytest.mark.req("P-08")
def test_a_part_of_the_ledger_is_enough(lookout: Lookout) -> None:
    """A day that does not lie whole within it is not judged."""
    for entries in range(1, 20):
        assert broken(lookout.db, entries_max=entries) == {}, entries
