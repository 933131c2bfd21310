"""The overview: what happened, what was refused, what it costs, and what waits for a person."""

from typing import Any

import pytest

from tests.http.calls import PLAN, PULL
from tests.http.door import Door
from tests.http.pages.visitor import Visitor, part, words
from tests.messages import letter, put
from tests.tampering import Intruder
from watchkeeper.actions.generate_report import count_ledger
from watchkeeper.actions.seal_ledger import seal_ledger
from watchkeeper.core.ids import TenantId
from watchkeeper.core.sinks import UNHANDLED

pytestmark = pytest.mark.req("U-31")

ACME = TenantId("acme")
CALM = "Nothing needs you"


@pytest.fixture
def visitor(door: Door) -> Visitor:
    door.tenant()
    return Visitor(door)


def trigger(door: Door, *accounts: str) -> None:
    events = [door.event(account_id=name) for name in accounts]
    body = {"tenant_id": "acme", "events": events}
    assert door.admin.post("/v1/triggers", json=body).status_code == 200


def call(door: Door, method: str, path: str, **body: Any) -> dict[str, Any]:
    answer = door.admin.request(method, path, json={"tenant_id": "acme", **body})
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else {}


def test_a_new_tenant_is_calm_and_says_what_to_do(visitor: Visitor) -> None:
    html = visitor.get("/")
    assert CALM in html
    assert "watchkeeper signal acme acct-1" in html
    assert "No triggers in the last hour." in html
    assert html.count("<h1") == 1


@pytest.mark.parametrize("window", ["", "?window=1h", "?window=24h", "?window=7d"])
@pytest.mark.parametrize("is_counted", [False, True])
def test_verdicts_are_told_by_result_and_reason(
    door: Door, visitor: Visitor, window: str, is_counted: bool
) -> None:
    trigger(door, "a", "a", "b")
    door.clock.advance(minutes=2)
    trigger(door, "a")
    if is_counted:
        count_ledger(door.db, ACME)
    html = visitor.get(f"/{window}")
    assert "4 triggers: 2 allowed, 1 deferred, 1 skipped." in words(html)
    assert part(html, "reasons").count("DEBOUNCED") == part(html, "reasons").count("COOLDOWN") == 1
    assert "/decisions?result=SKIP&amp;reason=DEBOUNCED" in html
    assert "ALLOW: 2 verdicts; DEFER: 1 verdicts; SKIP: 1 verdicts" in html  # the chart in words


def test_what_is_counted_and_what_is_not_yet_are_one_number(door: Door, visitor: Visitor) -> None:
    trigger(door, "a", "b")
    count_ledger(door.db, ACME)
    trigger(door, "c")
    assert "3 triggers: 3 allowed" in visitor.get("/")


def test_a_window_ends_where_it_says(door: Door, visitor: Visitor) -> None:
    trigger(door, "a")
    door.clock.advance(hours=2)
    trigger(door, "b")
    count_ledger(door.db, ACME)
    assert "1 trigger: 1 allowed" in visitor.get("/?window=1h")
    assert "2 triggers:" in visitor.get("/?window=24h")
    door.clock.advance(days=1)
    assert "No triggers in the last 24 hours." in visitor.get("/")
    assert "2 triggers:" in visitor.get("/?window=7d")


def test_a_window_that_is_none_is_named(visitor: Visitor) -> None:
    html = visitor.get("/?window=2h", status=422)
    assert "window: must be one of 1h, 24h, 7d" in html


def test_a_dead_letter_and_a_message_nobody_takes_need_somebody(
    door: Door, visitor: Visitor
) -> None:
    dead, lost = put(door.db, letter(), letter(topic="orphans"))
    put(door.db, letter("beta"), letter("beta", topic="orphans"))
    now = door.clock.at
    door.place.execute(
        f"update outbox set status = 'dead', done_at = {now}, dead_reason = 'X' where id = '{dead}'"
    )
    door.place.execute(f"update outbox set last_error = '{UNHANDLED}' where id = '{lost}'")
    html = visitor.get("/")
    assert CALM not in html
    assert "1 dead letter" in part(html, "needs")
    assert 'href="/outbox?status=dead"' in html
    assert "No handler for orphans 1 message" in part(html, "needs")
    assert "0 messages due" in part(html, "tiles")


def test_a_late_delivery_is_told_with_its_lag(door: Door, visitor: Visitor) -> None:
    put(door.db, letter(), letter())
    assert "Delivery is late" not in visitor.get("/")
    door.clock.advance(minutes=5)
    html = visitor.get("/")
    assert "Delivery is late" in part(html, "needs")
    assert "2 messages due 5 min delivery lag" in part(html, "tiles")


