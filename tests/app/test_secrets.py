"""Secrets of sinks are encrypted in the database, and still sign."""

import base64
import json
from collections.abc import Iterator

import pytest
from standardwebhooks import Webhook

from tests.databases import Clock, Place
from tests.messages import letter, put
from tests.misbehaving import receiving
from watchkeeper import App
from watchkeeper.errors import Conflict, Invalid, Unavailable
from watchkeeper.store.keyring import Keyring, parse_keys

pytestmark = pytest.mark.req("S-18", "O-22")
OLD, NEW = ("wksk_" + base64.urlsafe_b64encode(bytes([n]) * 32).decode() for n in (1, 2))


@pytest.fixture
def app(db_url: str) -> Iterator[App]:
    app = App(db_url, migrate=False, webhooks_private=True, secrets_key=OLD)
    yield app
    app.close()


def stored(place: Place) -> list[str]:
    rows = place.execute("select secret, old_secret from sinks order by name")
    return [text for row in rows for text in row if text is not None]


def order(app: App) -> str:
    return put(app.db, letter("acme", topic="orders.placed")._replace(payload='{"n": 1}'))[0]


def test_what_is_stored_is_not_the_secret_and_messages_are_signed_with_it(
    app: App, place: Place, clock: Clock
) -> None:
    clock.make_real()
    with receiving() as receiver:
        done = app.sink("orders", topic="orders.placed", url=receiver.url)
        assert done.secret is not None
        [text] = stored(place)
        assert text.startswith("enc1:")
        assert done.secret.removeprefix("whsec_") not in text
        order(app)
        assert app.drain()["delivered"] == 1
        [request] = receiver.requests
    Webhook(done.secret).verify(request.body, dict(request.headers))
    assert json.loads(request.body)["data"] == {"n": 1}


def test_a_replaced_secret_signs_beside_the_new_one_and_is_encrypted_too(
    app: App, place: Place, clock: Clock
) -> None:
    clock.make_real()
    with receiving() as receiver:
        first = app.sink("orders", topic="orders.placed", url=receiver.url).secret
        second = "whsec_" + "A" * 43 + "="
        app.sink("orders", topic="orders.placed", url=receiver.url, secret=second)
        assert [text[:5] for text in stored(place)] == ["enc1:", "enc1:"]
        order(app)
        app.drain()
        [request] = receiver.requests
    for secret in (first, second):
        assert secret is not None
        Webhook(secret).verify(request.body, dict(request.headers))


def test_keys_are_changed_without_a_gap(app: App, place: Place, clock: Clock) -> None:
    clock.make_real()
    with receiving() as receiver:
        done = app.sink("orders", topic="orders.placed", url=receiver.url)
        before = stored(place)
        app.db.keyring = parse_keys(f"{NEW},{OLD}")
        assert app.rotate_secrets().changed == 1
        assert app.rotate_secrets().changed == 0
        assert stored(place) != before
        app.db.keyring = parse_keys(NEW)
        app.db.sinks.forget()
        order(app)
        assert app.drain()["delivered"] == 1
        Webhook(done.secret or "").verify(
            receiver.requests[0].body, dict(receiver.requests[0].headers)
        )


def test_plain_secrets_of_before_are_encrypted_by_a_rotation(app: App, place: Place) -> None:
    app.db.keyring = Keyring()
    secret = app.sink("orders", topic="orders.placed", url="https://example.com/").secret
    assert stored(place) == [secret]
    with pytest.raises(Invalid, match="WATCHKEEPER_SECRETS_KEY"):
        app.rotate_secrets()
    app.db.keyring = parse_keys(NEW)
    assert app.rotate_secrets().changed == 1
    [text] = stored(place)
    assert secret not in text


