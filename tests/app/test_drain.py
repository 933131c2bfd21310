"""`drain` and `clock.advance` as tests use them: errors that are raised, and inside of a loop."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.carrying import AUTO, KIND, MEET
from tests.databases import Place
from tests.messages import letter, put
from tests.misbehaving import receiving
from tests.verify_clean import assert_verified
from watchkeeper import App, Decision
from watchkeeper.handlers.results import Reject, Retry

pytestmark = pytest.mark.req("U-12", "D-14")


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False, webhooks_private=True)
    app.apply_policy(AUTO, reason="actions go by themselves")
    yield app
    app.close()


def ask(app: App, account: str = "ann") -> None:
    assert app.trigger("acme", account, "SIGNAL_ARRIVED", idempotency_key=account).allowed


class OwnError(Exception):
    pass


def fail(_argument: object) -> None:
    raise OwnError("mine")


async def fail_async(_argument: object) -> None:
    raise OwnError("mine")


@pytest.mark.parametrize("handler", [fail, fail_async], ids=["sync", "async"])
def test_the_exception_of_a_handler_is_raised_when_all_is_written(
    app: App, place: Place, handler: Any
) -> None:
    app.decision(handler)
    for account in ("ann", "bob"):
        ask(app, account)
    with pytest.raises(OwnError, match="mine") as raised:
        app.drain(raise_errors=True)
    assert raised.value.__notes__ == ["also raised by a handler: OwnError: mine"]
    assert place.execute("select count(*) from runs where state = 'FAILED'") == [(2,)]
    assert app.drain(raise_errors=True)["claimed"] == 0, "it is told once"
    assert_verified(app.db)


@pytest.mark.parametrize("handler", [fail, fail_async], ids=["sync", "async"])
def test_so_are_those_of_actions_connectors_and_topics(app: App, handler: Any) -> None:
    app.connector("crm", cadence=False)(handler)
    app.set_pull_budget("acme", 10)
    app.action(MEET, risk="low")(handler)
    app.on("mine")(handler)
    put(app.db, letter(topic="mine"))
    with pytest.raises(OwnError):
        app.drain(raise_errors=True)
    app.pull("acme", "ann", "crm")
    with pytest.raises(OwnError):
        app.drain(raise_errors=True)
    plan = app.plans.create("acme", "ann", KIND, [MEET])
    app.plans.approve(plan.plan_id, by="ann")
    with pytest.raises(OwnError):
        app.drain(raise_errors=True)


def test_the_clock_arrives_before_it_raises(app: App) -> None:
    app.decision(fail)
    ask(app)
    before = app.clock.now()
    with pytest.raises(OwnError):
        app.clock.advance(hours=1, raise_errors=True)
    assert (app.clock.now() - before).total_seconds() == 3600


@pytest.mark.parametrize("answer", [Retry("busy"), Reject("never")], ids=["Retry", "Reject"])
def test_an_answer_is_not_raised(app: App, answer: Exception) -> None:
    @app.on("mine")
    def mine(_message: object) -> None:
        raise answer

    put(app.db, letter(topic="mine"))
    assert app.drain(raise_errors=True)["failed"] == 1


def test_unasked_it_raises_nothing(app: App) -> None:
    app.decision(fail)
    ask(app)
    assert app.drain()["failed"] == 1


def test_it_works_inside_of_a_running_loop(app: App) -> None:
    """Async handlers, actions, connectors and webhooks: all that runs on a loop."""
    loops: set[int] = set()
    threads: set[str] = set()

    async def handler(_argument: object) -> None:
        await asyncio.sleep(0)
        loops.add(id(asyncio.get_running_loop()))
        threads.add(threading.current_thread().name)

    async def test() -> None:
        own = id(asyncio.get_running_loop())
        app.decision(handler)
        app.connector("crm", cadence=False)(handler)
        app.action(MEET, risk="low")(handler)
        app.set_pull_budget("acme", 10)
        ask(app)
        app.drain(raise_errors=True)
        app.pull("acme", "ann", "crm")
        plan = app.plans.create("acme", "ann", KIND, [MEET])
        app.plans.approve(plan.plan_id, by="ann")
        app.clock.advance(minutes=20, raise_errors=True)
        assert app.plans.get(plan.plan_id).status == "COMPLETED"
        assert own not in loops

    asyncio.run(test())
    assert len(loops) == 1, "one loop for all of an app's drains: a client may be kept"
    assert threads == {"watchkeeper async"}


def test_webhooks_are_sent_inside_of_a_running_loop(app: App) -> None:
    async def test(url: str) -> None:
        app.sink("hook", topic="mine", url=url, tenant_id="acme")
        put(app.db, letter(topic="mine"))
        assert app.drain()["delivered"] == 1

    with receiving() as receiver:
        asyncio.run(test(receiver.url))
        assert len(receiver.requests) == 1


def test_an_async_handler_may_drain_too(app: App) -> None:
    calls: list[str] = []

    @app.on("inner")
    async def inner(_message: object) -> None:
        calls.append("inner")

    @app.decision
    async def decide(_run: object) -> Decision:
        put(app.db, letter(topic="inner"))
        app.drain()
        calls.append("outer")
        return Decision()

    ask(app)
    app.drain(raise_errors=True)
    assert calls == ["inner", "outer"]


def test_a_coroutine_that_nobody_awaits_is_a_failure(app: App) -> None:
    async def answer() -> None: ...

    app.decision(lambda _run: answer())
    ask(app)
    with pytest.raises(TypeError, match="declare it with `async def`"):
        app.drain(raise_errors=True)
