"""The pages of plans: the board, one plan, and what a person does with it in place."""

from typing import Any

import pytest

from tests.http.calls import PLAN
from tests.http.door import Door
from tests.http.pages.visitor import Visitor, part, words
from watchkeeper.act_results import Action, Outcome
from watchkeeper.actions import show_board
from watchkeeper.actions.act_topics import register_actions
from watchkeeper.actions.run_cycle import run_cycle
from watchkeeper.core.ids import TenantId
from watchkeeper.store import plan_board

pytestmark = pytest.mark.req("U-31")

ACME = TenantId("acme")
MEET, BRIEF = "REQUEST_RENEWAL_MEETING", "PREP_RENEWAL_BRIEF"
STEPS = [
    {"step_id": "meet", "action_type": MEET, "data": {"with": "kim & <b>co</b>"}},
    {"step_id": "brief", "action_type": BRIEF, "dependencies": ["meet"]},
]
NOWHERE = "01890000-0000-7000-8000-000000000000"


@pytest.fixture
def visitor(door: Door) -> Visitor:
    door.tenant()
    return Visitor(door, role="operator")


def draft(door: Door, **changes: Any) -> str:
    body = {"tenant_id": "acme", **PLAN, "steps": STEPS, **changes}
    answer = door.admin.post("/v1/plans", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["plan_id"])


def active(door: Door, **changes: Any) -> tuple[str, str]:
    """A plan whose first step waits for an answer, and that intent."""
    plan_id = draft(door, **changes)
    carrier = door.server.carrier
    carrier.approve(ACME, plan_id, by="test")
    run_cycle(carrier, ACME)
    asked = door.admin.get(f"/v1/intents?tenant_id=acme&plan_id={plan_id}").json()["items"]
    return plan_id, asked[0]["intent_id"]


def shown(door: Door, plan_id: str) -> dict[str, Any]:
    found: dict[str, Any] = door.admin.get(f"/v1/plans/{plan_id}").json()
    return found


def test_without_plans_it_is_said_how_one_is_made(visitor: Visitor) -> None:
    html = visitor.get("/plans")
    assert "Nothing waits for a person." in html
    assert "watchkeeper plans create --tenant acme" in html
    assert html.count("<h1") == 1


def test_the_board_has_every_status_and_what_waits_stands_above(
    door: Door, visitor: Visitor
) -> None:
    draft(door, account_id="a", objective="a draft")
    active(door, account_id="b", objective="an active one")
    ended = draft(door, account_id="c", objective="an aborted one")
    door.server.carrier.abort(ACME, ended, "no more", by="test")
    html = visitor.get("/plans")
    board, waiting = part(html, "board"), part(html, "waiting")
    assert "DRAFT 1 a draft" in board
    assert "ACTIVE 1 an active one" in board
    assert "COMPLETED 0 · ABORTED 1 · EXPIRED 0 an aborted one" in board
    assert f"Waiting for an answer 1 {MEET} high risk for b" in waiting
    assert "with&#34;: &#34;kim &amp; &lt;b&gt;co&lt;/b&gt;" in html  # what it would do
    assert "Answer by 2030-" in waiting


def test_the_board_is_filtered_by_account_and_type(door: Door, visitor: Visitor) -> None:
    draft(door, account_id="a", objective="of a")
    draft(door, account_id="b", objective="of b")
    html = visitor.get("/plans?account=a&type=RENEWAL_DEFENSE")
    assert "of a" in html
    assert "of b" not in html
    assert "DRAFT 0" in part(visitor.get("/plans?type=OTHER"), "board")
    assert "DRAFT 1" in part(visitor.get("/plans?account=b&type="), "board")


@pytest.mark.parametrize("status", ["DRAFT", "ABORTED", "EXPIRED", "COMPLETED"])
def test_each_status_has_a_list(door: Door, visitor: Visitor, status: str) -> None:
    draft(door, objective="a draft")
    ended = draft(door, objective="an aborted one")
    door.server.carrier.abort(ACME, ended, "no more", by="test")
    text = words(visitor.get(f"/plans?status={status}"))
    assert ("a draft" in text) == (status == "DRAFT")
    assert ("an aborted one" in text) == (status == "ABORTED")
    assert ("See the board" in text) == (status in ("EXPIRED", "COMPLETED"))


