"""Each call of the contract, as it is meant to be used."""

import pytest

from tests.http.calls import SCHEDULE
from tests.http.door import Door, places_of, problem_of

VERDICT = {
    "decision_id",
    "result",
    "reason",
    "explanation",
    "evaluated_at",
    "defer_until_epoch",
    "retry_after_seconds",
    "policy_version",
}


@pytest.mark.req("U-10", "D-17")
def test_triggers_are_answered_in_order(door: Door) -> None:
    client = door.client(door.tenant(), "ingest")
    first, second = door.event(), door.event(trigger_type="NO_SUCH_TYPE")
    response = client.post("/v1/triggers", json={"events": [first, second, first]})
    assert response.status_code == 200
    verdicts = response.json()["verdicts"]
    assert [v["result"] for v in verdicts] == ["ALLOW", "SKIP", "SKIP"]
    assert set(verdicts[0]) == VERDICT
    assert verdicts[0]["reason"] is None
    assert verdicts[1]["reason"] == "UNKNOWN_TRIGGER_TYPE"
    assert verdicts[2]["duplicate_of"] == verdicts[0]["decision_id"]
    assert verdicts[0]["evaluated_at"] == "2030-01-01T00:00:00Z"


@pytest.mark.req("U-10")
def test_a_single_deferred_event_is_told_when_its_retry_comes(door: Door) -> None:
    client = door.client(door.tenant(), "ingest")
    client.post("/v1/triggers", json={"events": [door.event(account_id="a")]})
    later = door.event(account_id="a", trigger_type="POSTURE_CHANGE")
    response = client.post("/v1/triggers", json={"events": [later]})
    verdict = response.json()["verdicts"][0]
    assert (verdict["result"], verdict["reason"]) == ("DEFER", "COOLDOWN")
    assert response.headers["retry-after"] == str(verdict["retry_after_seconds"]) == "600"
    batch = [
        door.event(account_id="a", trigger_type="LIFECYCLE_STATE_CHANGE"),
        door.event(),
    ]
    assert "retry-after" not in client.post("/v1/triggers", json={"events": batch}).headers


@pytest.mark.req("U-10", "D-20")
def test_signals_are_kept_and_answered(door: Door) -> None:
    client = door.client(door.tenant(), "ingest")
    signals = [
        {"account_id": "a", "type": "opened", "signal_id": "s-1", "data": {"n": 1}},
        {"account_id": "b", "type": "opened"},
    ]
    response = client.post("/v1/signals", json={"signals": signals})
    assert response.status_code == 202
    receipts = response.json()["signals"]
    assert receipts[0]["signal_id"] == "s-1"
    assert receipts[1]["signal_id"]
    assert [r["verdict"]["result"] for r in receipts] == ["ALLOW", "ALLOW"]
    assert len(door.rows("signals")) == 2


@pytest.mark.req("U-11")
def test_tenants_are_made_listed_and_changed(door: Door) -> None:
    made = door.admin.post("/v1/tenants", json={"tenant_id": "acme", "name": "Acme"})
    assert made.status_code == 201
    assert made.json()["installed_at"] == "2030-01-01T00:00:00Z"
    problem_of(door.admin.post("/v1/tenants", json={"tenant_id": "acme"}), 409, "conflict")
    none = door.admin.post("/v1/tenants", json={"tenant_id": "bare", "installed_at": None})
    assert none.json()["installed_at"] is None
    assert door.admin.put("/v1/policy", json={"tiers": {"gold": {}}}).json()["warnings"] == []
    changed = door.admin.patch("/v1/tenants/acme", json={"tier": "gold", "name": None})
    assert changed.json() | {"created_at": ""} == {
        "tenant_id": "acme",
        "name": None,
        "tier": "gold",
        "installed_at": "2030-01-01T00:00:00Z",
        "created_at": "",
    }
    assert door.admin.get("/v1/tenants/acme").json() == changed.json()
    listed = door.admin.get("/v1/tenants").json()["items"]
    assert [one["tenant_id"] for one in listed] == ["acme", "bare"]
    own = door.client("acme", "viewer").get("/v1/tenants").json()
    assert [one["tenant_id"] for one in own["items"]] == ["acme"]
    problem_of(door.admin.get("/v1/tenants/nobody"), 404, "not_found")
    problem_of(door.admin.patch("/v1/tenants/nobody", json={}), 404, "not_found")


