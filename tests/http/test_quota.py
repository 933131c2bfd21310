"""GET /v1/quota: what is left, of the tenant and of one user, in the present day and month."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.http.calls import TURN, USAGE
from tests.http.door import Door, places_of, problem_of

pytestmark = pytest.mark.req("U-11", "S-01")

RESERVED = 100 * 1 + 50 * 3
CHARGED = 90 * 1 + 20 * 3


def buckets(client: TestClient, query: str = "") -> dict[tuple[str, str], dict[str, Any]]:
    answer = client.get(f"/v1/quota{query}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["next_cursor"] is None
    return {(one["period"], one["bucket"]): one for one in answer.json()["items"]}


@pytest.fixture
def client(door: Door) -> TestClient:
    return door.client(door.tenant(), "operator")


def test_what_has_a_limit_is_shown_before_it_is_used(client: TestClient) -> None:
    found = buckets(client)
    assert list(found) == [
        ("daily", "total"),
        ("daily", "tier:premium"),
        ("monthly", "total"),
        ("monthly", "tier:premium"),
    ]
    assert found["daily", "total"] == {
        "user_id": None,
        "period": "daily",
        "bucket": "total",
        "starts_at": "2030-01-01T00:00:00Z",
        "next_reset_at": "2030-01-02T00:00:00Z",
        "limit": 1_000_000_000,
        "spent": 0,
        "reserved": 0,
        "remaining": 1_000_000_000,
        "turns_reserved": 0,
        "turns_settled": 0,
        "input_tokens": 0,
        "output_tokens": 0,
    }
    assert found["monthly", "total"]["next_reset_at"] == "2030-02-01T00:00:00Z"


def test_a_turn_is_reserved_and_then_spent_in_every_bucket(client: TestClient) -> None:
    client.post("/v1/turns", json={**TURN, "turn_id": "t-1", "user_id": "kim"})
    for query, user in (("", None), ("?user_id=kim", "kim")):
        found = buckets(client, query)
        for period in ("daily", "monthly"):
            for name in ("total", "tier:standard"):
                bucket = found[period, name]
                assert (bucket["reserved"], bucket["spent"]) == (RESERVED, 0)
                assert bucket["user_id"] == user
        assert found["daily", "tier:standard"]["limit"] is None
        assert found["daily", "tier:standard"]["remaining"] is None
        assert found["daily", "tier:premium"]["reserved"] == 0
    ended = {"outcome": "completed", "started": True, "usage": USAGE}
    client.post("/v1/turns/t-1/finalize", json=ended)
    total = buckets(client)["daily", "total"]
    assert (total["reserved"], total["spent"]) == (0, CHARGED)
    assert total["remaining"] == total["limit"] - CHARGED
    assert (total["turns_reserved"], total["turns_settled"]) == (1, 1)
    assert (total["input_tokens"], total["output_tokens"]) == (90, 20)


@pytest.mark.req("S-02")
def test_a_new_day_begins_empty_and_the_month_goes_on(door: Door, client: TestClient) -> None:
    client.post("/v1/turns", json=TURN)
    door.clock.advance(days=1)
    found = buckets(client)
    assert found["daily", "total"]["reserved"] == 0
    assert found["daily", "total"]["starts_at"] == "2030-01-02T00:00:00Z"
    assert found["monthly", "total"]["reserved"] == RESERVED


def test_limits_are_those_of_the_policy_in_force(door: Door, client: TestClient) -> None:
    client.post("/v1/turns", json={**TURN, "turn_id": "t-1"})
    quota = {"quota": {"tenant": {"daily": {"total": 100}}}}
    door.admin.put("/v1/policy", json={"tenants": {"acme": quota}})
    total = buckets(client)["daily", "total"]
    assert (total["limit"], total["remaining"]) == (100, 0)  # never below nothing
    other = buckets(door.client(door.tenant("beta"), "viewer"))["daily", "total"]
    assert other["limit"] == 1_000_000_000


@pytest.mark.req("O-21")
def test_quota_is_of_one_tenant(door: Door, client: TestClient) -> None:
    client.post("/v1/turns", json={**TURN, "user_id": "kim"})
    other = door.client(door.tenant("beta"), "viewer")
    for query in ("", "?user_id=kim"):
        assert {one["reserved"] for one in buckets(other, query).values()} == {0}
    problem_of(other.get("/v1/quota?tenant_id=acme"), 404, "not_found")
    assert buckets(door.admin, "?tenant_id=acme") == buckets(client)
    problem_of(door.admin.get("/v1/quota?tenant_id=nobody"), 404, "not_found")
    unclear = door.admin.get("/v1/quota")
    problem_of(unclear, 422)
    assert places_of(unclear) == {"tenant_id"}


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("user_id=", "user_id"),
        ("user_id=a%2Fb", "user_id"),
        ("user_id=a.b", "user_id"),
        ("user_id=%00", "user_id"),
        ("user_id=" + "x" * 129, "user_id"),
        ("user=kim", "user"),
    ],
)
def test_a_wrong_parameter_is_named(door_sqlite: Door, query: str, place: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    wrong = client.get(f"/v1/quota?{query}")
    problem_of(wrong, 422, "invalid")
    assert places_of(wrong) == {place}
