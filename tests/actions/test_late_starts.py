"""A worker that slept between its claim and the beginning begins nothing: its lease is over."""

import sqlite3
from collections.abc import Iterator

import pytest

from tests.databases import Clock, Databases, Place
from tests.metered import Worker as Runner
from tests.pulling import Worker as Puller
from tests.pulling import dead, states
from watchkeeper import App
from watchkeeper.act_results import Action
from watchkeeper.actions import claim_messages
from watchkeeper.actions.deliver_messages import exchange, finish, prepared
from watchkeeper.moves.plan_desk import ACTION_REQUESTED
from watchkeeper.store import outbox_claim
from watchkeeper.store.database import open_database
from watchkeeper.store.leases import Message, queue_for
from watchkeeper.store.outbox import NAMESPACE

pytestmark = pytest.mark.req("T-32")


@pytest.fixture
def app(place: Place) -> Iterator[App]:
    made = App(place.url, migrate=False)
    yield made
    made.close()


def test_a_pull_that_was_given_up_is_not_begun(app: App, place: Place, clock: Clock) -> None:
    worker = Puller(app, clock)
    worker.bring(lambda _pull: None)
    assert worker.ask().is_scheduled
    [message] = worker.claim_pulls()
    clock.advance(minutes=5)
    assert worker.claim_pulls() == []  # it has no attempt left, and is buried
    assert worker.start(message) == {}
    assert (states(place), dead(place)) == (["OUTCOME_UNKNOWN"], ["OUTCOME_UNKNOWN"])


def test_a_pull_whose_lease_is_over_is_given_back(app: App, place: Place, clock: Clock) -> None:
    worker = Puller(app, clock)
    worker.bring(lambda _pull: None)
    assert worker.ask().is_scheduled
    [message] = worker.claim_pulls()
    clock.advance(minutes=5)
    assert worker.start(message) == {}
    [again] = worker.claim_pulls()
    assert len(worker.start(again)) == 1
    assert states(place) == ["RUNNING"]


@pytest.mark.parametrize("metering", [{}, {"model": None}], ids=["metered", "plain"])
def test_a_run_that_was_given_up_is_not_begun(
    app: App, place: Place, clock: Clock, metering: dict
) -> None:
    runner = Runner(app)
    if metering:
        app.decision(lambda _run: None)
    runner.trigger()
    [message] = runner.claim()
    clock.advance(minutes=5)
    assert runner.claim() == []
    assert runner.start(message) == {}
    assert place.execute("select state from runs") == [("OUTCOME_UNKNOWN",)]
    assert place.execute("select count(*) from turns where state = 'running'") == [(0,)]


def claimed(app: App) -> Message:
    rule = app.registry.rule_for(ACTION_REQUESTED)
    queue = queue_for(NAMESPACE, ACTION_REQUESTED, rule, 1)
    [message] = exchange(app.db, [], [queue]).claimed
    return message


def test_an_action_is_not_begun_by_two(app: App, clock: Clock) -> None:
    app.apply_policy('[autonomy]\nmode = "auto_low_risk"\n', reason="test")
    app.action("PREP_RENEWAL_BRIEF", risk="low")(lambda _action: None)
    plan = app.plans.create("acme", "a", "RENEWAL_DEFENSE", ["PREP_RENEWAL_BRIEF"])
    app.plans.approve(plan.plan_id, by="ann")
    app.plans.run_cycle("acme")
    first = claimed(app)
    clock.advance(minutes=2)
    second = claimed(app)
    topic = app.registry.of(first)
    begun: list[Action] = []
    for message in (second, first):
        ready, over = prepared(app.db, topic, [message])
        finish(app.db, app.registry, over)
        begun += [action for _, action in ready]
    assert [action.attempt for action in begun] == [1]


def test_a_worker_knows_the_policy_before_its_first_claim(
    app: App, place: Place, clock: Clock
) -> None:
    app.apply_policy("[delivery.topics.once]\nmax_attempts = 1\n", reason="test")
    with app.db.begin("acme") as tx:
        app.enqueue(tx.conn, "once", {}, tenant_id="acme")
    assert len(claim_messages.claim(app.db, app.registry, NAMESPACE, "once", 10)) == 1
    clock.advance(minutes=5)
    other = App(place.url, migrate=False)
    try:
        assert claim_messages.claim(other.db, other.registry, NAMESPACE, "once", 10) == []
    finally:
        other.close()
    assert dead(place) == ["OUTCOME_UNKNOWN"]


def test_an_error_that_is_kept_keeps_no_lock(databases: Databases) -> None:
    with databases.fresh("sqlite") as place:
        db = open_database(place.url, journal="rollback")

        def fail() -> None:
            with db.batch_system() as tx:
                cursor = outbox_claim.send_next_due(tx)
                raise RuntimeError(cursor)

        try:
            with pytest.raises(RuntimeError) as kept:
                fail()
            with sqlite3.connect(place.name, timeout=0) as other:
                other.execute("update clock set now_at = now_at + 1")
            assert kept.value is not None
        finally:
            other.close()
            db.close()
