"""The page of kill switches: what is stopped, throwing, releasing, and what was refused."""

from typing import Any

import pytest

from tests.http.door import Door
from tests.http.pages.visitor import Visitor, part
from watchkeeper.actions.generate_report import count_ledger
from watchkeeper.core.ids import TenantId
from watchkeeper.store import kill_effects

pytestmark = pytest.mark.req("U-31")

PATH = "/kill-switches"
SWITCH = {"scope": "trigger", "id": "SIGNAL_ARRIVED", "reason": "a <b>loop</b>"}


@pytest.fixture
def visitor(door: Door) -> Visitor:
    door.tenant()
    return Visitor(door, role="operator")


def trigger(door: Door, *accounts: str) -> None:
    events = [door.event(account_id=name) for name in accounts]
    answer = door.admin.post("/v1/triggers", json={"tenant_id": "acme", "events": events})
    assert answer.status_code == 200, answer.text


def switches(door: Door) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = door.admin.get("/v1/kill-switches?tenant_id=acme").json()["items"]
    return found


def test_where_nothing_is_stopped_it_says_so_and_what_each_scope_would(visitor: Visitor) -> None:
    html = visitor.get(PATH)
    assert "Nothing is stopped." in html
    for scope in ("tenant", "trigger", "connector", "tier", "action"):
        assert f'name="scope" value="{scope}" required' in html
    assert 'value="all"' not in html  # only a key for all tenants stops all of them
    assert html.count("<h1") == 1


@pytest.mark.req("U-32")
def test_a_switch_is_thrown_and_its_effect_is_seen(door: Door, visitor: Visitor) -> None:
    trigger(door, "before")
    answer = visitor.post(f"{PATH}/throw", PATH, **SWITCH)
    assert answer.headers["location"] == f"{PATH}?said=thrown"
    trigger(door, "a", "b")
    html = visitor.get(PATH)
    shown = part(html, "switches")
    assert "on trigger: SIGNAL_ARRIVED for acme a &lt;b&gt;loop&lt;/b&gt; since 2030-01-01" in shown
    assert "2 triggers of acme refused by switches since" in shown
    recent = part(html, "refused")
    assert recent.count("verdict SKIP") == 2
    assert "SIGNAL_ARRIVED trigger:SIGNAL_ARRIVED" in recent
    assert "before" not in recent


def test_a_switch_is_released_for_a_reason(door: Door, visitor: Visitor) -> None:
    visitor.post(f"{PATH}/throw", PATH, **SWITCH)
    refused = visitor.post(f"{PATH}/release", PATH, 422, **{**SWITCH, "reason": ""})
    assert "<p>reason: " in refused.text
    answer = visitor.post(f"{PATH}/release", PATH, **{**SWITCH, "reason": "it is repaired"})
    assert answer.headers["location"] == f"{PATH}?said=released"
    assert switches(door) == []


def test_both_ask_first(visitor: Visitor) -> None:
    visitor.post(f"{PATH}/throw", PATH, **SWITCH)
    html = visitor.get(PATH)
    for deed in ("throw", "release"):
        form = next(one for one in html.split("<form") if f"{PATH}/{deed}" in one)
        assert "data-asks=" in form.split(">")[0]


@pytest.mark.parametrize("is_counted", [False, True])
def test_only_what_was_refused_since_counts(door: Door, visitor: Visitor, is_counted: bool) -> None:
    visitor.post(f"{PATH}/throw", PATH, scope="tenant", reason="first")
    trigger(door, "a")
    visitor.post(f"{PATH}/release", PATH, scope="tenant", reason="over")
    door.clock.advance(minutes=1)
    visitor.post(f"{PATH}/throw", PATH, **SWITCH)
    trigger(door, "b", "c")
    if is_counted:
        count_ledger(door.db, TenantId("acme"))
    assert "2 triggers of acme refused" in part(visitor.get(PATH), "switches")
    door.clock.advance(hours=2)
    trigger(door, "d")
    if is_counted:
        count_ledger(door.db, TenantId("acme"))
        trigger(door, "e")
    wanted = 4 if is_counted else 3
    assert f"{wanted} triggers of acme refused" in part(visitor.get(PATH), "switches")


