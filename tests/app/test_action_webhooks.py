"""Actions that a webhook carries out, from the first send to the outcome it reports."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from standardwebhooks import Webhook
from starlette.testclient import TestClient

from tests.databases import Clock, Place
from tests.misbehaving import Answer, Receiver, receiving
from tests.verify_clean import assert_verified
from watchkeeper.app import App
from watchkeeper.http.server import app_of
from watchkeeper.settings import load_settings

pytestmark = pytest.mark.req("A-09", "S-18")

KIND, MEET = "RENEWAL_DEFENSE", "REQUEST_RENEWAL_MEETING"
POLICY = f'[autonomy]\nmode = "auto_low_risk"\n[actions.{MEET}]\nrisk = "low"\n'
KEY = "an-admin-key-of-thirty-two-characters"


@pytest.fixture
def app(place: Place, clock: Clock) -> Iterator[App]:
    app = App(place.url, migrate=False, webhooks_private=True)
    app.apply_policy(POLICY, reason="test")
    yield app
    app.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def http(app: App) -> TestClient:
    settings = load_settings({"admin_key": KEY}, environ={})
    return TestClient(app_of(app, settings), headers={"Authorization": f"Bearer {KEY}"})


def started(app: App, receiver: Receiver) -> tuple[str, str]:
    """A plan of one step, whose action goes to the receiver; and the secret of the sink."""
    sink = app.sink("actions", topic="action.requested", url=receiver.url, tenant_id="acme")
    plan = app.plans.create("acme", "a", KIND, [{"action_type": MEET, "data": {"with": "kim"}}])
    app.plans.approve(plan.plan_id, by="ann")
    assert sink.secret is not None
    return plan.plan_id, sink.secret


def told(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(request.body)["data"]["detail"] for request in receiver.requests]


def ids(receiver: Receiver) -> list[str]:
    return [request.headers["webhook-id"] for request in receiver.requests]


def test_it_is_executing_until_its_outcome_is_posted(
    app: App, http: TestClient, receiver: Receiver
) -> None:
    plan_id, secret = started(app, receiver)
    app.drain()
    [request] = receiver.requests
    Webhook(secret).verify(request.body, dict(request.headers))
    [detail] = told(receiver)
    assert (detail["action_type"], detail["attempt"], detail["data"]) == (MEET, 1, {"with": "kim"})
    assert detail["idempotency_key"] == f"{plan_id}/step-1"
    [intent] = http.get(f"/v1/plans/{plan_id}").json()["intents"]
    assert (intent["status"], intent["intent_id"]) == ("EXECUTING", detail["intent_id"])
    outcome = f"/v1/intents/{intent['intent_id']}/outcome"
    done = http.post(outcome, json={"succeeded": True, "detail": "in the calendar"}).json()
    assert (done["status"], done["counted"]) == ("SUCCEEDED", True)
    plan = http.get(f"/v1/plans/{plan_id}").json()
    assert (plan["status"], plan["steps"][0]["status"]) == ("COMPLETED", "DONE")
    assert_verified(app.db)


def test_a_transport_that_fails_is_tried_again_under_the_same_id(
    app: App, http: TestClient, receiver: Receiver
) -> None:
    receiver.will(Answer(503), Answer(fault="reset"), Answer(200))
    plan_id, _ = started(app, receiver)
    app.drain()
    [intent] = http.get(f"/v1/plans/{plan_id}").json()["intents"]
    assert intent["status"] == "EXECUTING"  # it may have arrived
    app.clock.advance(minutes=10)
    assert len(ids(receiver)) == 3
    assert len(set(ids(receiver))) == 1
    assert {(one["intent_id"], one["attempt"]) for one in told(receiver)} == {
        (intent["intent_id"], 1)
    }
    [intent] = http.get(f"/v1/plans/{plan_id}").json()["intents"]
    assert intent["status"] == "EXECUTING"
    assert_verified(app.db)


def test_a_message_that_dies_is_an_outcome_nobody_knows_and_the_plan_tries_again(
    app: App, http: TestClient, receiver: Receiver
) -> None:
    receiver.will(Answer(410), Answer(200))
    plan_id, _ = started(app, receiver)
    app.drain()
    plan = http.get(f"/v1/plans/{plan_id}").json()
    [first] = plan["intents"]
    assert (first["status"], first["reason"]) == ("FAILED", "outcome_unknown")
    step = plan["steps"][0]
    assert (step["status"], step["reason"]) == ("FAILED", "outcome_unknown")
    app.clock.advance(seconds=59)
    assert len(receiver.requests) == 1
    app.clock.advance(seconds=1)
    assert len(receiver.requests) == 2
    assert len(set(ids(receiver))) == 2
    before, after = told(receiver)
    assert (before["attempt"], after["attempt"]) == (1, 2)
    assert before["idempotency_key"] == after["idempotency_key"]
    late = http.post(f"/v1/intents/{first['intent_id']}/outcome", json={"succeeded": True})
    assert late.json()["counted"] is False
    second = http.post(f"/v1/intents/{after['intent_id']}/outcome", json={"succeeded": True})
    assert second.json()["counted"] is True
    plan = http.get(f"/v1/plans/{plan_id}").json()
    assert (plan["status"], plan["steps"][0]["attempts"]) == ("COMPLETED", 2)
    kinds = [row["kind"] for row in http.get(f"/v1/plans/{plan_id}/ledger").json()["items"]]
    assert kinds[-4:] == ["STEP_STARTED", "OUTCOME_LATE", "STEP_COMPLETED", "PLAN_COMPLETED"]
    assert_verified(app.db)


def test_an_outcome_that_never_comes_is_unknown_after_its_time(
    app: App, http: TestClient, receiver: Receiver
) -> None:
    plan_id, _ = started(app, receiver)
    app.drain()
    app.clock.advance(hours=24)
    assert len(receiver.requests) == 1
    [first] = http.get(f"/v1/plans/{plan_id}").json()["intents"]
    assert (first["status"], first["reason"]) == ("FAILED", "outcome_unknown")
    app.clock.advance(minutes=1)
    assert [one["attempt"] for one in told(receiver)] == [1, 2]
    assert_verified(app.db)


@pytest.mark.req("A-10")
def test_what_comes_after_an_abort_is_late(app: App, http: TestClient, receiver: Receiver) -> None:
    plan_id, _ = started(app, receiver)
    app.drain()
    http.post(f"/v1/plans/{plan_id}/abort", json={"reason": "signed elsewhere"})
    [intent] = http.get(f"/v1/plans/{plan_id}").json()["intents"]
    assert (intent["status"], intent["is_late"]) == ("EXECUTING", True)
    posted = http.post(f"/v1/intents/{intent['intent_id']}/outcome", json={"succeeded": True})
    assert (posted.json()["status"], posted.json()["counted"]) == ("SUCCEEDED", False)
    plan = http.get(f"/v1/plans/{plan_id}").json()
    assert (plan["status"], plan["steps"][0]["status"]) == ("ABORTED", "AUTO_EXECUTED")
    assert_verified(app.db)
