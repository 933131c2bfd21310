"""Pulls that are over leave some time after their ids are free, and no sooner."""

import pytest

from tests.databases import Clock, Place
from tests.looking import Lookout
from tests.verify_clean import assert_verified, broken
from watchkeeper.actions.forget_expired import forget_expired
from watchkeeper.core.pulls import PullReason
from watchkeeper.core.time import DAY, Instant
from watchkeeper.store.database import Database


@pytest.fixture
def lookout(db: Database, clock: Clock) -> Lookout:
    made = Lookout(db, clock)
    made.connector(has_cadence=False)
    made.budget(100)
    return made


def ended(place: Place, name: str) -> None:
    """The pull has succeeded, and its message is delivered."""
    place.execute(
        "update pulls set state = 'SUCCEEDED', ended_at = scheduled_at, signals = 0"
        f" where pull_job_id = '{name}'"
    )


def there(place: Place) -> set[str]:
    return {name for (name,) in place.execute("select pull_job_id from pulls")}


@pytest.mark.req("P-07", "P-09")
def test_a_pull_that_is_over_is_kept_for_as_long_as_policy_says(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.policy("[retention]\npulls_days = 3\n")
    start = clock.at
    assert lookout.ask(pull_job_id="mine").is_scheduled
    ended(place, "mine")
    clock.set(Instant(start + 4 * DAY - 1))  # a day in which the id is taken, then three
    assert forget_expired(lookout.db) == 0
    assert there(place) == {"mine"}
    clock.set(Instant(start + 4 * DAY))
    assert forget_expired(lookout.db) == 1
    assert there(place) == set()
    assert_verified(lookout.db)
    assert lookout.ask(pull_job_id="mine").is_scheduled


@pytest.mark.req("P-07")
def test_one_that_has_not_ended_stays_however_old_it_is(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.ask(pull_job_id="waits")
    lookout.ask("bob", pull_job_id="over")
    ended(place, "over")
    clock.advance(days=400)
    assert forget_expired(lookout.db) == 1
    assert there(place) == {"waits"}


@pytest.mark.req("P-07")
def test_an_id_that_is_taken_for_long_stays_taken(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.policy("idempotency_ttl_seconds = 864000\n[retention]\npulls_days = 1\n")
    lookout.ask(pull_job_id="mine")
    ended(place, "mine")
    clock.advance(days=9)
    assert forget_expired(lookout.db) == 0
    assert lookout.ask(pull_job_id="mine").reason is PullReason.DUPLICATE
    clock.advance(days=2)
    assert forget_expired(lookout.db) == 1


@pytest.mark.req("P-07")
def test_an_id_that_was_taken_anew_is_of_its_last_pull(
    lookout: Lookout, place: Place, clock: Clock
) -> None:
    lookout.ask(pull_job_id="mine")
    ended(place, "mine")
    clock.advance(days=30)
    assert lookout.ask("bob", pull_job_id="mine").is_scheduled
    ended(place, "mine")
    clock.advance(days=30)
    assert forget_expired(lookout.db) == 0
    assert there(place) == {"mine"}
    by_hand = {"pull_end_is_in_the_ledger"}  # `ended` writes no entry
    assert set(broken(lookout.db)) == by_hand
