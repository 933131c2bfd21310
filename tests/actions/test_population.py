"""How many accounts are in each tier: exact at once up to a bound, beyond it as last counted."""

import threading

import pytest

from tests.databases import Clock
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.actions.population import Population, Populations
from watchkeeper.core.heat import Tier
from watchkeeper.core.ids import TenantId
from watchkeeper.store import overview
from watchkeeper.store.database import Database

pytestmark = pytest.mark.req("U-31")

ACME, BETA = TenantId("acme"), TenantId("beta")
HOT, WARM, COLD = Tier.HOT, Tier.WARM, Tier.COLD


@pytest.fixture(autouse=True)
def accounts(db: Database, clock: Clock) -> None:
    """Two hot, three warm and five cold; and another tenant's, which are not counted."""
    for tenant in (ACME, BETA):
        create_tenant(db, tenant)
        tiers = [2] * 2 + [1] * 3 + [0] * 5
        for number, tier in enumerate(tiers):
            clock.place.execute(
                "insert into heats (tenant_id, account_id, tier, entered_at, computed_at,"
                " changes_at, heat_micro, posture_micro, recency_micro, volume_micro,"
                " policy_version, version, updated_at) values"
                f" ('{tenant}', 'a{number}', {tier}, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0)"
            )


class Counting(Populations):
    """Counts when it is told to: nothing happens beside the test."""

    def __init__(self, db: Database, counted_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(db, counted_max=counted_max)
        self.begun: list[TenantId] = []

        def started(_self: threading.Thread) -> None:
            self.begun.append(ACME)

        monkeypatch.setattr(threading.Thread, "start", started)


def look(db: Database, populations: Populations) -> Population:
    with db.read(ACME) as tx:
        return populations.look(tx)


def test_up_to_the_bound_they_are_counted_when_asked_for(db: Database) -> None:
    found = look(db, Populations(db, counted_max=10))
    assert dict(found.tiers) == {HOT: 2, WARM: 3, COLD: 5}
    assert list(found.tiers) == [HOT, WARM, COLD]
    assert (found.total, found.is_exact, found.is_live) == (10, True, True)


def test_beyond_it_the_least_is_told_and_counting_begins_once(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    populations = Counting(db, 4, monkeypatch)
    for _ in range(3):
        found = look(db, populations)
        assert dict(found.tiers) == {HOT: 2, WARM: 3}
        assert not found.is_exact
    assert populations.begun == [ACME]


def test_what_was_counted_is_shown_with_its_time(
    db: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    populations = Counting(db, 4, monkeypatch)
    at = clock.at
    populations.count(ACME)
    clock.advance(hours=1)
    found = look(db, populations)
    assert dict(found.tiers) == {HOT: 2, WARM: 3, COLD: 5}
    assert (found.is_exact, found.is_live, found.counted_at) == (True, False, at)
    assert populations.begun == [], "it is not a minute old"


def test_an_old_count_is_shown_while_it_is_made_anew(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    populations = Counting(db, 4, monkeypatch)
    monkeypatch.setattr("watchkeeper.actions.population.KEPT_SECONDS", -1.0)
    populations.count(ACME)
    assert look(db, populations).total == look(db, populations).total == 10
    assert populations.begun == [ACME]


def test_a_count_that_fails_is_tried_again_by_who_looks_next(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    populations = Counting(db, 4, monkeypatch)
    look(db, populations)
    with monkeypatch.context() as broken:

        def fail(_tx: object) -> None:
            raise RuntimeError("no database")

        broken.setattr(overview, "tiers", fail)
        populations.count(ACME)
    look(db, populations)
    assert populations.begun == [ACME, ACME]


def test_the_thread_that_counts_is_a_real_one(db: Database) -> None:
    populations = Populations(db, counted_max=4)
    before = set(threading.enumerate())
    look(db, populations)
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert look(db, populations).is_exact
