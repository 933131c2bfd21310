"""What holds for every request: bounds, headers, ids, and that nothing inside leaks out."""

import asyncio
import json
import sqlite3
import threading
import time
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tests.databases import Databases
from tests.http.door import ADMIN_KEY, Door, opened, problem_of
from watchkeeper.errors import Closed, CommitUnknown
from watchkeeper.http.body import DEPTH_MAX, depth_of, read_json
from watchkeeper.http.edge import SECURITY
from watchkeeper.http.problems import Refused

JSON = {"content-type": "application/json"}
LIMIT = 2048


def ask(door: Door, path: str, chunks: list[bytes | float], **headers: str) -> tuple[int, dict]:
    """A POST whose body comes in pieces; a number is a pause that never ends by itself."""
    told = {"authorization": f"Bearer {ADMIN_KEY}", "content-type": "application/json", **headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(k.lower().encode(), v.encode()) for k, v in told.items()],
    }
    sent: list[dict[str, Any]] = []
    waiting = list(chunks)
    taken = []

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        piece = waiting.pop(0)
        if isinstance(piece, float):
            await asyncio.Event().wait()
        taken.append(piece)
        return {"type": "http.request", "body": piece, "more_body": bool(waiting)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(door.app(scope, receive, send))
    body = b"".join(m.get("body", b"") for m in sent[1:])
    return sent[0]["status"], {"taken": len(taken), **json.loads(body)}


@pytest.fixture
def small(databases: Databases):
    flags = {"body_bytes_max": LIMIT, "batch_bytes_max": 2 * LIMIT, "body_seconds_max": 60}
    with databases.opened("sqlite") as (db, clock), opened(db, clock, **flags) as door:
        yield door


@pytest.fixture
def hasty(databases: Databases):
    with databases.opened("sqlite") as (db, clock), opened(db, clock, body_seconds_max=0.2) as door:
        yield door


# -- bodies -----------------------------------------------------------------------------


@pytest.mark.req("U-10")
def test_a_body_over_the_limit_is_refused_by_one_byte(small: Door) -> None:
    room = LIMIT - len('{"tenant_id":""}')
    for length, status in ((room, 422), (room + 1, 413)):
        body = json.dumps({"tenant_id": "x" * length}, separators=(",", ":"))
        response = small.admin.post("/v1/tenants", content=body, headers=JSON)
        problem_of(response, status)
    batch = json.dumps({"signals": [], "tenant_id": "x" * (LIMIT + 100)})
    problem_of(small.admin.post("/v1/signals", content=batch, headers=JSON), 422)


@pytest.mark.req("U-10")
def test_the_limit_counts_what_comes_not_what_was_announced(small: Door) -> None:
    pieces = [b"x" * 500] * 20
    for headers in ({}, {"content-length": "10"}, {"transfer-encoding": "chunked"}):
        status, answer = ask(small, "/v1/tenants", pieces, **headers)
        assert (status, answer["code"]) == (413, "body_too_large")
        assert answer["taken"] == 5  # and no more is read
    status, answer = ask(small, "/v1/tenants", pieces, **{"content-length": "9" * 30})
    assert (status, answer["taken"]) == (413, 0)


@pytest.mark.req("U-10")
def test_a_body_that_does_not_come_is_not_waited_for(hasty: Door) -> None:
    status, answer = ask(hasty, "/v1/tenants", [b'{"tenant_id"', 1.0])
    assert (status, answer["code"]) == (408, "too_slow")


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", "x"])
def test_an_encoded_body_is_refused(door_sqlite: Door, encoding: str) -> None:
    headers = {**JSON, "content-encoding": encoding}
    response = door_sqlite.admin.post("/v1/tenants", content=b"\x1f\x8b", headers=headers)
    problem_of(response, 415, "content_encoding")


@pytest.mark.parametrize(
    "media", ["text/plain", "application/xml", "", "application/json; charset=latin-1"]
)
def test_a_body_says_what_it_is(door_sqlite: Door, media: str) -> None:
    response = door_sqlite.admin.post(
        "/v1/tenants", content=b'{"tenant_id":"x"}', headers={"content-type": media}
    )
    problem_of(response, 415, "media_type")


def test_headers_have_a_bound(door_sqlite: Door) -> None:
    problem_of(door_sqlite.admin.get("/v1/tenants", headers={"x-much": "x" * 17_000}), 431)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed"),
        (b"{", "malformed"),
        (b"{}x", "malformed"),
        (b"{'a':1}", "malformed"),
        (b'{"a":01}', "malformed"),
        (b'{"a":"\x01"}', "malformed"),
        (b'{"a":"\x00"}', "malformed"),
        (b'\xff{"a":1}', "not_utf8"),
        (b'{"a":"\xed\xa0\x80"}', "not_utf8"),
        (b"\xef\xbb\xbf{}", "malformed"),
        ('{"a":1}'.encode("utf-16"), "not_utf8"),
        (b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1), "too_deep"),
        (b"[" * 1_000, "too_deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too_deep"),
    ],
)
@pytest.mark.req("U-10")
def test_what_is_not_json_is_refused_before_it_is_read(body: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        read_json(body)
    assert (refused.value.status, refused.value.code) == (400, code)


def test_depth_is_counted_without_parsing() -> None:
    assert depth_of(b"[" * DEPTH_MAX + b"]" * DEPTH_MAX) == DEPTH_MAX
    assert depth_of(b'{"a":"[[[[","b":["\\"[",{}]}') == 3
    assert depth_of(b"1") == 0
    hostile = b'"' + b'\\"' * 2_000_000  # a string that never ends, full of quotes
    started = time.monotonic()
    assert depth_of(hostile) == 0
    assert depth_of(b'["' + b"\\") == 1
    assert time.monotonic() - started < 60, "hours, where each quote is looked for from the start"


def test_malformed_bodies_are_problems_over_http(door_sqlite: Door) -> None:
    for body in (b"{", b"\xff", b"[" * 70 + b"]" * 70):
        problem_of(door_sqlite.admin.post("/v1/tenants", content=body, headers=JSON), 400)
    assert door_sqlite.rows("tenants") == []


# -- answers ----------------------------------------------------------------------------


@pytest.mark.req("O-23")
def test_every_answer_has_the_same_headers(door_sqlite: Door) -> None:
    anonymous = door_sqlite.with_key(None)
    answers = [
        door_sqlite.admin.get("/v1/tenants"),
        anonymous.get("/v1/tenants"),
        anonymous.get("/nowhere"),
        anonymous.delete("/v1/tenants"),
        anonymous.get("/healthz"),
        anonymous.get("/readyz"),
        anonymous.get("/metrics"),
        anonymous.get("/openapi.json"),
        door_sqlite.admin.post("/v1/tenants", content=b"{", headers=JSON),
        door_sqlite.admin.get("/v1/tenants", headers={"x-much": "x" * 17_000}),
    ]
    for answer in answers:
        for name, value in SECURITY.items():
            assert answer.headers[name] == value
    assert len({answer.headers["x-request-id"] for answer in answers}) == len(answers)


def test_a_request_id_is_ours(door_sqlite: Door) -> None:
    given = door_sqlite.admin.get("/v1/tenants", headers={"x-request-id": "forged\tid"})
    assert "forged" not in given.headers["x-request-id"]


@pytest.mark.req("D-19", "O-23")
def test_what_breaks_inside_is_told_to_nobody(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = door.client(door.tenant(), "ingest")
    before = door.stored()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("canary: /etc/inside.py password=canary")

    monkeypatch.setattr("watchkeeper.moves.admission.decide", broken)
    response = client.post("/v1/triggers", json={"events": [door.event()]})
    body = problem_of(response, 500, "internal")
    assert "canary" not in response.text
    assert "ZeroDivision" not in response.text
    assert body["request_id"]
    assert door.stored() == before


@pytest.mark.req("D-19")
def test_an_outage_says_try_again(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    client = door.client(door.tenant(), "ingest")

    def lost(*_: object) -> None:
        raise CommitUnknown("the connection was lost while committing")

    monkeypatch.setattr(door.server.admission, "admit", lost)
    response = client.post("/v1/triggers", json={"events": [door.event()]})
    problem_of(response, 503, "outcome_unknown")
    assert response.headers["retry-after"] == "1"


def test_a_database_that_cannot_be_reached_is_not_ready(databases: Databases) -> None:
    with databases.fresh("sqlite") as place:
        db = place.open()
        from tests.databases import Clock

        with opened(db, Clock(place)) as door:
            assert door.admin.get("/readyz").status_code == 200
            door.place.execute("drop table clock")
            problem_of(door.admin.get("/readyz"), 503, "not_ready")
            assert door.admin.get("/healthz").json() == {"status": "ok"}
            assert door.admin.get("/metrics").status_code == 200
        db.close()


def test_not_ready_is_described(door_sqlite: Door) -> None:
    described = door_sqlite.with_key(None).get("/openapi.json").json()
    refused = described["paths"]["/readyz"]["get"]["responses"]["503"]["content"]
    assert set(refused) == {"application/problem+json"}
    name = refused["application/problem+json"]["schema"]["$ref"].rpartition("/")[2]
    assert name in described["components"]["schemas"]


def test_many_that_ask_at_once_share_one_look_at_the_database(door_sqlite: Door) -> None:
    looks: list[int] = []

    async def look() -> bool:
        looks.append(1)
        await asyncio.sleep(0)
        return True

    async def deed() -> None:
        shared = door_sqlite.server.readiness
        assert await asyncio.gather(*(shared.share(look) for _ in range(100))) == [True] * 100
        assert len(looks) == 1
        assert await shared.share(look)
        assert len(looks) == 2

    asyncio.run(deed())


@pytest.mark.req("O-14")
def test_readiness_fails_first_when_stopping(door_sqlite: Door) -> None:
    door_sqlite.server.stopping.set()
    problem_of(door_sqlite.admin.get("/readyz"), 503, "not_ready")
    assert door_sqlite.admin.get("/healthz").status_code == 200
    assert door_sqlite.admin.get("/v1/tenants").status_code == 200


@pytest.mark.req("O-12")
def test_more_requests_than_fit_are_told_to_come_back(databases: Databases) -> None:
    with databases.opened("sqlite") as (db, clock), opened(db, clock, requests_max=1) as door:
        client = door.client(door.tenant(), "ingest")
        entered, leave = threading.Event(), threading.Event()

        def hold(_decided: object) -> None:
            entered.set()
            assert leave.wait(60)

        door.server.admission.observers.append(hold)
        body = {"events": [door.event()]}
        answers: list[int] = []
        thread = threading.Thread(
            target=lambda: answers.append(client.post("/v1/triggers", json=body).status_code)
        )
        thread.start()
        try:
            assert entered.wait(60)
            full = door.admin.get("/v1/tenants")
            problem_of(full, 429, "overloaded")
            assert full.headers["retry-after"] == "1"
            assert door.admin.get("/healthz").status_code == 200
            assert door.admin.get("/readyz").status_code == 200
        finally:
            leave.set()
            thread.join(60)
        assert answers == [200]
        assert door.admin.get("/v1/tenants").status_code == 200


@pytest.mark.req("O-30")
def test_metrics_name_no_tenant_and_no_account(door: Door) -> None:
    """Words that no other test has: metrics are of the process."""
    client = door.client(door.tenant("magpie-tenant"))
    client.post("/v1/triggers", json={"events": [door.event(account_id="magpie-account")]})
    client.get("/v1/accounts/magpie-account")
    client.request("MAGPIE", "/v1/magpie-path")
    text = door.with_key(None).get("/metrics").text
    assert "magpie" not in text.lower()
    assert 'watchkeeper_verdicts_total{reason="",result="ALLOW"}' in text
    assert (
        'watchkeeper_outbox_messages{status="pending",topic="decision.evaluation_requested"} 1.0'
        in text
    )
    assert 'route="/v1/accounts/{account_id:path}"' in text


def test_metrics_move_to_a_port_of_their_own(databases: Databases) -> None:
    with databases.opened("sqlite") as (db, clock), opened(db, clock, metrics_port=9) as door:
        problem_of(door.admin.get("/metrics"), 404)


@pytest.mark.req("O-12")
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (sqlite3.OperationalError("database is locked"), 503, "busy"),
        (sqlite3.OperationalError("database or disk is full"), 503, "unavailable"),
        (sqlite3.OperationalError("no such table: x"), 500, "internal"),
        (psycopg.OperationalError("the server went away"), 503, "unavailable"),
        (psycopg.errors.QueryCanceled("statement timeout"), 504, "timed_out"),
        (psycopg.errors.LockNotAvailable("lock timeout"), 503, "busy"),
        (psycopg.errors.InFailedSqlTransaction("25P02"), 503, "busy"),
        (psycopg.errors.SerializationFailure("40001"), 503, "busy"),
        (psycopg.errors.TooManyConnections("53300"), 503, "unavailable"),
        (psycopg.errors.UndefinedTable("a bug"), 500, "internal"),
        (psycopg.errors.InvalidTextRepresentation("a bug"), 500, "internal"),
        (PoolTimeout("no connection is free"), 503, "busy"),
        (Closed(), 503, "closed"),
        (ValueError("a bug"), 500, "internal"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_an_outage_is_told_from_a_bug(
    door_sqlite: Door,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    code: str,
) -> None:
    client = door_sqlite.client(door_sqlite.tenant(), "viewer")

    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr("watchkeeper.http.accounts.list_accounts", broken)
    response = client.get("/v1/accounts")
    problem_of(response, status, code)
    assert ("retry-after" in response.headers) == (status == 503)
    assert str(error) not in response.text or isinstance(error, Closed)
