"""Time travel from the pages: the clock is shown and moved, and what came due is told."""

import pytest

from tests.http.door import Door
from tests.http.pages.visitor import Visitor, part, words

pytestmark = pytest.mark.req("U-31", "U-12")


@pytest.fixture
def visitor(dev_door: Door) -> Visitor:
    dev_door.tenant()
    return Visitor(dev_door, None)


def trigger(door: Door, *accounts: str) -> None:
    events = [door.event(account_id=name) for name in accounts]
    door.admin.post("/v1/triggers", json={"tenant_id": "acme", "events": events})


def test_the_clock_stands_on_every_page_with_its_buttons(visitor: Visitor) -> None:
    for path in ("/plans", "/outbox", "/clock"):
        shown = visitor.get(path).split('data-region="clock"')[1].split("</nav>")[0]
        assert "Virtual clock" in shown
        assert "2030-01-01 00:00:00 UTC" in shown
        for seconds in (3600, 43200, 86400):
            assert f'name="seconds" value="{seconds}"' in shown


def test_what_came_due_is_shown(dev_door: Door, visitor: Visitor) -> None:
    assert "The clock has not been advanced yet" in visitor.get("/clock")
    trigger(dev_door, "a")
    dev_door.clock.advance(minutes=2)
    trigger(dev_door, "a")  # deferred: its retry comes due later
    assert "decision.retry acme 1" in part(visitor.get("/clock"), "next")
    answer = visitor.post("/clock/advance", "/plans", seconds="43200", **{"from": "/plans"})
    assert answer.headers["location"] == "/clock?from=%2Fplans&said=advanced"
    html = visitor.get("/clock?from=/plans&said=advanced")
    text = words(html)
    assert "The clock was advanced." in text
    assert "12 h: from 2030-01-01 00:02:00 UTC to 2030-01-01 12:02:00 UTC" in text
    assert "decision.retry delivered 1" in text
    assert "verdict ALLOW 1" in text
    assert 'href="/plans">Back to where you were' in html
    assert dev_door.clock.now.hour == 12


def test_earlier_travels_are_kept(visitor: Visitor) -> None:
    for seconds in ("60", "86400"):
        visitor.post("/clock/advance", "/clock", seconds=seconds)
    text = words(visitor.get("/clock"))
    assert "What came due 1 d: from 2030-01-01 00:01:00 UTC" in text
    assert "Before that To By Instants Messages 2030-01-01 00:01:00 UTC 1 min" in text


@pytest.mark.parametrize("seconds", ["", "soon", "-1", "nan", "inf", "1e300"])
def test_time_does_not_move_by_what_is_no_length(
    dev_door: Door, visitor: Visitor, seconds: str
) -> None:
    answer = visitor.post("/clock/advance", "/clock", 422, seconds=seconds)
    assert "<p>seconds: " in answer.text
    assert dev_door.clock.now.minute == 0


@pytest.mark.parametrize(("tenant", "role"), [("acme", "admin"), (None, "operator")])
def test_only_an_admin_of_all_tenants_moves_time(
    dev_door: Door, tenant: str | None, role: str
) -> None:
    dev_door.tenant()
    someone = Visitor(dev_door, tenant, role)
    html = someone.get("/plans")
    assert "Virtual clock" in html
    assert "/clock/advance" not in html
    assert "/clock/advance" not in someone.get("/clock")
    someone.post("/clock/advance", "/plans", 403, seconds="3600")
    assert dev_door.clock.now.hour == 0


def test_a_tenants_key_sees_its_own_only(dev_door: Door, visitor: Visitor) -> None:
    dev_door.tenant("other")
    trigger(dev_door, "a")
    dev_door.clock.advance(minutes=2)
    trigger(dev_door, "a")
    visitor.post("/clock/advance", "/clock?tenant=acme", seconds="60")
    own, other = Visitor(dev_door, "acme", "viewer"), Visitor(dev_door, "other", "viewer")
    assert "decision.retry" in part(own.get("/clock"), "next")
    assert "What came due" in own.get("/clock")
    assert "decision.retry" not in words(other.get("/clock"))
    assert "The clock has not been advanced yet" in other.get("/clock")


@pytest.mark.req("O-24")
@pytest.mark.parametrize("came_from", ["//evil.example", "https://evil.example"])
def test_the_way_back_is_a_page_of_ours(visitor: Visitor, came_from: str) -> None:
    answer = visitor.post("/clock/advance", "/clock", seconds="60", **{"from": came_from})
    assert answer.headers["location"] == "/clock?said=advanced"
    assert "evil" not in visitor.get(f"/clock?from={came_from}")


def test_there_is_no_time_travel_but_in_development(door: Door) -> None:
    door.tenant()
    admin = Visitor(door, None)
    assert "Virtual clock" not in admin.get("/plans?tenant=acme")
    admin.get("/clock", 404)
    admin.post("/clock/advance", "/plans", 404, seconds="3600")
    assert door.clock.now.hour == 0
