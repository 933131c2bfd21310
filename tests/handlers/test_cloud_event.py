"""A message read from outside: judged by the CloudEvents SDK, and the same each time."""

import json
from datetime import UTC, datetime
from urllib.parse import unquote

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_structured_event
from hypothesis import given
from hypothesis import strategies as st

from tests.handlers.letters import ID, letter
from watchkeeper.core.cloud_event import CONTENT_TYPE, event_id
from watchkeeper.core.ids import MessageId
from watchkeeper.handlers.endpoint import event_of

ONE = MessageId(ID)


def read(body: bytes):
    return from_structured_event(HTTPMessage({"content-type": CONTENT_TYPE}, body))


@pytest.mark.req("S-18")
def test_the_sdk_reads_every_attribute() -> None:
    id, body = event_of(letter(topic="decision.evaluation_requested", namespace="watchkeeper"))
    event = read(body)
    assert (event.get_specversion(), event.get_id(), id) == ("1.0", ID, ID)
    assert event.get_source() == "watchkeeper/acme/watchkeeper/decision.evaluation_requested"
    assert event.get_type() == "decision.evaluation_requested"
    assert event.get_time() == datetime(2030, 1, 1, tzinfo=UTC)
    assert event.get_datacontenttype() == "application/json"
    assert event.get_extension("tenantid") == "acme"
    assert event.get_data() == {"credits": 12}


@pytest.mark.req("S-18")
def test_a_later_attempt_has_the_same_bytes() -> None:
    first = event_of(letter())
    assert event_of(letter(attempt=7, generation=2, due_at=9, seq=5)) == first


@pytest.mark.req("S-18")
@pytest.mark.parametrize(
    "payload",
    [
        '{"n":1.10,"big":12345678901234567890}',
        '"Zürich 東京 \U0001f680"',
        '{ "a" : [ ] }\n',
        "null",
    ],
)
def test_the_payload_stands_in_the_body_as_it_was_written(payload: str) -> None:
    _, body = event_of(letter(payload=payload))
    assert body.endswith(b'"data":' + payload.encode() + b"}")
    assert read(body).get_data() == json.loads(payload)


@pytest.mark.req("S-18")
def test_equal_keys_of_two_tenants_or_topics_are_two_events() -> None:
    letters = [
        letter(dedupe_key="one"),
        letter(dedupe_key="one", tenant_id="b"),
        letter(dedupe_key="one", topic="t/u"),
        letter(dedupe_key="one", namespace="mini-chat/t", topic="u"),
    ]
    named = {(e.get_source(), e.get_id()) for e in (read(event_of(one)[1]) for one in letters)}
    assert len(named) == 4


@pytest.mark.req("S-18")
@pytest.mark.parametrize(
    ("key", "id"),
    [
        ("acme/turn-1/req_2", "acme/turn-1/req_2"),
        ("a:b@c=1", "a:b@c=1"),
        ("v1.2", "v1%2E2"),
        ("100%", "100%25"),
        ("two words", "two%20words"),
        ("a\r\nx-evil: 1", "a%0D%0Ax-evil:%201"),
        ("ü", "%C3%BC"),
        ("", ID),
        (None, ID),
    ],
)
def test_the_id_is_the_dedupe_key_as_far_as_a_header_and_a_signature_allow(key, id) -> None:
    assert event_id(ONE, key) == id


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_keys_have_different_ids(one: str, other: str) -> None:
    ids = [event_id(ONE, key) for key in (one, other)]
    assert (ids[0] == ids[1]) == (one == other)
    assert unquote(ids[0]) == one
    assert ids[0].isascii()
    assert ids[0].isprintable()
    assert not {" ", "."} & set(ids[0])
