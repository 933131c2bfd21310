"""The demo shows all five stages, goes on for as long as one likes, and piles nothing up."""

import threading
from collections import Counter

import pytest

from tests.databases import Place
from tests.demo.performance import Performance, performed
from watchkeeper.actions import show_heat, show_pulls, show_turn, views
from watchkeeper.actions.verify import verify
from watchkeeper.app import App
from watchkeeper.core.heat import Tier
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plans import ENDED, PlanStatus
from watchkeeper.demo import acting, colleague
from watchkeeper.demo.cast import CAST, set_the_stage
from watchkeeper.demo.colleague import Colleague
from watchkeeper.demo.looking import is_down
from watchkeeper.demo.notes import TROUBLES
from watchkeeper.demo.rules import NOTES
from watchkeeper.demo.scene import LOUD_SECONDS, SMALLEST_PACE, WHISPER, Every, Scene
from watchkeeper.demo.troupe import Warden, install
from watchkeeper.results import Decision, Pull, Run
from watchkeeper.store import outbox
from watchkeeper.store.json import dumps
from watchkeeper.store.outbox import NewMessage
from watchkeeper.store.outbox_desk import Filter, Status

pytestmark = pytest.mark.req("U-20")

STAGES = {"perceive", "decide", "act", "settle", "report"}


def dead(app: App, tenant_id: TenantId) -> int:
    return len(views.list_messages(app.db, tenant_id, Filter(status=Status.DEAD), None, 200))


def statuses(app: App, tenant_id: TenantId) -> Counter[str]:
    return Counter(plan.status for plan in app.plans.list(tenant_id, limit=200))


def asked(app: App, tenant_id: TenantId) -> int:
    return len(app.intents.list(tenant_id, status="PENDING_APPROVAL", limit=200))


def test_every_stage_is_seen_and_every_promise_kept(place: Place) -> None:
    with performed(place, loudest=0.3) as one:
        for _ in one.go_on(88, step=4):
            pass
        counted = one.counted()
        assert {stage for stage, _ in counted} >= STAGES
        for kind in (
            "pull.ended",
            "heat.tier_changed",
            "turn.settled",
            "message.dead",
            "PLAN_COMPLETED",
            "PLAN_PAUSED",
            "report.generated",
            "schedule.fired",
        ):
            assert any(name == kind for _, name in counted), kind
        _see_perceive(one)
        _see_settle(one)
        _see_act(one)
        milestones = {found.milestone: found.outcome for found in one.app.milestones("northwind")}
        assert milestones == {"AUTO_1H": "GENERATED", "AUTO_12H": None, "AUTO_24H": None}
        assert all(one.app.reports(member.tenant_id) for member in CAST)
        assert [found for found in verify(one.app.db) if not found.is_clean] == []


def _see_perceive(one: Performance) -> None:
    for tier in Tier:
        pages = [show_heat.list_accounts(one.app.db, m.tenant_id, "", 5, tier) for m in CAST]
        assert any(page.accounts for page in pages), tier
    pulls = [
        pull
        for member in CAST
        for pull in show_pulls.list_pulls(one.app.db, member.tenant_id, {}, limit=200)
    ]
    assert {pull.connector_id for pull in pulls} == {"crm", "mailbox", "helpdesk"}
    assert any(pull.signals for pull in pulls)
    assert any("503" in (pull.error or "") for pull in pulls)


def _see_settle(one: Performance) -> None:
    buckets = {(b.period, b.bucket): b for b in one.app.quota("initech")}
    assert buckets["daily", "tier:standard"].spent > 0
    assert buckets["daily", "tier:premium"].spent > 0
    assert one.app.reconcile().is_clean


def _see_act(one: Performance) -> None:
    tenant_id, account_id = acting.BROKEN
    [broken] = one.app.plans.list(tenant_id, account_id=account_id, status="PAUSED")
    assert broken.reason == "retry_limit_exceeded"
    waiting = [statuses(one.app, m.tenant_id)["DRAFT"] + asked(one.app, m.tenant_id) for m in CAST]
    assert sum(waiting) >= 3


