"""Pulls over HTTP: asked for by hand, refused with a reason, carried out, counted, found again."""

import base64
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.http.calls import PULL
from tests.http.door import ADMIN_KEY, Door, bearer, places_of, problem_of
from watchkeeper import telemetry
from watchkeeper.actions.perceive_topics import register_pulls
from watchkeeper.core.heat import Depth
from watchkeeper.core.pulls import Origin, PullKey, manual_slot, pull_job_id
from watchkeeper.http.app import create_app
from watchkeeper.pull_signals import signals_of
from watchkeeper.results import Pull, PullResult

pytestmark = pytest.mark.req("U-11")

NOW = 1_893_456_000_000_000  # 2030-01-01


@pytest.fixture
def client(door: Door) -> TestClient:
    door.client(door.tenant()).put("/v1/budgets/pull", json={"max_pull_units_per_day": 100})
    return door.client("acme", "operator")


def ask(client: TestClient, **changes: Any) -> dict[str, Any]:
    answer = client.post("/v1/pulls", json={**PULL, **changes})
    assert answer.status_code == 200, answer.text
    return answer.json()


def connect(door: Door, handler: Any) -> None:
    register_pulls(door.server.registry, door.server.admission, {"crm": handler}, signals_of)


def counted(name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """The samples of a counter, by their labels."""
    found = {}
    for family in text_string_to_metric_families(telemetry.exposition().decode()):
        for sample in family.samples:
            if sample.name == name:
                found[tuple(sorted(sample.labels.items()))] = sample.value
    return found


# -- asking --------------------------------------------------------------------------------


@pytest.mark.req("P-15", "P-07")
def test_a_pull_is_asked_for_by_hand_with_any_connector(door: Door, client: TestClient) -> None:
    told = ask(client, depth="DEEP", correlation_id="mail-23")
    key = PullKey("acme", "acct-9", "crm")
    assert told == {
        "scheduled": True,
        "reason": None,
        "explanation": "it is on its way to the connector",
        "job": {
            "pull_job_id": pull_job_id(key, Depth.DEEP, Origin.MANUAL, manual_slot(NOW)),
            "tenant_id": "acme",
            "account_id": "acct-9",
            "connector_id": "crm",
            "depth": "DEEP",
            "depth_units": 3,
            "scheduled_at": "2030-01-01T00:00:00Z",
            "budget_remaining": 97,
            "correlation_id": "mail-23",
        },
    }
    assert door.rows("next_pulls") == []  # it starts no cadence
    assert door.rows("connectors") == []
    [message] = client.get("/v1/outbox?topic=pull.requested").json()["items"]
    assert message["payload"]["detail-type"] == "PULL_REQUESTED"
    assert message["payload"]["detail"]["pull_job_id"] == told["job"]["pull_job_id"]
    assert message["unhandled"] is True


@pytest.mark.req("P-07")
def test_the_same_within_the_hour_is_a_duplicate(door: Door, client: TestClient) -> None:
    assert ask(client)["scheduled"]
    again = ask(client)
    assert (again["scheduled"], again["reason"], again["job"]) == (
        False, "DUPLICATE_PULL_JOB_ID", None,
    )  # fmt: skip
    assert ask(client, depth="DEEP")["scheduled"]
    assert ask(client, account_id="other")["scheduled"]
    assert ask(client, pull_job_id="mine")["scheduled"]
    assert ask(client, pull_job_id="mine", account_id="b")["reason"] == "DUPLICATE_PULL_JOB_ID"
    assert client.get("/v1/budgets/pull").json()["units_consumed"] == 6
    door.clock.advance(hours=1)
    assert ask(client)["scheduled"]
    assert ask(client, pull_job_id="mine")["reason"] == "DUPLICATE_PULL_JOB_ID"


def test_an_idempotency_key_repeats_the_first_answer(client: TestClient) -> None:
    first, second = (
        client.post("/v1/pulls", json=PULL, headers={"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert first.json()["scheduled"]
    assert second.json() == first.json()


@pytest.mark.req("P-06")
def test_a_kill_switch_for_the_connector_refuses(door: Door, client: TestClient) -> None:
    switch = {"scope": "connector", "id": "crm", "on": True, "reason": "their API is down"}
    assert client.post("/v1/kill-switches", json=switch).status_code == 200
    refused = ask(client)
    assert (refused["reason"], refused["explanation"]) == (
        "KILL_SWITCH", "kill switch connector:crm is on: their API is down",
    )  # fmt: skip
    assert ask(client, connector_id="mail")["scheduled"]
    client.post("/v1/kill-switches", json={**switch, "on": False})
    assert ask(client)["scheduled"]


@pytest.mark.req("P-06")
def test_a_switch_thrown_meanwhile_stops_the_call(door: Door, client: TestClient) -> None:
    called = []
    connect(door, called.append)
    ask(client, pull_job_id="p-1")
    switch = {"scope": "connector", "id": "crm", "on": True, "reason": "r"}
    door.admin.post("/v1/kill-switches", json=switch)
    door.server.workers.drain()
    assert called == []
    assert client.get("/v1/pulls/p-1").json()["state"] == "FAILED"


# -- carrying out --------------------------------------------------------------------------


@pytest.mark.req("P-11")
def test_what_a_connector_brings_comes_in_as_signals(door: Door, client: TestClient) -> None:
    asked: list[Pull] = []

    def look(pull: Pull) -> PullResult:
        asked.append(pull)
        return PullResult(signals=[{"type": "renewal.near"}, {"type": "owner.left"}])

    connect(door, look)
    ask(client, pull_job_id="p-1", depth="DEEP", correlation_id="c-1")
    assert client.get("/v1/pulls/p-1").json()["state"] == "REQUESTED"
    door.clock.advance(5)
    door.server.workers.drain()
    [pull] = asked
    assert (pull.account_id, pull.depth, pull.budget_remaining) == ("acct-9", "DEEP", 97)
    done = client.get("/v1/pulls/p-1").json()
    del done["message_id"]
    assert done == {
        "pull_job_id": "p-1",
        "tenant_id": "acme",
        "account_id": "acct-9",
        "connector_id": "crm",
        "depth": "DEEP",
        "depth_units": 3,
        "origin": "manual",
        "state": "SUCCEEDED",
        "scheduled_at": "2030-01-01T00:00:00Z",
        "started_at": "2030-01-01T00:00:05Z",
        "ended_at": "2030-01-01T00:00:05Z",
        "expires_at": "2030-01-02T00:00:00Z",
        "signals": 2,
        "error": None,
    }
    account = client.get("/v1/accounts/acct-9").json()
    assert account["heat"]["factors"]["signal_volume"] == 0.4
    decisions = client.get("/v1/decisions?correlation_id=c-1").json()["items"]
    assert len(decisions) == 2


@pytest.mark.req("P-07", "P-08")
def test_a_pull_that_fails_is_not_repeated_and_stays_charged(
    door: Door, client: TestClient
) -> None:
    def fail(pull: Pull) -> None:
        raise RuntimeError("password=hunter2 was refused")

    connect(door, fail)
    ask(client, pull_job_id="p-1", depth="DEEP")
    door.server.workers.drain()
    failed = client.get("/v1/pulls/p-1").json()
    assert failed["state"] == "FAILED"
    assert "hunter2" not in failed["error"]
    assert client.get("/v1/budgets/pull").json()["units_consumed"] == 3
    assert ask(client, pull_job_id="p-1")["reason"] == "DUPLICATE_PULL_JOB_ID"


def test_a_pull_of_a_connector_that_nobody_has_waits_in_sight(
    door: Door, client: TestClient
) -> None:
    called: list[Pull] = []
    connect(door, called.append)
    ask(client, connector_id="billing", pull_job_id="p-1")
    door.server.workers.drain()
    [message] = client.get("/v1/outbox?topic=pull.requested").json()["items"]
    assert (message["status"], message["unhandled"]) == ("pending", True)
    assert client.get("/v1/pulls/p-1").json()["state"] == "REQUESTED"
    register_pulls(
        door.server.registry, door.server.admission, {"billing": called.append}, signals_of
    )
    door.clock.advance(minutes=2)
    door.server.workers.drain()
    assert [pull.connector_id for pull in called] == ["billing"]
    assert client.get("/v1/pulls/p-1").json()["state"] == "SUCCEEDED"


def test_a_discarded_message_ends_its_pull(door: Door, client: TestClient) -> None:
    ask(client, pull_job_id="p-1")
    message = client.get("/v1/pulls/p-1").json()["message_id"]
    assert client.post(f"/v1/outbox/{message}/discard").status_code == 204
    assert client.get("/v1/pulls/p-1").json()["state"] == "FAILED"


def test_a_server_without_workers_ends_the_pull_it_discards(door: Door, client: TestClient) -> None:
    ask(client, pull_job_id="p-1")
    message = client.get("/v1/pulls/p-1").json()["message_id"]
    serving = TestClient(create_app(door.db, door.server.settings), headers=bearer(ADMIN_KEY))
    assert serving.post(f"/v1/outbox/{message}/discard").status_code == 204
    assert client.get("/v1/pulls/p-1").json()["state"] == "FAILED"


# -- looking back --------------------------------------------------------------------------


def test_pulls_are_listed_the_newest_first(door: Door, client: TestClient) -> None:
    for n in range(5):
        ask(client, pull_job_id=f"p-{n}", account_id=f"a{n % 2}", connector_id=f"c{n % 3}")
        if n % 2:
            door.clock.advance(1)

    def found(query: str) -> list[str]:
        return [one["pull_job_id"] for one in client.get(f"/v1/pulls?{query}").json()["items"]]

    assert found("") == ["p-4", "p-3", "p-2", "p-1", "p-0"]
    assert found("account_id=a1") == ["p-3", "p-1"]
    assert found("connector_id=c0") == ["p-3", "p-0"]
    assert found("account_id=a1&connector_id=c0") == ["p-3"]
    assert found("state=REQUESTED&origin=manual&limit=2") == ["p-4", "p-3"]
    assert found("state=FAILED") == found("origin=cadence") == []
    seen, cursor = [], ""
    for _ in range(3):
        page = client.get(f"/v1/pulls?limit=2{cursor}").json()
        seen += [one["pull_job_id"] for one in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == found("")
    assert page["next_cursor"] is None


@pytest.mark.req("P-13")
def test_every_decision_is_in_the_ledger(client: TestClient) -> None:
    ask(client, depth="DEEP")
    ask(client, depth="DEEP")
    made, refused = client.get("/v1/ledger?kind=pull.decided").json()["items"]
    assert (made["stage"], made["subject"], made["result"]) == ("perceive", "acct-9", "SCHEDULED")
    assert (made["data"]["units"], made["data"]["remaining"]) == (3, 97)
    assert (refused["result"], refused["reason"]) == ("REFUSED", "DUPLICATE_PULL_JOB_ID")


@pytest.mark.req("P-13", "O-10")
def test_units_and_decisions_are_counted_without_the_tenant(door: Door, client: TestClient) -> None:
    signals = [{"account_id": "acct-9", "type": "t"}]
    client.post("/v1/signals", json={"signals": signals})  # the account is WARM
    name = f"counted-on-{door.db.engine}"
    ask(client, connector_id=name, depth="DEEP")
    ask(client, connector_id=name, depth="DEEP")
    ask(client, connector_id=name, account_id="unknown")
    base = {"connector": name, "depth": "DEEP", "tier": "WARM"}

    def labels(**more: str) -> tuple[tuple[str, str], ...]:
        return tuple(sorted({**base, **more}.items()))

    totals = counted("watchkeeper_pulls_total")
    assert totals[labels(result="SCHEDULED", reason="")] == 1
    assert totals[labels(result="REFUSED", reason="DUPLICATE_PULL_JOB_ID")] == 1
    assert totals[labels(result="SCHEDULED", reason="", depth="SHALLOW", tier="")] == 1
    assert counted("watchkeeper_pull_units_total")[labels()] == 3
    scraped = door.with_key(None).get("/metrics").text
    ours = [line for line in scraped.splitlines() if f'connector="{name}"' in line]
    assert ours
    assert not any("acme" in line or "acct-9" in line for line in ours)


@pytest.mark.req("P-13")
def test_names_of_connectors_are_counted_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_connectors", set())
    monkeypatch.setattr(telemetry, "NAMES_MAX", 2)
    names = ["a", "b", "c", "a", "d"]
    assert [telemetry.connector_label(name) for name in names] == ["a", "b", "other", "a", "other"]


@pytest.mark.req("P-13")
def test_what_was_rolled_back_is_not_counted(
    door: Door, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("instead of the commit")

    before = counted("watchkeeper_pulls_total")
    with monkeypatch.context() as patch:
        patch.setattr(door.db, "_send_commit", broken)
        problem_of(client.post("/v1/pulls", json=PULL), 500)
    assert door.rows("pulls") == []
    assert counted("watchkeeper_pulls_total") == before


# -- who may, and what is wrong --------------------------------------------------------------


@pytest.mark.req("O-20", "O-21")
def test_an_operator_asks_and_a_viewer_reads(door: Door, client: TestClient) -> None:
    ask(client, pull_job_id="p-1")
    for role in ("ingest", "viewer"):
        problem_of(door.client("acme", role).post("/v1/pulls", json=PULL), 403, "forbidden")
    assert door.client("acme", "viewer").get("/v1/pulls/p-1").status_code == 200
    other = door.client(door.tenant("beta"), "operator")
    assert other.get("/v1/pulls").json()["items"] == []
    problem_of(other.get("/v1/pulls/p-1"), 404, "not_found")
    problem_of(other.post("/v1/pulls", json={**PULL, "tenant_id": "acme"}), 404, "not_found")
    assert door.admin.get("/v1/pulls/p-1").json() == client.get("/v1/pulls/p-1").json()
    problem_of(door.admin.get("/v1/pulls/p-2"), 404, "not_found")
    door.admin.put("/v1/budgets/pull", json={"tenant_id": "beta", "max_pull_units_per_day": 9})
    ask(other, pull_job_id="p-1")
    unclear = door.admin.get("/v1/pulls/p-1")
    problem_of(unclear, 422)
    assert places_of(unclear) == {"tenant_id"}
    assert door.admin.get("/v1/pulls/p-1?tenant_id=beta").json()["tenant_id"] == "beta"


def test_an_unknown_tenant_is_made_in_development_only(door: Door, dev_door: Door) -> None:
    body = {**PULL, "tenant_id": "new"}
    problem_of(door.admin.post("/v1/pulls", json=body), 404, "not_found")
    problem_of(door.admin.get("/v1/pulls?tenant_id=new"), 404, "not_found")
    assert door.rows("tenants") == []
    assert dev_door.admin.post("/v1/pulls", json=body).json()["reason"] == "NO_BUDGET"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"depth": "deep"}, "depth"),
        ({"depth": None}, "depth"),
        ({"connector_id": "a b"}, "connector_id"),
        ({"connector_id": "*"}, "connector_id"),
        ({"pull_job_id": "a/b"}, "pull_job_id"),
        ({"account_id": ""}, "account_id"),
    ],
)
def test_a_wrong_field_is_named(door_sqlite: Door, body: dict[str, Any], place: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    wrong = client.post("/v1/pulls", json={**PULL, **body})
    problem_of(wrong, 422, "invalid")
    assert places_of(wrong) == {place}


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("state=LOST", "state"),
        ("origin=whim", "origin"),
        ("account_id=", "account_id"),
        ("connector_id=a%20b", "connector_id"),
        ("cursor=nonsense", "cursor"),
        ("depth=DEEP", "depth"),
    ],
)
def test_a_wrong_parameter_is_named(door_sqlite: Door, query: str, place: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    wrong = client.get(f"/v1/pulls?{query}")
    problem_of(wrong, 422, "invalid")
    assert places_of(wrong) == {place}


@pytest.mark.parametrize("place", ["p-1", "1/", "/p", "99999999999999999999/p", "1/a b", "1/a/b"])
def test_a_cursor_that_was_made_up_is_refused(door_sqlite: Door, place: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    cursor = base64.urlsafe_b64encode(f'["pulls","{place}"]'.encode()).decode().rstrip("=")
    wrong = client.get(f"/v1/pulls?cursor={cursor}")
    problem_of(wrong, 422, "invalid")
    assert places_of(wrong) == {"cursor"}
