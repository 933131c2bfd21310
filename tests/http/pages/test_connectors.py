"""The page of connectors: breaker, limits, whether one may pull now, prices, the last pulls."""

from typing import Any

import pytest

from tests.http.calls import PULL
from tests.http.door import Door
from tests.http.pages.visitor import Visitor, part, words
from watchkeeper.actions.generate_report import count_ledger
from watchkeeper.actions.perceive_topics import register_pulls
from watchkeeper.core.ids import TenantId
from watchkeeper.pull_signals import signals_of

pytestmark = pytest.mark.req("U-31")

PATH = "/connectors"


@pytest.fixture
def visitor(door: Door) -> Visitor:
    door.tenant()
    return Visitor(door, role="viewer")


def put(door: Door, path: str, **body: Any) -> None:
    assert door.admin.put(path, json=body).status_code == 200


def pull(door: Door, number: int, **changes: Any) -> None:
    body = {"tenant_id": "acme", **PULL, "pull_job_id": f"pull-{number}", **changes}
    assert door.admin.post("/v1/pulls", json=body).status_code == 200


def budget(door: Door, units: int = 100) -> None:
    put(door, "/v1/budgets/pull", tenant_id="acme", max_pull_units_per_day=units)


def test_nothing_to_see_says_how_there_would_be(visitor: Visitor) -> None:
    text = words(visitor.get(PATH))
    assert "No connector yet" in text
    assert "Nothing was pulled yet." in text


def test_limits_prices_and_todays_units_are_shown(door: Door, visitor: Visitor) -> None:
    put(
        door, f"/v1{PATH}/crm", rate_per_second=0.5, burst=4, max_concurrency=3,
        depth_units={"DEEP": 7},
    )  # fmt: skip
    assert "has no pull budget, so nothing is pulled" in visitor.get(PATH)
    budget(door)
    pull(door, 1)
    shown = part(visitor.get(PATH), "connectors")
    assert "crm breaker closed may pull now" in shown
    assert "Rate 0.5 a second, burst 4, for all tenants At once 1 of 3 under way" in shown
    assert "Price 1 unit shallow, 7 units deep" in shown
    assert "Used today 1 unit in 1 pull Last 24 h 1 pull scheduled" in shown


def test_when_the_limiter_says_yes_again_is_shown(door: Door, visitor: Visitor) -> None:
    put(door, f"/v1{PATH}/crm", rate_per_second=0.1)
    budget(door)
    pull(door, 1)
    pull(door, 2)
    shown = part(visitor.get(PATH), "connectors")
    assert "not now the rate that all tenants share is used up" in shown
    assert "again 2030-01-01 00:00:10 UTC" in shown
    assert "refused: 1 RATE_LIMIT" in shown
    count_ledger(door.db, TenantId("acme"))
    assert part(visitor.get(PATH), "connectors") == shown
    door.clock.advance(10)
    assert "may pull now" in part(visitor.get(PATH), "connectors")


def test_a_kill_switch_is_named(door: Door, visitor: Visitor) -> None:
    put(door, f"/v1{PATH}/crm", burst=1)
    switch = {"scope": "connector", "id": "crm", "on": True, "reason": "leaking"}
    answer = door.admin.post("/v1/kill-switches", json={"tenant_id": "acme", **switch})
    assert answer.status_code == 200
    assert "the kill switch connector:crm is on" in part(visitor.get(PATH), "connectors")


@pytest.mark.req("P-12")
def test_an_open_breaker_and_the_pulls_that_opened_it(door: Door, visitor: Visitor) -> None:
    door.admin.put("/v1/policy", json={"pulls": {"breaker_failures": 2}})
    put(door, f"/v1{PATH}/crm", burst=1)
    budget(door)

    def fail(_pull: object) -> None:
        raise RuntimeError("no <credential>")

    register_pulls(door.server.registry, door.server.admission, {"crm": fail}, signals_of)
    for number in (1, 2):
        pull(door, number)
        door.server.workers.drain()
    html = visitor.get(PATH)
    shown = part(html, "connectors")
    assert "crm breaker open not now the breaker is open" in shown
    assert "open until 2030-01-01 00:05:00 UTC , after 2 failures in a row" in shown
    assert "2 FAILED" in shown
    assert part(html, "pulls").count("FAILED") == 2
    assert "no &lt;credential&gt;" in html
    door.clock.advance(300)
    assert "half open: one pull may try" in part(visitor.get(PATH), "connectors")


def test_pulls_go_back_page_by_page(door_sqlite: Door) -> None:
    door_sqlite.tenant()
    budget(door_sqlite, 1000)
    for number in range(60):
        pull(door_sqlite, number, account_id=f"acct-{number:02d}")
    visitor = Visitor(door_sqlite, role="viewer")
    first = visitor.get(PATH)
    assert first.count("data-key=") == 50
    cursor = first.split("cursor=")[1].split('"')[0]
    second = visitor.get(f"{PATH}?cursor={cursor}")
    assert second.count("data-key=") == 10
    assert "Earlier pulls" in second
    seen = {n for n in range(60) if f"acct-{n:02d}" in first} | {
        n for n in range(60) if f"acct-{n:02d}" in second
    }
    assert len(seen) == 60


def test_many_connectors_come_in_pages(door_sqlite: Door) -> None:
    door_sqlite.tenant()
    for number in range(101):
        put(door_sqlite, f"/v1{PATH}/c{number:03d}", burst=1)
    visitor = Visitor(door_sqlite, role="viewer")
    first = visitor.get(PATH)
    assert 'href="/connectors?after=c099"' in first
    assert "c100" not in first
    assert "c100" in visitor.get(f"{PATH}?after=c099")


@pytest.mark.parametrize("query", ["cursor=x", "cursor=99999999999999999999/a", "after=a+b"])
def test_a_place_that_cannot_be_is_named(door_sqlite: Door, query: str) -> None:
    door_sqlite.tenant()
    html = Visitor(door_sqlite).get(f"{PATH}?{query}", status=422)
    assert "cursor: " in html or "connector_id: " in html


@pytest.mark.req("O-21")
def test_another_tenants_pulls_are_not_shown(door: Door, visitor: Visitor) -> None:
    door.tenant("beta")
    budget(door)
    pull(door, 1, account_id="acct-of-acme")
    assert "acct-of-acme" in visitor.get(PATH)
    assert "acct-of-acme" not in Visitor(door, "beta", "viewer").get(PATH)
