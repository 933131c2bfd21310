"""Webhooks against a real server that misbehaves, judged by the reference library."""

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from email.utils import formatdate
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from tests.handlers.letters import ID, letter
from tests.misbehaving import Answer, Receiver, receiving
from watchkeeper.handlers.endpoint import Endpoint
from watchkeeper.handlers.results import Reject, Retry
from watchkeeper.handlers.secrets import make_secret
from watchkeeper.handlers.webhook import ANSWER_BYTES_MAX, WebhookSender, retry_after

SECRET, OLD = make_secret(), make_secret()
PEM = Path(__file__).parent / "receiver.test.pem"
SHORT_SECONDS = 0.3


def send(endpoint: Endpoint, sender: WebhookSender | None = None, **changes: object) -> None:
    asyncio.run((sender or WebhookSender()).send(endpoint, letter(**changes)))


def hook(receiver: Receiver, **changes: object) -> Endpoint:
    return receiver.endpoint(**{"secrets": (SECRET,), **changes})


def fails(receiver: Receiver, *answers: Answer, **changes: object) -> Retry:
    receiver.will(*answers)
    with pytest.raises(Retry) as failed:
        send(hook(receiver, **changes))
    return failed.value


def resolver_of(*rounds: Sequence[str]) -> tuple[Callable, list[str]]:
    """Answers one round after the other; and what it was asked for."""
    left, asked = list(rounds), []

    async def resolver(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return left.pop(0)

    return resolver, asked


@pytest.mark.req("S-18")
def test_a_message_arrives_as_a_signed_event(receiver: Receiver) -> None:
    send(hook(receiver))
    [got] = receiver.requests
    assert (got.method, got.path) == ("POST", "/hook")
    assert got.headers["content-type"] == "application/cloudevents+json"
    assert got.headers["webhook-id"] == ID == json.loads(got.body)["id"]
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert got.headers["user-agent"] == "watchkeeper"
    assert Webhook(SECRET).verify(got.body, dict(got.headers))["data"] == {"credits": 12}


@pytest.mark.req("S-18")
def test_the_signature_is_of_the_bytes_that_were_sent(receiver: Receiver) -> None:
    payload = '{"where": "Zürich 東京 \U0001f680",  "n": 1.10}'
    send(hook(receiver), payload=payload, topic="größe")
    [got] = receiver.requests
    assert payload.encode() in got.body
    Webhook(SECRET).verify(got.body, dict(got.headers))
    for headers, body in [
        ({**got.headers, "webhook-id": "other"}, got.body),
        ({**got.headers, "webhook-timestamp": str(int(time.time()) - 60)}, got.body),
        (dict(got.headers), got.body + b" "),
    ]:
        with pytest.raises(WebhookVerificationError):
            Webhook(SECRET).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(got.body, dict(got.headers))


@pytest.mark.req("S-18")
def test_while_a_secret_is_changed_both_of_them_verify(receiver: Receiver) -> None:
    send(hook(receiver, secrets=(SECRET, OLD)))
    [got] = receiver.requests
    newest, oldest = got.headers["webhook-signature"].split(" ")
    assert newest != oldest
    for secret in (SECRET, OLD):
        Webhook(secret).verify(got.body, dict(got.headers))
    only = {**got.headers, "webhook-signature": newest}
    Webhook(SECRET).verify(got.body, only)


@pytest.mark.req("S-18")
@pytest.mark.parametrize("key", ["acme/turn/req", "v1.2.3", "ü\r\nx: y", "50 %"])
def test_the_dedupe_key_is_the_id_and_any_key_verifies(receiver: Receiver, key: str) -> None:
    send(hook(receiver), dedupe_key=key)
    send(hook(receiver), dedupe_key=key, attempt=2, generation=1)
    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"] != ID
    assert "." not in first.headers["webhook-id"]
    assert first.body == second.body
    assert "x" not in first.headers
    for got in receiver.requests:
        Webhook(SECRET).verify(got.body, dict(got.headers))


@pytest.mark.req("S-18")
def test_the_timestamp_is_of_the_attempt(receiver: Receiver) -> None:
    moments = iter([1_893_456_000.9, 1_893_456_000.9, 1_893_456_060.2, 1_893_456_060.2])
    sender = WebhookSender(clock=lambda: next(moments))
    send(hook(receiver), sender)
    send(hook(receiver), sender, attempt=2)
    stamps = [got.headers["webhook-timestamp"] for got in receiver.requests]
    assert stamps == ["1893456000", "1893456060"]


@pytest.mark.req("O-22")
@pytest.mark.parametrize("secrets", [(), ("hunter2",), (SECRET, "hunter2")], ids=len)
def test_nothing_is_sent_unsigned(receiver: Receiver, secrets: tuple[str, ...]) -> None:
    failed = fails(receiver, secrets=secrets)
    assert "secret" in str(failed)
    assert "hunter2" not in str(failed)
    assert receiver.connections == 0


@pytest.mark.req("S-18")
@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_delivery(receiver: Receiver, status: int) -> None:
    receiver.will(Answer(status, body=b""))
    send(hook(receiver))


@pytest.mark.req("S-18")
@pytest.mark.parametrize("status", [400, 410, 422])
def test_a_receiver_may_reject(receiver: Receiver, status: int) -> None:
    receiver.will(Answer(status, body=b"no"))
    with pytest.raises(Reject, match=f"answered {status} with 2 bytes"):
        send(hook(receiver))


@pytest.mark.req("S-18")
@pytest.mark.parametrize(
    "status", [304, 401, 402, 403, 404, 405, 408, 409, 413, 415, 418, 429, 500, 502, 503, 504, 599]
)
def test_every_other_failure_may_pass(receiver: Receiver, status: int) -> None:
    assert f"answered {status}" in str(fails(receiver, Answer(status)))


@pytest.mark.req("O-22")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(receiver: Receiver, status: int) -> None:
    with receiving() as other:
        failed = fails(receiver, Answer(status, {"location": other.url}))
        assert "redirects are not followed" in str(failed)
        assert other.connections == 0


@pytest.mark.req("O-23")
def test_the_answer_is_never_repeated(receiver: Receiver) -> None:
    answer = Answer(500, {"x-note": "inner-token"}, b"inner-token 10.0.0.7")
    failed = fails(receiver, answer)
    assert str(failed) == "answered 500 with 20 bytes"
    receiver.will(Answer(400, body=b"inner-token"))
    with pytest.raises(Reject) as rejected:
        send(hook(receiver))
    assert "inner" not in str(rejected.value)


@pytest.mark.req("S-14", "S-18")
@pytest.mark.parametrize("status", [429, 503, 404])
def test_retry_after_is_passed_on(receiver: Receiver, status: int) -> None:
    assert fails(receiver, Answer(status, {"retry-after": "120"})).after == 120


@pytest.mark.req("S-14")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("30", 30),
        (" 30 ", 30),
        (formatdate(1_000_090, usegmt=True), 90),
        ("Mon, 12 Jan 1970 13:48:10 GMT", 90),
        ("Mon, 12 Jan 1970 13:48:10", 90),
        (formatdate(999_000, usegmt=True), None),
        ("-5", None),
        ("1e9", None),
        ("٣٠", None),
        ("1" * 30, 111_111_111_111),
        ("0" * 20 + "7", 7),
        ("9" * 5000, 999_999_999_999),
        ("soon", None),
        ("", None),
        ("Mon, 99 Jan 99999 13:48:10 GMT", None),
        ("nan", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_or_nothing(text: str | None, seconds: object) -> None:
    assert retry_after(text, 1_000_000.0) == seconds


@pytest.mark.req("O-22")
@pytest.mark.parametrize("fault", ["hang", "drip head"])
def test_the_deadline_is_for_the_whole_attempt(receiver: Receiver, fault: str) -> None:
    """It hangs, or drips, for as long as somebody listens."""
    failed = fails(receiver, Answer(fault=fault), timeout_seconds=SHORT_SECONDS)
    assert str(failed) == "no answer within 0.3 s"


@pytest.mark.req("O-22")
def test_the_deadline_is_for_the_name_too(receiver: Receiver) -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(Retry, match="no answer within"):
        send(hook(receiver, timeout_seconds=0.05), WebhookSender(resolver=resolver))


@pytest.mark.req("O-22")
@pytest.mark.parametrize("status", [200, 500])
def test_the_status_decides_however_slow_the_body(receiver: Receiver, status: int) -> None:
    """The body never ends, so each attempt takes all of its time; a busy machine needs more."""
    receiver.will(Answer(status, fault="drip body"))
    for seconds in (SHORT_SECONDS, 3.0, 30.0):
        said = "taken"
        try:
            send(hook(receiver, timeout_seconds=seconds))
        except Retry as error:
            said = str(error)
        if not said.startswith("no answer within"):
            break
    assert said.startswith("taken" if status == 200 else "answered 500")


@pytest.mark.req("O-22")
def test_no_more_of_an_answer_is_read_than_needed(receiver: Receiver) -> None:
    failed = fails(receiver, Answer(503, fault="endless body"), timeout_seconds=30)
    assert "or more" in str(failed)
    size = int(str(failed).split(" with ")[1].split()[0])
    assert ANSWER_BYTES_MAX <= size < 2 * ANSWER_BYTES_MAX + 1
    receiver.will(Answer(200, fault="endless body"))
    send(hook(receiver, timeout_seconds=30))


@pytest.mark.req("S-18")
def test_a_late_answer_within_the_deadline_is_an_answer(receiver: Receiver) -> None:
    receiver.will(Answer(delay_seconds=0.1))
    send(hook(receiver))


@pytest.mark.req("S-18")
@pytest.mark.parametrize("fault", ["reset", "garbage"])
def test_a_broken_connection_may_pass(receiver: Receiver, fault: str) -> None:
    assert "the connection broke" in str(fails(receiver, Answer(fault=fault)))


@pytest.mark.req("S-18")
def test_nobody_there_may_pass() -> None:
    with receiving() as gone:
        endpoint = hook(gone)
    with pytest.raises(Retry) as failed:
        send(endpoint)
    assert str(failed.value) == "the connection was refused"


@pytest.mark.req("O-22")
def test_a_name_is_resolved_once_and_its_checked_address_used(receiver: Receiver) -> None:
    resolver, asked = resolver_of(["127.0.0.1"], ["169.254.169.254"])
    url = f"http://receiver.test:{receiver.port}/hook"
    send(hook(receiver, url=url), WebhookSender(resolver=resolver))
    [got] = receiver.requests
    assert got.headers["host"] == f"receiver.test:{receiver.port}"
    assert asked == ["receiver.test"]


@pytest.mark.req("O-22")
def test_a_name_that_turns_inwards_is_refused_at_delivery(receiver: Receiver) -> None:
    resolver, _ = resolver_of(["127.0.0.1"], ["1.1.1.1", "127.0.0.1"])
    sender = WebhookSender(resolver=resolver)
    told = {"private_ok": False, "allow_http": True, "ports": (receiver.port,)}
    endpoint = hook(receiver, url=f"http://receiver.test:{receiver.port}/", **told)
    for _ in range(2):
        with pytest.raises(Retry, match=r"not sent: receiver\.test leads to a private"):
            send(endpoint, sender)
    assert receiver.connections == 0


@pytest.mark.req("O-22")
def test_the_url_is_checked_again_at_delivery(receiver: Receiver) -> None:
    with pytest.raises(Retry, match="not encrypted"):
        send(hook(receiver, private_ok=False))
    assert receiver.connections == 0


@pytest.mark.req("S-18")
def test_the_next_address_is_tried_when_one_cannot_be_reached(receiver: Receiver) -> None:
    resolver, _ = resolver_of(["::1", "127.0.0.1"])
    url = f"http://receiver.test:{receiver.port}/hook"
    send(hook(receiver, url=url), WebhookSender(resolver=resolver))
    assert len(receiver.requests) == 1


@pytest.mark.req("O-22")
def test_the_environment_and_earlier_answers_have_no_say(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        receiver.will(Answer(200, {"set-cookie": "a=b"}))
        sender = WebhookSender()
        send(hook(receiver), sender)
        send(hook(receiver), sender)
        assert proxy.connections == 0
    assert receiver.connections == 2
    assert all("cookie" not in got.headers for got in receiver.requests)


@pytest.mark.req("O-23")
def test_an_endpoint_does_not_show_its_secrets() -> None:
    shown = repr(
        Endpoint(name="n", tenant_id="t", kind="nats", url="nats://u:pw@h", secrets=("s3",))
    )
    assert "pw" not in shown
    assert "s3" not in shown


@pytest.fixture
def secure() -> Iterator[Receiver]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    with receiving(context) as found:
        yield found


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(PEM))


def named(name: str, receiver: Receiver) -> Endpoint:
    return hook(receiver, url=f"https://{name}:{receiver.port}/hook")


@pytest.mark.req("O-22")
def test_the_certificate_is_of_the_name_and_the_connection_to_the_address(secure: Receiver) -> None:
    resolver, _ = resolver_of(["127.0.0.1"])
    send(named("receiver.test", secure), WebhookSender(resolver=resolver, tls=trusting()))
    assert secure.names == ["receiver.test"]
    assert len(secure.requests) == 1


@pytest.mark.req("O-22")
@pytest.mark.parametrize(
    ("name", "tls"),
    [("other.test", trusting), ("receiver.test", lambda: None)],
    ids=["of another name", "of nobody we trust"],
)
def test_a_wrong_certificate_is_not_accepted(secure: Receiver, name: str, tls: Callable) -> None:
    resolver, _ = resolver_of(["127.0.0.1"])
    with pytest.raises(Retry, match="the certificate was not accepted"):
        send(named(name, secure), WebhookSender(resolver=resolver, tls=tls()))
    assert secure.requests == []