def test_messages_wait_while_the_key_is_missing_and_a_new_secret_sends_them(
    app: App, place: Place, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.make_real()
    with receiving() as receiver:
        app.sink("orders", topic="orders.placed", url=receiver.url)
        app.db.keyring = parse_keys(NEW)
        order(app)
        assert app.drain()["parked"] == 1
        order(app)
        assert app.drain()["parked"] == 1
        [warned] = [line for line in caplog.messages if line.startswith("messages to sink orders")]
        assert "needs key" in warned
        assert receiver.requests == []
        [(error, attempts)] = set(place.execute("select last_error, attempts from outbox"))
        assert "is not in WATCHKEEPER_SECRETS_KEY" in error
        assert attempts == 0
        assert len(app.rotate_secrets().unreadable) == 1
        done = app.sink(
            "orders", topic="orders.placed", url=receiver.url, secret="whsec_" + "B" * 43 + "="
        )
        assert done.sink.old_secret is None, "a secret that is lost does not sign"
        assert app.drain()["delivered"] == 2, "what waited for a secret is due at once"


@pytest.mark.parametrize("keys", [None, NEW], ids=["without-a-key", "with-another-key"])
def test_a_secret_that_cannot_be_decrypted_is_not_replaced_unasked(
    app: App, place: Place, keys: str | None
) -> None:
    app.sink("orders", topic="orders.placed", url="https://example.com/")
    [key_id] = app.db.keyring.key_ids
    before = place.execute("select * from sinks")
    app.db.keyring = parse_keys(keys)
    with pytest.raises(Conflict, match=rf"needs key {key_id}.*Give a secret, or set WATCHKEEPER"):
        app.sink("orders", topic="orders.placed", url="https://example.com/new")
    assert place.execute("select * from sinks") == before


def test_no_secret_is_stored_in_plain_text_beside_encrypted_ones(app: App, place: Place) -> None:
    app.sink("orders", topic="orders.placed", url="https://example.com/", tenant_id="acme")
    [key_id] = app.db.keyring.key_ids
    before = place.execute("select * from sinks")
    app.db.keyring = Keyring()
    given = "whsec_" + "A" * 43 + "="
    with pytest.raises(Conflict, match=f"WATCHKEEPER_SECRETS_KEY is not set.*{key_id}"):
        app.sink("bills", topic="bill.sent", url="https://example.com/", secret=given)
    with pytest.raises(Conflict, match="WATCHKEEPER_SECRETS_KEY is not set"):
        app.sink(
            "orders",
            topic="orders.placed",
            url="https://example.com/",
            tenant_id="acme",
            secret=given,
        )
    assert place.execute("select * from sinks") == before
    app.sink("n", topic="t", kind="nats", url="tls://example.com:4222/s")


def test_a_secret_that_was_copied_to_another_sink_is_refused(app: App, place: Place) -> None:
    for name in ("a", "b"):
        app.sink(name, topic=f"topic.{name}", url="https://example.com/")
    place.execute("update sinks set secret = (select secret from sinks where name = 'a')")
    app.db.keyring = parse_keys(f"{NEW},{OLD}")
    done = app.rotate_secrets()
    assert (done.changed, len(done.unreadable)) == (1, 1)
    assert "was changed in the database" in done.unreadable[0]


@pytest.mark.parametrize(
    "text", ["short", "A" * 43, "wksk_" + "!" * 44, NEW[5:], f"{NEW},x", ",".join([NEW] * 11)]
)
def test_a_wrong_key_is_refused_and_not_repeated(db_url: str, text: str) -> None:
    with pytest.raises(Invalid, match="secrets_key") as refused:
        App(db_url, migrate=False, secrets_key=text)
    assert text not in str(refused.value)


def test_a_given_secret_cannot_look_like_an_encrypted_one(app: App) -> None:
    with pytest.raises(Invalid, match="enc1"):
        app.sink("n", topic="t", kind="nats", url="tls://example.com:4222/s", secret="enc1:x:y")


def test_every_changed_byte_is_noticed() -> None:
    keyring = parse_keys(OLD)
    text = keyring.seal("whsec_secret", "sink a of acme")
    assert keyring.open(text, "sink a of acme") == "whsec_secret"
    with pytest.raises(Unavailable):
        keyring.open(text, "sink b of acme")
    head, _, encoded = text.rpartition(":")
    sealed = base64.b64decode(encoded)
    for at in range(len(sealed)):
        wrong = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(Unavailable):
            keyring.open(f"{head}:{base64.b64encode(wrong).decode()}", "sink a of acme")
    with pytest.raises(Unavailable, match="is not in WATCHKEEPER_SECRETS_KEY"):
        keyring.open(text.replace(head, "enc1:00000000"), "sink a of acme")
