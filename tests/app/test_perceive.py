"""The door for Python programs, where it is about looking."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import watchkeeper
from watchkeeper.app import App
from watchkeeper.core.pulls import PullReason
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.handlers.results import Retry
from watchkeeper.results import Pull, PullResult

pytestmark = pytest.mark.req("U-01")


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False)
    yield app
    app.close()


def warm(app: App, account: str = "a", signals: int = 2, posture: str = "AT_RISK") -> None:
    app.account("acme", account, posture=posture)
    for _ in range(signals):
        app.signal("acme", account, "email.received")


@pytest.mark.req("P-01")
def test_heat_is_told(app: App) -> None:
    warm(app)
    heat = app.heat("acme", "a")
    assert (heat.heat_tier, heat.heat_score) == ("HOT", 0.73)
    assert (heat.posture_score, heat.signal_recency, heat.signal_volume) == (0.7, 1.0, 0.4)
    assert heat.entered_at == heat.computed_at == heat.updated_at == app.clock.now()
    with pytest.raises(NotFound):
        app.heat("acme", "unknown")


@pytest.mark.req("P-15", "P-07")
def test_a_pull_is_asked_for_and_a_refusal_is_a_value(app: App) -> None:
    refused = app.pull("acme", "a", "crm")
    assert (refused.scheduled, refused.reason, refused.job) == (False, PullReason.NO_BUDGET, None)
    app.set_pull_budget("acme", 4)
    made = app.pull("acme", "a", "crm", "DEEP", pull_job_id="p-1", correlation_id="c")
    assert made.scheduled
    assert made.job is not None
    assert (made.job.pull_job_id, made.job.depth_units, made.job.budget_remaining) == ("p-1", 3, 1)
    assert made.job.correlation_id == "c"
    assert made.job.scheduled_at == app.clock.now()
    again = app.pull("acme", "a", "crm", pull_job_id="p-1")
    assert again.reason is PullReason.DUPLICATE
    assert app.pull("acme", "a", "crm", "DEEP").reason is PullReason.BUDGET_EXCEEDED
    assert app.pull("acme", "a", "crm").scheduled


@pytest.mark.req("P-03", "P-05", "P-11")
def test_a_connector_is_called_by_cadence_and_what_it_brings_comes_in(app: App) -> None:
    seen: list[Pull] = []

    @app.connector("crm")
    def look(pull: Pull) -> PullResult:
        seen.append(pull)
        return PullResult(signals=[{"type": "renewal.near"}] if len(seen) == 1 else [])

    app.set_pull_budget("acme", 100)
    warm(app)
    app.clock.advance(minutes=1)
    assert seen[0].depth == "DEEP"  # promotion pulls it forward
    assert {pull.depth for pull in seen[1:]} <= {"SHALLOW"}
    assert app.heat("acme", "a").signal_volume == 0.6
    before = len(seen)
    app.clock.advance(hours=1)
    assert [pull.depth for pull in seen[before:]] == ["DEEP"]


def test_async_connectors_and_plain_lists(app: App) -> None:
    @app.connector("crm", cadence=False)
    async def look(pull: Pull) -> list[dict[str, str]]:
        return [{"type": "seen", "account_id": "other"}]

    app.set_pull_budget("acme", 100)
    app.pull("acme", "a", "crm")
    app.drain()
    assert app.heat("acme", "other").signal_volume == 0.2
    app.clock.advance(days=10)
    assert app.pull_budget("acme", app.clock.now().date()).pull_count == 0  # no cadence


@pytest.mark.req("P-08", "P-09")
def test_a_budget_is_set_read_for_any_day_and_removed(app: App) -> None:
    assert app.set_pull_budget("acme", 10, {"crm": 3}).remaining == 10
    app.pull("acme", "a", "crm", "DEEP")
    today = app.clock.now().date()
    spent = app.pull_budget("acme")
    assert (spent.date_key, spent.units_consumed, spent.pull_count) == (today.isoformat(), 3, 1)
    assert spent.connectors["crm"].remaining == 0
    assert app.pull_budget("acme", today) == app.pull_budget("acme", today.isoformat()) == spent
    assert app.pull_budget("acme", today - timedelta(days=1)).units_consumed == 0
    assert app.set_pull_budget("acme", 10, 5).max_per_connector_per_day == 5
    app.remove_pull_budget("acme")
    assert app.pull_budget("acme").remaining is None
    assert app.pull("acme", "b", "crm").reason is PullReason.NO_BUDGET


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda app: app.pull("acme", "a", "crm", "deep"), "depth"),
        (lambda app: app.pull("acme", "a", "a b"), "connector_id"),
        (lambda app: app.pull("_system", "a", "crm"), "tenant_id"),
        (lambda app: app.set_pull_budget("acme", -1), "max_pull_units_per_day"),
        (lambda app: app.set_pull_budget("acme", 1, {"x y": 1}), "max_per_connector_per_day"),
        (lambda app: app.pull_budget("acme", "yesterday"), "date"),
        (lambda app: app.pull_budget("acme", date(1960, 1, 1)), "date"),
        (lambda app: app.pull_budget("acme", datetime(2030, 1, 1, tzinfo=UTC)), "date"),
        (lambda app: app.connector("a b"), "connector_id"),
        (lambda app: app.connector("crm", burst=0), "burst"),
        (lambda app: app.connector("crm", rate_per_second=0), "rate_per_second"),
        (lambda app: app.connector("crm", deep_units=0), "depth_units.DEEP"),
    ],
)
def test_a_mistake_is_named(app: App, call: Any, where: str) -> None:
    with pytest.raises(Invalid) as caught:
        call(app)
    assert [problem.place for problem in caught.value.problems] == [where]


def test_the_result_of_a_connector_is_public() -> None:
    assert watchkeeper.PullResult is PullResult


@pytest.mark.req("P-10")
@pytest.mark.parametrize("after", ["3600", "999999999", "1000000000000", "9" * 400, 3600])
def test_a_retry_after_holds_every_pull_but_the_one_that_heard_it(app: App, after: Any) -> None:
    called: list[str] = []

    @app.connector("crm", cadence=False)
    def look(pull: Pull) -> None:
        called.append(pull.tenant_id)
        raise Retry("429", after=after)

    for tenant in ("one", "two"):
        app.set_pull_budget(tenant, 1000)
    for n in range(10):
        app.pull("one", f"a{n}", "crm", pull_job_id=f"q{n}")
    app.drain()
    for n in range(3):
        app.pull("two", f"b{n}", "crm", pull_job_id=f"b{n}")
        app.drain()
    assert called == ["one"]
