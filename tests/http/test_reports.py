"""Reports over HTTP: asked for, listed, read as they were stored, and how milestones stand."""

import json
from importlib.util import find_spec
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.http.door import Door, problem_of
from watchkeeper.core.report_json import from_json
from watchkeeper.http.shapes_report import MilestoneOut, ReportOut

pytestmark = pytest.mark.req("U-11")


@pytest.fixture
def client(door: Door) -> TestClient:
    return door.client(door.tenant(), "operator")


def post(client: TestClient, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/reports", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.req("R-07", "R-11")
def test_a_report_is_made_and_read_byte_for_byte(door: Door, client: TestClient) -> None:
    client.post("/v1/signals", json={"signals": [{"account_id": "ann", "type": "mail"}]})
    made = post(client)
    assert (made["trigger"], made["tenant_id"]) == ("MANUAL", "acme")
    assert made["collected"]["signals"]["value"] == 1
    assert made["collected"]["signals"]["how"]
    first = client.get(f"/v1/reports/{made['report_id']}")
    assert first.headers["content-type"] == "application/json"
    assert first.json() == made
    again = door.client("acme", "viewer").get(f"/v1/reports/{made['report_id']}")
    assert again.content == first.content
    assert first.text == json.dumps(made, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert from_json(first.text).header.report_id == made["report_id"]
    ReportOut.model_validate(made, strict=True)
    shown = set(ReportOut.model_fields)
    assert set(made) == shown, "the description names every field"


@pytest.mark.req("R-11")
def test_they_are_listed_the_newest_first(client: TestClient) -> None:
    ids = [post(client)["report_id"] for _ in range(3)]
    rows = client.get("/v1/reports").json()["items"]
    assert [row["report_id"] for row in rows] == ids[::-1]
    assert rows[0].keys() == {"report_id", "trigger", "tenant_id", "generated_at", "window"}


@pytest.mark.req("R-11")
def test_there_is_a_pdf_of_it_where_the_extra_is(client: TestClient) -> None:
    made = post(client)
    answer = client.get(f"/v1/reports/{made['report_id']}.pdf")
    if find_spec("reportlab") is None:
        assert "watchkeeper[pdf]" in problem_of(answer, 503, "unavailable")["detail"]
        return
    assert answer.headers["content-type"] == "application/pdf"
    assert made["report_id"] in answer.headers["content-disposition"]
    assert answer.content.startswith(b"%PDF-")


@pytest.mark.parametrize("ending", ["", ".pdf"])
@pytest.mark.parametrize("name", ["nothing", "..%2f", "01a1e249-b8d3-7af7-98f5-c23c6c8f7999"])
def test_what_there_is_not_is_not_found(client: TestClient, name: str, ending: str) -> None:
    answer = client.get(f"/v1/reports/{name}{ending}")
    assert answer.status_code == 404, answer.text


@pytest.mark.req("R-01", "R-02", "R-03")
def test_how_milestones_stand(door: Door, client: TestClient) -> None:
    before = client.get("/v1/milestones").json()
    assert before["next_cursor"] is None
    assert [(row["milestone"], row["outcome"], row["due_at"]) for row in before["items"]] == [
        ("AUTO_12H", None, "2030-01-01T12:00:00Z"),
        ("AUTO_24H", None, "2030-01-02T00:00:00Z"),
    ]
    ran = door.admin.post("/v1/clock/advance", json={"seconds": 12 * 3600}).json()
    assert ran["ran"]["delivered"] == 1
    half, day = client.get("/v1/milestones").json()["items"]
    assert (half["outcome"], half["attempts"], half["failure_count"]) == ("GENERATED", 1, 0)
    assert (half["generated_at"], half["last_error"]) == ("2030-01-01T12:00:00Z", None)
    assert day["outcome"] is None
    report = client.get(f"/v1/reports/{half['report_id']}").json()
    assert report["trigger"] == "AUTO_12H"
    assert report["header"]["window"] == {
        "since": "2030-01-01T00:00:00Z",
        "until": "2030-01-01T12:00:00Z",
    }
    MilestoneOut.model_validate(half, strict=True)


def test_a_tenant_without_an_installation(door: Door) -> None:
    client = door.client(door.tenant("late", installed_now=False), "operator")
    assert [row["due_at"] for row in client.get("/v1/milestones").json()["items"]] == [None, None]
    assert post(client)["header"]["installed_at"] is None


@pytest.mark.req("R-12")
def test_backoffs_in_force_are_measured(door: Door, client: TestClient) -> None:
    until = door.clock.at + 1
    door.place.execute(
        "insert into milestone_states (tenant_id, milestone, attempts, failures, last_error,"
        f" last_error_at, backoff_until_at) values ('acme', 'AUTO_12H', 1, 1, 'no', 1, {until})"
    )
    text = client.get("/metrics").text
    assert 'watchkeeper_milestone_backoffs{milestone="AUTO_12H"} 1.0' in text
    door.clock.advance(1)
    assert "watchkeeper_milestone_backoffs{" not in client.get("/metrics").text
