"""A signal id that comes again: whatever is no repeat by its key is stored, and a run is told."""

from collections.abc import Iterator

import pytest

from tests.databases import Clock, Place
from tests.verify_clean import assert_verified
from watchkeeper.actions.show_timeline import show_timeline
from watchkeeper.app import App
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.results import Run

pytestmark = pytest.mark.req("D-20", "D-04", "D-06")

Told = list[tuple[str, list[dict]]]
BEYOND = 2**62


@pytest.fixture
def app(place: Place, clock: Clock) -> Iterator[App]:
    app = App(place.url, migrate=False)
    yield app
    app.close()


@pytest.fixture
def told(app: App) -> Told:
    """What each run was told: its account, and the data of its signals."""
    runs: Told = []

    @app.decision
    def decide(run: Run) -> None:
        runs.append((run.account_id, [one.data for one in run.signals]))

    return runs


def news(account: str, n: int, **more: object) -> dict[str, object]:
    return {"account_id": account, "type": "mail", "signal_id": "s", "data": {"n": n}, **more}


def send(app: App, signals: list[dict[str, object]], *, is_batch: bool) -> list[str]:
    calls = [signals] if is_batch else [[one] for one in signals]
    answers = [one for call in calls for one in app.signal_many("acme", call)]
    app.drain()
    return [one.verdict.reason or one.verdict.result for one in answers]


@pytest.mark.parametrize("is_batch", [True, False], ids=["batch", "single"])
def test_one_id_for_two_accounts_is_two_signals(app: App, told: Told, is_batch: bool) -> None:
    pair = [news("ann", 1, idempotency_key="k1"), news("bob", 2, idempotency_key="k2")]
    assert send(app, pair, is_batch=is_batch) == ["ALLOW", "ALLOW"]
    assert sorted(told, key=str) == [("ann", [{"n": 1}]), ("bob", [{"n": 2}])]
    assert_verified(app.db)


@pytest.mark.parametrize("is_batch", [True, False], ids=["batch", "single"])
def test_one_id_under_two_keys_is_two_signals(app: App, told: Told, is_batch: bool) -> None:
    """The second is debounced; the account's next run is told of it."""
    pair = [news("ann", 1, idempotency_key="k1"), news("ann", 2, idempotency_key="k2")]
    assert send(app, pair, is_batch=is_batch) == ["ALLOW", "DEBOUNCED"]
    app.clock.advance(hours=1)
    assert send(app, [news("ann", 3, idempotency_key="k3")], is_batch=is_batch) == ["ALLOW"]
    assert told == [("ann", [{"n": 1}]), ("ann", [{"n": 2}, {"n": 3}])]


def test_one_id_for_two_accounts_without_keys_is_a_repeat_by_name(app: App, told: Told) -> None:
    assert send(app, [news("ann", 1), news("bob", 2)], is_batch=True) == [
        "ALLOW",
        "DUPLICATE_IDEMPOTENCY_KEY",
    ]
    assert told == [("ann", [{"n": 1}])]


@pytest.mark.parametrize("is_batch", [True, False], ids=["batch", "single"])
def test_an_id_whose_key_has_expired_is_news(app: App, told: Told, is_batch: bool) -> None:
    assert send(app, [news("ann", 1), news("ann", 9)], is_batch=is_batch) == [
        "ALLOW",
        "DUPLICATE_IDEMPOTENCY_KEY",
    ]
    app.clock.advance(hours=24)
    assert send(app, [news("ann", 2)], is_batch=is_batch) == ["ALLOW"]
    assert told == [("ann", [{"n": 1}]), ("ann", [{"n": 2}])]
    assert_verified(app.db)


def test_the_timeline_shows_each_with_its_own_verdict(app: App) -> None:
    send(app, [news("ann", 1)], is_batch=True)
    app.clock.advance(hours=24)
    send(app, [news("ann", 2)], is_batch=True)
    page = show_timeline(
        app.db, TenantId("acme"), AccountId("ann"), before=BEYOND, stage=None, limit=50
    )
    heard = [one.signal.data for one in page.entries if one.signal is not None]
    assert [text.replace(" ", "") if isinstance(text, str) else text for text in heard] in (
        ['{"n":2}', '{"n":1}'],
        [{"n": 2}, {"n": 1}],
    )


def test_what_a_connector_brings_again_is_news_after_its_key(app: App, told: Told) -> None:
    @app.connector("crm", cadence=False)
    def pull(_pull: object) -> list[dict[str, object]]:
        return [{"type": "mail", "signal_id": "s", "data": {"n": len(told)}}]

    app.set_pull_budget("acme", 10)
    app.signal("acme", "ann", "hello")
    app.drain()
    for _ in range(2):
        app.clock.advance(hours=25)
        app.pull("acme", "ann", "crm", "SHALLOW")
        app.drain()
    assert told[1:] == [("ann", [{"n": 1}]), ("ann", [{"n": 2}])]
