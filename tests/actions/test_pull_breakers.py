"""How a connector has done: upstream's patience for all, a breaker for each tenant."""

from collections.abc import Iterator

import pytest

from tests.databases import Clock
from tests.pulling import Worker, under_way
from tests.verify_clean import assert_verified
from watchkeeper import App
from watchkeeper.actions.create_tenant import create_tenant
from watchkeeper.core.ids import TenantId
from watchkeeper.core.pulls import PullReason
from watchkeeper.core.time import DAY, SECOND, Instant
from watchkeeper.handlers.results import Retry

OPEN, LIMIT = PullReason.CIRCUIT_OPEN, PullReason.RATE_LIMIT
ERROR = ValueError("no")


@pytest.fixture
def app(db_url: str, clock: Clock) -> Iterator[App]:
    opened = App(db_url, migrate=False)
    yield opened
    opened.close()


@pytest.fixture
def worker(app: App, clock: Clock) -> Worker:
    return Worker(app, clock)


@pytest.mark.req("P-10")
def test_retry_after_holds_the_connector_for_everybody(worker: Worker, clock: Clock) -> None:
    other = Worker(worker.app, clock)
    other.tenant_id = TenantId("other")
    create_tenant(worker.admission.db, other.tenant_id)
    other.budget(100)
    worker.bring(lambda _: None)
    message, pull = under_way(worker)
    worker.end(message, pull, Retry("slow down", after=600))
    for one in (worker, other):
        answer = one.ask("bob")
        assert (answer.reason, answer.retry_at) == (LIMIT, clock.at + 600 * SECOND)
    clock.advance(300)
    assert [other.ask("p1").reason, other.ask("p2").reason] == [None, LIMIT]
    clock.advance(300)
    assert [worker.ask(f"q{n}").reason for n in range(3)] == [None] * 3


@pytest.mark.req("P-10")
@pytest.mark.parametrize(
    ("after", "held"),
    [(10.0**12, DAY), (float("inf"), DAY), (-5, 0), (90, 90 * SECOND)],
)
def test_absurd_patience_is_clamped(worker: Worker, clock: Clock, after: float, held: int) -> None:
    worker.bring(lambda _: None)
    message, pull = under_way(worker)
    worker.end(message, pull, Retry("slow down", after=after))
    answer = worker.ask("bob")
    assert (answer.retry_at or clock.at) - clock.at == held


@pytest.mark.req("P-10")
def test_a_hold_stops_pulls_that_are_queued_already(worker: Worker, clock: Clock) -> None:
    worker.bring(lambda _: None, max_concurrency=50)
    for n in range(5):
        assert worker.ask(f"a{n}").is_scheduled
    first, *rest = worker.claim_pulls()
    [pull] = worker.start(first).values()
    worker.end(first, pull, Retry("slow down", after=600))
    assert worker.start(*rest) == {}
    clock.advance(300)
    assert worker.claim_pulls() == []
    assert worker.ask("probe").is_scheduled, "half-way through one pull may try"
    [probe] = worker.claim_pulls()
    assert list(worker.start(probe)) == [probe.id]
    clock.advance(300)
    again = worker.claim_pulls()
    assert {m.id for m in again} == {m.id for m in rest}
    assert len(worker.start(*again)) == 4, "after the hold they are called, each once"
    assert_verified(worker.db)


@pytest.mark.req("P-12")
def test_an_open_breaker_lets_one_queued_pull_try(worker: Worker, clock: Clock) -> None:
    worker.bring(lambda _: None)
    worker.policy("[pulls]\nbreaker_failures = 1\n")
    for n in range(4):
        assert worker.ask(f"a{n}").is_scheduled
    first, *rest = worker.claim_pulls()
    [pull] = worker.start(first).values()
    worker.end(first, pull, ERROR)
    assert worker.start(*rest) == {}
    clock.advance(300)
    again = worker.claim_pulls()
    [(probe_id, pull)] = worker.start(*again).items()
    [probe] = [m for m in again if m.id == probe_id]
    worker.end(probe, pull)
    clock.advance(300)
    assert len(worker.start(*worker.claim_pulls())) == 2
    assert_verified(worker.db)


@pytest.mark.req("P-12")
def test_a_breaker_opens_for_one_tenant_half_opens_and_closes(worker: Worker, clock: Clock) -> None:
    other = Worker(worker.app, clock)
    other.tenant_id = TenantId("other")
    create_tenant(worker.admission.db, other.tenant_id)
    other.budget(100)
    worker.bring(lambda _: None)
    worker.do([ERROR] * 4 + [None] + [ERROR] * 5)
    opened_at = clock.at
    refused = worker.ask("x")
    assert (refused.reason, refused.retry_at) == (OPEN, opened_at + 300 * SECOND)
    assert other.ask("x").is_scheduled, "one bad credential stops nobody else"
    other.claim_pulls()
    clock.set(Instant(opened_at + 300 * SECOND))
    worker.ask("probe")
    assert worker.ask("y").reason is OPEN, "one probe at a time"
    [probe] = worker.claim_pulls()
    [pull] = worker.start(probe).values()
    worker.end(probe, pull, ERROR)
    assert worker.ask("y").retry_at == clock.at + 300 * SECOND
    clock.advance(300)
    worker.do([None])
    assert [worker.ask(f"z{n}").reason for n in range(3)] == [None] * 3
    assert_verified(worker.db)


@pytest.mark.req("P-12")
def test_who_dies_counts_as_a_failure(worker: Worker, clock: Clock) -> None:
    worker.policy("[pulls]\nbreaker_failures = 1\n")
    worker.bring(lambda _: None)
    under_way(worker)
    clock.advance(61)
    worker.claim_pulls()
    assert worker.ask("bob").reason is OPEN