@pytest.mark.req("U-11", "D-09")
def test_a_tier_that_the_policy_does_not_have_is_refused(door: Door) -> None:
    tiers = {"tiers": {"free": {"run_budget_per_day": 1}, "pro": {}}}
    assert door.admin.put("/v1/policy", json=tiers).status_code == 200
    made = {"tenant_id": "acme", "tier": "free"}
    assert door.admin.post("/v1/tenants", json=made).status_code == 201
    there_are = "the policy has no tier fre: its tiers are free, pro"
    for answer in (
        door.admin.patch("/v1/tenants/acme", json={"tier": "fre"}),
        door.admin.post("/v1/tenants", json={"tenant_id": "bolt", "tier": "fre"}),
    ):
        told = problem_of(answer, 422, "invalid")
        assert told["errors"] == [{"place": "tier", "message": there_are}]
    problem_of(door.admin.get("/v1/tenants/bolt"), 404, "not_found")
    dropped = door.admin.put("/v1/policy", json={"tiers": {"pro": {}}})
    told = problem_of(dropped, 409, "conflict")
    assert "drops the tier free, which 1 tenant has" in told["detail"]


@pytest.mark.req("U-11", "T-20")
def test_a_policy_is_put_in_force_and_read_again(door: Door) -> None:
    toml = {"content-type": "application/toml"}
    text = "run_budget_per_day = 5 # few\n\n[tenants.beta]\nrun_budget_per_day = 7\n"
    applied = door.admin.put("/v1/policy?reason=thrift", content=text, headers=toml)
    assert applied.status_code == 200
    told = applied.json()
    assert told["version"] == 1
    assert told.pop("warnings") == ["tenants.beta: there is no tenant of this name"]
    read = door.admin.get("/v1/policy").json()
    assert read == {**told, "document": text}
    assert door.admin.get("/v1/policy/1").json() == read
    assert door.admin.get("/v1/policy/0").json()["version"] == 0
    problem_of(door.admin.get("/v1/policy/2"), 404)
    as_json = door.admin.put("/v1/policy", json={"run_budget_per_day": 6})
    assert as_json.json()["version"] == 2
    mistaken = door.admin.put("/v1/policy", content="run_budget = 5\n", headers=toml)
    problem_of(mistaken, 422, "invalid")
    assert places_of(mistaken) == {"line 1: run_budget"}
    problem_of(door.admin.put("/v1/policy", json=[1]), 422)
    problem_of(door.admin.put("/v1/policy", json="x = 1"), 422)


@pytest.mark.req("O-21")
def test_a_tenant_sees_only_its_own_view_of_the_policy(door: Door) -> None:
    document = {"tenants": {"beta-canary": {"run_budget_per_day": 7}}, "run_budget_per_day": 5}
    door.admin.put("/v1/policy", json=document)
    for name, budget in (("acme", 5), ("beta-canary", 7)):
        seen = door.client(door.tenant(name), "viewer").get("/v1/policy").json()["document"]
        assert f"run_budget_per_day = {budget}" in seen
        assert "tenants" not in seen
        assert "canary" not in seen


@pytest.mark.req("U-11")
def test_accounts_are_told_and_shown(door: Door) -> None:
    client = door.client(door.tenant(), "operator")
    told = client.put(
        "/v1/accounts/a%2Fb", json={"posture": "at_risk", "attributes": {"owner": "kim"}}
    )
    assert told.status_code == 200
    assert told.json()["account_id"] == "a/b"
    assert [v["result"] for v in told.json()["verdicts"]] == ["ALLOW"]
    shown = client.get("/v1/accounts/a/b").json()
    assert shown["posture"] == "at_risk"
    assert shown["attributes"] == {"owner": "kim"}
    state = shown["run_state"]
    assert state["last_allowed_at"] == "2030-01-01T00:00:00Z"
    assert state["triggers"]["POSTURE_CHANGE"]["run_count"] == 1
    again = client.put("/v1/accounts/a%2Fb", json={"posture": "at_risk"}).json()
    assert again["verdicts"] == []
    assert [a["account_id"] for a in client.get("/v1/accounts").json()["items"]] == ["a/b"]
    problem_of(client.get("/v1/accounts/nobody"), 404, "not_found")


