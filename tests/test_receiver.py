"""The receiver: only what was signed with a known secret, just now, is taken for an event."""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.message import Message as HttpHeaders
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.databases import START_AT
from watchkeeper.core.cloud_event import cloud_event, event_id
from watchkeeper.core.ids import MessageId, TenantId
from watchkeeper.errors import Invalid, Unauthorized
from watchkeeper.handlers.webhook import signed
from watchkeeper.receiver import SECRETS_MAX, Received, verify

pytestmark = pytest.mark.req("S-18")


def secret(letter: str) -> str:
    return "whsec_" + base64.b64encode(letter.encode() * 32).decode()


OLD, NEW, STRANGE = map(secret, "ons")
KEY = "acme/turn-1/r-1"
EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": KEY,
    "source": "watchkeeper/acme/mini-chat/usage_snapshot",
    "type": "usage_snapshot",
    "tenantid": "acme",
    "data": {"credits_charged_micro": 1200, "note": "für später"},
}
BODY = json.dumps(EVENT, ensure_ascii=False).encode()


def headers_of(
    body: bytes = BODY, *, by: str = NEW, key: str = KEY, age_seconds: float = 0
) -> dict[str, str]:
    at = datetime.fromtimestamp(int(time.time() - age_seconds), UTC)
    return {
        "webhook-id": key,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(by).sign(key, at, body.decode()),
    }


def test_a_genuine_delivery_is_an_event_with_its_key() -> None:
    received = verify(NEW, headers_of(), BODY)
    assert received.key == KEY
    assert received.event == EVENT
    assert received.data == EVENT["data"]
    assert received.scope == EVENT["source"]


def test_a_body_that_was_decoded_already_will_do() -> None:
    assert verify(NEW, headers_of(), BODY.decode()).event == EVENT


@pytest.mark.parametrize("dedupe_key", [None, "k", "acme/t.1/r", "a key of 100 %, für später"])
def test_what_watchkeeper_sends_is_taken(dedupe_key: str | None) -> None:
    key = event_id(MessageId("m-1"), dedupe_key)
    body = cloud_event(
        id=key,
        tenant_id=TenantId("acme"),
        namespace="mini-chat",
        topic="usage_snapshot",
        created_at=START_AT,
        payload='{"n": 1}',
    ).encode()
    received = verify(OLD, signed((NEW, OLD), key, int(time.time()), body), body)
    assert received.key == received.event["id"] == key
    assert received.data == {"n": 1}


# -- headers ------------------------------------------------------------------------------------


def as_http(headers: dict[str, str]) -> HttpHeaders:
    """As `http.server` hands them over."""
    made = HttpHeaders()
    for name, value in headers.items():
        made[name.title()] = value
    return made


def in_capitals(headers: dict[str, str]) -> dict[str, str]:
    return {name.upper(): value for name, value in headers.items()}


@pytest.mark.parametrize("written", [as_http, in_capitals])
def test_headers_are_found_in_any_case(
    written: Callable[[dict[str, str]], Mapping[str, str]],
) -> None:
    assert verify(NEW, written(headers_of()), BODY).key == KEY


def test_the_key_is_the_one_that_was_signed() -> None:
    """Of a header that is there twice, not one value is checked and the other used."""
    doubled = {"Webhook-Id": "forged", **headers_of()}
    assert verify(NEW, doubled, BODY).key == KEY
    with pytest.raises(Unauthorized):
        verify(NEW, {**headers_of(), "Webhook-Id": "forged"}, BODY)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, "", "\ud800", "v1", "v1,ä", "v1,=", "nan", "inf", "1,2,3"])
def test_a_header_that_is_missing_or_odd_is_not_genuine(name: str, value: str | None) -> None:
    headers = headers_of()
    del headers[name]
    if value is not None:
        headers[name] = value
    with pytest.raises(Unauthorized):
        verify(NEW, headers, BODY)


# -- secrets ------------------------------------------------------------------------------------


