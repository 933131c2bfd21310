"""/v1/plans and /v1/intents: what people and programs do with plans, over HTTP."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.http.calls import PLAN
from tests.http.door import ADMIN_KEY, Door, bearer, places_of, problem_of
from watchkeeper import telemetry
from watchkeeper.act_results import Action, Asked, Outcome, Proposal
from watchkeeper.actions.act_topics import register_actions
from watchkeeper.actions.explain_act import explain_intent, explain_plan
from watchkeeper.actions.run_cycle import run_cycle
from watchkeeper.core.ids import TenantId
from watchkeeper.http.app import create_app

pytestmark = pytest.mark.req("U-11")

KIND = "RENEWAL_DEFENSE"
MEET, BRIEF = "REQUEST_RENEWAL_MEETING", "PREP_RENEWAL_BRIEF"
STEPS = [
    {"step_id": "meet", "action_type": MEET, "data": {"with": "kim"}},
    {"step_id": "brief", "action_type": BRIEF, "dependencies": ["meet"]},
]


@pytest.fixture
def client(door: Door) -> TestClient:
    return door.client(door.tenant(), "operator")


def made(client: TestClient, **changes: Any) -> dict[str, Any]:
    response = client.post("/v1/plans", json={**PLAN, "steps": STEPS, **changes})
    assert response.status_code == 201, response.text
    return response.json()


def do(client: TestClient, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    response = client.post(f"/v1/{path}", json=body or {})
    assert response.status_code == 200, response.text
    return response.json()


def cycle(door: Door, tenant: str = "acme") -> None:
    run_cycle(door.server.carrier, TenantId(tenant))


def started(door: Door, client: TestClient, **changes: Any) -> tuple[str, dict[str, Any]]:
    """An active plan and the intent of its first attempt."""
    plan_id = made(client, **changes)["plan_id"]
    do(client, f"plans/{plan_id}/approve")
    cycle(door)
    [asked] = client.get(f"/v1/intents?plan_id={plan_id}").json()["items"]
    return plan_id, asked


def acting(door: Door, **outcomes: Any) -> list[Action]:
    """Actions are carried out by this process from now on; what it was called with."""
    calls: list[Action] = []

    def handler(action: Action) -> Outcome:
        calls.append(action)
        return outcomes.get(action.step_id, Outcome.success())

    handlers = {MEET: handler, BRIEF: handler}
    register_actions(door.server.registry, door.server.carrier, handlers)
    return calls


@pytest.mark.req("A-02")
def test_a_plan_is_written_as_a_draft_and_shown(client: TestClient) -> None:
    plan = made(client, facts={"n": 1}, correlation_id="c-1", expires_at="2030-01-09T00:00:00Z")
    assert plan["status"] == "DRAFT"
    assert [(step["step_id"], step["status"]) for step in plan["steps"]] == [
        ("meet", "PENDING"),
        ("brief", "PENDING"),
    ]
    assert plan["expires_at"] == "2030-01-09T00:00:00Z"
    assert plan["created_by"].startswith("key:")
    assert client.get(f"/v1/plans/{plan['plan_id']}").json() == plan
    assert client.get("/v1/plans").json() == {"items": [plan], "next_cursor": None}
    shown = client.get("/v1/accounts/acct-9").json()
    assert [one["plan_id"] for one in shown["plans"]] == [plan["plan_id"]]


@pytest.mark.req("A-02")
@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({"steps": []}, {"steps"}),
        ({"plan_type": "NO_SUCH"}, {"plan_type"}),
        ({"steps": [{"action_type": "SEND_MONEY"}]}, {"steps[0].action_type"}),
        ({"steps": [{"action_type": "no name"}]}, {"steps[0].action_type"}),
        ({"steps": [{"action_type": MEET, "step": 1}]}, {"steps[0].step"}),
        ({"steps": [STEPS[0], {**STEPS[1], "step_id": "meet"}]}, {"steps[1].step_id",
            "steps[1].dependencies[0]"}),
        ({"steps": [{**STEPS[0], "dependencies": ["nowhere"]}]}, {"steps[0].dependencies[0]"}),
        ({"steps": [{**STEPS[0], "dependencies": ["brief"]}, STEPS[1]]},
            {"steps[0].dependencies[0]"}),
        ({"steps": [{"action_type": BRIEF}, {"action_type": MEET}]}, {"steps[1].sequence"}),
        ({"steps": [{**STEPS[0], "sequence": -1}]}, {"steps[0].sequence"}),
        ({"steps": [{"action_type": MEET}] * 101}, {"steps"}),
        ({"expires_at": "2029-12-31T23:59:59Z"}, {"expires_at"}),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value)[:40],
)  # fmt: skip
def test_a_plan_that_could_not_be_carried_out_is_refused(
    door: Door, client: TestClient, changes: dict[str, Any], places: set[str]
) -> None:
    plan = made(client)
    before = door.stored()
    body = {**PLAN, "steps": STEPS, **changes}
    for response in (
        client.post("/v1/plans", json=body),
        client.put(f"/v1/plans/{plan['plan_id']}", json=body),
    ):
        problem_of(response, 422, "invalid")
        assert places_of(response) == places
    assert door.stored() == before


@pytest.mark.req("A-02", "A-13")
def test_only_a_draft_can_be_written_anew(door: Door, client: TestClient) -> None:
    plan = made(client, correlation_id="c-1")
    path = f"/v1/plans/{plan['plan_id']}"
    body = {**PLAN, "account_id": "other", "objective": "another", "steps": STEPS[:1]}
    edited = client.put(path, json=body).json()
    assert (edited["version"], edited["objective"], edited["account_id"]) == (2, "another", "other")
    assert edited["correlation_id"] == "c-1"
    assert [step["step_id"] for step in edited["steps"]] == ["meet"]
    assert client.get("/v1/accounts/other").json()["plans"][0]["plan_id"] == plan["plan_id"]
    do(client, f"plans/{plan['plan_id']}/approve", {"reason": "go"})
    before = door.stored()
    refused = client.put(path, json=body)
    assert "APPROVED" in problem_of(refused, 409, "conflict")["detail"]
    assert door.stored() == before
    told = [(row["kind"], row["reason"]) for row in client.get(f"{path}/ledger").json()["items"]]
    assert told == [("PLAN_CREATED", None), ("PLAN_UPDATED", None), ("PLAN_APPROVED", "go")]


@pytest.mark.req("A-01")
def test_a_plan_goes_only_where_the_table_lets_it(door: Door, client: TestClient) -> None:
    plan_id = made(client)["plan_id"]

    def refused(*deeds: str) -> None:
        before = door.stored()
        for deed in deeds:
            problem_of(client.post(f"/v1/plans/{plan_id}/{deed}"), 409, "conflict")
        assert door.stored() == before

    refused("pause", "resume")
    assert do(client, f"plans/{plan_id}/approve")["status"] == "APPROVED"
    refused("approve", "pause", "resume")
    cycle(door)
    refused("approve", "resume")
    paused = do(client, f"plans/{plan_id}/pause", {"reason": "a holiday"})
    assert (paused["status"], paused["reason"]) == ("PAUSED", "a holiday")
    refused("approve", "pause")
    assert do(client, f"plans/{plan_id}/resume")["status"] == "ACTIVE"
    aborted = do(client, f"plans/{plan_id}/abort", {"reason": "signed"})
    assert (aborted["status"], aborted["intents"][0]["status"]) == ("ABORTED", "CANCELLED")
    refused("approve", "pause", "resume", "abort")
    kinds = [row["kind"] for row in client.get(f"/v1/plans/{plan_id}/ledger").json()["items"]]
    assert kinds == [
        "PLAN_CREATED", "PLAN_APPROVED", "PLAN_ACTIVATED", "STEP_STARTED", "PLAN_PAUSED",
        "PLAN_RESUMED", "PLAN_ABORTED",
    ]  # fmt: skip


@pytest.mark.req("A-03")
def test_resume_waits_for_the_plan_that_took_its_place(door: Door, client: TestClient) -> None:
    first, _ = started(door, client)
    do(client, f"plans/{first}/pause")
    second, _ = started(door, client)
    refused = problem_of(client.post(f"/v1/plans/{first}/resume"), 409, "conflict")
    assert "CONFLICT_ACTIVE_PLAN" in refused["detail"]
    do(client, f"plans/{second}/abort")
    assert do(client, f"plans/{first}/resume")["status"] == "ACTIVE"


@pytest.mark.req("A-08", "A-09", "A-13")
def test_an_intent_is_approved_and_carried_out(door: Door, client: TestClient) -> None:
    calls = acting(door)
    plan_id, asked = started(door, client)
    assert asked["status"] == "PENDING_APPROVAL"
    assert (asked["clause"], asked["approval"]) == ("autonomy.mode", "REQUIRE_APPROVAL")
    assert client.get("/v1/intents?status=PENDING_APPROVAL").json()["items"] == [asked]
    answered = do(client, f"intents/{asked['intent_id']}/approve", {"reason": "fine"})
    assert answered["status"] == "APPROVED"
    assert answered["decided_by"].startswith("key:")
    before = door.stored()
    for deed in ("approve", "reject"):
        problem_of(client.post(f"/v1/intents/{asked['intent_id']}/{deed}"), 409, "conflict")
    assert door.stored() == before
    door.server.workers.drain()
    assert [(one.step_id, one.attempt, one.data) for one in calls] == [("meet", 1, {"with": "kim"})]
    plan = client.get(f"/v1/plans/{plan_id}").json()
    assert [step["status"] for step in plan["steps"]] == ["DONE", "PENDING_APPROVAL"]
    assert [one["status"] for one in plan["intents"]] == ["PENDING_APPROVAL", "SUCCEEDED"]


@pytest.mark.req("A-08")
def test_a_rejected_intent_pauses_its_plan(door: Door, client: TestClient) -> None:
    plan_id, asked = started(door, client)
    answered = do(client, f"intents/{asked['intent_id']}/reject", {"reason": "not this week"})
    assert (answered["status"], answered["detail"]) == ("REJECTED", "not this week")
    plan = client.get(f"/v1/plans/{plan_id}").json()
    assert (plan["status"], plan["reason"]) == ("PAUSED", "rejected: not this week")
    assert (plan["steps"][0]["status"], plan["steps"][0]["reason"]) == ("FAILED", "rejected")


@pytest.mark.req("A-09", "A-10")
def test_an_outcome_counts_once_and_a_late_one_changes_nothing(
    door: Door, client: TestClient
) -> None:
    acting(door, meet=Outcome.later())
    plan_id, asked = started(door, client)
    path = f"/v1/intents/{asked['intent_id']}/outcome"
    unasked = client.post(path, json={"succeeded": True})
    assert "nobody was asked" in problem_of(unasked, 409, "conflict")["detail"]
    do(client, f"intents/{asked['intent_id']}/approve")
    door.server.workers.drain()
    assert client.get(f"/v1/intents/{asked['intent_id']}").json()["status"] == "EXECUTING"
    done = client.post(path, json={"succeeded": True, "detail": "met"}).json()
    assert (done["status"], done["counted"], done["detail"]) == ("SUCCEEDED", True, "met")
    stored = door.stored()
    assert client.post(path, json={"succeeded": True}).json() == done
    assert door.stored() == stored
    late = client.post(path, json={"succeeded": False, "detail": "or not"}).json()
    assert (late["status"], late["counted"], late["detail"]) == ("SUCCEEDED", False, "met")
    entries = client.get(f"/v1/plans/{plan_id}/ledger").json()["items"]
    assert [e["data"]["succeeded"] for e in entries if e["kind"] == "OUTCOME_LATE"] == [False]
    steps = client.get(f"/v1/plans/{plan_id}").json()["steps"]
    assert [step["status"] for step in steps] == ["DONE", "PENDING_APPROVAL"]


@pytest.mark.req("A-10")
def test_a_step_is_skipped_for_a_reason(door: Door, client: TestClient) -> None:
    plan_id, asked = started(door, client)
    path = f"plans/{plan_id}/steps/meet/skip"
    plan = do(client, path, {"reason": "by telephone"})
    assert [(s["status"], s["reason"]) for s in plan["steps"]] == [
        ("SKIPPED", "by telephone"),
        ("PENDING_APPROVAL", None),
    ]
    assert client.get(f"/v1/intents/{asked['intent_id']}").json()["status"] == "CANCELLED"
    problem_of(client.post(f"/v1/{path}", json={"reason": "again"}), 409)
    nowhere = client.post(f"/v1/plans/{plan_id}/steps/nowhere/skip", json={"reason": "r"})
    problem_of(nowhere, 404, "not_found")
    done = do(client, f"plans/{plan_id}/steps/brief/skip", {"reason": "too"})
    assert (done["status"], done["completion_reason"]) == ("COMPLETED", "all_steps_done")


@pytest.mark.req("A-03", "A-04")
def test_facts_open_the_gate_and_meet_the_objective(door: Door, client: TestClient) -> None:
    door.server.carrier.objectives[KIND] = lambda facts: facts.get("renewed") is True
    policy = {"plan_types": {KIND: {"required_facts": {"owner": "yes"}}}}
    assert door.admin.put("/v1/policy", json=policy).status_code == 200
    plan_id = made(client)["plan_id"]
    do(client, f"plans/{plan_id}/approve")
    cycle(door)
    held = client.get(f"/v1/plans/{plan_id}").json()
    assert (held["status"], "owner" in held["reason"]) == ("APPROVED", True)
    do(client, f"plans/{plan_id}/facts", {"facts": {"owner": "kim"}})
    cycle(door)
    assert client.get(f"/v1/plans/{plan_id}").json()["status"] == "ACTIVE"
    done = do(client, f"plans/{plan_id}/facts", {"facts": {"renewed": True}})
    assert (done["status"], done["completion_reason"]) == ("COMPLETED", "objective_met")
    assert done["facts"] == {"owner": "kim", "renewed": True}
    problem_of(client.post(f"/v1/plans/{plan_id}/facts", json={"facts": {"n": 1}}), 409)


@pytest.mark.req("A-13")
def test_why_says_what_is_waited_for_and_what_to_do(door: Door, client: TestClient) -> None:
    plan_id = made(client)["plan_id"]

    def why() -> tuple[str, list[str]]:
        told = client.get(f"/v1/plans/{plan_id}/why").json()
        assert told["plan_id"] == plan_id
        assert told["recent"][-1]["kind"] == ledger[-1]
        return told["waits_for"], [one["call"].replace(plan_id, "P") for one in told["can"]]

    ledger = ["PLAN_CREATED"]
    words, can = why()
    assert "approve" in words
    assert can == ["POST /v1/plans/P/approve", "PUT /v1/plans/P", "POST /v1/plans/P/abort"]
    do(client, f"plans/{plan_id}/approve")
    cycle(door)
    ledger = ["STEP_STARTED"]
    words, can = why()
    [asked] = client.get(f"/v1/intents?plan_id={plan_id}").json()["items"]
    assert "waits for an approval until 2030-01-04T00:00:00Z" in words
    assert can == [
        f"POST /v1/intents/{asked['intent_id']}/approve",
        f"POST /v1/intents/{asked['intent_id']}/reject",
        "POST /v1/plans/P/pause",
        "POST /v1/plans/P/steps/meet/skip",
        "POST /v1/plans/P/abort",
    ]
    client.post(can[0].removeprefix("POST "))
    acting(door, meet=Outcome.later())
    door.server.workers.drain()
    ledger = ["INTENT_APPROVED"]
    words, can = why()
    assert "its outcome is waited for" in words
    assert can[0] == f"POST /v1/intents/{asked['intent_id']}/outcome"
    do(client, f"plans/{plan_id}/pause", {"reason": "a holiday"})
    ledger = ["PLAN_PAUSED"]
    words, can = why()
    assert "a holiday" in words
    assert can[0] == "POST /v1/plans/P/resume"
    do(client, f"plans/{plan_id}/abort")
    ledger = ["PLAN_ABORTED"]
    words, can = why()
    assert "aborted" in words
    assert can == []


@pytest.mark.req("A-14")
def test_a_proposal_is_a_draft_without_what_is_not_allowed(door: Door, client: TestClient) -> None:
    asked = {"account_id": "a", "plan_type": KIND, "context": {"days": 30}}
    refused = problem_of(client.post("/v1/plans/propose", json=asked), 409, "conflict")
    assert "no proposer is registered in this process" in refused["detail"]
    seen: list[Asked] = []

    async def propose(told: Asked) -> Any:
        seen.append(told)
        if told.account_id == "broken":
            raise RuntimeError("the model is away")
        if told.account_id == "odd":
            return {"steps": "many"}
        names = ["SEND_MONEY"] if told.account_id == "bad" else ["SEND_MONEY", MEET]
        return Proposal([{"action_type": name} for name in names], "keep them")

    door.server.proposers[""] = propose  # type: ignore[index]
    response = client.post("/v1/plans/propose", json=asked)
    assert response.status_code == 201, response.text
    plan = response.json()
    assert (plan["status"], plan["source"], plan["objective"]) == ("DRAFT", "proposer", "keep them")
    assert [step["action_type"] for step in plan["steps"]] == [MEET]
    assert [one["place"] for one in plan["dropped"]] == ["steps[0]"]
    assert (seen[0].tenant_id, seen[0].context) == ("acme", {"days": 30})
    before = door.stored()
    for account, status in (("bad", 422), ("odd", 422), ("broken", 503)):
        wrong = client.post("/v1/plans/propose", json={**asked, "account_id": account})
        problem_of(wrong, status)
    unknown = client.post("/v1/plans/propose", json={**asked, "plan_type": "NO_SUCH"})
    problem_of(unknown, 422)
    assert door.stored() == before


def test_lists_are_filtered(door: Door, client: TestClient) -> None:
    plan_id, asked = started(door, client)
    other = made(client, account_id="other")["plan_id"]

    def found(query: str) -> list[str]:
        name = "intent_id" if query.startswith("intents") else "plan_id"
        return [row[name] for row in client.get(f"/v1/{query}").json()["items"]]

    assert found("plans") == [other, plan_id]
    assert found("plans?status=DRAFT") == [other]
    assert found("plans?account_id=acct-9") == [plan_id]
    assert found(f"plans?plan_type={KIND}&status=ACTIVE") == [plan_id]
    assert found("plans?plan_type=OTHER") == []
    intent = [asked["intent_id"]]
    assert found("intents?status=PENDING_APPROVAL") == intent
    assert found(f"intents?plan_id={plan_id.upper()}&action_type={MEET}") == intent
    assert found("intents?account_id=acct-9") == intent
    for query in ("status=EXECUTING", "plan_id=nothing", f"plan_id={other}", "account_id=other"):
        assert found(f"intents?{query}") == []
    for path, query in (("plans", "status=MAYBE"), ("intents", "status=DONE")):
        wrong = client.get(f"/v1/{path}?{query}")
        problem_of(wrong, 422)
        assert places_of(wrong) == {"status"}


@pytest.mark.req("U-10")
@pytest.mark.parametrize("name", ["plans", "intents", "ledger"])
def test_lists_come_in_pages(door: Door, client: TestClient, name: str) -> None:
    plans = [started(door, client, account_id=f"a{n}")[0] for n in range(5)]
    for n in range(3):
        do(client, f"plans/{plans[0]}/facts", {"facts": {"n": n}})
    path = f"/v1/plans/{plans[0]}/ledger" if name == "ledger" else f"/v1/{name}"
    whole = client.get(f"{path}?limit=200").json()
    assert len(whole["items"]) >= 5
    assert whole["next_cursor"] is None
    seen, cursor = [], ""
    for _ in range(10):
        page = client.get(f"{path}?limit=2{cursor}").json()
        seen += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == whole["items"]
    forged = client.get(f"{path}?cursor=WyJwbGFucyIsIngiXQ")
    problem_of(forged, 422)
    assert places_of(forged) == {"cursor"}


@pytest.mark.req("U-10")
def test_a_key_makes_one_plan_of_two_requests(door: Door, client: TestClient) -> None:
    headers = {"Idempotency-Key": "once"}
    first = client.post("/v1/plans", json=PLAN, headers=headers)
    again = client.post("/v1/plans", json=PLAN, headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    assert len(client.get("/v1/plans").json()["items"]) == 1
    plan_id = first.json()["plan_id"]
    approve = f"/v1/plans/{plan_id}/approve"
    for _ in range(2):
        response = client.post(approve, json={}, headers={"Idempotency-Key": "yes"})
        assert (response.status_code, response.json()["status"]) == (200, "APPROVED")
    problem_of(client.post(approve, json={}), 409)


@pytest.mark.req("A-15")
def test_an_unknown_tenant_is_made_in_dev_only(dev_door: Door) -> None:
    plan = {**PLAN, "tenant_id": "new"}
    serving = TestClient(
        create_app(dev_door.db, dev_door.server.settings), headers=bearer(ADMIN_KEY)
    )
    problem_of(serving.post("/v1/plans", json=plan), 404, "not_found")
    made = dev_door.admin.post("/v1/plans", json=plan)
    assert made.status_code == 201
    assert serving.post("/v1/plans", json=plan).status_code == 201
    asked = {"account_id": "a", "plan_type": KIND, "tenant_id": "new"}
    problem_of(serving.post("/v1/plans/propose", json=asked), 409, "conflict")


def test_a_key_for_all_tenants_need_not_name_whose_it_is(door: Door, client: TestClient) -> None:
    plan_id, asked = started(door, client)
    assert door.admin.get(f"/v1/plans/{plan_id}").json()["tenant_id"] == "acme"
    done = do(door.admin, f"intents/{asked['intent_id']}/approve")
    assert done["decided_by"] != client.get(f"/v1/plans/{plan_id}").json()["created_by"]
    assert do(door.admin, f"plans/{plan_id.upper()}/pause")["status"] == "PAUSED"


@pytest.mark.req("O-30")
def test_what_became_of_plans_is_counted(door: Door, client: TestClient) -> None:
    def value(name: str, **labels: str) -> float:
        return telemetry.REGISTRY.get_sample_value(name, labels) or 0.0

    names = {
        "activated": ("watchkeeper_plans_total", {"transition": "activated"}),
        "started": (
            "watchkeeper_plan_steps_total",
            {"event": "started", "reason": "REQUIRE_APPROVAL"},
        ),
        "failed": ("watchkeeper_plan_steps_total", {"event": "failed", "reason": "rejected"}),
        "rejected": ("watchkeeper_intents_total", {"event": "rejected"}),
        "cycles": ("watchkeeper_plan_cycles_total", {}),
        "deeds": ("watchkeeper_plan_cycle_deeds_total", {"deed": "steps_started"}),
    }
    before = {key: value(name, **labels) for key, (name, labels) in names.items()}
    _, asked = started(door, client)
    metrics = door.with_key(None).get("/metrics").text
    assert 'watchkeeper_intents_open{status="PENDING_APPROVAL"} 1.0' in metrics
    do(client, f"intents/{asked['intent_id']}/reject", {"reason": "canary words"})
    problem_of(client.post(f"/v1/intents/{asked['intent_id']}/reject"), 409)
    after = {key: value(name, **labels) for key, (name, labels) in names.items()}
    assert {key: after[key] - before[key] for key in names} == dict.fromkeys(names, 1.0)
    metrics = door.with_key(None).get("/metrics").text
    assert 'watchkeeper_intents_open{status="PENDING_APPROVAL"} 0.0' in metrics
    assert "canary words" not in metrics


@pytest.mark.req("T-10")
def test_a_held_plan_and_an_asked_action_are_explained(door: Door, client: TestClient) -> None:
    policy = {"plan_types": {KIND: {"required_facts": {"owner": "yes"}}}}
    assert door.admin.put("/v1/policy", json=policy).status_code == 200
    plan_id = made(client)["plan_id"]
    do(client, f"plans/{plan_id}/approve")
    cycle(door)
    whose = TenantId(client.get(f"/v1/plans/{plan_id}").json()["tenant_id"])
    told = client.get(f"/v1/plans/{plan_id}/explain").json()
    assert told["binding_check"] == "required_facts"
    assert told["smallest_change"] == f'plan_types.{KIND}.required_facts.owner = "no"'
    assert told == explain_plan(door.server.db, whose, plan_id).to_json()
    do(client, f"plans/{plan_id}/facts", {"facts": {"owner": "kim"}})
    cycle(door)
    [asked] = client.get(f"/v1/intents?plan_id={plan_id}").json()["items"]
    told = client.get(f"/v1/intents/{asked['intent_id']}/explain").json()
    assert (told["explained"]["result"], told["binding_check"]) == (
        "REQUIRE_APPROVAL",
        "asks_for_each",
    )
    assert told == explain_intent(door.server.db, whose, asked["intent_id"]).to_json()
    problem_of(client.get(f"/v1/intents/{plan_id}/explain"), 404, "not_found")