@pytest.mark.req("U-11", "D-15")
def test_schedules_are_set_shown_and_removed(door: Door) -> None:
    client = door.client(door.tenant())
    body = {
        "trigger_type": "TIME_RITUAL_DAILY_BRIEF",
        "cron": "0 7 * * *",
        "timezone": "Europe/Berlin",
    }
    made = client.put("/v1/schedules/brief", json=body)
    assert made.status_code == 200
    assert made.json()["next_fire_at"] == "2030-01-01T06:00:00Z"
    assert made.json()["catch_up"] == "fire_once"
    assert client.get("/v1/schedules/brief").json() == made.json()
    assert client.get("/v1/schedules").json()["items"] == [made.json()]
    for field, value in (("cron", "61 * * * *"), ("timezone", "Mars/Olympus")):
        wrong = client.put("/v1/schedules/brief", json={**body, field: value})
        problem_of(wrong, 422)
        assert places_of(wrong) == {field}
    assert client.delete("/v1/schedules/brief").status_code == 204
    problem_of(client.delete("/v1/schedules/brief"), 404)
    problem_of(client.get("/v1/schedules/brief"), 404)


@pytest.mark.req("U-11", "D-09")
def test_kill_switches_are_thrown_and_released(door: Door) -> None:
    acme = door.client(door.tenant(), "operator")
    beta = door.client(door.tenant("beta"), "operator")
    thrown = acme.post("/v1/kill-switches", json={"scope": "tenant", "on": True, "reason": "r"})
    assert thrown.status_code == 200
    for client, reason in ((acme, "KILL_SWITCH"), (beta, None)):
        answer = client.post("/v1/triggers", json={"events": [door.event()]}).json()
        assert answer["verdicts"][0]["reason"] == reason
    shown = acme.get("/v1/kill-switches").json()["items"]
    assert [(s["scope"], s["tenant_id"], s["reason"]) for s in shown] == [("tenant", "acme", "r")]
    assert beta.get("/v1/kill-switches").json()["items"] == []
    off = {"scope": "tenant", "id": "acme", "on": False, "reason": "over"}
    assert door.admin.post("/v1/kill-switches", json=off).status_code == 200
    assert acme.get("/v1/kill-switches").json()["items"] == []
    every = {"scope": "all", "on": True, "reason": "stop"}
    problem_of(acme.post("/v1/kill-switches", json=every), 403)
    assert door.admin.post("/v1/kill-switches", json=every).status_code == 200
    answer = beta.post("/v1/triggers", json={"events": [door.event()]}).json()
    assert answer["verdicts"][0]["reason"] == "KILL_SWITCH"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"scope": "trigger"}, "id"),
        ({"scope": "all", "id": "x"}, "id"),
        ({"scope": "all", "tenant_id": "acme"}, "tenant_id"),
        ({"scope": "tenant"}, "tenant_id"),
        ({"scope": "tenant", "id": "acme", "tenant_id": "beta"}, "id"),
    ],
)
def test_a_kill_switch_says_what_it_stops(door_sqlite: Door, body: dict, place: str) -> None:
    door_sqlite.tenant("acme")
    wrong = door_sqlite.admin.post("/v1/kill-switches", json={**body, "on": True, "reason": "r"})
    problem_of(wrong, 422)
    assert places_of(wrong) == {place}


@pytest.mark.req("U-11", "D-18", "T-10")
def test_decisions_are_found_shown_and_explained(door: Door) -> None:
    client = door.client(door.tenant())
    ask = [
        door.event(account_id="a", correlation_id="c-1"),
        door.event(account_id="a", trigger_type="POSTURE_CHANGE"),
        door.event(account_id="b", trigger_type="NONE_SUCH"),
    ]
    given = client.post("/v1/triggers", json={"events": ask}).json()["verdicts"]
    ids = [v["decision_id"] for v in given]

    def found(query: str) -> list[str]:
        items = client.get(f"/v1/decisions?{query}").json()["items"]
        return [item["decision_id"] for item in items]

    assert found("") == ids[::-1]
    assert found("account_id=a") == [ids[1], ids[0]]
    assert found("result=DEFER") == [ids[1]]
    assert found("reason=UNKNOWN_TRIGGER_TYPE") == [ids[2]]
    assert found("trigger_type=SIGNAL_ARRIVED") == [ids[0]]
    assert found("correlation_id=c-1") == [ids[0]]
    assert found("since=2030-01-01T00:00:00Z&until=2030-01-01T00:00:01Z") == ids[::-1]
    assert found("since=2030-01-01T00:00:01%2B00:00") == []
    shown = client.get(f"/v1/decisions/{ids[0]}").json()
    assert shown["run"]["state"] == "REQUESTED"
    assert shown["idempotency_key"] == ask[0]["idempotency_key"]
    assert client.get(f"/v1/decisions/{ids[1]}").json()["run"] is None
    why = client.get(f"/v1/decisions/{ids[1]}/explain").json()
    assert why["verdict"] == given[1]
    assert why["binding_check"] == "cooldown"
    assert {"name", "compared", "threshold", "source", "outcome"} <= set(why["checks"][0])
    assert {"earliest_pass_at", "smallest_change"} <= set(why)
    assert door.admin.get(f"/v1/decisions/{ids[0]}").json() == shown
    assert door.admin.get(f"/v1/decisions/{ids[1]}/explain").json() == why
    problem_of(door.admin.get("/v1/decisions/01a1e249-b8d3-7af7-98f5-c23c6c8f7820"), 404)
    problem_of(client.get("/v1/decisions/not-an-id"), 404)


