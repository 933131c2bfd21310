"""Connectors over HTTP: limited for all or for one tenant, and looked at."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.http.calls import PULL
from tests.http.door import Door, places_of, problem_of
from watchkeeper.actions.perceive_topics import register_pulls
from watchkeeper.actions.set_connector import register_connector
from watchkeeper.handlers.results import Retry
from watchkeeper.pull_signals import signals_of
from watchkeeper.store.connectors import Connector

pytestmark = pytest.mark.req("U-11")

PATH = "/v1/connectors/crm"


@pytest.fixture
def client(door: Door) -> TestClient:
    made = door.client(door.tenant(), "operator")
    budget = {"tenant_id": "acme", "max_pull_units_per_day": 100}
    assert door.admin.put("/v1/budgets/pull", json=budget).status_code == 200
    return made


def put(door: Door, **body: Any) -> dict[str, Any]:
    answer = door.admin.put(PATH, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def pull(client: TestClient, n: int, **changes: Any) -> Any:
    return client.post("/v1/pulls", json={**PULL, "pull_job_id": f"pull-{n}", **changes})


def test_limits_are_set_for_all_tenants(door: Door, client: TestClient) -> None:
    problem_of(client.get(PATH), 404, "not_found")
    made = put(door, rate_per_second=0.5, burst=2, max_concurrency=3)
    assert made == {
        "connector_id": "crm",
        "rate_per_second": 0.5,
        "burst": 2,
        "max_concurrency": 3,
        "depth_units": {"SHALLOW": 1, "DEEP": 3},
        "has_cadence": False,
        "held_until_at": None,
        "slots_in_use": 0,
        "tenant": None,
    }
    assert client.get(PATH).json() == {
        **made,
        "tenant": {
            "tenant_id": "acme",
            "rate_per_second": None,
            "burst": 1,
            "breaker": "closed",
            "failures": 0,
            "open_until_at": None,
        },
    }
    assert door.admin.get(PATH).json() == made
    assert door.admin.get("/v1/connectors").json()["items"] == [made]


def test_what_is_absent_stays_and_null_lifts(door: Door, client: TestClient) -> None:
    put(door, rate_per_second=5, burst=2, max_concurrency=3)
    units = {"SHALLOW": 2, "DEEP": 7}
    changed = put(door, depth_units=units)
    assert (changed["rate_per_second"], changed["max_concurrency"]) == (5.0, 3)
    assert put(door, depth_units={"DEEP": 9})["depth_units"] == {"SHALLOW": 2, "DEEP": 9}
    lifted = put(door, rate_per_second=None)
    assert (lifted["rate_per_second"], lifted["max_concurrency"]) == (None, 3)
    assert put(door, max_concurrency=None)["max_concurrency"] is None
    assert pull(client, 1, depth="DEEP").json()["job"]["depth_units"] == 9


def test_a_registered_connector_keeps_its_limits(door: Door) -> None:
    put(door, max_concurrency=3)
    register_connector(door.db, Connector("crm", max_concurrency=50, has_cadence=True))
    shown = door.admin.get(PATH).json()
    assert (shown["max_concurrency"], shown["has_cadence"]) == (3, True)


@pytest.mark.req("P-10")
def test_a_rate_that_is_used_up_names_the_time(door: Door, client: TestClient) -> None:
    put(door, rate_per_second=0.1, burst=2)
    assert pull(client, 1).json()["scheduled"]
    assert pull(client, 2).json()["scheduled"]
    late = pull(client, 3)
    assert late.json()["reason"] == "RATE_LIMIT"
    assert late.json()["retry_at"] == "2030-01-01T00:00:10Z"
    assert late.headers["retry-after"] == "10"
    other = door.client(door.tenant("beta"), "operator")
    door.admin.put("/v1/budgets/pull", json={"tenant_id": "beta", "max_pull_units_per_day": 9})
    assert pull(other, 1).json()["reason"] == "RATE_LIMIT"  # it is shared
    door.clock.advance(10)
    assert pull(client, 3).json()["scheduled"]  # neither id nor budget was consumed
    assert client.get("/v1/budgets/pull").json()["units_consumed"] == 3


@pytest.mark.req("P-10")
def test_a_tenant_has_a_rate_of_its_own(door: Door, client: TestClient) -> None:
    own = put(door, tenant_id="acme", rate_per_second=0.1)
    assert own["rate_per_second"] is None
    assert (own["tenant"]["rate_per_second"], own["tenant"]["burst"]) == (0.1, 1)
    assert pull(client, 1).json()["scheduled"]
    refused = pull(client, 2).json()
    assert (refused["reason"], refused["explanation"]) == (
        "RATE_LIMIT", "the tenant's rate is used up",
    )  # fmt: skip
    other = door.client(door.tenant("beta"), "operator")
    door.admin.put("/v1/budgets/pull", json={"tenant_id": "beta", "max_pull_units_per_day": 9})
    assert pull(other, 1).json()["scheduled"]
    problem_of(other.get(PATH), 404)  # nothing is known of it there
    put(door, tenant_id="acme", rate_per_second=None)
    assert pull(client, 2).json()["scheduled"]
    entries = client.get("/v1/ledger?kind=connector.set").json()["items"]
    assert [one["data"]["set"]["milli_per_second"] for one in entries] == [100, None]


@pytest.mark.req("P-10")
def test_slots_in_use_are_shown(door: Door, client: TestClient) -> None:
    put(door, max_concurrency=2)
    for n in (1, 2):
        pull(client, n)
    assert client.get(PATH).json()["slots_in_use"] == 2
    full = pull(client, 3)
    assert full.json()["reason"] == "RATE_LIMIT"
    assert full.headers["retry-after"] == "1"
    door.clock.advance(hours=1)  # a dead worker's slot is free again
    assert client.get(PATH).json()["slots_in_use"] == 0


@pytest.mark.req("P-12")
def test_the_breaker_is_shown_for_the_tenant_asked(door: Door, client: TestClient) -> None:
    door.admin.put("/v1/policy", json={"pulls": {"breaker_failures": 2}})
    put(door, burst=1)

    def fail(pull: object) -> None:
        raise RuntimeError("no credential")

    handlers = {"crm": fail}
    register_pulls(door.server.registry, door.server.admission, handlers, signals_of)
    for n in (1, 2):
        pull(client, n)
        door.server.workers.drain()
    shown = client.get(PATH).json()["tenant"]
    assert (shown["breaker"], shown["failures"]) == ("open", 2)
    assert shown["open_until_at"] == "2030-01-01T00:05:00Z"
    refused = pull(client, 3)
    assert (refused.json()["reason"], refused.headers["retry-after"]) == ("CIRCUIT_OPEN", "300")
    other = door.client(door.tenant("beta"), "viewer").get(PATH).json()
    assert other["tenant"]["breaker"] == "closed"
    door.clock.advance(300)
    [listed] = client.get("/v1/connectors").json()["items"]
    assert listed["tenant"]["breaker"] == "half_open"
    handlers["crm"] = lambda _: None
    assert pull(client, 3).json()["scheduled"]
    door.server.workers.drain()
    assert client.get(PATH).json()["tenant"]["breaker"] == "closed"


@pytest.mark.req("P-10")
def test_a_hold_of_upstream_is_shown(door: Door, client: TestClient) -> None:
    put(door, burst=1)
    door.place.execute(f"update connectors set held_until_at = {1893456000_000000 + 60_000000}")
    assert client.get(PATH).json()["held_until_at"] == "2030-01-01T00:01:00Z"
    assert pull(client, 1).headers["retry-after"] == "60"
    door.clock.advance(60)
    assert client.get(PATH).json()["held_until_at"] is None


def test_connectors_come_in_pages(door: Door, client: TestClient) -> None:
    for n in range(5):
        door.admin.put(f"/v1/connectors/c{n}", json={"burst": 1})
    first = client.get("/v1/connectors?limit=3").json()
    second = client.get(f"/v1/connectors?limit=3&cursor={first['next_cursor']}").json()
    seen = [one["connector_id"] for one in first["items"] + second["items"]]
    assert seen == [f"c{n}" for n in range(5)]
    assert second["next_cursor"] is None


@pytest.mark.req("O-20")
def test_only_an_admin_of_all_tenants_sets_limits(door: Door, client: TestClient) -> None:
    for caller in (client, door.client("acme", "admin"), door.client(None, "operator")):
        problem_of(caller.put(PATH, json={"burst": 2}), 403, "forbidden")
    assert door.client(None, "admin").put(PATH, json={"burst": 2}).status_code == 200
    problem_of(door.admin.put(PATH, json={"tenant_id": "none", "rate_per_second": 1}), 404)
    problem_of(door.client("acme", "ingest").get(PATH), 403)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"rate_per_second": 0}, "rate_per_second"),
        ({"rate_per_second": 0.0001}, "rate_per_second"),
        ({"burst": 0}, "burst"),
        ({"max_concurrency": 0}, "max_concurrency"),
        ({"depth_units": {"SHALLOW": 0}}, "depth_units.SHALLOW"),
        ({"depth_units": {"shallow": 1}}, "depth_units.shallow"),
        ({"tenant_id": "acme", "burst": 2}, "rate_per_second"),
        (
            {"tenant_id": "acme", "rate_per_second": 1, "max_concurrency": 2},
            "max_concurrency",
        ),
    ],
)
def test_a_wrong_limit_is_named(door_sqlite: Door, body: dict[str, Any], place: str) -> None:
    door_sqlite.tenant()
    wrong = door_sqlite.admin.put(PATH, json=body)
    problem_of(wrong, 422, "invalid")
    assert places_of(wrong) == {place}


@pytest.mark.parametrize("name", ["a%20b", "%2A", "-a", "x" * 129])
def test_a_wrong_name_is_refused(door_sqlite: Door, name: str) -> None:
    wrong = door_sqlite.admin.put(f"/v1/connectors/{name}", json={"burst": 1})
    problem_of(wrong, 422, "invalid")
    assert places_of(wrong) == {"connector_id"}


@pytest.mark.req("P-10")
@pytest.mark.parametrize("after", [60, "60"])
def test_what_upstream_asks_for_holds_it_for_all(
    door: Door, client: TestClient, after: float | str
) -> None:
    put(door, burst=1)

    def busy(pull: object) -> None:
        raise Retry("429", after=after)

    register_pulls(door.server.registry, door.server.admission, {"crm": busy}, signals_of)
    pull(client, 1)
    door.server.workers.drain()
    assert client.get("/v1/pulls/pull-1").json()["state"] == "FAILED"
    assert client.get(PATH).json()["held_until_at"] == "2030-01-01T00:01:00Z"
    other = door.client(door.tenant("beta"), "operator")
    door.admin.put("/v1/budgets/pull", json={"tenant_id": "beta", "max_pull_units_per_day": 9})
    for caller in (client, other):
        late = pull(caller, 2)
        assert (late.json()["reason"], late.headers["retry-after"]) == ("RATE_LIMIT", "60")


@pytest.mark.req("P-10")
def test_a_date_is_understood_and_nonsense_is_no_wish() -> None:
    there = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    waited = Retry(after=there).after
    assert waited is not None
    assert 80 < waited <= 90
    assert Retry(after="soon").after is None
    assert Retry(after=5.0).after == 5.0
