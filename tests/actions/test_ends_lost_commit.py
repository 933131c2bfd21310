"""The answer to the COMMIT of an end is lost: what hangs on the end is written once.

The dispatcher keeps an end that it does not know to be written, and writes it again.
"""

from collections.abc import Iterator

import pytest

from tests.carrying import KIND, STEPS
from tests.databases import Databases, Place
from tests.messages import letter, put
from tests.postgres import Server
from tests.proxy import Proxy, proxied
from tests.verify_clean import assert_verified
from watchkeeper import App, Decision, PullResult
from watchkeeper.actions.deliver_messages import exchange, finish, prepared
from watchkeeper.errors import CommitUnknown
from watchkeeper.handlers.attempts import attempt, attempt_async
from watchkeeper.handlers.registry import Ended
from watchkeeper.handlers.results import Reject
from watchkeeper.store.leases import queue_for

pytestmark = [pytest.mark.postgresql, pytest.mark.req("S-10", "D-12")]


@pytest.fixture
def place(databases: Databases) -> Iterator[Place]:
    with databases.fresh("postgresql") as found:
        yield found


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with proxied(server.tcp_port) as found:
        yield found


@pytest.fixture
def app(place: Place, server: Server, proxy: Proxy) -> Iterator[App]:
    """Its database is behind the proxy."""
    app = App(server.tcp_url(place.name, port=proxy.port), migrate=False)
    yield app
    app.close()


def attempted(app: App, name: str) -> list[Ended]:
    """Attempts of a topic, ended and not yet written."""
    topic = app.registry.get("watchkeeper", name)
    assert topic is not None
    queue = queue_for("watchkeeper", name, app.registry.rule_for(name), 10)
    ready, ended = prepared(app.db, topic, exchange(app.db, [], [queue]).claimed)
    for piece in ready:
        if topic.is_async:
            ended.append(app.loop.run(attempt_async(topic, *piece)))
        else:
            ended.append(attempt(topic, *piece))
    assert ended
    return ended


def write_twice(app: App, proxy: Proxy, ended: list[Ended], cut: int = 1) -> None:
    """As the dispatcher does: the answer to the `cut`-th COMMIT never comes, so it asks again."""
    proxy.fates = [*["forward"] * (cut - 1), "lose answer"]
    with pytest.raises(CommitUnknown):
        finish(app.db, app.registry, ended)
    assert proxy.fates == [], "the cut was made"
    counts = finish(app.db, app.registry, ended)
    assert counts["fenced"] == 0, "the end that stands there is our own"


def count(place: Place, what: str) -> int:
    return int(place.execute(f"select count(*) from {what}")[0][0])


def test_a_death_is_recorded_and_told_once(app: App, proxy: Proxy, place: Place) -> None:
    told, hooks = [], []

    @app.on("mine")
    def mine(message: object) -> None:
        raise Reject("never")

    app.on("message.dead")(told.append)
    app.registry.when_lost("mine", lambda _tx, lost: hooks.extend(lost))
    put(app.db, letter(topic="mine"))
    write_twice(app, proxy, attempted(app, "mine"))
    app.drain()
    assert count(place, "ledger where kind = 'message.dead'") == 1
    assert (len(told), len(hooks)) == (1, 1)
    assert_verified(app.db)


def test_a_run_that_failed_is_recorded_once(app: App, proxy: Proxy, place: Place) -> None:
    @app.decision
    def decide(run: object) -> None:
        raise ValueError("no")

    app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key="k")
    write_twice(app, proxy, attempted(app, "decision.evaluation_requested"))
    for kind in ("run.ended", "message.dead"):
        assert count(place, f"ledger where kind = '{kind}'") == 1
    assert_verified(app.db)


def test_the_plans_and_the_usage_of_a_run_are_written_once(
    app: App, proxy: Proxy, place: Place
) -> None:
    @app.decision
    def decide(run: object) -> Decision:
        plan = {"plan_type": KIND, "steps": [{"action_type": STEPS[0]}]}
        return Decision(usage={"input_tokens": 5, "output_tokens": 5}, plans=[plan, {"no": 1}])

    app.trigger("acme", "ann", "SIGNAL_ARRIVED", idempotency_key="k")
    write_twice(app, proxy, attempted(app, "decision.evaluation_requested"))
    assert count(place, "plans") == 1
    assert count(place, "turns") == 1
    for kind in ("run.ended", "turn.finalized", "PROPOSAL_REFUSED"):
        assert count(place, f"ledger where kind = '{kind}'") <= 1
    assert_verified(app.db)


@pytest.mark.parametrize("fails", [False, True])
def test_a_pull_is_ended_once(app: App, proxy: Proxy, place: Place, fails: bool) -> None:
    @app.connector("crm", cadence=False)
    def look(pull: object) -> PullResult:
        if fails:
            raise ValueError("no")
        return PullResult()

    app.set_pull_budget("acme", 100)
    app.pull("acme", "ann", "crm")
    write_twice(app, proxy, attempted(app, "pull.requested"))
    assert count(place, "ledger where kind = 'pull.ended'") == 1
    assert count(place, "ledger where kind = 'message.dead'") == (1 if fails else 0)
    assert_verified(app.db)