def test_nothing_piles_up() -> None:
    most: Counter[str] = Counter()
    with performed() as one:
        for at in one.go_on(480, step=4):
            for member in CAST if at % 20 == 0 else ():
                found = statuses(one.app, member.tenant_id)
                most["drafts"] = max(most["drafts"], found["DRAFT"])
                most["paused"] = max(most["paused"], found["PAUSED"])
                most["asked"] = max(most["asked"], asked(one.app, member.tenant_id))
                most["dead"] = max(most["dead"], dead(one.app, member.tenant_id))
                still = sum(n for name, n in found.items() if PlanStatus(name) not in ENDED)
                most["open"] = max(most["open"], still)
        before = one.counted()
        _see_limits(one)
        for _ in one.go_on(60, step=4):
            pass
        moved = one.counted() - before
        assert [found for found in verify(one.app.db) if not found.is_clean] == []
    assert 0 < most["drafts"] <= acting.DRAFTS_MAX + 1
    assert 0 < most["asked"] <= acting.OPEN_MAX
    assert 0 < most["paused"] <= 4
    assert 0 < most["dead"] <= 10
    assert most["open"] <= acting.OPEN_MAX + acting.DRAFTS_MAX + 1
    assert {stage for stage, _ in moved} >= STAGES - {"report"}


def _see_limits(one: Performance) -> None:
    """A budget used up and raised, users refused, a model downgraded, a breaker that opened."""
    initech = [found.entry for found in one.entries(TenantId("initech"))]
    reasons = Counter(entry.reason for entry in initech if entry.kind == "pull.decided")
    assert reasons["BUDGET_EXCEEDED"]
    assert sum(entry.kind == "pull_budget.set" for entry in initech) > 1
    assert any(entry.kind == "turn.refused" for entry in initech)
    downgraded = [
        turn
        for turn in show_turn.list_turns(one.app.db, TenantId("initech"), limit=200)
        if (turn.selected_model, turn.effective_model) == ("premium", "standard")
    ]
    assert downgraded
    northwind = [found.entry for found in one.entries(TenantId("northwind"))]
    assert any(entry.reason == "CIRCUIT_OPEN" for entry in northwind)


def test_the_same_seed_asks_for_the_same() -> None:
    said = []
    for _ in range(2):
        with performed(seed=3) as one:
            for _ in one.go_on(30, step=3):
                pass
            said.append(_asked_for(one))
    assert said[0] == said[1]
    assert len(said[0]) > 5


def _asked_for(one: Performance) -> set[str]:
    """Chats and looks by the ids that the dice gave them."""
    found = set()
    for member in CAST:
        for pull in show_pulls.list_pulls(one.app.db, member.tenant_id, {}, limit=200):
            found.add(pull.pull_job_id)
        for entry in one.entries(member.tenant_id):
            found |= {part for part in entry.entry.data.split('"') if part.startswith("chat-")}
    return {name for name in found if name.startswith(("look-", "chat-"))}


def test_what_the_viewer_approves_goes_on_within_seconds() -> None:
    with performed() as one:
        for _ in one.go_on(45, step=3):
            pass
        draft = next(
            plan for m in CAST[1:3] for plan in one.app.plans.list(m.tenant_id, status="DRAFT")
        )
        one.app.plans.approve(draft.plan_id, by="viewer")
        for _ in one.go_on(6, step=1):
            pass
        plan = one.app.plans.get(draft.plan_id)
        assert plan.status in ("ACTIVE", "COMPLETED")
        assert plan.steps[0].attempts == 1


def test_it_goes_on_where_it_was_left(place: Place) -> None:
    """Whoever left had chats open, plans under way, and wrote nothing more."""
    with performed(place, seed=1) as first:
        for _ in first.go_on(24, step=4):
            pass
        before = first.counted()
    with performed(place, seed=2) as again:
        for _ in again.go_on(24, step=4):
            pass
        after = again.counted()
        verdicts = ("decide", "verdict")
        assert after[verdicts] > before[verdicts]
        assert after["system", "tenant.created"] == before["system", "tenant.created"]
        assert after["perceive", "pull_budget.set"] <= before["perceive", "pull_budget.set"] + 1
        for member in CAST:
            assert statuses(again.app, member.tenant_id)["DRAFT"] <= acting.DRAFTS_MAX + 1
        assert [found for found in verify(again.app.db) if not found.is_clean] == []


