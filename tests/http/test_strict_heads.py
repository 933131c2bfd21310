"""Heads of requests that a proxy could understand differently are refused, and the line closed."""

from collections.abc import Iterator

import pytest

from tests.databases import Databases
from tests.http.sockets import Listening, listening

pytestmark = pytest.mark.req("O-23")

HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def post(*lines: bytes, body: bytes = b"", version: bytes = b"1.1") -> bytes:
    return b"".join([b"POST /login HTTP/" + version + b"\r\nHost: x\r\n", *lines, b"\r\n", body])


REFUSED = {
    "Content-Length beside Transfer-Encoding": post(
        b"Content-Length: 5\r\n", CHUNKED, body=b"0\r\n\r\n"
    ),
    "Transfer-Encoding beside Content-Length": post(
        CHUNKED, b"Content-Length: 5\r\n", body=b"0\r\n\r\n"
    ),
    "the same Content-Length twice": post(
        b"Content-Length: 5\r\n", b"content-length: 5\r\n", body=b"hello"
    ),
    "two Content-Lengths": post(b"Content-Length: 5\r\n", b"Content-Length: 6\r\n", body=b"hello"),
    "a list of Content-Lengths": post(b"Content-Length: 5, 5\r\n", body=b"hello"),
    "a Content-Length with a sign": post(b"Content-Length: +5\r\n", body=b"hello"),
    "a Content-Length that is negative": post(b"Content-Length: -5\r\n", body=b"hello"),
    "a Content-Length in hexadecimal": post(b"Content-Length: 0x5\r\n", body=b"hello"),
    "a space before the colon": post(b"Content-Length : 5\r\n", body=b"hello"),
    "bare LF everywhere": b"GET /healthz HTTP/1.1\nHost: x\n\n",
    "bare LF after the request line": b"GET /healthz HTTP/1.1\nHost: x\r\n\r\n",
    "bare LF after a header": b"GET /healthz HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
    "bare LF at the end of the head": b"GET /healthz HTTP/1.1\r\nHost: x\r\n\n",
    "bare CR within a header": b"GET /healthz HTTP/1.1\r\nHost: x\rA: b\r\n\r\n",
    "NUL within a header": b"GET /healthz HTTP/1.1\r\nHost: x\0\r\n\r\n",
    "an empty line before the request": b"\n" + HIDDEN,
    "a header that goes on in a line": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
    "a header that goes on after a tab": b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n",
    "a folded Transfer-Encoding": post(b"Transfer-Encoding:\r\n chunked\r\n", body=b"0\r\n\r\n"),
    "Transfer-Encoding twice": post(CHUNKED, CHUNKED, body=b"0\r\n\r\n"),
    "Transfer-Encoding of two codings": post(
        b"Transfer-Encoding: gzip, chunked\r\n", body=b"0\r\n\r\n"
    ),
    "Transfer-Encoding of an unknown coding": post(b"Transfer-Encoding: xchunked\r\n"),
    "Transfer-Encoding of identity": post(b"Transfer-Encoding: identity\r\n"),
    "Transfer-Encoding in HTTP/1.0": post(CHUNKED, body=b"0\r\n\r\n", version=b"1.0"),
    "a chunk whose size ends with LF": post(CHUNKED, body=b"5\nhello\r\n0\r\n\r\n"),
    "a chunk extension with CR": post(CHUNKED, body=b"5;a\rb\r\nhello\r\n0\r\n\r\n"),
    "a chunk that is longer than it says": post(CHUNKED, body=b"2\r\nhello\r\n0\r\n\r\n"),
    "chunks that end with LF": post(CHUNKED, body=b"0\r\n\n"),
    "a chunk of negative size": post(CHUNKED, body=b"-5\r\nhello\r\n0\r\n\r\n"),
    "no Host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "two keys": post(b"Authorization: Bearer a\r\n", b"authorization: Bearer b\r\n"),
    "two Idempotency-Keys": post(b"Idempotency-Key: a\r\n", b"Idempotency-Key: b\r\n"),
    "two Content-Types": post(
        b"Content-Type: application/json\r\n", b"Content-Type: text/plain\r\n"
    ),
    "a version that there is not": b"GET /healthz HTTP/7.7\r\nHost: x\r\n\r\n",
    "no version": b"GET /healthz\r\nHost: x\r\n\r\n",
    "a request line with a tab": b"GET\t/healthz HTTP/1.1\r\nHost: x\r\n\r\n",
}
TAKEN = {
    "a plain request": HIDDEN,
    "an old version": b"GET /healthz HTTP/1.0\r\n\r\n",
    "a header without a space": b"GET /healthz HTTP/1.1\r\nHost:x\r\n\r\n",
    "a body by length": b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi",
    "a body in chunks": b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
    + CHUNKED
    + b"\r\n2\r\nhi\r\n0\r\n\r\n",
}


@pytest.fixture(scope="module")
def server(databases: Databases) -> Iterator[Listening]:
    with databases.opened("sqlite") as (db, clock), listening(db, clock) as made:
        yield made


@pytest.mark.parametrize("shape", REFUSED)
def test_an_ambiguous_request_is_refused_and_nothing_after_it_is_read(
    server: Listening, shape: str
) -> None:
    line = server.line()
    line.send(REFUSED[shape] + HIDDEN)
    answer = line.answer()
    assert (answer.status, answer.code) == (400, "malformed")
    assert answer.headers["connection"] == "close"
    assert answer.headers["content-type"] == "application/problem+json"
    assert line.is_closed(), "the request that is hidden behind it was answered"


@pytest.mark.parametrize("shape", TAKEN)
def test_a_plain_request_is_taken(server: Listening, shape: str) -> None:
    line = server.line()
    line.send(TAKEN[shape])
    assert line.answer().status == 200


def test_two_requests_in_one_piece_are_two(server: Listening) -> None:
    line = server.line()
    line.send(HIDDEN + HIDDEN)
    assert [line.answer().status for _ in range(2)] == [200, 200]


def test_garbage_after_an_answer_closes_the_line_without_another(server: Listening) -> None:
    """The answer was given before the body was read; what follows is no chunk."""
    line = server.line()
    line.send(b"POST /v1/signals HTTP/1.1\r\nHost: x\r\n" + CHUNKED + b"\r\n")
    assert line.answer().status == 401
    line.send(b"no chunk\r\n" + HIDDEN)
    assert line.is_closed()
