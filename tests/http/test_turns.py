"""Turns over HTTP: reserved, told to go on, settled once, and found again from every side."""

import base64
import json
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.http.calls import TURN, USAGE
from tests.http.door import Door, opened, places_of, problem_of
from watchkeeper.actions.meter_runs import Metering
from watchkeeper.actions.topics import register_decision, register_usage_sink
from watchkeeper.results import Decision

pytestmark = pytest.mark.req("U-11")

RESERVED = 100 * 1 + 50 * 3  # TURN, at the price of the standard model
CHARGED = 90 * 1 + 20 * 3  # USAGE
DAY_SECONDS = 86_400


def turn(**changes: Any) -> dict[str, Any]:
    return {**TURN, **changes}


def end(outcome: str = "completed", *, started: bool = True, **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "started": started, **more}


def limited(door: Door, **total: int) -> None:
    """Put limits of this size on the tenant's days: `total`, or a tier by its name."""
    tiers = {name: limit for name, limit in total.items() if name != "total"}
    daily = {"tiers": tiers, **({"total": total["total"]} if "total" in total else {})}
    applied = door.admin.put("/v1/policy", json={"quota": {"tenant": {"daily": daily}}})
    assert applied.status_code == 200, applied.text


@pytest.fixture
def client(door: Door) -> TestClient:
    return door.client(door.tenant(), "operator")


# -- reserve -----------------------------------------------------------------------------


@pytest.mark.req("S-01", "S-02")
def test_quota_is_reserved_before_the_work(client: TestClient) -> None:
    made = client.post("/v1/turns", json=turn(turn_id="t-1", user_id="kim"))
    assert made.status_code == 201
    body = made.json()
    assert body["turn_id"] == "t-1"
    assert body["effective_model"] == "standard"
    assert body["reserved_credits_micro"] == RESERVED
    assert (body["state"], body["existing"]) == ("running", False)
    assert (body["tenant_id"], body["user_id"]) == ("acme", "kim")
    assert body["started_at"] is None
    shown = client.get("/v1/turns/t-1").json()
    assert shown["event_status"] is None
    assert {name: shown[name] for name in shown.keys() & body.keys()} == {
        name: value for name, value in body.items() if name != "existing"
    }


@pytest.mark.req("S-01")
def test_the_same_request_again_is_the_same_turn(door: Door, client: TestClient) -> None:
    first = client.post("/v1/turns", json=turn()).json()
    before = door.stored()
    again = client.post("/v1/turns", json=turn(max_output_tokens=9_000, turn_id="other"))
    assert again.status_code == 201
    assert again.json() == {**first, "existing": True}
    assert door.stored() == before
    other = door.client(door.tenant("beta"), "ingest").post("/v1/turns", json=turn())
    assert other.json()["existing"] is False


@pytest.mark.req("S-01")
def test_an_id_belongs_to_one_request(client: TestClient) -> None:
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    taken = client.post("/v1/turns", json=turn(turn_id="t-1", request_id="another"))
    problem_of(taken, 409, "conflict")


@pytest.mark.req("S-01")
def test_a_full_tier_is_downgraded(door: Door, client: TestClient) -> None:
    limited(door, premium=1_000)
    given = client.post("/v1/turns", json=turn(model="premium")).json()
    assert (given["selected_model"], given["effective_model"]) == ("premium", "standard")
    assert given["reserved_credits_micro"] == RESERVED


@pytest.mark.req("S-01")
def test_what_does_not_fit_is_refused_with_what_stood_in_the_way(
    door: Door, client: TestClient
) -> None:
    limited(door, total=RESERVED, premium=1_000)
    assert client.post("/v1/turns", json=turn()).status_code == 201
    door.clock.advance(hours=1, seconds=0.5)
    before = door.rows("turns")
    refused = client.post("/v1/turns", json=turn(request_id="r-2", model="premium"))
    detail = problem_of(refused, 429, "quota_exceeded")["detail"]
    assert refused.headers["retry-after"] == str(DAY_SECONDS - 3600)
    assert "premium needs 1250 of the daily total" in detail
    assert f"standard needs {RESERVED} of the daily total" in detail
    assert f"{RESERVED} of {RESERVED} are taken" in detail
    assert door.rows("turns") == before
    door.clock.advance(days=1)
    later = client.post("/v1/turns", json=turn(request_id="r-2", model="premium"))
    assert later.json()["effective_model"] == "standard"