def test_long_lists_come_in_pages_and_counts_stop_honestly(
    door: Door, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        draft(door, account_id=f"a-{n}", objective=f"plan number {n}")
    monkeypatch.setattr(plan_board, "COUNTED_MAX", 3)
    monkeypatch.setattr("watchkeeper.http.pages.plans.COUNTED_MAX", 3)
    monkeypatch.setattr("watchkeeper.http.pages.plans.LISTED_MAX", 2)
    monkeypatch.setattr(show_board, "COLUMN_MAX", 2)
    board = part(visitor.get("/plans"), "board")
    assert "DRAFT 3+" in board
    assert "All 3+" in board
    assert board.count("plan number") == 2
    seen, path = [], "/plans?status=DRAFT"
    for _ in range(4):
        html = visitor.get(path)
        seen += [n for n in range(5) if f"plan number {n}" in html]
        if "cursor=" not in html:
            break
        path = html.split('href="/plans?status=DRAFT&amp;cursor=')[1].split('"')[0]
        path = f"/plans?status=DRAFT&cursor={path}"
    assert sorted(seen) == list(range(5))


def test_a_type_is_looked_for_a_stretch_at_a_time(
    door: Door, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = draft(door, account_id="first", objective="the oldest")
    for n in range(5):
        draft(door, account_id=f"a-{n}")
    door.place.execute(
        f"update plans set plan_type = 'OTHER' where tenant_id = 'acme' and plan_id <> '{oldest}'"
    )
    monkeypatch.setattr(plan_board, "SCANNED_MAX", 3)
    here = "/plans?status=DRAFT&type=RENEWAL_DEFENSE"
    html = visitor.get(here)
    assert "None among the" in html
    cursor = html.split("cursor=")[1].split('"')[0]
    html = visitor.get(f"{here}&cursor={cursor}")
    assert "the oldest" in html


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("status=NEW", "status"),
        ("status=DRAFT&cursor=x", "cursor"),
        ("account=%00", "account"),
        ("type=a+b", "type"),
        (f"account={'a' * 300}", "account"),
    ],
)
def test_what_cannot_be_asked_for_is_named(visitor: Visitor, query: str, named: str) -> None:
    assert f"<p>{named}: " in visitor.get(f"/plans?{query}", status=422)


def test_one_plan_is_told_in_one_screen(door: Door, visitor: Visitor) -> None:
    plan_id, _ = active(door, objective="keep <them>")
    html = visitor.get(f"/plans/{plan_id}")
    assert "<h1>keep &lt;them&gt;</h1>" in html
    why = part(html, "why")
    assert "ACTIVE attempt 1 of step meet" in why
    assert "waits for an approval until" in why
    steps = part(html, "steps")
    assert f"meet {MEET} PENDING_APPROVAL" in steps
    assert f"brief {BRIEF} PENDING after meet" in steps
    assert 'id="steps-chart"' in html
    assert "attempt 1 pending approval" in html  # the drawing, in words
    told = part(html, "ledger")
    assert told.index("STEP_STARTED") < told.index("PLAN_ACTIVATED") < told.index("PLAN_CREATED")


def test_a_plan_that_nobody_began_with_has_no_drawing(door: Door, visitor: Visitor) -> None:
    html = visitor.get(f"/plans/{draft(door)}")
    assert "No step has started yet." in html
    assert "steps-chart" not in html


def test_an_approval_in_place_is_carried_out(door: Door, visitor: Visitor) -> None:
    calls: list[Action] = []

    def meet(action: Action) -> Outcome:
        calls.append(action)
        return Outcome.success("Tuesday at ten")

    register_actions(door.server.registry, door.server.carrier, {MEET: meet})
    plan_id, intent_id = active(door)
    answer = visitor.post(f"/intents/{intent_id}/approve", "/plans", next="/plans")
    assert answer.headers["location"] == "/plans?said=approved"
    assert "Approved." in visitor.get("/plans?said=approved")
    assert door.server.workers is not None
    door.server.workers.drain()
    assert [one.step_id for one in calls] == ["meet"]
    html = visitor.get(f"/plans/{plan_id}")
    assert f"meet {MEET} DONE" in part(html, "steps")
    assert "Tuesday at ten" in part(html, "steps")
    assert "attempt 1 succeeded" in html


def test_a_rejection_takes_its_reason_along(door: Door, visitor: Visitor) -> None:
    plan_id, intent_id = active(door)
    answer = visitor.post(f"/intents/{intent_id}/reject", "/plans", reason="not now")
    assert answer.headers["location"] == f"/plans/{plan_id}?said=rejected"
    found = shown(door, plan_id)
    assert (found["status"], found["intents"][0]["detail"]) == ("PAUSED", "not now")