@pytest.mark.req("U-11", "T-01")
def test_the_ledger_is_followed(door: Door) -> None:
    client = door.client(door.tenant())
    events = [door.event(account_id=f"a{n}") for n in range(5)]
    client.post("/v1/triggers", json={"events": events})
    entries = client.get("/v1/ledger?stage=decide").json()["items"]
    assert [e["subject"] for e in entries] == [e["account_id"] for e in events]
    assert all(e["kind"] == "verdict" and isinstance(e["data"], dict) for e in entries)
    after = client.get(f"/v1/ledger?after={entries[2]['seq']}&kind=verdict").json()["items"]
    assert after == entries[3:]
    assert client.get("/v1/ledger?subject=a1").json()["items"] == [entries[1]]
    problem_of(client.get("/v1/ledger?stage=nonsense"), 422)
    door.admin.put("/v1/policy", json={"run_budget_per_day": 6})
    system = door.admin.get("/v1/ledger?tenant_id=_system").json()["items"]
    assert "policy.applied" in [e["kind"] for e in system]
    problem_of(client.get("/v1/ledger?tenant_id=_system"), 422)


@pytest.mark.req("U-12")
def test_the_clock_moves_when_it_is_virtual(door: Door) -> None:
    assert door.admin.get("/v1/clock").json() == {"now": "2030-01-01T00:00:00Z", "virtual": True}
    moved = door.admin.post("/v1/clock/advance", json={"seconds": 90})
    assert moved.status_code == 200
    assert moved.json()["now"] == "2030-01-01T00:01:30Z"
    client = door.client(door.tenant())
    ask = [door.event(account_id="a"), door.event(account_id="a", trigger_type="POSTURE_CHANGE")]
    given = client.post("/v1/triggers", json={"events": ask}).json()["verdicts"]
    ran = door.admin.post("/v1/clock/advance", json={"seconds": 3600}).json()["ran"]
    assert ran["delivered"] == 3  # the run, the retry, and the run that it caused
    for verdict in client.get("/v1/decisions?result=ALLOW").json()["items"]:
        assert verdict["run"]["state"] == "SUCCEEDED"
    assert given[1]["result"] == "DEFER"
    door.clock.make_real()
    problem_of(door.admin.post("/v1/clock/advance", json={"seconds": 1}), 409)
    assert door.admin.get("/v1/clock").json()["virtual"] is False


@pytest.mark.req("U-11")
def test_the_outbox_is_looked_at_redriven_and_discarded(door: Door) -> None:
    client = door.client(door.tenant(), "operator")
    events = [door.event(), door.event(), door.event()]
    given = client.post("/v1/triggers", json={"events": events}).json()["verdicts"]
    ids = [v["decision_id"] for v in given]
    listed = client.get("/v1/outbox").json()["items"]
    listed = [m for m in listed if m["topic"] != "milestone.tick"]
    assert [m["id"] for m in listed] == sorted(ids, reverse=True)
    assert {m["topic"] for m in listed} == {"decision.evaluation_requested"}
    assert listed[0]["payload"]["detail-type"] == "DECISION_EVALUATION_REQUESTED"
    first, second, third = ids
    problem_of(client.post(f"/v1/outbox/{first}/redrive"), 409, "conflict")  # it is not dead
    door.place.execute(
        "update outbox set status = 'dead', done_at = 1, dead_reason = 'REJECTED'"
        f" where id <> '{third}'"
    )
    assert client.get(f"/v1/outbox/{first}").json()["status"] == "dead"
    dead = client.get("/v1/outbox?status=dead&topic=decision.evaluation_requested")
    assert {m["id"] for m in dead.json()["items"]} == {first, second}
    assert client.get("/v1/outbox?namespace=elsewhere").json()["items"] == []
    redriven = client.post(f"/v1/outbox/{first}/redrive", json={"force": True})
    assert (redriven.json()["status"], redriven.json()["generation"]) == ("pending", 1)
    many = client.post("/v1/outbox/redrive", json={"topic": "decision.evaluation_requested"})
    assert many.json() == {"redriven": 1}
    assert door.admin.post(f"/v1/outbox/{third}/discard").status_code == 204
    problem_of(client.get(f"/v1/outbox/{third}"), 404)
    kinds = {e["kind"] for e in client.get("/v1/ledger").json()["items"]}
    assert {"message.redriven", "message.discarded"} <= kinds
    problem_of(client.get("/v1/outbox?status=lost"), 422)