@pytest.mark.req("S-01")
def test_nobody_knows_when_a_switch_is_released(door: Door, client: TestClient) -> None:
    switch = {"scope": "tier", "id": "standard", "on": True, "reason": "the bill"}
    assert client.post("/v1/kill-switches", json=switch).status_code == 200
    refused = client.post("/v1/turns", json=turn())
    assert "kill switch tier:standard (the bill)" in problem_of(refused, 429)["detail"]
    assert "retry-after" not in refused.headers
    assert client.post("/v1/turns", json=turn(model="premium")).status_code == 201


def test_a_refusal_is_not_kept_under_its_idempotency_key(door: Door, client: TestClient) -> None:
    limited(door, total=1)
    headers = {"Idempotency-Key": "k-1"}
    problem_of(client.post("/v1/turns", json=turn(), headers=headers), 429)
    limited(door, total=RESERVED)
    first = client.post("/v1/turns", json=turn(), headers=headers)
    again = client.post("/v1/turns", json=turn(), headers=headers)
    assert first.status_code == again.status_code == 201
    assert again.json() == first.json()
    assert again.json()["existing"] is False  # the first answer, not another look
    other = client.post("/v1/turns", json=turn(model="premium"), headers=headers)
    problem_of(other, 422, "idempotency_key_reused")


def test_a_model_that_is_not_there_is_named(client: TestClient) -> None:
    wrong = client.post("/v1/turns", json=turn(model="huge"))
    assert "standard" in problem_of(wrong, 422)["detail"]
    assert places_of(wrong) == {"model"}


# -- progress and end --------------------------------------------------------------------


@pytest.mark.req("S-06")
def test_a_turn_that_goes_on_is_left_alone(door: Door, client: TestClient) -> None:
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    for _ in range(3):
        door.admin.post("/v1/clock/advance", json={"seconds": 290})
        told = client.post("/v1/turns/t-1/progress")
        assert (told.status_code, told.content) == (204, b"")
    shown = client.get("/v1/turns/t-1").json()
    assert (shown["state"], shown["started_at"]) == ("running", "2030-01-01T00:04:50Z")
    door.admin.post("/v1/clock/advance", json={"seconds": 301})
    shown = client.get("/v1/turns/t-1").json()
    assert (shown["state"], shown["ended_by"]) == ("failed", "watchdog")
    assert shown["settlement_method"] == "estimated"
    problem_of(client.post("/v1/turns/t-1/progress", json={}), 409, "conflict")


@pytest.mark.req("S-04", "S-05")
def test_the_first_end_settles_and_the_second_is_told(door: Door, client: TestClient) -> None:
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    won = client.post("/v1/turns/t-1/finalize", json=end(usage=USAGE))
    assert won.status_code == 200
    told = won.json()
    event_id = told.pop("event_id")
    assert told == {
        "turn_id": "t-1",
        "won": True,
        "state": "completed",
        "settlement_method": "actual",
        "charged_credits_micro": CHARGED,
        "overshoot_capped": False,
    }
    before = door.stored()
    lost = client.post("/v1/turns/t-1/finalize", json=end("cancelled", started=False))
    assert lost.status_code == 200
    assert lost.json() == {**told, "won": False, "event_id": event_id}
    assert door.stored() == before
    problem_of(client.post("/v1/turns/t-1/progress"), 409)


@pytest.mark.req("S-05")
@pytest.mark.parametrize(
    ("body", "method", "charged", "capped"),
    [
        (end(usage=USAGE), "actual", CHARGED, False),
        (end("failed"), "estimated", RESERVED, False),  # 50 tokens are all that was reserved
        (end("cancelled", started=False), "released", 0, False),
        (end("failed", started=False, usage=USAGE), "actual", CHARGED, False),
        (
            end(usage={"input_tokens": 10_000, "output_tokens": 0}),
            "actual",
            RESERVED * 110 // 100,
            True,
        ),
    ],
    ids=["usage known", "unknown", "never started", "known whatever is said", "overshoot"],
)
def test_how_an_end_is_charged(
    client: TestClient, body: dict, method: str, charged: int, capped: bool
) -> None:
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    settled = client.post("/v1/turns/t-1/finalize", json=body).json()
    assert (settled["settlement_method"], settled["charged_credits_micro"]) == (method, charged)
    assert settled["overshoot_capped"] is capped
    shown = client.get("/v1/turns/t-1").json()
    assert (shown["state"], shown["charged_credits_micro"]) == (body["outcome"], charged)
    assert shown["event_status"] == "pending"


