"""A server with more to do than it has places for: who is refused, and who is served meanwhile."""

import asyncio
import threading
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.databases import Clock, Databases
from tests.http.sockets import Line, Listening, head, listening, until
from watchkeeper.errors import Overloaded
from watchkeeper.http import edge, refusals
from watchkeeper.http.refusals import Refusals
from watchkeeper.store.database import Database
from watchkeeper.telemetry import REGISTRY

pytestmark = pytest.mark.req("O-12")

LOGIN = ("Expect: 100-continue", "Content-Type: application/x-www-form-urlencoded")
CLOSED = {"status": "client_closed"}


def slow_login(server: Listening, *lines: str, path: str = "/login") -> Line:
    """A login whose body is wanted and does not come."""
    line = server.line()
    line.send(head("POST", path, *LOGIN, "Content-Length: 5000", *lines))
    assert line.is_let_go_on()
    return line


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"watchkeeper_http_{name}", labels) or 0.0


# -- tenants ----------------------------------------------------------------------------


def test_one_tenant_cannot_take_all_the_places(db: Database, clock: Clock) -> None:
    with listening(db, clock, requests_max=4) as server:
        acme = server.door.key(server.door.tenant("acme"))
        birch = server.door.key(server.door.tenant("birch"))
        held = [server.held(acme) for _ in range(2)]
        refused = server.line().get("/v1/decisions", acme)
        assert (refused.status, refused.code) == (429, "tenant_overloaded")
        assert refused.headers["retry-after"] == "1"
        assert server.line().get("/v1/decisions", birch).status == 200
        held[0].send(b"{}")
        assert held[0].answer().status == 422
        assert server.line().get("/v1/decisions", acme).status == 200


def test_keys_of_one_tenant_share_its_places(db: Database, clock: Clock) -> None:
    with listening(db, clock, requests_max=4) as server:
        tenant = server.door.tenant("acme")
        first, second, third = (server.door.key(tenant) for _ in range(3))
        server.held(first)
        server.held(second)
        refused = server.line().get("/v1/decisions", third)
        assert (refused.status, refused.code) == (429, "tenant_overloaded")


def test_a_tenant_is_refused_before_its_key_is_looked_up(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that was accepted before is known to be its tenant's: the database is not asked."""
    with databases.opened("sqlite") as (db, clock), listening(db, clock, requests_max=4) as server:
        key = server.door.key(server.door.tenant())
        for _ in range(2):
            server.held(key)
        asked: list[Any] = []
        monkeypatch.setattr(server.door.server.keyring, "caller", asked.append)
        assert server.line().get("/v1/decisions", key).status == 429
        assert asked == []


def test_a_revoked_key_is_refused_though_it_was_known(databases: Databases) -> None:
    with databases.opened("sqlite") as (db, clock), listening(db, clock) as server:
        key = server.door.key(server.door.tenant())
        line = server.line()
        assert line.get("/v1/decisions", key).status == 200
        server.door.place.execute("update api_keys set revoked_at = 1")
        assert [line.get("/v1/decisions", key).status for _ in range(2)] == [401, 401]


def test_one_tenant_cannot_take_all_the_streams(db: Database, clock: Clock) -> None:
    with listening(db, clock, followers_max=4, requests_max=2) as server:
        acme = server.door.key(server.door.tenant("acme"), "viewer")
        birch = server.door.key(server.door.tenant("birch"), "viewer")
        path = "/v1/stream"
        assert [server.line().get(path, acme).status for _ in range(2)] == [200, 200]
        refused = server.line().get(path, acme)
        assert (refused.status, refused.code) == (429, "tenant_overloaded")
        assert refused.headers["retry-after"] == "1"
        assert server.line().get(path, birch).status == 200
        server.lines[0].close()
        until(lambda: server.door.server.feed.followers == 2)
        assert server.line().get(path, acme).status == 200


# -- senders that are not known ---------------------------------------------------------


@pytest.mark.parametrize("credential", ["", "Authorization: Bearer wk_fake", "Cookie: a=b"])
def test_slow_logins_take_no_place_of_the_api(databases: Databases, credential: str) -> None:
    lines = [credential] if credential else []
    flags = {"requests_max": 2, "anonymous_max": 4}
    with databases.opened("sqlite") as (db, clock), listening(db, clock, **flags) as server:
        key = server.door.key(server.door.tenant())
        for _ in range(2):
            slow_login(server, *lines)
        line = server.line()
        line.send(head("POST", "/login", *LOGIN, "Content-Length: 5000", *lines))
        assert line.answer().status == 429
        assert server.line().get("/v1/decisions", key).status == 200
        assert server.line().get("/healthz").status == 200


def test_the_body_of_an_unknown_sender_has_little_time(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "ANONYMOUS", edge.Bounds(8192, 0.1))
    with databases.opened("sqlite") as (db, clock), listening(db, clock) as server:
        key = server.door.key(server.door.tenant())
        held = server.held(key)
        slow = slow_login(server)
        answer = slow.answer()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert slow.is_closed()
        held.send(b"{}")
        assert held.answer().status == 422, "a sender that is known has more"


def test_the_body_of_an_unknown_sender_is_small(databases: Databases) -> None:
    with databases.opened("sqlite") as (db, clock), listening(db, clock) as server:
        line = server.line()
        line.send(head("POST", "/login", LOGIN[1], "Content-Length: 50000"))
        line.send(b"x" * 8193)
        assert line.answer().status == 413
        assert line.is_closed()


def test_a_logout_without_a_session_reads_nothing(databases: Databases) -> None:
    with databases.opened("sqlite") as (db, clock), listening(db, clock) as server:
        line = server.line()
        line.send(head("POST", "/logout", LOGIN[1], "Content-Length: 5000"))
        assert line.answer().status == 303


def test_a_stream_that_is_refused_took_a_place_meanwhile(databases: Databases) -> None:
    """Streams do not count as requests once they run; before that they do."""
    with databases.opened("sqlite") as (db, clock), listening(db, clock, requests_max=4) as server:
        key = server.door.key(server.door.tenant())
        for _ in range(2):
            server.held(key)
        assert server.line().get("/v1/stream", key).code == "tenant_overloaded"


# -- refusals ---------------------------------------------------------------------------


def test_a_refused_connection_is_kept_unless_a_body_comes(databases: Databases) -> None:
    with databases.opened("sqlite") as (db, clock), listening(db, clock, requests_max=2) as server:
        key = server.door.key(server.door.tenant())
        server.held(key)
        line = server.line()
        assert line.get("/v1/decisions", key).status == 429
        assert line.get("/healthz").status == 200
        line.send(head("POST", "/v1/signals", "Content-Length: 5000", key=key))
        assert line.answer().status == 429
        assert line.is_closed()


async def _nothing(_message: object) -> None:
    pass


def _refuse(refusing: Refusals) -> Any:
    scope = {"headers": [], "state": {}}
    return refusing.answer(scope, _nothing, Overloaded("too many"))


def test_refusals_are_logged_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "SUMMARY_SECONDS", 3600)

    async def deed() -> None:
        refusing = Refusals()
        before = counted("refusals_total", code="overloaded")
        for _ in range(3):
            await _refuse(refusing)
        assert logs == []
        refusing.summarize()
        assert [(one["event"], one["count"]) for one in logs] == [("requests_refused", 3)]
        assert counted("refusals_total", code="overloaded") == before + 3
        refusing.summarize()
        assert len(logs) == 1

    with capture_logs() as logs:
        asyncio.run(deed())