def test_an_unknown_tenant_is_made_in_development_only(door: Door, db, clock) -> None:
    from tests.http.door import opened

    body = {"tenant_id": "new", "events": [door.event()]}
    problem_of(door.admin.post("/v1/triggers", json=body), 404, "not_found")
    problem_of(door.admin.get("/v1/accounts?tenant_id=new"), 404)
    assert door.rows("tenants") == []
    with opened(db, clock, dev=True) as dev:
        assert dev.admin.post("/v1/triggers", json=body).status_code == 200
        told = dev.admin.put("/v1/accounts/a", json={"tenant_id": "newer", "posture": "p"})
        assert told.status_code == 200
    assert [row[0] for row in door.rows("tenants")] == ["new", "newer"]


def test_a_key_for_all_tenants_names_one(door_sqlite: Door) -> None:
    door_sqlite.tenant()
    for path in ("accounts", "decisions", "schedules", "ledger"):
        wrong = door_sqlite.admin.get(f"/v1/{path}")
        problem_of(wrong, 422)
        assert places_of(wrong) == {"tenant_id"}
        assert door_sqlite.admin.get(f"/v1/{path}?tenant_id=acme").status_code == 200


def test_one_object_is_found_without_its_tenant(door: Door) -> None:
    acme, beta = door.client(door.tenant("acme")), door.client(door.tenant("beta"))
    for client, names in ((acme, ("a", "both")), (beta, ("b", "both"))):
        for name in names:
            client.put(f"/v1/accounts/{name}", json={"posture": "p"})
            client.put(f"/v1/schedules/{name}", json=SCHEDULE)
    for path in ("/v1/accounts", "/v1/schedules"):
        assert door.admin.get(f"{path}/b").json() == beta.get(f"{path}/b").json()
        problem_of(door.admin.get(f"{path}/none"), 404)
        unclear = door.admin.get(f"{path}/both")
        problem_of(unclear, 422)
        assert places_of(unclear) == {"tenant_id"}
        assert door.admin.get(f"{path}/both?tenant_id=acme").status_code == 200
    assert door.admin.delete("/v1/schedules/b").status_code == 204
    decision = acme.get("/v1/decisions").json()["items"][0]["decision_id"]
    for path in (f"/v1/decisions/{decision}", f"/v1/outbox/{decision}"):
        assert door.admin.get(path).json() == acme.get(path).json()


@pytest.mark.req("D-05")
def test_the_outcome_of_a_run_is_reported_once(door: Door) -> None:
    client = door.client(door.tenant(), "operator")
    given = client.post("/v1/triggers", json={"events": [door.event()]}).json()["verdicts"]
    name = given[0]["decision_id"]
    path = f"/v1/decisions/{name}/outcome"
    problem_of(client.post(path, json={"succeeded": True}), 409)  # nothing was started yet
    door.place.execute(
        "insert into runs (tenant_id, decision_id, account_id, trigger_type, state, started_at)"
        f" values ('acme', '{name}', 'a', 'SIGNAL_ARRIVED', 'RUNNING', 1)"
    )
    ended = client.post(path, json={"succeeded": True, "detail": "sent token=canary-secret"})
    assert ended.status_code == 200
    assert ended.json()["run"]["state"] == "SUCCEEDED"
    assert "canary" not in ended.text
    entries = len(door.rows("ledger"))
    assert client.post(path, json={"succeeded": True}).status_code == 200
    assert len(door.rows("ledger")) == entries
    problem_of(client.post(path, json={"succeeded": False}), 409)


def test_what_is_not_there_is_called_not_found(door_sqlite: Door) -> None:
    unknown = door_sqlite.admin.get("/v1/schedules/nothing?tenant_id=nobody")
    assert problem_of(unknown, 404, "not_found")["title"] == "Not found"