def test_an_end_sent_again_gets_the_first_answer_again(client: TestClient) -> None:
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    headers = {"Idempotency-Key": "k-1"}
    first = client.post("/v1/turns/t-1/finalize", json=end(usage=USAGE), headers=headers)
    again = client.post("/v1/turns/t-1/finalize", json=end(usage=USAGE), headers=headers)
    assert again.json() == first.json()
    assert again.json()["won"] is True


# -- whose it is -------------------------------------------------------------------------


@pytest.mark.req("O-21")
def test_another_tenants_turn_is_nobodys(door: Door, client: TestClient) -> None:
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    other = door.client(door.tenant("beta"), "admin")
    before = door.stored()
    for method, path, body in (
        ("GET", "/v1/turns/t-1", None),
        ("POST", "/v1/turns/t-1/progress", None),
        ("POST", "/v1/turns/t-1/finalize", end(usage=USAGE)),
    ):
        problem_of(other.request(method, path, json=body), 404, "not_found")
    assert other.get("/v1/turns").json()["items"] == []
    assert door.stored() == before


def test_a_key_for_all_tenants_need_not_name_the_turns_own(door: Door, client: TestClient) -> None:
    beta = door.client(door.tenant("beta"), "operator")
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    for one in (client, beta):
        one.post("/v1/turns", json=turn(turn_id="both", request_id="r-2"))
    assert door.admin.get("/v1/turns/t-1").json() == client.get("/v1/turns/t-1").json()
    assert door.admin.post("/v1/turns/t-1/progress").status_code == 204
    unclear = door.admin.get("/v1/turns/both")
    problem_of(unclear, 422)
    assert places_of(unclear) == {"tenant_id"}
    named = door.admin.get("/v1/turns/both?tenant_id=beta").json()
    assert named["tenant_id"] == "beta"
    body = end(usage=USAGE, tenant_id="beta")
    assert door.admin.post("/v1/turns/both/finalize", json=body).json()["won"] is True
    assert client.get("/v1/turns/both").json()["state"] == "running"
    problem_of(door.admin.post("/v1/turns", json=turn()), 422)
    problem_of(door.admin.get("/v1/turns"), 422)
    problem_of(door.admin.get("/v1/turns/none"), 404)


def test_a_tenant_is_made_by_its_first_turn_in_development_only(door: Door, db, clock) -> None:
    body = turn(tenant_id="new")
    problem_of(door.admin.post("/v1/turns", json=body), 404, "not_found")
    assert door.rows("tenants") == []
    with opened(db, clock, dev=True) as dev:
        assert dev.admin.post("/v1/turns", json=body).status_code == 201
        problem_of(dev.admin.post("/v1/turns/x/finalize", json=end(tenant_id="newer")), 404)
        problem_of(dev.admin.post("/v1/turns/x/progress", json={"tenant_id": "newer"}), 404)
    assert [row[0] for row in door.rows("tenants")] == ["new"]


@pytest.mark.req("O-20")
def test_ingest_works_and_a_viewer_looks(door: Door) -> None:
    door.tenant()
    ingest, viewer = door.client("acme", "ingest"), door.client("acme", "viewer")
    assert ingest.post("/v1/turns", json=turn(turn_id="t-1")).status_code == 201
    assert ingest.post("/v1/turns/t-1/progress").status_code == 204
    problem_of(ingest.get("/v1/turns/t-1"), 403)
    problem_of(ingest.get("/v1/quota"), 403)
    assert viewer.get("/v1/turns/t-1").status_code == 200
    assert viewer.get("/v1/quota").status_code == 200
    problem_of(viewer.post("/v1/turns", json=turn()), 403)
    problem_of(viewer.post("/v1/turns/t-1/progress"), 403)
    problem_of(viewer.post("/v1/turns/t-1/finalize", json=end()), 403)
    assert ingest.post("/v1/turns/t-1/finalize", json=end()).json()["won"] is True


# -- lists -------------------------------------------------------------------------------


