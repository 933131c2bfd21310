"""The connection breaks while a COMMIT of a plan is under way: it is done once, and said so."""

from collections.abc import Iterator

import pytest

from tests.carrying import AUTO, MEET, STEPS, Orchestrator, entries, kinds, messages, sound
from tests.databases import Clock, Databases, Place
from tests.postgres import Server
from tests.proxy import Proxy, proxied
from watchkeeper.errors import CommitUnknown, Conflict
from watchkeeper.handlers.registry import DELIVERED, Ended
from watchkeeper.moves.plan_desk import CYCLE

pytestmark = pytest.mark.postgresql

LOST = pytest.mark.parametrize("fate", ["lose commit", "lose answer"])


@pytest.fixture
def place(databases: Databases) -> Iterator[Place]:
    with databases.fresh("postgresql") as found:
        yield found


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with proxied(server.tcp_port) as found:
        yield found


@pytest.fixture
def one(place: Place, server: Server, proxy: Proxy) -> Iterator[Orchestrator]:
    """Its database is behind the proxy."""
    made = Orchestrator(server.tcp_url(place.name, port=proxy.port), AUTO)
    made.draft("warm")
    made.app.carrier.makes_tenants = False
    yield made
    assert proxy.fates == [], "the cut was made"
    sound(place)
    made.close()


@LOST
@pytest.mark.req("A-02", "A-13")
def test_a_plan_is_made_once(one: Orchestrator, place: Place, proxy: Proxy, fate) -> None:
    proxy.fates = [fate]
    plan_id = one.draft()
    assert [plan.plan_id for plan in one.plans.list("acme", account_id="ann")] == [plan_id]
    assert kinds(place, plan_id) == ["PLAN_CREATED"]


@LOST
@pytest.mark.req("A-01", "A-13")
def test_who_approves_is_told_that_it_is_approved(one, place, proxy: Proxy, fate) -> None:
    plan_id = one.draft()
    proxy.fates = [fate, fate, "lose answer"]
    one.plans.approve(plan_id, by="ann")
    proxy.fates = []
    assert kinds(place, plan_id) == ["PLAN_CREATED", "PLAN_APPROVED"]
    assert len(messages(place, CYCLE)) == 1
    with pytest.raises(Conflict):
        one.plans.approve(plan_id, by="ann")


@LOST
@pytest.mark.req("A-08")
def test_an_intent_is_approved_once(one, place: Place, proxy: Proxy, fate) -> None:
    one.app.apply_policy("", reason="test")
    plan_id = one.active(steps=[MEET])
    intent = one.under_way(plan_id)
    proxy.fates = [fate]
    one.intents.approve(intent, by="ann")
    assert kinds(place, plan_id).count("INTENT_APPROVED") == 1
    assert len(messages(place)) == 1
    one.drain()
    assert len(one.calls) == 1
    assert one.status(plan_id) == "COMPLETED"


@LOST
@pytest.mark.req("A-09")
def test_an_outcome_is_written_once(one, place: Place, proxy: Proxy, fate) -> None:
    plan_id, intent = one.executing()
    proxy.fates = [fate]
    assert not one.intents.report(intent, succeeded=True).is_late
    assert kinds(place, plan_id)[-2:] == ["STEP_COMPLETED", "STEP_STARTED"]
    assert len(messages(place)) == 1


@LOST
@pytest.mark.req("A-09")
def test_the_start_of_an_action(one, place: Place, proxy: Proxy, fate) -> None:
    """Its attempt is given back, and it is called once."""
    plan_id = one.active(steps=[MEET])
    [message] = one.claim()
    proxy.fates = [fate]
    assert one.start(message) == {}
    one.drain()
    assert [call[2] for call in one.calls] == [1]
    assert one.status(plan_id) == "COMPLETED"


@LOST
@pytest.mark.req("A-09", "A-10")
def test_the_end_of_an_action(one, place: Place, proxy: Proxy, fate) -> None:
    """It is written again until it is known, as a worker does; it counts, and once."""
    plan_id = one.active(steps=STEPS[:2])
    [message] = one.claim()
    [action] = one.start(message).values()
    proxy.fates = [fate]
    with pytest.raises(CommitUnknown):
        one.end(message, action)
    assert one.end(message, action) == {"delivered": 1}
    assert one.steps(plan_id) == ["DONE", "AUTO_EXECUTED"]
    assert entries(place, plan_id, "OUTCOME_LATE") == []
    assert kinds(place, plan_id).count("STEP_COMPLETED") == 1
    assert len(messages(place)) == 1


@LOST
@pytest.mark.req("A-11", "A-12")
def test_a_cycle_is_run_again_by_its_message(one, place, proxy: Proxy, clock, fate) -> None:
    plan_id = one.approved(steps=[MEET])
    [message] = one.claim(CYCLE)
    proxy.fates = [fate]
    finish, ended = one.app.registry.of(message).finish, [Ended(message, message, DELIVERED)]
    with pytest.raises(CommitUnknown):
        finish(one.db, ended)
    assert finish(one.db, ended) == {message.id}
    assert kinds(place, plan_id)[2:] == ["PLAN_ACTIVATED", "STEP_STARTED"]


@pytest.fixture
def clock(place: Place) -> Clock:
    return Clock(place)


@pytest.mark.req("A-13")
def test_what_cannot_be_found_out_is_said_to_be_unknown(one, place, proxy: Proxy) -> None:
    plan_id = one.draft()
    proxy.fates = ["refuse"]
    with pytest.raises(CommitUnknown):
        one.app.carrier.approve("acme", plan_id, by="ann")
    proxy.refuses = False
    assert one.status(plan_id) == "APPROVED", "for it had been committed"