def test_a_long_desk_is_made_short() -> None:
    with performed() as one:
        app, tenant_id = one.app, TenantId("acme")
        for number in range(8):
            app.plans.create(tenant_id, f"acct-{number:03d}", acting.KIND, ["PREP_RENEWAL_BRIEF"])
            note = {"owner": "elmer", "trouble": TROUBLES[number % 2]}
            with app.db.begin(tenant_id) as tx:
                outbox.enqueue(tx, [NewMessage(NOTES, dumps(note))])
        app.drain()
        assert dead(app, tenant_id) == 8
        kim = Colleague(app, one.scene, seed=1)
        for second in range(60):
            one.scene.at = float(second)
            kim.tick(1.0)
        assert dead(app, tenant_id) == colleague.DEAD_LEFT
        assert statuses(app, tenant_id)["DRAFT"] == colleague.DRAFTS_LEFT
        found = one.counted()
        assert found["settle", "message.discarded"] == 8 - colleague.DEAD_LEFT


def test_what_is_yours_stays_yours() -> None:
    app = App("sqlite://", virtual_clock=True)
    called = []

    @app.decision
    def mine(run: Run) -> Decision:
        called.append(run.account_id)
        return Decision()

    @app.connector("crm")
    def look(pull: Pull) -> None:
        called.append(pull.connector_id)

    try:
        install(app, Scene(threading.Event(), patient=False))
        app.set_pull_budget("acme", 10)
        app.pull("acme", "acct-1", "crm")
        app.signal("acme", "acct-1", "email.received")
        app.drain()
    finally:
        app.close()
    assert sorted(called) == ["acct-1", "crm"]


def test_others_on_the_same_database_hear_no_made_up_news() -> None:
    with performed() as one:
        app = one.app
        app.set_pull_budget("mine", 1_000)
        for number in range(40):
            name = ("crm", "mailbox", "helpdesk")[number % 3]
            app.pull("mine", f"acct-{number}", name, "DEEP", pull_job_id=f"look-{number}")
            app.signal("mine", f"acct-{number}", acting.WORRYING[0])
            app.clock.advance(seconds=1)
        pulls = show_pulls.list_pulls(app.db, TenantId("mine"), {}, limit=100)
        assert sum(pull.state == "SUCCEEDED" for pull in pulls) >= 40
        assert sum(pull.signals or 0 for pull in pulls) == 0
        assert app.plans.list("mine") == []


@pytest.mark.parametrize(
    ("at", "pace"),
    [(0.0, 1.0), (LOUD_SECONDS, 1.0), (2 * LOUD_SECONDS, 0.5), (86_400.0, SMALLEST_PACE)],
)
def test_it_begins_loud_and_calms_down(at: float, pace: float) -> None:
    scene = Scene(threading.Event())
    scene.at = at
    assert scene.pace == pace


def test_a_ledger_that_has_grown_enough_is_only_whispered_to() -> None:
    with performed() as one:
        Warden(one.app, one.scene, entries_max=1_000_000).tick(1.0)
        assert not one.scene.is_full
        Warden(one.app, one.scene, entries_max=4).tick(1.0)
        assert one.scene.pace == WHISPER


@pytest.mark.parametrize(
    ("tenant_id", "at", "down"),
    [
        ("northwind", 14.9, False),
        ("northwind", 15.0, True),
        ("northwind", 75.0, False),
        ("northwind", 255.0, True),
        ("acme", 15.0, False),
        ("acme", 135.0, True),
        ("globex", 20.0, False),
    ],
)
def test_the_help_desk_is_down_for_one_tenant_at_a_time(
    tenant_id: str, at: float, down: bool
) -> None:
    assert is_down(tenant_id, at) is down


def test_every_so_often_is_not_more_often() -> None:
    every = Every(10.0, first=5.0)
    assert [at for at in range(30) if every.is_due(float(at))] == [5, 15, 25]


def test_stages_are_set_anew_without_a_change(place: Place) -> None:
    with performed(place) as one:
        before = one.counted()
        set_the_stage(one.app.db)
        assert one.counted() == before