def test_turns_are_listed_a_page_at_a_time(door: Door, client: TestClient) -> None:
    for n in range(7):
        client.post("/v1/turns", json=turn(turn_id=f"t-{n}", request_id=f"r-{n}"))
        door.clock.advance(n % 2)  # some at the same moment
    for n in (1, 4):
        client.post(f"/v1/turns/t-{n}/finalize", json=end(usage=USAGE))
    newest_first = [f"t-{n}" for n in range(6, -1, -1)]
    seen, cursor = [], ""
    for _ in range(4):
        page = client.get(f"/v1/turns?limit=3{cursor}").json()
        seen += [row["turn_id"] for row in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == newest_first
    ended = client.get("/v1/turns?state=completed").json()["items"]
    assert [row["turn_id"] for row in ended] == ["t-4", "t-1"]
    assert {row["charged_credits_micro"] for row in ended} == {CHARGED}
    assert len(client.get("/v1/turns?state=running").json()["items"]) == 5
    problem_of(client.get("/v1/turns?state=done"), 422)


FORGED = ["", "1", "x/t-1", "-1/t-1", "1/", "1/a.b", "1/a/b", f"{2**63}/t", "1/" + "x" * 129, 1]


@pytest.mark.parametrize("forged", FORGED)
def test_a_cursor_that_was_made_up_is_refused(client: TestClient, forged: object) -> None:
    text = json.dumps(["turns", forged]).encode()
    cursor = base64.urlsafe_b64encode(text).decode().rstrip("=")
    response = client.get(f"/v1/turns?cursor={cursor}")
    problem_of(response, 422)
    assert places_of(response) == {"cursor"}


# -- wrong requests ----------------------------------------------------------------------

NOT_TOKENS = ["-1", "1000000001", "1.5", "1.0", "1e3", '"10"', "true", "null", "[]", "9" * 400]
NOT_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400"]


@pytest.mark.req("S-03")
@pytest.mark.parametrize("value", NOT_TOKENS + NOT_NUMBERS)
@pytest.mark.parametrize("field", ["estimated_input_tokens", "max_output_tokens"])
def test_tokens_are_whole_numbers_within_bounds(door_sqlite: Door, field: str, value: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    text = json.dumps(turn(**{field: "@"})).replace('"@"', value)
    wrong = _send(client, "/v1/turns", text)
    problem_of(wrong, 422)
    if value in NOT_TOKENS[:-1]:
        assert places_of(wrong) == {field}
    assert door_sqlite.rows("turns") == []


@pytest.mark.req("S-03")
@pytest.mark.parametrize("value", NOT_TOKENS + NOT_NUMBERS)
def test_usage_is_whole_numbers_within_bounds(door_sqlite: Door, value: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    body = json.dumps(end(usage={"input_tokens": "@", "output_tokens": 1})).replace('"@"', value)
    wrong = _send(client, "/v1/turns/t-1/finalize", body)
    problem_of(wrong, 422)
    if value in NOT_TOKENS[:-1]:
        assert places_of(wrong) == {"usage.input_tokens"}
    assert client.get("/v1/turns/t-1").json()["state"] == "running"


def _send(client: TestClient, path: str, text: str) -> Any:
    return client.post(path, content=text, headers={"content-type": "application/json"})


@pytest.mark.req("S-03")
def test_the_largest_turn_is_kept_exactly(door: Door, client: TestClient) -> None:
    unlimited = {"total": "unlimited", "tiers": {"premium": "unlimited"}}
    periods = {"daily": unlimited, "monthly": unlimited}
    door.admin.put("/v1/policy", json={"quota": {"tenant": periods}})
    most = 1_000_000_000
    body = turn(turn_id="t-1", model="premium", estimated_input_tokens=most, max_output_tokens=most)
    assert client.post("/v1/turns", json=body).json()["reserved_credits_micro"] == 20 * most
    usage = {"input_tokens": most, "output_tokens": most - 1}
    settled = client.post("/v1/turns/t-1/finalize", json=end(usage=usage)).json()
    assert settled["charged_credits_micro"] == 20 * most - 15


WRONG_IDS = ["a.b", "a b", "ünï", "x" * 129, "%00", "a%0Ab", "a+b", "~"]


@pytest.mark.parametrize("wrong", WRONG_IDS)
def test_an_id_of_another_form_is_refused(door_sqlite: Door, wrong: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    for method, path, body in (
        ("GET", f"/v1/turns/{wrong}", None),
        ("POST", f"/v1/turns/{wrong}/progress", {}),
        ("POST", f"/v1/turns/{wrong}/finalize", end()),
    ):
        refused = client.request(method, path, json=body)
        problem_of(refused, 422)
        assert places_of(refused) == {"turn_id"}


@pytest.mark.parametrize("wrong", ["a/b", "a.b", "", "a b", "../x", "a/b/c"])
@pytest.mark.parametrize("field", ["turn_id", "request_id", "user_id"])
def test_an_id_cannot_hold_what_would_join_two_keys(
    door_sqlite: Door, field: str, wrong: str
) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    refused = client.post("/v1/turns", json=turn(**{field: wrong}))
    problem_of(refused, 422)
    assert places_of(refused) == {field}


def test_a_slash_is_another_path(door_sqlite: Door) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    for path in ("/v1/turns/a/b", "/v1/turns/a%2Fb", "/v1/turns//progress"):
        problem_of(client.get(path), 404, "not_found")


def test_half_a_usage_is_none(client: TestClient) -> None:
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    for usage, places in (
        ({"input_tokens": 1}, {"usage.output_tokens"}),
        ({}, {"usage.input_tokens", "usage.output_tokens"}),
        ({**USAGE, "cost": 1}, {"usage.cost"}),
    ):
        wrong = client.post("/v1/turns/t-1/finalize", json=end(usage=usage))
        problem_of(wrong, 422)
        assert places_of(wrong) == places


# -- decisions, turns and usage events, from each to the others --------------------------


def run_one(door: Door, client: TestClient) -> str:
    """A run that was allowed and worked on; the id of its decision."""
    given = client.post("/v1/triggers", json={"events": [door.event()]}).json()["verdicts"]
    door.server.workers.drain()
    return given[0]["decision_id"]


@pytest.mark.req("S-07", "S-04")
def test_decision_turn_and_usage_event_lead_to_each_other(door: Door, client: TestClient) -> None:
    metering = Metering("standard", 100, 50)
    register_decision(
        door.server.registry, lambda run: Decision(usage=USAGE, note=run.turn_id), metering
    )
    name = run_one(door, client)
    decision = client.get(f"/v1/decisions/{name}").json()
    [metered] = decision["turns"]
    assert decision["run"]["note"] == metered["turn_id"]
    assert (metered["state"], metered["charged_credits_micro"]) == ("completed", CHARGED)
    assert metered["event_status"] == "pending"
    shown = client.get(f"/v1/turns/{metered['turn_id']}").json()
    assert shown["decision_id"] == name
    event = client.get(f"/v1/outbox/{shown['event_id']}").json()
    assert (event["topic"], event["namespace"]) == ("usage_snapshot", "mini-chat")
    assert event["payload"]["turn_id"] == metered["turn_id"]
    assert event["payload"]["decision_id"] == name
    assert event["dedupe_key"] == f"acme/{shown['turn_id']}/{shown['request_id']}"
    seen: list[dict] = []
    register_usage_sink(door.server.registry, seen.append, "mini-chat")
    door.server.workers.drain()
    assert seen == [event["payload"]]
    after = client.get(f"/v1/decisions/{name}").json()["turns"][0]
    assert (after["event_status"], after["event_at"]) == ("delivered", "2030-01-01T00:00:00Z")
    entries = client.get(f"/v1/ledger?stage=settle&subject={shown['turn_id']}").json()["items"]
    assert [entry["kind"] for entry in entries] == ["turn.reserved", "turn.settled"]


@pytest.mark.req("S-07")
def test_the_usage_event_holds_what_was_settled(client: TestClient) -> None:
    client.post("/v1/turns", json=turn(turn_id="t-1", user_id="kim", model="premium"))
    event_id = client.post("/v1/turns/t-1/finalize", json=end(usage=USAGE)).json()["event_id"]
    payload = client.get(f"/v1/outbox/{event_id}").json()["payload"]
    assert {
        "policy_version_applied": 0,
        "effective_model": "premium",
        "selected_model": "premium",
        "input_tokens": 90,
        "output_tokens": 20,
        "reserved_credits_micro": 1250,
        "charged_credits_micro": 750,
        "settlement_method": "actual",
        "outcome": "completed",
        "tenant_id": "acme",
        "turn_id": "t-1",
        "request_id": "request-9",
        "user_id": "kim",
    }.items() <= payload.items()


def test_a_decision_without_a_turn_has_none(door: Door, client: TestClient) -> None:
    name = run_one(door, client)
    assert client.get(f"/v1/decisions/{name}").json()["turns"] == []
    listed = client.get("/v1/decisions").json()["items"]
    assert "turns" not in listed[0]


@pytest.fixture
def handed_over(door: Door, client: TestClient) -> str:
    """A run that somebody outside works on."""
    given = client.post("/v1/triggers", json={"events": [door.event()]}).json()["verdicts"]
    name = given[0]["decision_id"]
    door.place.execute(
        "insert into runs (tenant_id, decision_id, account_id, trigger_type, state, started_at)"
        f" values ('acme', '{name}', 'a', 'SIGNAL_ARRIVED', 'RUNNING', 1)"
    )
    return name


@pytest.mark.req("S-04", "S-05")
@pytest.mark.parametrize(
    ("succeeded", "state"), [(True, "completed"), (False, "failed")], ids=["succeeded", "failed"]
)
def test_a_reported_outcome_settles_by_its_usage(
    door: Door, client: TestClient, handed_over: str, succeeded: bool, state: str
) -> None:
    path = f"/v1/decisions/{handed_over}/outcome"
    body = {"succeeded": succeeded, "usage": USAGE}
    [metered] = client.post(path, json=body).json()["turns"]
    assert (metered["state"], metered["settlement_method"]) == (state, "actual")
    assert metered["charged_credits_micro"] == CHARGED
    shown = client.get(f"/v1/turns/{metered['turn_id']}").json()
    assert shown["decision_id"] == handed_over
    before = door.stored()
    again = client.post(path, json=body)
    assert again.status_code == 200
    assert door.stored() == before
    [bucket] = [
        one
        for one in client.get("/v1/quota").json()["items"]
        if (one["period"], one["bucket"]) == ("daily", "total")
    ]
    assert (bucket["spent"], bucket["reserved"]) == (CHARGED, 0)


@pytest.mark.req("S-05")
@pytest.mark.parametrize("succeeded", [True, False])
def test_an_outcome_without_usage_makes_no_turn(
    client: TestClient, handed_over: str, succeeded: bool
) -> None:
    path = f"/v1/decisions/{handed_over}/outcome"
    ended = client.post(path, json={"succeeded": succeeded}).json()
    assert ended["run"]["state"] == ("SUCCEEDED" if succeeded else "FAILED")
    assert ended["turns"] == []


@pytest.mark.req("S-04", "S-05")
@pytest.mark.parametrize("succeeded", [True, False])
def test_an_outcome_without_usage_settles_what_was_reserved_by_estimate(
    door: Door, client: TestClient, handed_over: str, succeeded: bool
) -> None:
    reserved = {**turn(turn_id="t-1"), "tenant_id": "acme"}
    door.admin.post("/v1/turns", json=reserved)
    _meters(door, "t-1", handed_over)
    path = f"/v1/decisions/{handed_over}/outcome"
    [metered] = client.post(path, json={"succeeded": succeeded}).json()["turns"]
    assert metered["turn_id"] == "t-1"
    assert metered["settlement_method"] == ("estimated" if succeeded else "released")
    assert metered["state"] == ("completed" if succeeded else "failed")


def _meters(door: Door, turn_id: str, decision_id: str) -> None:
    """Behind the product's back: this turn is that decision's."""
    statement = f"update turns set decision_id = '{decision_id}' where turn_id = '{turn_id}'"
    if door.place.engine == "postgresql":
        door.place.execute(f"set session_replication_role = replica; {statement}")
        return
    door.place.execute("drop trigger terms_of_a_turn_stay")
    door.place.execute(statement)


# -- numbers -----------------------------------------------------------------------------


def numbers(door: Door) -> dict[tuple[str, ...], float]:
    text = door.with_key(None).get("/metrics").text
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(("watchkeeper_turns", "watchkeeper_credits", "watchkeeper_quota"))
        and sample.name.endswith("_total")
    }


@pytest.mark.req("O-30")
def test_what_is_reserved_charged_and_refused_is_counted(door: Door, client: TestClient) -> None:
    before = numbers(door)
    limited(door, total=RESERVED)
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    client.post("/v1/turns", json=turn(turn_id="t-1"))
    client.post("/v1/turns", json=turn(request_id="r-2"))
    for _ in range(2):
        client.post("/v1/turns/t-1/finalize", json=end(usage=USAGE))
    register_decision(door.server.registry, lambda _: Decision(usage=USAGE))
    run_one(door, client)
    after = numbers(door)
    grown = {
        name: value - before.get(name, 0)
        for name, value in after.items()
        if value != before.get(name, 0)
    }
    assert grown == {
        ("watchkeeper_turns_total", "completed", "actual"): 2,
        ("watchkeeper_credits_micro_total", "reserved"): RESERVED + CHARGED,
        ("watchkeeper_credits_micro_total", "charged"): 2 * CHARGED,
        ("watchkeeper_quota_refusals_total",): 1,
    }
