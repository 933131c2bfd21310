"""Accounts over HTTP: how warm they are now, when they are pulled next, which tiers they had."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.http.door import Door, places_of, problem_of
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.store.connectors import Connector

pytestmark = pytest.mark.req("U-11")


@pytest.fixture
def client(door: Door) -> TestClient:
    return door.client(door.tenant(), "operator")


def warm(client: TestClient, name: str, signals: int, posture: str | None = None) -> None:
    if posture is not None:
        assert client.put(f"/v1/accounts/{name}", json={"posture": posture}).status_code == 200
    if signals:
        told = [{"account_id": name, "type": "t"} for _ in range(signals)]
        assert client.post("/v1/signals", json={"signals": told}).status_code == 202


def heat(client: TestClient, name: str) -> dict[str, Any]:
    return client.get(f"/v1/accounts/{name}").json()["heat"]


def names(client: TestClient, query: str) -> list[str]:
    answer = client.get(f"/v1/accounts?{query}")
    assert answer.status_code == 200, answer.text
    return [one["account_id"] for one in answer.json()["items"]]


@pytest.mark.req("P-01", "P-02")
def test_heat_is_three_factors_weighted(client: TestClient) -> None:
    warm(client, "a", 2, "EXPAND")
    assert heat(client, "a") == {
        "heat_score": 0.81,  # 0.40 x 0.9 + 0.35 x 1 + 0.25 x 2 / 5
        "heat_tier": "HOT",
        "factors": {"posture_score": 0.9, "signal_recency": 1.0, "signal_volume": 0.4},
        "entered_at": "2030-01-01T00:00:00Z",
        "computed_at": "2030-01-01T00:00:00Z",
        "updated_at": "2030-01-01T00:00:00Z",
    }


@pytest.mark.req("P-02", "P-04")
def test_what_is_shown_is_what_holds_now_though_nobody_swept(
    door: Door, client: TestClient
) -> None:
    warm(client, "a", 2, "EXPAND")
    before = door.rows("heats")
    door.clock.advance(hours=2)
    cooler = heat(client, "a")
    assert cooler["factors"]["signal_recency"] == 0.7
    assert (cooler["heat_score"], cooler["heat_tier"]) == (0.705, "HOT")
    assert cooler["computed_at"] == "2030-01-01T02:00:00Z"
    assert cooler["updated_at"] == "2030-01-01T00:00:00Z"
    door.clock.advance(hours=9)  # below HOT since the seventh hour; the cooldown is four
    left = heat(client, "a")
    assert (left["heat_tier"], left["entered_at"]) == ("WARM", "2030-01-01T10:00:00.000001Z")
    assert door.rows("heats") == before
    listed = client.get("/v1/accounts").json()["items"]
    assert [one["heat"] for one in listed] == [left]


@pytest.mark.req("P-04")
def test_accounts_of_a_tier_are_those_that_are_in_it_now(door: Door, client: TestClient) -> None:
    warm(client, "hot-1", 2, "AT_RISK")
    warm(client, "hot-2", 3, "AT_RISK")
    warm(client, "warm", 1, "OK")
    client.put("/v1/accounts/cold", json={"attributes": {"n": 1}})  # it has no heat yet
    assert names(client, "tier=HOT") == ["hot-1", "hot-2"]
    assert names(client, "tier=WARM") == ["warm"]
    assert names(client, "tier=COLD") == ["cold"]
    door.clock.advance(hours=11)
    assert names(client, "tier=HOT") == []
    assert names(client, "tier=WARM") == ["hot-1", "hot-2", "warm"]
    door.clock.advance(days=30)
    assert names(client, "tier=WARM") == []
    assert names(client, "tier=COLD") == ["cold", "hot-1", "hot-2", "warm"]
    problem_of(client.get("/v1/accounts?tier=TEPID"), 422)


def test_a_tier_comes_in_pages(client: TestClient) -> None:
    for n in range(5):
        warm(client, f"a{n}", 1, "OK")
        warm(client, f"b{n}", 0, "OK")
    first = client.get("/v1/accounts?tier=WARM&limit=3").json()
    second = client.get(f"/v1/accounts?tier=WARM&limit=3&cursor={first['next_cursor']}").json()
    seen = [one["account_id"] for one in first["items"] + second["items"]]
    assert seen == [f"a{n}" for n in range(5)]
    assert second["next_cursor"] is None


def test_a_page_of_a_tier_looks_past_those_that_have_left_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, door: Door
) -> None:
    monkeypatch.setattr("watchkeeper.actions.show_heat.SCANNED", 2)
    for n in range(5):
        warm(client, f"a{n}", 2, "EXPAND")
    door.clock.advance(hours=11)
    warm(client, "z", 2, "EXPAND")
    assert names(client, "tier=HOT&limit=2") == ["z"]
    assert names(client, "tier=WARM&limit=4") == ["a0", "a1", "a2", "a3"]
    monkeypatch.setattr("watchkeeper.actions.show_heat.SCANS_MAX", 1)
    seen, cursor = [], ""
    for _ in range(3):  # two have left in the first slice, two in the second
        page = client.get(f"/v1/accounts?tier=HOT&limit=2{cursor}").json()
        seen.append([one["account_id"] for one in page["items"]])
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == [[], [], ["z"]]


def test_another_policy_is_seen_at_once(door: Door, client: TestClient) -> None:
    warm(client, "a", 2, "OK")  # 0.12 + 0.35 + 0.1
    assert names(client, "tier=HOT") == []
    assert door.admin.put("/v1/policy", json={"heat": {"hot_percent": 50}}).status_code == 200
    door.clock.advance(1)
    assert heat(client, "a")["heat_tier"] == "HOT"
    assert names(client, "tier=HOT") == ["a"]
    assert names(client, "tier=WARM") == []


@pytest.mark.req("P-02")
def test_the_history_of_tiers_is_in_the_ledger(door: Door, client: TestClient) -> None:
    warm(client, "a", 1, "EXPAND")
    door.clock.advance(60)
    warm(client, "a", 1)
    history = client.get("/v1/accounts/a").json()["tier_history"]
    assert [(one["tier"], one["was"], one["heat_score"]) for one in history] == [
        ("HOT", "WARM", 0.81),
        ("WARM", "COLD", 0.76),
        ("COLD", None, 0.36),
    ]
    assert history[0]["at"] == history[0]["entered_at"] == "2030-01-01T00:01:00Z"
    entries = client.get("/v1/ledger?kind=heat.tier_changed&subject=a").json()["items"]
    assert [one["result"] for one in entries] == ["COLD", "WARM", "HOT"]


@pytest.mark.req("P-03", "P-05")
def test_next_pulls_follow_the_tier(door: Door, client: TestClient) -> None:
    register_connector(door.db, Connector("crm", has_cadence=True))
    warm(client, "a", 1, "DORMANT")
    [cold] = client.get("/v1/accounts/a").json()["next_pulls"]
    assert (cold["connector_id"], cold["tier"], cold["depth"]) == ("crm", "WARM", "SHALLOW")
    warm(client, "a", 1, "EXPAND")
    [hot] = client.get("/v1/accounts/a").json()["next_pulls"]
    assert hot == {
        "connector_id": "crm",
        "next_pull_at": "2030-01-01T00:00:00Z",  # promotion pulls it forward
        "slot_at": "2030-01-01T00:00:00Z",
        "tier": "HOT",
        "depth": "DEEP",
        "pulled_at": None,
    }


def test_an_account_that_was_told_something_is_answered_with_its_heat(client: TestClient) -> None:
    told = client.put("/v1/accounts/a", json={"posture": "AT_RISK"}).json()
    assert told["heat"]["factors"]["posture_score"] == 0.7
    assert told["next_pulls"] == []
    assert [one["reason"] for one in told["verdicts"]] == [None]


def test_heat_is_of_one_tenant(door: Door, client: TestClient) -> None:
    warm(client, "a", 2, "EXPAND")
    other = door.client(door.tenant("beta"), "viewer")
    assert names(other, "tier=HOT") == []
    problem_of(other.get("/v1/accounts/a"), 404, "not_found")
    assert names(door.admin, "tier=HOT&tenant_id=acme") == ["a"]
    assert door.admin.get("/v1/accounts/a").json()["heat"]["heat_tier"] == "HOT"
    unclear = door.admin.get("/v1/accounts?tier=HOT")
    problem_of(unclear, 422)
    assert places_of(unclear) == {"tenant_id"}