def test_a_plan_is_approved_paused_resumed_and_aborted(door: Door, visitor: Visitor) -> None:
    plan_id = draft(door)
    path = f"/plans/{plan_id}"
    visitor.post(f"{path}/approve", path)
    run_cycle(door.server.carrier, ACME)
    for deed, status, said in (
        ("pause", "PAUSED", "paused"),
        ("resume", "ACTIVE", "resumed"),
        ("abort", "ABORTED", "aborted"),
    ):
        assert f'action="{path}/{deed}"' in visitor.get(path)
        answer = visitor.post(f"{path}/{deed}", path, reason=f"why {deed}")
        assert answer.headers["location"] == f"{path}?said={said}"
        assert shown(door, plan_id)["status"] == status
    html = visitor.get(path)
    assert "why abort" in html
    assert "What you can do" not in html


def test_a_step_is_skipped_for_a_reason_only(door: Door, visitor: Visitor) -> None:
    plan_id, _ = active(door)
    path = f"/plans/{plan_id}"
    refused = visitor.post(f"{path}/skip", path, 422, step_id="brief")
    assert "reason: is required" in refused.text
    refused = visitor.post(f"{path}/skip", path, 422, reason="r")
    assert "step_id: is required" in refused.text
    visitor.post(f"{path}/skip", path, step_id="brief", reason="they know it")
    assert shown(door, plan_id)["steps"][1]["status"] == "SKIPPED"


def test_what_cannot_be_undone_asks_first(door: Door, visitor: Visitor) -> None:
    plan_id, _ = active(door)
    html = visitor.get(f"/plans/{plan_id}")
    for deed in ("abort", "skip", "reject"):
        forms = [one for one in html.split("<form")[1:] if f'/{deed}"' in one.split(">")[0]]
        assert forms, deed
        assert all("data-asks=" in one.split(">")[0] for one in forms)


def test_a_deed_that_comes_too_late_is_a_page_that_says_so(door: Door, visitor: Visitor) -> None:
    plan_id, intent_id = active(door)
    visitor.post(f"/intents/{intent_id}/approve", "/plans")
    again = visitor.post(f"/intents/{intent_id}/approve", "/plans", 409)
    assert "no answer is waited for" in again.text
    refused = visitor.post(f"/plans/{plan_id}/resume", "/plans", 409)
    assert "<h1>" in refused.text


@pytest.mark.parametrize("next_path", ["//evil.example", "https://evil.example", "/\\evil", "x"])
@pytest.mark.req("O-24")
def test_afterwards_only_a_page_of_ours_is_shown(
    door: Door, visitor: Visitor, next_path: str
) -> None:
    plan_id, intent_id = active(door)
    answer = visitor.post(f"/intents/{intent_id}/approve", "/plans", next=next_path)
    assert answer.headers["location"] == f"/plans/{plan_id}?said=approved"


def test_a_viewer_sees_no_button_and_may_do_nothing(door: Door) -> None:
    door.tenant()
    plan_id, intent_id = active(door)
    viewer = Visitor(door, role="viewer")
    before = door.stored()
    for path in ("/plans", f"/plans/{plan_id}"):
        main = viewer.get(path).split("<main")[1]
        assert 'method="post"' not in main
    for path in (f"/plans/{plan_id}/abort", f"/intents/{intent_id}/approve"):
        viewer.post(path, "/plans", 403)
    assert door.stored() == before


def test_another_tenants_plan_does_not_exist(door: Door) -> None:
    door.tenant()
    plan_id, intent_id = active(door)
    door.tenant("other")
    other = Visitor(door, "other", "operator")
    assert "keep them" not in other.get("/plans")
    other.get(f"/plans/{plan_id}", 404)
    other.post(f"/plans/{plan_id}/abort", "/plans", 404)
    other.post(f"/intents/{intent_id}/approve", "/plans", 404)
    assert shown(door, plan_id)["status"] == "ACTIVE"


@pytest.mark.parametrize("path", ["/plans/x", f"/plans/{NOWHERE}"])
def test_what_there_is_not_is_a_page(visitor: Visitor, path: str) -> None:
    assert "Request <code>" in visitor.get(path, 404)


def test_a_deed_that_there_is_not_changes_nothing(door: Door, visitor: Visitor) -> None:
    plan_id, intent_id = active(door)
    before = door.stored()
    visitor.post(f"/plans/{plan_id}/explode", "/plans", 404)
    visitor.post(f"/intents/{intent_id}/abort", "/plans", 404)
    assert door.stored() == before


def test_its_ledger_comes_in_pages(
    door: Door, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchkeeper.http.pages.plans.ENTRIES_MAX", 2)
    plan_id, _ = active(door)
    html = visitor.get(f"/plans/{plan_id}")
    assert part(html, "ledger").count("line ") == 2
    cursor = html.split("cursor=")[1].split('"')[0]
    older = part(visitor.get(f"/plans/{plan_id}?cursor={cursor}"), "ledger")
    assert "PLAN_CREATED" in older
    assert "STEP_STARTED" not in older
