"""Signals in a transaction of the caller's own: committed with its rows, judged after that."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.databases import Clock, Place
from tests.messages import claim
from watchkeeper import App, Decision, PendingReceipt
from watchkeeper.actions.hand_in_signals import admit_signals
from watchkeeper.core.envelope import SIGNAL_HANDED_IN
from watchkeeper.errors import Closed, Invalid

pytestmark = pytest.mark.req("S-10", "D-20")


@pytest.fixture
def told(app: App) -> list[list[str]]:
    heard: list[list[str]] = []

    @app.decision
    def decide(run: Any) -> Decision:
        heard.append([f"{signal.type} {signal.data}" for signal in run.signals])
        return Decision()

    return heard


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False)
    yield app
    app.close()


@pytest.fixture(params=["driver", "session"])
def theirs(request: pytest.FixtureRequest, place: Place) -> Iterator[Any]:
    if request.param == "session":
        engine = create_engine(place.url.replace("postgresql://", "postgresql+psycopg://"))
        with Session(engine) as session:
            yield session
        engine.dispose()
        return
    opened: Any = (
        sqlite3.connect(place.name) if place.engine == "sqlite" else psycopg.connect(place.url)
    )
    yield opened
    opened.close()


def verdicts(place: Place) -> list[str | None]:
    rows = place.execute("select reason from ledger where kind = 'verdict' order by seq")
    return [reason for (reason,) in rows]


def test_a_signal_is_judged_once_the_caller_has_committed(
    app: App, theirs: Any, place: Place, told: list[list[str]]
) -> None:
    receipt = app.signal("acme", "a", "order.placed", data={"n": 1}, connection=theirs)
    assert isinstance(receipt, PendingReceipt)
    theirs.commit()
    app.drain()
    assert told == [["order.placed {'n': 1}"]]
    assert place.execute("select signal_id from signals") == [(receipt.signal_id,)]


def test_a_rollback_leaves_nothing(app: App, theirs: Any, told: list[list[str]]) -> None:
    app.signal("acme", "a", "order.placed", connection=theirs)
    theirs.rollback()
    app.drain()
    assert told == []


def test_the_key_of_a_signal_is_kept(app: App, theirs: Any, place: Place) -> None:
    app.signal("acme", "a", "order.placed", idempotency_key="order-7")
    app.drain()
    app.signal("acme", "a", "order.placed", idempotency_key="order-7", connection=theirs)
    theirs.commit()
    app.drain()
    assert verdicts(place) == [None, "DUPLICATE_IDEMPOTENCY_KEY"]


def test_many_are_judged_in_order(
    app: App, theirs: Any, place: Place, told: list[list[str]]
) -> None:
    signals = [{"account_id": "a", "type": f"t{n}"} for n in range(3)]
    receipts = app.signal_many("acme", signals, connection=theirs)
    assert len({one.signal_id for one in receipts}) == 3
    theirs.commit()
    app.drain()
    assert told == [["t0 {}"]], "the two others are debounced, and kept"
    assert verdicts(place) == [None, "DEBOUNCED", "DEBOUNCED"]


def test_a_second_delivery_is_no_second_verdict(
    app: App, theirs: Any, place: Place, clock: Clock, told: list[list[str]]
) -> None:
    app.signal("acme", "a", "order.placed", connection=theirs)
    theirs.commit()
    [claimed] = claim(app.db, topic=SIGNAL_HANDED_IN)
    admit_signals(app.admission, [claimed])
    clock.advance(3600)  # its worker died before it could say so
    app.drain()
    assert len(verdicts(place)) == 1
    assert told == [["order.placed {}"]]


def test_bad_input_leaves_their_transaction_as_it_was(app: App, theirs: Any) -> None:
    with pytest.raises(Invalid, match="account_id"):
        app.signal("acme", "", "order.placed", connection=theirs)
    theirs.commit()
    app.drain()
    assert list(app.tenants.list()) == []


def test_an_async_session_is_told_how(app: App) -> None:
    with pytest.raises(Invalid, match=r"run_sync\(lambda s: app\.signal\(\.\.\., connection=s\)"):
        app.signal("acme", "a", "order.placed", connection=AsyncSession())


def test_a_closed_app_takes_nothing(app: App, theirs: Any) -> None:
    app.close()
    with pytest.raises(Closed):
        app.signal("acme", "a", "order.placed", connection=theirs)