def test_either_secret_will_do_while_they_change() -> None:
    for by in (OLD, NEW):
        assert verify([NEW, OLD], headers_of(by=by), BODY).key == KEY
        assert verify((OLD, NEW), headers_of(by=by), BODY).key == KEY


@pytest.mark.parametrize("secrets", [NEW, [NEW], [NEW, OLD]])
def test_another_secret_will_not(secrets: Any) -> None:
    with pytest.raises(Unauthorized, match="not genuine"):
        verify(secrets, headers_of(by=STRANGE), BODY)


@pytest.mark.parametrize(
    "secrets",
    [
        "",
        "whsec_",
        "whsec_not base64!",
        "whsec_c2hvcnQ=",
        None,
        [],
        [NEW, ""],
        [NEW] * (SECRETS_MAX + 1),
    ],
    ids=repr,
)
def test_secrets_that_are_none_are_a_mistake_of_the_receivers(secrets: Any) -> None:
    with pytest.raises(ValueError, match="secret"):
        verify(secrets, headers_of(), BODY)


# -- what was signed, and when --------------------------------------------------------------------


@pytest.mark.parametrize("body", [BODY + b" ", BODY.replace(b"1200", b"1100"), b"", b"\xff"])
def test_a_changed_body_is_not_genuine(body: bytes) -> None:
    with pytest.raises(Unauthorized):
        verify(NEW, headers_of(), body)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp"])
def test_key_and_time_are_signed_too(name: str) -> None:
    changed = {"webhook-id": "other", "webhook-timestamp": str(int(time.time()) - 5)}
    with pytest.raises(Unauthorized):
        verify(NEW, {**headers_of(), name: changed[name]}, BODY)


@pytest.mark.parametrize("age_seconds", [-280, 280])
def test_clocks_may_differ_a_little(age_seconds: float) -> None:
    assert verify(NEW, headers_of(age_seconds=age_seconds), BODY).key == KEY


@pytest.mark.parametrize("age_seconds", [-320, 320, 86_400])
def test_a_delivery_that_was_kept_is_not_genuine(age_seconds: float) -> None:
    with pytest.raises(Unauthorized, match="too"):
        verify(NEW, headers_of(age_seconds=age_seconds), BODY)


@pytest.mark.parametrize("body", [EVENT, None, bytearray(BODY), memoryview(BODY)], ids=type)
def test_a_body_that_was_read_already_is_a_mistake_of_the_receivers(body: Any) -> None:
    with pytest.raises(TypeError, match="bytes that came"):
        verify(NEW, headers_of(), body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b"null",
        json.dumps({**EVENT, "specversion": "0.3"}).encode(),
        *(json.dumps({**EVENT, name: ""}).encode() for name in ("id", "source", "type")),
        *(json.dumps({**EVENT, name: 7}).encode() for name in ("id", "source", "type")),
        json.dumps({"specversion": "1.0"}).encode(),
    ],
    ids=lambda body: body[:60].decode() or "empty",
)
def test_a_genuine_delivery_of_something_else_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid):
        verify(NEW, headers_of(body), body)


# -- telling events apart -------------------------------------------------------------------------


def test_the_fingerprint_is_that_of_the_data() -> None:
    other_order = dict(reversed(EVENT["data"].items()))
    same = [EVENT, {**EVENT, "time": "2030-01-01T00:00:00Z"}, {**EVENT, "data": other_order}]
    assert len({Received(KEY, event).fingerprint for event in same}) == 1
    other = [EVENT, {**EVENT, "data": {**EVENT["data"], "note": ""}}, {**EVENT, "data": None}]
    assert len({Received(KEY, event).fingerprint for event in other}) == 3


def test_an_event_without_data_has_a_fingerprint_too() -> None:
    event = {name: value for name, value in EVENT.items() if name != "data"}
    assert Received(KEY, event).data is None
    assert len(Received(KEY, event).fingerprint) == 64


def test_it_brings_little_with_it() -> None:
    """A receiver of webhooks loads neither the database nor the server."""
    program = """
import sys
import watchkeeper.receiver
assert not {"sqlalchemy", "fastapi", "pydantic", "httpx2", "watchkeeper.app"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
