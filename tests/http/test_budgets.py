"""The pull budget over HTTP: set, used up, looked at for any day, and removed."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.http.calls import PULL
from tests.http.door import Door, places_of, problem_of

pytestmark = pytest.mark.req("U-11")

PATH = "/v1/budgets/pull"
CONCURRENT = 12


@pytest.fixture
def client(door: Door) -> TestClient:
    return door.client(door.tenant())


def put(client: TestClient, units: int, caps: object = None) -> dict[str, Any]:
    body = {"max_pull_units_per_day": units}
    if caps is not None:
        body["max_per_connector_per_day"] = caps
    answer = client.put(PATH, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def pull(client: TestClient, n: int, **changes: Any) -> dict[str, Any]:
    asked = {**PULL, "pull_job_id": f"pull-{n}", **changes}
    answer = client.post("/v1/pulls", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.req("P-08", "P-09")
def test_what_is_consumed_is_shown_in_all_and_by_connector(client: TestClient) -> None:
    assert put(client, 10, {"crm": 4})["remaining"] == 10
    assert pull(client, 1, depth="DEEP")["job"]["budget_remaining"] == 1
    assert pull(client, 2, connector_id="mail")["job"]["budget_remaining"] == 6
    assert client.get(PATH).json() == {
        "tenant_id": "acme",
        "date_key": "2030-01-01",
        "units_consumed": 4,
        "pull_count": 2,
        "remaining": 6,
        "max_pull_units_per_day": 10,
        "max_per_connector_per_day": {"crm": 4},
        "connectors": {
            "crm": {"units_consumed": 3, "pull_count": 1, "remaining": 1},
            "mail": {"units_consumed": 1, "pull_count": 1, "remaining": 6},
        },
    }


@pytest.mark.req("P-08")
def test_both_caps_are_charged_or_neither(client: TestClient) -> None:
    put(client, 5, {"crm": 3})
    assert pull(client, 1, depth="DEEP")["scheduled"]
    refused = pull(client, 2)
    assert (refused["reason"], refused["job"]) == ("BUDGET_EXCEEDED", None)
    assert refused["explanation"] == "1 units are needed, 0 remain today"
    assert pull(client, 3, connector_id="mail", depth="DEEP")["reason"] == "BUDGET_EXCEEDED"
    assert pull(client, 4, connector_id="mail")["scheduled"]
    found = client.get(PATH).json()
    assert (found["units_consumed"], found["pull_count"], found["remaining"]) == (4, 2, 1)
    assert pull(client, 2, connector_id="mail")["scheduled"]  # the refused id is free


@pytest.mark.req("P-08")
def test_one_number_is_a_cap_for_each_connector(client: TestClient) -> None:
    assert put(client, 100, 2)["max_per_connector_per_day"] == 2
    for n, name in enumerate(("crm", "crm", "mail", "mail")):
        assert pull(client, n, connector_id=name)["scheduled"]
    assert pull(client, 4, connector_id="crm")["reason"] == "BUDGET_EXCEEDED"
    found = client.get(PATH).json()
    assert {name: one["remaining"] for name, one in found["connectors"].items()} == {
        "crm": 0,
        "mail": 0,
    }
    assert put(client, 100, {"*": 2, "crm": 5})["connectors"]["crm"]["remaining"] == 3
    assert pull(client, 5, connector_id="crm")["scheduled"]
    assert pull(client, 6, connector_id="mail")["reason"] == "BUDGET_EXCEEDED"


@pytest.mark.req("P-08")
def test_without_a_budget_nothing_is_pulled(client: TestClient) -> None:
    assert pull(client, 1)["reason"] == "NO_BUDGET"
    assert client.get(PATH).json() == {
        "tenant_id": "acme",
        "date_key": "2030-01-01",
        "units_consumed": 0,
        "pull_count": 0,
        "remaining": None,
        "max_pull_units_per_day": None,
        "max_per_connector_per_day": None,
        "connectors": {},
    }
    put(client, 10)
    assert pull(client, 1)["scheduled"]
    assert client.delete(PATH).status_code == 204
    assert pull(client, 2)["reason"] == "NO_BUDGET"
    gone = client.get(PATH).json()
    assert (gone["units_consumed"], gone["remaining"]) == (1, None)


@pytest.mark.req("P-09")
def test_the_day_is_a_utc_date_and_old_ones_stay(door: Door, client: TestClient) -> None:
    put(client, 5)
    pull(client, 1, depth="DEEP")
    door.clock.advance(days=1)
    today = client.get(PATH).json()
    assert (today["date_key"], today["units_consumed"], today["remaining"]) == (
        "2030-01-02", 0, 5,
    )  # fmt: skip
    pull(client, 2)
    yesterday = client.get(f"{PATH}?date=2030-01-01").json()
    assert (yesterday["date_key"], yesterday["units_consumed"], yesterday["pull_count"]) == (
        "2030-01-01", 3, 1,
    )  # fmt: skip
    assert client.get(f"{PATH}?date=2030-01-02").json()["units_consumed"] == 1
    assert client.get(f"{PATH}?date=2029-12-31").json()["units_consumed"] == 0


@pytest.mark.req("P-09")
def test_a_lower_cap_counts_what_was_consumed(client: TestClient) -> None:
    put(client, 10)
    pull(client, 1, depth="DEEP")
    assert put(client, 2)["remaining"] == 0
    assert pull(client, 2)["reason"] == "BUDGET_EXCEEDED"
    assert put(client, 4)["remaining"] == 1
    assert pull(client, 2)["scheduled"]


@pytest.mark.req("P-08")
def test_many_at_once_never_consume_more_than_there_is(door: Door, client: TestClient) -> None:
    put(client, 5, {"crm": 3})
    with ThreadPoolExecutor(CONCURRENT) as threads:
        answers = list(threads.map(lambda n: pull(client, n), range(CONCURRENT)))
    assert sum(one["scheduled"] for one in answers) == 3
    left = sorted(one["job"]["budget_remaining"] for one in answers if one["scheduled"])
    assert left == [0, 1, 2]
    assert client.get(PATH).json()["connectors"]["crm"]["units_consumed"] == 3


@pytest.mark.req("P-13")
def test_a_change_is_in_the_ledger(client: TestClient) -> None:
    put(client, 10, {"crm": 4})
    client.delete(PATH)
    set_, removed = client.get("/v1/ledger?kind=pull_budget.set").json()["items"]
    assert set_["data"]["budget"] == {"connectors": {"crm": 4}, "total": 10}
    assert removed["data"]["budget"] is None


@pytest.mark.req("O-20", "O-21")
def test_a_budget_is_of_one_tenant_and_set_by_an_admin(door: Door, client: TestClient) -> None:
    put(client, 10)
    body = {"max_pull_units_per_day": 1}
    for role in ("ingest", "viewer", "operator"):
        problem_of(door.client("acme", role).put(PATH, json=body), 403, "forbidden")
        problem_of(door.client("acme", role).delete(PATH), 403, "forbidden")
    assert door.client("acme", "viewer").get(PATH).json()["remaining"] == 10
    other = door.client(door.tenant("beta"))
    assert other.get(PATH).json()["remaining"] is None
    problem_of(other.put(PATH, json={**body, "tenant_id": "acme"}), 404, "not_found")
    problem_of(other.get(f"{PATH}?tenant_id=acme"), 404, "not_found")
    problem_of(other.delete(f"{PATH}?tenant_id=acme"), 404, "not_found")
    assert door.admin.get(f"{PATH}?tenant_id=acme").json() == client.get(PATH).json()
    unclear = door.admin.put(PATH, json=body)
    problem_of(unclear, 422)
    assert places_of(unclear) == {"tenant_id"}


def test_an_unknown_tenant_is_made_in_development_only(door: Door, dev_door: Door) -> None:
    body = {"tenant_id": "new", "max_pull_units_per_day": 7}
    problem_of(door.admin.put(PATH, json=body), 404, "not_found")
    problem_of(door.admin.get(f"{PATH}?tenant_id=new"), 404, "not_found")
    assert door.rows("tenants") == []
    assert dev_door.admin.put(PATH, json=body).json()["remaining"] == 7


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "max_pull_units_per_day"),
        ({"max_pull_units_per_day": -1}, "max_pull_units_per_day"),
        ({"max_pull_units_per_day": 1.5}, "max_pull_units_per_day"),
        ({"max_per_connector_per_day": -1}, "max_per_connector_per_day.?"),
        ({"max_per_connector_per_day": True}, "max_per_connector_per_day"),
        ({"max_per_connector_per_day": {"crm": "4"}}, "max_per_connector_per_day.crm"),
        ({"max_per_connector_per_day": {"a b": 4}}, "max_per_connector_per_day"),
        ({"max_per_connector_per_day": {"": 4}}, "max_per_connector_per_day"),
        (
            {"max_per_connector_per_day": {f"c{n}": 1 for n in range(1001)}},
            "max_per_connector_per_day",
        ),
    ],
)
def test_a_wrong_budget_is_named(door_sqlite: Door, body: dict[str, Any], place: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    whole = {} if "max_pull_units_per_day" in body or not body else {"max_pull_units_per_day": 1}
    wrong = client.put(PATH, json={**whole, **body})
    problem_of(wrong, 422, "invalid")
    assert places_of(wrong) == {place}


@pytest.mark.parametrize(
    "date", ["today", "2030-1-1", "2030-02-30", "1969-12-31", "2030-01-01T00:00:00Z", "20300101"]
)
def test_a_wrong_date_is_named(door_sqlite: Door, date: str) -> None:
    client = door_sqlite.client(door_sqlite.tenant())
    wrong = client.get(f"{PATH}?date={date}")
    problem_of(wrong, 422, "invalid")
    assert places_of(wrong) == {"date"}