def test_a_timer_that_no_worker_noticed_is_late_too(door: Door, visitor: Visitor) -> None:
    put(door.db, letter(due_at=door.clock.at + 60_000_000))
    assert "0 messages due" in part(visitor.get("/"), "tiles")
    door.clock.advance(minutes=3)
    assert "1 message due 2 min delivery lag" in part(visitor.get("/"), "tiles")


def test_plans_and_switches_that_wait_for_a_person_are_listed(door: Door, visitor: Visitor) -> None:
    call(door, "POST", "/v1/plans", **PLAN)
    paused = call(door, "POST", "/v1/plans", **{**PLAN, "account_id": "acct-10"})["plan_id"]
    call(door, "POST", f"/v1/plans/{paused}/approve")
    door.server.workers.drain()
    call(door, "POST", f"/v1/plans/{paused}/pause", reason="holiday")
    call(
        door,
        "POST",
        "/v1/kill-switches",
        scope="trigger",
        id="SIGNAL_ARRIVED",
        on=True,
        reason="a storm",
    )
    needs = part(visitor.get("/"), "needs")
    assert "1 plan to approve" in needs
    assert "1 paused plan" in needs
    assert "Kill switch on: trigger:SIGNAL_ARRIVED a storm" in needs


def test_an_open_breaker_is_listed_while_it_is_open(door: Door, visitor: Visitor) -> None:
    call(door, "PUT", "/v1/connectors/crm", rate_per_second=5)
    until = door.clock.at + 60_000_000
    door.place.execute(
        "update connector_states set failures = 5,"
        f" open_until_at = {until} where connector_id = 'crm'"
    )
    assert "Connector crm is paused 5 failures in a row" in part(visitor.get("/"), "needs")
    door.clock.advance(minutes=2)
    assert CALM in visitor.get("/")


def test_a_budget_that_is_nearly_used_is_listed(door: Door, visitor: Visitor) -> None:
    call(door, "PUT", "/v1/budgets/pull", max_pull_units_per_day=5)
    for number in range(3):
        call(door, "POST", "/v1/pulls", **{**PULL, "pull_job_id": f"p{number}"})
    assert "Pull units" not in part(visitor.get("/"), "needs")
    call(door, "POST", "/v1/pulls", **{**PULL, "pull_job_id": "p3"})
    assert "Pull units: 80 % used" in part(visitor.get("/"), "needs")
    call(door, "POST", "/v1/pulls", **{**PULL, "pull_job_id": "p4"})
    assert "Pull units: used up" in part(visitor.get("/"), "needs")


@pytest.mark.req("T-03")
def test_an_entry_that_was_changed_after_it_was_sealed_is_told(
    door: Door, visitor: Visitor
) -> None:
    trigger(door, "a", "b", "c")
    seal_ledger(door.db)
    assert CALM in visitor.get("/")
    Intruder(door.place).edit(2, "subject")
    html = visitor.get("/")
    assert "Entry 2 of the ledger does not match its hash" in part(html, "needs")
    assert 'href="/ledger"' in html


def test_accounts_are_counted_by_tier(door: Door, visitor: Visitor) -> None:
    body = {"tenant_id": "acme", "signals": [{"account_id": "a", "type": "mail"}]}
    assert door.admin.post("/v1/signals", json=body).status_code == 202
    assert part(visitor.get("/"), "tiers").startswith("Accounts by tier 1 HOT")


def test_runs_are_drawn_against_their_budget(door: Door, visitor: Visitor) -> None:
    policy = {"run_budget_per_day": 4}
    assert door.admin.put("/v1/policy", json=policy).status_code == 200
    door.clock.advance(hours=6)
    trigger(door, "a", "b")
    html = visitor.get("/")
    assert "Runs today 2 of 4" in part(html, "runs")
    assert "runs out 2030-01-01 12:00:00 UTC" in part(html, "runs")
    assert "2 runs; budget: 4 runs; an estimate for 2030-01-01T12:00:00Z: 4 runs" in html


@pytest.mark.req("O-20", "O-21")
def test_everybody_who_reads_sees_their_own_tenant_only(door: Door) -> None:
    door.tenant()
    door.tenant("beta")
    trigger(door, "acct-of-acme")
    assert "1 trigger:" in Visitor(door, "acme", "viewer").get("/")
    assert "No triggers" in Visitor(door, "beta", "viewer").get("/")
    everybody = Visitor(door, None, "viewer")
    assert "No triggers" in everybody.get("/?tenant=beta")
    everybody.get("/?tenant=nobody", status=404)


@pytest.mark.req("O-24")
def test_what_a_tenant_named_is_never_markup(door: Door, visitor: Visitor) -> None:
    evil = "<script>alert(1)</script>"
    call(door, "POST", "/v1/kill-switches", scope="connector", id="crm", on=True, reason=evil)
    html = visitor.get("/")
    assert evil not in html
    assert "&lt;script&gt;alert(1)" in html
