"""Over HTTP: plans, bundles, why-not and shadows, as through every other door."""

from typing import Any

import pytest

from tests.http.calls import settle
from tests.http.door import Door, problem_of
from watchkeeper import App
from watchkeeper.actions.explain_refusal import explain_refusal
from watchkeeper.actions.export_bundle import replay_bundle
from watchkeeper.actions.follow_shadows import follow_shadows
from watchkeeper.core.ids import TenantId
from watchkeeper.handlers.results import Reject

TOML = {"content-type": "application/toml"}
SHORTER = "[triggers.SIGNAL_ARRIVED]\ncooldown_seconds = 100\n"


def played(door: Door) -> list[str]:
    """An ALLOW and a hundred seconds later a DEFER; their decisions."""
    door.tenant("acme")
    client = door.client("acme")
    found = []
    for key in ("k1", "k2"):
        event = {"account_id": "a", "trigger_type": "SIGNAL_ARRIVED", "idempotency_key": key}
        told = client.post("/v1/triggers", json={"events": [event]}).json()
        found.append(told["verdicts"][0]["decision_id"])
        door.clock.advance(100)
    return found


@pytest.mark.req("T-21")
def test_a_plan_over_http(door: Door) -> None:
    played(door)
    plan = door.admin.post("/v1/policy/plan?since=1d", content=SHORTER, headers=TOML).json()
    assert plan["flips"] == 1
    assert plan["by_change"] == [{"was": "DEFER COOLDOWN", "now": "ALLOW", "count": 1}]
    same = door.admin.post("/v1/policy/plan", json={}).json()
    assert (same["flips"], same["events"]) == (0, 2)
    only = door.admin.post("/v1/policy/plan?tenant_id=acme", json={}).json()
    assert [one["tenant_id"] for one in only["tenants"]] == ["acme"]
    problem_of(door.admin.post("/v1/policy/plan?since=soon", json={}), 422)
    wrong = door.admin.post("/v1/policy/plan", content="\nx = 1\n", headers=TOML)
    assert "line 2" in problem_of(wrong, 422)["errors"][0]["place"]


@pytest.mark.req("T-12")
def test_a_bundle_over_http_decides_again(door: Door) -> None:
    for decision in played(door):
        bundle = door.client("acme").get(f"/v1/decisions/{decision}/bundle").json()
        assert replay_bundle(bundle).is_same


@pytest.mark.req("T-11")
def test_why_not_over_http(door: Door) -> None:
    played(door)
    told = door.client("acme").get("/v1/accounts/a/why-not").json()
    found = {one["trigger_type"]: one for one in told["triggers"]}
    assert found["SIGNAL_ARRIVED"]["reason"] == "COALESCED"
    assert found["POSTURE_CHANGE"]["result"] == "DEFER"
    problem_of(door.client("acme").get("/v1/accounts/nobody/why-not"), 404, "not_found")


@pytest.mark.req("T-23")
def test_a_shadow_over_http(door: Door) -> None:
    door.admin.put("/v1/policy/shadows/trial?reason=try", content=SHORTER, headers=TOML)
    follow_shadows(door.db)
    played(door)
    assert follow_shadows(door.db) > 0
    told = door.admin.get("/v1/policy/shadows/trial").json()
    assert told["document"] == SHORTER
    assert (told["divergence"]["events"], told["divergence"]["flips"]) == (2, 1)
    [listed] = door.admin.get("/v1/policy/shadows").json()["items"]
    assert listed["name"] == "trial"
    promoted = door.admin.post("/v1/policy/shadows/trial/promote?reason=right", json={}).json()
    assert promoted["version"] == 1
    assert door.admin.get("/v1/policy").json()["document"] == SHORTER
    problem_of(door.admin.get("/v1/policy/shadows/trial"), 404, "not_found")
    problem_of(door.admin.delete("/v1/policy/shadows/trial"), 404, "not_found")


@pytest.mark.req("T-10")
def test_refused_pulls_and_turns_are_explained_over_http(door: Door) -> None:
    estate = settle(door, "acme")
    client, whose, db = door.client("acme"), TenantId("acme"), door.server.db
    pull, turn = f"{estate.pull}-refused", f"{estate.turn}-refused"
    told = client.get(f"/v1/pulls/{pull}/explain").json()
    assert told == explain_refusal(db, whose, pull).to_json()
    assert (told["refused"]["kind"], told["refused"]["id"]) == ("pull", pull)
    assert told["binding_check"] == "budget_exceeded"
    told = client.get(f"/v1/turns/{turn}/explain").json()
    assert told == explain_refusal(db, whose, turn).to_json()
    assert (told["refused"]["kind"], told["refused"]["id"]) == ("turn", turn)
    assert told["smallest_change"].startswith("quota.tenant.daily.total = ")
    named = door.admin.get(f"/v1/turns/{turn}/explain", params={"tenant_id": "acme"})
    assert named.json() == told
    for path in (f"turns/{pull}", f"pulls/{turn}", f"turns/{estate.turn}", f"pulls/{estate.pull}"):
        problem_of(client.get(f"/v1/{path}/explain"), 404, "not_found")


@pytest.mark.parametrize("ends", ["SUCCEEDED", "FAILED"])
@pytest.mark.req("U-10")
def test_an_explanation_has_the_state_of_the_run(door: Door, ends: str) -> None:
    """Alike over HTTP, in Python and in what `GET /v1/decisions/{id}` shows of it."""

    def handler(_run: object) -> None:
        if ends == "FAILED":
            raise Reject("no such customer")

    with App(door.place.url, migrate=False) as app:
        app.decision(handler)
        decision_id = app.trigger("acme", "a", "SIGNAL_ARRIVED", idempotency_key="1").decision_id
        refused_id = app.trigger("acme", "a", "SIGNAL_ARRIVED", idempotency_key="2").decision_id

        def told() -> dict[str, Any]:
            explained = door.admin.get(f"/v1/decisions/{decision_id}/explain").json()
            shown = door.admin.get(f"/v1/decisions/{decision_id}").json()
            assert explained == app.explain(decision_id).to_json()
            assert explained["run"] == shown["run"]
            return explained["run"]

        waiting = {"started_at": None, "ended_at": None, "note": None, "error": None}
        assert told() == {"state": "REQUESTED", **waiting}
        app.drain()
        run = told()
        assert run["state"] == ends
        assert run["started_at"] is not None
        assert run["ended_at"] is not None
        assert run["error"] == ("no such customer" if ends == "FAILED" else None)
        assert app.explain(refused_id).run is None
        assert door.admin.get(f"/v1/decisions/{refused_id}/explain").json()["run"] is None