def test_a_count_that_stopped_says_so(
    door: Door, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kill_effects, "SCANNED_MAX", 2)
    visitor.post(f"{PATH}/throw", PATH, **SWITCH)
    trigger(door, "a", "b", "c", "d")
    assert "+ triggers of acme refused" in part(visitor.get(PATH), "switches")


def test_a_connector_that_is_stopped_counts_pulls(door: Door, visitor: Visitor) -> None:
    door.admin.put("/v1/connectors/crm", json={"burst": 1})
    door.admin.put("/v1/budgets/pull", json={"tenant_id": "acme", "max_pull_units_per_day": 9})
    visitor.post(f"{PATH}/throw", PATH, scope="connector", id="crm", reason="leaking")
    asked = {"account_id": "a", "connector_id": "crm", "depth": "SHALLOW"}
    door.admin.post("/v1/pulls", json={"tenant_id": "acme", **asked})
    shown = part(visitor.get(PATH), "switches")
    assert "1 pull of acme refused by switches since" in shown


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"scope": ""}, "scope"),
        ({"scope": "world"}, "scope"),
        ({"id": ""}, "id"),
        ({"reason": ""}, "reason"),
        ({"reason": "a" * 1001}, "reason"),
    ],
)
def test_a_switch_that_cannot_be_is_refused_by_name(
    door: Door, visitor: Visitor, fields: dict[str, str], named: str
) -> None:
    answer = visitor.post(f"{PATH}/throw", PATH, 422, **{**SWITCH, **fields})
    assert f"<p>{named}: " in answer.text
    assert switches(door) == []


def test_a_key_for_all_tenants_stops_one_or_all(door: Door) -> None:
    door.tenant()
    everybody = Visitor(door, None, "operator")
    html = everybody.get(f"{PATH}?tenant=acme")
    assert 'value="all"' in html
    everybody.post(f"{PATH}/throw", PATH, tenant_id="acme", **SWITCH)
    fields = {**SWITCH, "id": "TIME_RITUAL_DAILY_BRIEF", "whose": "everybody"}
    answer = everybody.post(f"{PATH}/throw", PATH, tenant_id="acme", **fields)
    assert answer.headers["location"] == f"{PATH}?tenant=acme&said=thrown"
    everybody.post(f"{PATH}/throw", PATH, tenant_id="acme", scope="all", reason="stop")
    found = {(one["tenant_id"], one["scope"], one["id"]) for one in switches(door)}
    assert found == {
        ("acme", "trigger", "SIGNAL_ARRIVED"),
        (None, "trigger", "TIME_RITUAL_DAILY_BRIEF"),
        (None, "all", None),
    }
    fields = {"scope": "all", "whose": "everybody", "tenant_id": "acme", "reason": "go on"}
    everybody.post(f"{PATH}/release", PATH, **fields)
    assert len(switches(door)) == 2


def test_a_tenants_key_touches_its_own_only(door: Door, visitor: Visitor) -> None:
    door.tenant("other")
    door.admin.post(
        PATH.replace("/kill", "/v1/kill"), json={"scope": "all", "on": True, "reason": "r"}
    )
    html = visitor.get(PATH)
    assert "Only a key for all tenants can turn it off." in html
    assert f"{PATH}/release" not in html
    before = door.stored()
    visitor.post(f"{PATH}/release", PATH, 403, scope="all", reason="r")
    visitor.post(f"{PATH}/throw", PATH, 403, scope="all", reason="r")
    visitor.post(f"{PATH}/throw", PATH, 404, **SWITCH, tenant_id="other")
    assert door.stored() == before
    visitor.post(f"{PATH}/throw", PATH, **SWITCH, whose="everybody")
    assert ("acme", "trigger") in {(one["tenant_id"], one["scope"]) for one in switches(door)}


def test_a_viewer_sees_no_button_and_may_do_nothing(door: Door) -> None:
    door.tenant()
    operator = Visitor(door, role="operator")
    operator.post(f"{PATH}/throw", PATH, **SWITCH)
    viewer = Visitor(door, role="viewer")
    main = viewer.get(PATH).split("<main")[1]
    assert 'method="post"' not in main
    assert "What each scope stops" in main
    before = door.stored()
    for deed in ("throw", "release"):
        viewer.post(f"{PATH}/{deed}", PATH, 403, **SWITCH)
    assert door.stored() == before
