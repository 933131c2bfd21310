"""The page of budgets: meters for a day, older days, and the pull budget set by a form."""

from typing import Any

import pytest

from tests.http.calls import PULL
from tests.http.door import Door
from tests.http.pages.visitor import Visitor, part

pytestmark = pytest.mark.req("U-31")

PATH = "/budgets"
FORM = {"max_pull_units_per_day": "10", "max_per_connector_per_day": "crm = 4\r\n* = 2\r\n"}


@pytest.fixture
def visitor(door: Door) -> Visitor:
    door.tenant()
    return Visitor(door)


def pull(door: Door, number: int, **changes: Any) -> None:
    body = {"tenant_id": "acme", **PULL, "pull_job_id": f"pull-{number}", **changes}
    assert door.admin.post("/v1/pulls", json=body).status_code == 200


def spend(door: Door, turn_id: str, tokens: int) -> None:
    asked = {
        "tenant_id": "acme", "turn_id": turn_id, "request_id": turn_id, "model": "standard",
        "estimated_input_tokens": tokens, "max_output_tokens": 0,
    }  # fmt: skip
    assert door.admin.post("/v1/turns", json=asked).status_code == 201


def test_without_a_pull_budget_it_is_said_what_that_means(visitor: Visitor) -> None:
    html = visitor.get(PATH)
    assert "no budget Nothing is pulled for this tenant until it has one." in part(html, "pulls")
    assert "The policy sets no limit" in part(html, "runs")
    assert "Credits, daily, all models 0 % 0.00 of 1,000.00, 0 % 1,000.00 0" in part(
        html, "credits"
    )


def test_a_pull_budget_is_set_by_a_form_and_then_metered(door: Door, visitor: Visitor) -> None:
    answer = visitor.post("/budgets/pull", PATH, **FORM)
    assert answer.headers["location"] == "/budgets?said=set"
    for number in range(2):
        pull(door, number)
    pull(door, 2, connector_id="mail")
    html = visitor.get(PATH)
    assert "Pull units 30 % 3 of 10, 30 % 7 3" in part(html, "pulls")
    assert "crm 50 % 2 of 4, 50 % 2 2" in part(html, "pulls")
    assert "mail 50 % 1 of 2, 50 % 1 1" in part(html, "pulls")
    assert "crm = 4\n* = 2</textarea>" in html
    told = door.admin.get("/v1/budgets/pull?tenant_id=acme").json()
    assert told["max_per_connector_per_day"] == {"crm": 4, "*": 2}


def test_a_pull_budget_is_removed_by_a_form(door: Door, visitor: Visitor) -> None:
    visitor.post("/budgets/pull", PATH, **FORM)
    visitor.post("/budgets/pull/remove", PATH)
    assert door.rows("pull_budgets") == []
    assert "no budget" in part(visitor.get(PATH), "pulls")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"max_pull_units_per_day": ""}, "max_pull_units_per_day"),
        ({"max_pull_units_per_day": "-1"}, "max_pull_units_per_day"),
        ({"max_pull_units_per_day": "1.5"}, "max_pull_units_per_day"),
        ({"max_pull_units_per_day": "9999999999999"}, "max_pull_units_per_day"),
        ({"max_pull_units_per_day": "٣"}, "max_pull_units_per_day"),
        ({"max_per_connector_per_day": "crm"}, "max_per_connector_per_day"),
        ({"max_per_connector_per_day": "crm = many"}, "max_per_connector_per_day"),
        ({"max_per_connector_per_day": "a b = 1"}, "max_per_connector_per_day"),
        ({"max_per_connector_per_day": "crm = 1\ncrm = 2"}, "names a connector twice"),
        (
            {"max_per_connector_per_day": "\n".join(f"c{n} = 1" for n in range(1001))},
            "names too many connectors",
        ),
    ],
)
def test_a_wrong_budget_is_named_and_changes_nothing(
    door_sqlite: Door, fields: dict[str, str], named: str
) -> None:
    door_sqlite.tenant()
    visitor = Visitor(door_sqlite)
    answer = visitor.post("/budgets/pull", PATH, status=422, **{**FORM, **fields})
    assert named in answer.text
    assert door_sqlite.rows("pull_budgets") == []


def test_the_form_is_for_those_who_may(door: Door) -> None:
    door.tenant()
    for role in ("viewer", "operator"):
        visitor = Visitor(door, role=role)
        assert "Set the pull budget" not in visitor.get(PATH)
        for path in ("/budgets/pull", "/budgets/pull/remove"):
            visitor.post(path, PATH, status=403, **FORM)
    assert door.rows("pull_budgets") == []


def test_credits_have_their_meters_and_say_what_is_reserved(door: Door, visitor: Visitor) -> None:
    spend(door, "t1", 250_000_000)
    html = part(visitor.get(PATH), "credits")
    assert "Credits, daily, all models 25 % 250.00 of 1,000.00, 25 %, 250.00 of it reserved" in html
    assert "Credits, monthly, all models 1 % 250.00 of 20,000.00, 1 %" in html


def test_where_a_budget_leads_is_said(door: Door, visitor: Visitor) -> None:
    visitor.post("/budgets/pull", PATH, max_pull_units_per_day="10")
    pull(door, 1)
    assert "too early to tell" in part(visitor.get(PATH), "pulls")
    door.clock.advance(hours=12)
    assert "about 2 a day" in part(visitor.get(PATH), "pulls")
    for number in range(2, 7):
        pull(door, number)
    assert "runs out 2030-01-01 20:00:00 UTC" in part(visitor.get(PATH), "pulls")


def test_an_older_day_is_shown_and_can_be_walked_to(door: Door, visitor: Visitor) -> None:
    visitor.post("/budgets/pull", PATH, max_pull_units_per_day="10")
    pull(door, 1, depth="DEEP")
    body = {"tenant_id": "acme", "events": [door.event()]}
    assert door.admin.post("/v1/triggers", json=body).status_code == 200
    door.clock.advance(days=1)
    today = visitor.get(PATH)
    assert 'href="/budgets?date=2030-01-01"' in today
    assert "Pull units 0 % 0 of 10" in part(today, "pulls")
    older = visitor.get(f"{PATH}?date=2030-01-01")
    assert "Pull units 30 % 3 of 10, 30 % 7 1" in part(older, "pulls")
    assert "Runs no limit 1" in part(older, "runs")
    assert 'href="/budgets?date=2030-01-02"' in older


@pytest.mark.parametrize("date", ["today", "2030-02-30", "1969-12-31", "2030-01-02", "9999-12-31"])
def test_a_day_that_cannot_be_is_named(door_sqlite: Door, date: str) -> None:
    door_sqlite.tenant()
    assert "date: " in Visitor(door_sqlite).get(f"{PATH}?date={date}", status=422)


@pytest.mark.req("O-21")
def test_a_form_sets_the_budget_of_the_tenant_that_is_looked_at(door: Door) -> None:
    door.tenant()
    door.tenant("beta")
    everybody = Visitor(door, None)
    everybody.get(f"{PATH}?tenant=beta")
    everybody.post("/budgets/pull", PATH, **FORM)
    assert [row[0] for row in door.rows("pull_budgets")] == ["beta"]
