"""Connections: none is silent for ever, and however many there are, health is answered."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.databases import Databases
from tests.http.sockets import head, listening, until
from watchkeeper.http import connections, refusals
from watchkeeper.http.connections import CONNECTIONS_MIN, FILES_KEPT, Connections
from watchkeeper.http.refusals import Refusals
from watchkeeper.settings import load_settings
from watchkeeper.telemetry import REGISTRY

pytestmark = pytest.mark.req("O-12")

PART = b"GET /healthz HTTP/1.1\r\nHost"


def refused() -> float:
    name = "watchkeeper_http_refusals_total"
    return REGISTRY.get_sample_value(name, {"code": "tenant_overloaded"}) or 0.0


def unread() -> float:
    name = "watchkeeper_http_connections_closed_total"
    return REGISTRY.get_sample_value(name, {"reason": "unread"}) or 0.0


def test_a_silent_connection_is_closed(databases: Databases) -> None:
    flags = {"head_seconds_max": 0.2, "idle_seconds_max": 600}
    with databases.opened("sqlite") as (db, clock), listening(db, clock, **flags) as server:
        for part in (b"", PART):
            line = server.line()
            line.send(part)
            assert line.is_closed()
        line = server.line()
        assert line.get("/healthz").status == 200
        line.send(PART)
        assert line.is_closed(), "after a request, too"


def test_an_idle_connection_is_closed(databases: Databases) -> None:
    flags = {"head_seconds_max": 600, "idle_seconds_max": 0.2}
    with databases.opened("sqlite") as (db, clock), listening(db, clock, **flags) as server:
        line = server.line()
        assert line.get("/healthz").status == 200
        assert line.is_closed()


def test_a_body_that_nobody_reads_does_not_keep_a_connection(databases: Databases) -> None:
    """The answer was given; the rest of the body may drip, but not for ever."""
    flags = {"head_seconds_max": 0.2, "idle_seconds_max": 600}
    with databases.opened("sqlite") as (db, clock), listening(db, clock, **flags) as server:
        line = server.line()
        line.send(head("POST", "/v1/signals", "Content-Length: 5000"))
        assert line.answer().status == 401
        line.send(b"x")
        assert line.is_closed()


def test_a_request_under_way_is_not_silence(databases: Databases) -> None:
    flags = {"head_seconds_max": 0.2, "idle_seconds_max": 0.2}
    with databases.opened("sqlite") as (db, clock), listening(db, clock, **flags) as server:
        key = server.door.key(server.door.tenant())
        held, silent = server.held(key), server.line()
        assert silent.is_closed()
        assert server.line().is_closed()
        held.send(b"{}")
        assert held.answer().status == 422


def test_the_one_that_waits_longest_makes_room(databases: Databases) -> None:
    with (
        databases.opened("sqlite") as (db, clock),
        listening(db, clock, connections_max=3) as server,
        capture_logs() as logs,
    ):
        key = server.door.key(server.door.tenant())
        held = server.held(key)
        first, second = server.line(), server.line()
        assert second.get("/healthz").status == 200
        assert server.line().get("/v1/decisions", key).status == 200
        assert first.is_closed()
        assert second.get("/healthz").status == 200
        held.send(b"{}")
        assert held.answer().status == 422
        until(lambda: [one for one in logs if one["event"] == "connections_closed"])
    [told] = [one for one in logs if one["event"] == "connections_closed"]
    assert (told["reason"], told["count"], told["most"]) == ("full", 1, 3)


def test_where_all_are_busy_health_is_answered_and_nothing_else(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SPARE_MAX", 2)
    with (
        databases.opened("sqlite") as (db, clock),
        listening(db, clock, connections_max=2) as server,
    ):
        key = server.door.key(server.door.tenant())
        held = [server.held(key), server.held(server.door.key(None))]
        spare = server.line()
        assert spare.get("/healthz").status == 200
        assert spare.get("/readyz").status == 200
        refused = spare.get("/v1/decisions", key)
        assert (refused.status, refused.code) == (429, "overloaded")
        assert spare.is_closed()
        held[0].send(b"{}")
        assert held[0].answer().status == 422
        assert server.line().get("/v1/decisions", key).status == 200


def test_a_tenant_that_floods_connections_makes_room_for_another(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections whose requests wait to be refused go first."""
    monkeypatch.setattr(refusals, "REFUSALS_PER_SECOND", 0.001)
    monkeypatch.setattr(refusals, "HELD_SECONDS_MAX", 3600)
    made = Refusals.__init__

    def crowded(self: Refusals) -> None:
        made(self)
        self.held = 1

    monkeypatch.setattr(Refusals, "__init__", crowded)
    flags = {"connections_max": 4, "requests_max": 2}
    with databases.opened("sqlite") as (db, clock), listening(db, clock, **flags) as server:
        acme, birch = (server.door.key(server.door.tenant(name)) for name in ("acme", "birch"))
        server.held(acme)
        before = refused()
        for _ in range(3):
            server.line().send(head("GET", "/v1/decisions", key=acme))
        until(lambda: refused() == before + 3)
        assert server.line().get("/v1/decisions", birch).status == 200


def test_a_client_that_does_not_read_is_let_go(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS_MAX", 0.2)
    with databases.opened("sqlite") as (db, clock), listening(db, clock) as server:
        before = unread()
        server.line(receive_bytes=4096).send(200 * head("GET", "/openapi.json"))
        until(lambda: unread() == before + 1)
        assert server.line().get("/healthz").status == 200


@pytest.mark.parametrize(
    ("files", "wanted", "most"),
    [
        (1024, 500, 500),
        (256, 1024, 256 - FILES_KEPT - 16),
        (64, 1024, CONNECTIONS_MIN),
        (1_000_000, 4096, 4096),
    ],
)
def test_there_are_never_more_than_the_process_may_open(files: int, wanted: int, most: int) -> None:
    settings = load_settings({"connections_max": wanted, "pool_size": 16}, environ={})
    assert Connections(settings, files=files).most == most


class Silent:
    """A client of which nothing comes but parts of a head."""

    is_spare = False
    unread_since: float | None = None
    is_cut = False

    def cut(self) -> None:
        self.is_cut = True


def test_a_head_that_drips_has_no_more_time_than_another() -> None:
    now = 0.0
    flags: dict[str, Any] = {"head_seconds_max": 10}
    watched = Connections(load_settings(flags, environ={}), clock=lambda: now, files=1024)
    dripping = Silent()
    watched.opened(dripping)
    for second in range(1, 10):
        now = float(second)
        watched.waits(dripping, is_idle=False)
        watched.sweep()
        assert not dripping.is_cut
    now = 10.0
    watched.waits(dripping, is_idle=False)
    watched.sweep()
    assert dripping.is_cut
    assert len(watched) == 0