def test_many_refusals_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "REFUSALS_PER_SECOND", 0.001)
    monkeypatch.setattr(refusals, "HELD_SECONDS_MAX", 3600)

    async def deed() -> None:
        refusing = Refusals()
        async with asyncio.TaskGroup() as group:
            first, second = (group.create_task(_refuse(refusing)) for _ in range(2))
            await first
            assert refusing.held == 1
            assert not second.done()
            second.cancel()
        assert refusing.held == 0

    asyncio.run(deed())


# -- clients that hang up ---------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/signals", "/login"])
def test_a_client_that_hangs_up_in_its_body_is_not_an_error(
    databases: Databases, path: str
) -> None:
    labels = {"method": "POST", "route": path, **CLOSED}
    with (
        databases.opened("sqlite") as (db, clock),
        listening(db, clock) as server,
        capture_logs() as logs,
    ):
        key = server.door.key(server.door.tenant())
        before = counted("requests_total", **labels)
        line = server.held(key) if path == "/v1/signals" else slow_login(server)
        line.close()
        until(lambda: counted("requests_total", **labels) == before + 1)
        until(lambda: [one for one in logs if one["event"] == "request"])
    assert {one["log_level"] for one in logs} == {"info"}
    assert [one["status"] for one in logs] == ["client_closed"]


def test_a_client_that_hangs_up_while_it_is_answered_is_counted_so(databases: Databases) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold(_decided: object) -> None:
        entered.set()
        assert leave.wait(60)

    with (
        databases.opened("sqlite") as (db, clock),
        listening(db, clock) as server,
        capture_logs() as logs,
    ):
        key = server.door.key(server.door.tenant())
        server.door.server.admission.observers.append(hold)
        body = b'{"signals": [{"account_id": "a", "type": "mail"}]}'
        line = server.line()
        line.send(head("POST", "/v1/signals", f"Content-Length: {len(body)}", key=key) + body)
        assert entered.wait(60)
        line.close()
        until(lambda: counted("connections") == 0)
        leave.set()
        until(lambda: [one for one in logs if one["event"] == "request"])
    assert [(one["status"], one["log_level"]) for one in logs] == [("client_closed", "info")]


def test_a_follower_that_hangs_up_is_not_an_error(databases: Databases) -> None:
    with (
        databases.opened("sqlite") as (db, clock),
        listening(db, clock) as server,
        capture_logs() as logs,
    ):
        key = server.door.key(server.door.tenant(), "viewer")
        line = server.line()
        assert line.get("/v1/stream", key).status == 200
        line.close()
        until(lambda: server.door.server.feed.followers == 0)
        until(lambda: [one for one in logs if one["event"] == "request"])
    assert [(one["status"], one["log_level"]) for one in logs] == [(200, "info")]
