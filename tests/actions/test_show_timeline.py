"""One account's timeline: whatever came of it, of every stage, and nothing of anybody else."""

from collections.abc import Iterator
from itertools import chain

import pytest

from tests.databases import Clock
from tests.metered import USED, Worker
from watchkeeper import App
from watchkeeper.actions import show_timeline as timeline
from watchkeeper.actions.keep_desk import redrive_message
from watchkeeper.actions.show_timeline import show_timeline
from watchkeeper.actions.views import OLDEST
from watchkeeper.core.ids import AccountId, MessageId, TenantId
from watchkeeper.core.ledger import Stage
from watchkeeper.handlers.results import Reject

pytestmark = pytest.mark.req("U-31")

ACME = TenantId("acme")
ANN = AccountId("ann")


@pytest.fixture
def app(db_url: str, clock: Clock) -> Iterator[App]:
    opened = App(db_url, migrate=False)
    yield opened
    opened.close()


def pages(app: App, account: str = ANN, limit: int = 1000, stage: Stage | None = None) -> list:
    """All of it, page by page."""
    found: list = []
    before = OLDEST
    for _ in range(1000):
        page = show_timeline(
            app.db, ACME, AccountId(account), before=before, stage=stage, limit=limit
        )
        found += page.entries
        if page.next_before is None:
            return found
        assert page.next_before < before
        before = page.next_before
    raise AssertionError("it has no end")


def kinds(found: list) -> list[str]:
    return [one.found.entry.kind for one in found]


def drain(worker: Worker) -> None:
    for message in worker.claim():
        for run in worker.start(message).values():
            worker.end(message, run, None)


def live(app: App, clock: Clock) -> None:
    """A signal and its run, a run that dies and is sent again, a pull, a plan; two accounts."""
    worker = Worker(app)
    for account in ("ann", "bob"):
        app.signal("acme", account, "mail", signal_id=f"mail-{account}", data={"n": 1})
        [message] = worker.claim()
        [run] = worker.start(message).values()
        worker.end(message, run, Reject("no such customer"))
        clock.advance(hours=13)
        redrive_message(app.db, app.registry, ACME, MessageId(message.id), force=True)
        drain(worker)
        app.connector("crm", cadence=False)(lambda _pull: None)
        app.set_pull_budget("acme", 10)
        app.pull("acme", account, "crm", "SHALLOW")
        app.account("acme", account, posture="EXPAND")
        app.plans.create(
            "acme",
            account_id=account,
            plan_type="RENEWAL_DEFENSE",
            objective="keep them",
            steps=[{"step_id": "meet", "action_type": "REQUEST_RENEWAL_MEETING"}],
        )
        drain(worker)
        clock.advance(hours=13)


def test_everything_of_every_stage_is_there_and_nobody_elses(app: App, clock: Clock) -> None:
    live(app, clock)
    for account in ("ann", "bob"):
        found = pages(app, account)
        assert set(kinds(found)) >= {
            "verdict",
            "run.ended",
            "message.dead",
            "message.redriven",
            "turn.reserved",
            "turn.settled",
            "pull.decided",
            "account.changed",
            "heat.tier_changed",
            "PLAN_CREATED",
        }
        assert kinds(found).count("turn.reserved") == 3, "a run was redriven, another followed"
        assert kinds(found).count("PLAN_CREATED") == 1
        seqs = [one.found.seq for one in found]
        assert seqs == sorted(set(seqs), reverse=True)
        [heard] = [one.signal for one in found if one.signal is not None]
        assert heard.signal_id == f"mail-{account}"


def test_pages_are_the_whole_and_stages_are_parts_of_it(app: App, clock: Clock) -> None:
    live(app, clock)
    whole = [one.found.seq for one in pages(app)]
    assert [one.found.seq for one in pages(app, limit=2)] == whole
    parts = {stage: [one.found.seq for one in pages(app, limit=1, stage=stage)] for stage in Stage}
    assert sorted(chain(*parts.values()), reverse=True) == whole
    assert all(parts[stage] for stage in (Stage.PERCEIVE, Stage.DECIDE, Stage.SETTLE, Stage.ACT))


def test_no_more_is_read_than_is_allowed_and_nothing_of_its_own_is_lost(
    app: App, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a page reads few entries it goes on from where it stopped looking."""
    live(app, clock)
    for n in range(30):
        app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key=f"again-{n}")
    own = [one.found.seq for one in pages(app) if one.found.entry.kind in timeline.OWN]
    assert len(own) > 30
    monkeypatch.setattr(timeline, "READ", 8)
    monkeypatch.setattr(timeline, "LED_BY", 4)
    for limit in (5, 50):
        found = pages(app, limit=limit)
        seqs = [one.found.seq for one in found]
        assert len(set(seqs)) == len(seqs)
        assert [one.found.seq for one in found if one.found.entry.kind in timeline.OWN] == own
        assert "turn.settled" in kinds(found)


def test_a_name_that_is_also_a_schedules_is_not_mixed_up(app: App, clock: Clock) -> None:
    app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key="one")
    app.schedule("acme", "ann", trigger_type="TIME_RITUAL_DAILY_BRIEF", cron="0 7 * * *")
    assert kinds(pages(app)) == ["verdict"]


def test_what_a_run_used_is_in_it(app: App) -> None:
    Worker(app).do(USED)
    found = kinds(pages(app))
    assert sorted(found) == ["run.ended", "turn.reserved", "turn.settled", "verdict"]
    assert found[-1] == "verdict"
