"""JetStream, a real one: stored once however often it is sent, and every failure may pass."""

import asyncio
import json
import socket
import ssl
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import StreamConfig

from tests.handlers.letters import ID, letter
from tests.nats_server import NatsServer, running
from watchkeeper.handlers import nats as sending
from watchkeeper.handlers.endpoint import Endpoint
from watchkeeper.handlers.nats import NatsSender, subject_of
from watchkeeper.handlers.results import Reject, Retry

PEM = Path(__file__).parent / "receiver.test.pem"


def endpoint(url: str, **changes: Any) -> Endpoint:
    told = {"name": "events", "tenant_id": "acme", "kind": "nats", "url": url, "private_ok": True}
    return Endpoint(**{**told, "timeout_seconds": 30.0, **changes})


@asynccontextmanager
async def sender(**settings: Any) -> AsyncIterator[NatsSender]:
    made = NatsSender(**settings)
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def stream(url: str, *subjects: str, **config: Any) -> AsyncIterator[JetStreamContext]:
    """A new stream for the subjects; the name is theirs."""
    client = await nats.connect(url)
    jetstream = client.jetstream()
    name = subjects[0].replace(".", "_")
    await jetstream.add_stream(StreamConfig(name=name, subjects=list(subjects), **config))
    try:
        yield jetstream
    finally:
        await jetstream.delete_stream(name)
        await client.close()


async def stored(jetstream: JetStreamContext, subject: str) -> list[Any]:
    name = subject.replace(".", "_")
    count = (await jetstream.stream_info(name)).state.messages
    return [await jetstream.get_msg(name, seq) for seq in range(1, count + 1)]


def a_subject() -> str:
    return f"test.{uuid4().hex}"


async def fails(made: NatsSender, to: Endpoint, **changes: Any) -> Retry:
    with pytest.raises(Retry) as failed:
        await made.send(to, letter(**changes))
    return failed.value


@pytest.mark.req("S-18")
def test_a_message_that_is_sent_twice_is_stored_once(nats_server: NatsServer) -> None:
    async def play() -> None:
        subject = a_subject()
        to = endpoint(f"{nats_server.url}/{subject}")
        async with stream(nats_server.url, subject) as jetstream, sender() as made:
            await made.send(to, letter())
            await made.send(to, letter(attempt=2, generation=1))
            await made.send(to, letter(dedupe_key="acme/turn/req"))
            first, second = await stored(jetstream, subject)
        assert first.headers["Nats-Msg-Id"] == ID == json.loads(first.data)["id"]
        assert first.headers["Content-Type"] == "application/cloudevents+json"
        assert json.loads(first.data)["data"] == {"credits": 12}
        assert second.headers["Nats-Msg-Id"] == "acme/turn/req"

    asyncio.run(play())


@pytest.mark.req("S-18")
def test_a_header_cannot_be_forged_by_a_key(nats_server: NatsServer) -> None:
    async def play() -> None:
        subject = a_subject()
        async with stream(nats_server.url, subject) as jetstream, sender() as made:
            await made.send(
                endpoint(f"{nats_server.url}/{subject}"), letter(dedupe_key="a\r\nEvil: 1")
            )
            [one] = await stored(jetstream, subject)
        assert one.headers["Nats-Msg-Id"] == "a%0D%0AEvil:%201"
        assert "Evil" not in one.headers

    asyncio.run(play())


@pytest.mark.req("S-18")
@pytest.mark.parametrize(
    ("path", "topic", "subject"),
    [
        ("", "usage_snapshot", "mini-chat.usage_snapshot"),
        ("/", "decision.retry", "mini-chat.decision.retry"),
        ("/my.subject", "decision.retry", "my.subject"),
        ("", "a b.*.>", "mini-chat.a_b._._"),
        ("", "a..b\r\nPUB x", "mini-chat.a._.b__PUB_x"),
    ],
)
def test_the_subject_is_the_urls_or_namespace_and_topic(
    path: str, topic: str, subject: str
) -> None:
    from httpx2 import URL

    assert subject_of(URL("tls://h.example" + path), letter(topic=topic)) == subject


@pytest.mark.req("S-18")
def test_without_a_stream_it_waits(nats_server: NatsServer) -> None:
    async def play() -> None:
        subject = a_subject()
        to = endpoint(f"{nats_server.url}/{subject}")
        async with sender() as made:
            assert f"no stream takes the subject {subject}" in str(await fails(made, to))
            async with stream(nats_server.url, subject) as jetstream:
                await made.send(to, letter())
                assert len(await stored(jetstream, subject)) == 1

    asyncio.run(play())


@pytest.mark.req("S-18")
def test_one_connection_serves_all_subjects_of_a_server(nats_server: NatsServer) -> None:
    asked: list[str] = []

    async def resolver(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async def play() -> None:
        subject = a_subject()
        url = f"nats://nats.test:{nats_server.port}"
        async with (
            stream(nats_server.url, subject, f"{subject}.more") as jetstream,
            sender(resolver=resolver) as made,
        ):
            sends = [
                made.send(endpoint(f"{url}/{subject}{more}"), letter(dedupe_key=f"{more}{n}"))
                for n in range(20)
                for more in ("", ".more")
            ]
            await asyncio.gather(*sends)
            assert len(await stored(jetstream, subject)) == 40

    asyncio.run(play())
    assert asked == ["nats.test"]


@pytest.mark.req("O-22")
def test_an_open_connection_is_only_for_those_who_may_have_it(nats_server: NatsServer) -> None:
    async def play() -> None:
        subject = a_subject()
        url = f"nats://localhost.example:{nats_server.port}/{subject}"
        public = {"private_ok": False, "allow_http": True, "ports": (nats_server.port,)}

        async def resolver(host: str, port: int) -> Sequence[str]:
            return ["127.0.0.1"]

        async with stream(nats_server.url, subject), sender(resolver=resolver) as made:
            await made.send(endpoint(url), letter())
            failed = await fails(made, endpoint(url, **public))
            assert "leads to a private or reserved address" in str(failed)
            assert "not encrypted" in str(await fails(made, endpoint(url, private_ok=False)))

    asyncio.run(play())


@pytest.mark.req("S-18")
def test_a_server_that_is_down_is_found_again(tmp_path: Path) -> None:
    async def play(server: NatsServer) -> None:
        subject = a_subject()
        to = endpoint(f"{server.url}/{subject}", timeout_seconds=20.0)
        client = await nats.connect(server.url)
        await client.jetstream().add_stream(StreamConfig(name="kept", subjects=[subject]))
        await client.close()
        async with sender() as made:
            await made.send(to, letter())
            server.stop()
            hasty = endpoint(to.url, timeout_seconds=1.0)  # nobody is there to answer
            await fails(made, hasty, dedupe_key="two")
            assert "no connection to the server" in str(await fails(made, to, dedupe_key="two"))
            server.start()
            await made.send(to, letter(dedupe_key="two"))
            await made.send(to, letter())
        client = await nats.connect(server.url)
        info = await client.jetstream().stream_info("kept")
        await client.close()
        assert info.state.messages == 2

    with running(tmp_path) as server:
        asyncio.run(play(server))


@pytest.mark.req("S-18")
def test_a_connection_is_not_used_on_another_event_loop(nats_server: NatsServer) -> None:
    to = endpoint(f"{nats_server.url}/{a_subject()}")
    made = NatsSender()
    with asyncio.Runner() as one, asyncio.Runner() as other:
        assert "no stream" in str(one.run(fails(made, to)))
        [first] = made._lines.values()
        assert "no stream" in str(other.run(fails(made, to)))
        assert first not in made._lines.values()
        other.run(made.close())
        one.run(first.hang_up())


@pytest.mark.req("S-18")
def test_what_is_too_large_is_rejected_and_costs_nobody_the_connection(tmp_path: Path) -> None:
    async def play(server: NatsServer) -> None:
        subject = a_subject()
        to = endpoint(f"{server.url}/{subject}")
        async with stream(server.url, subject) as jetstream, sender() as made:
            await made.send(to, letter())
            before = made._lines
            small = 4096 - len(event_body(""))
            for size in (small - 64, small, 5000):
                with pytest.raises(Reject, match="more than the server takes: 4096"):
                    await made.send(to, letter(payload=json.dumps("x" * size)))
            await made.send(to, letter(dedupe_key="next"))
            assert made._lines == before
            assert len(await stored(jetstream, subject)) == 2

    config = tmp_path / "server.conf"
    config.write_text("max_payload: 4096\n")
    with running(tmp_path, "-c", str(config)) as server:
        asyncio.run(play(server))


def event_body(text: str) -> bytes:
    from watchkeeper.handlers.endpoint import event_of

    return event_of(letter(payload=json.dumps(text)))[1]


@pytest.mark.req("S-18")
def test_what_a_stream_will_never_take_is_rejected(nats_server: NatsServer) -> None:
    async def play() -> None:
        subject = a_subject()
        to = endpoint(f"{nats_server.url}/{subject}")
        async with stream(nats_server.url, subject, max_msg_size=512), sender() as made:
            await made.send(to, letter())
            with pytest.raises(Reject, match="larger than its stream takes"):
                await made.send(to, letter(dedupe_key="b", payload=json.dumps("x" * 600)))

    asyncio.run(play())


@pytest.mark.req("S-18")
def test_what_a_stream_does_not_take_now_may_pass(nats_server: NatsServer) -> None:
    async def play() -> None:
        subject = a_subject()
        to = endpoint(f"{nats_server.url}/{subject}")
        full = {"max_msgs": 1, "discard": "new"}
        async with stream(nats_server.url, subject, **full), sender() as made:
            await made.send(to, letter())
            assert "JetStream answered" in str(await fails(made, to, dedupe_key="b"))

    asyncio.run(play())


@pytest.mark.req("S-18")
@pytest.mark.parametrize("answer", [b"{}", b"not json"], ids=["no stream in it", "no JSON"])
def test_an_answer_of_something_else_is_no_delivery(nats_server: NatsServer, answer) -> None:
    async def play() -> None:
        subject = a_subject()
        client = await nats.connect(nats_server.url)

        async def reply(message: Any) -> None:
            await message.respond(answer)

        await client.subscribe(subject, cb=reply)
        await client.flush()
        async with sender() as made:
            assert "not acknowledged" in str(
                await fails(made, endpoint(f"{nats_server.url}/{subject}"))
            )
        await client.close()

    asyncio.run(play())


@pytest.mark.req("S-18", "O-23")
@pytest.mark.parametrize("how", ["secret", "user"])
def test_the_secret_is_the_token(tmp_path: Path, how: str) -> None:
    async def play(server: NatsServer) -> None:
        host = f"127.0.0.1:{server.port}/x"
        right = {
            "secret": endpoint(f"nats://{host}", secrets=("s3cret-token", "older")),
            "user": endpoint(f"nats://s3cret-token@{host}", secrets=("",)),
        }[how]
        wrong = endpoint(f"nats://{host}", secrets=("wr0ng",))
        async with sender() as made:
            failed = str(await fails(made, wrong))
            assert failed == "the server did not accept the credentials"
            assert "no stream" in str(await fails(made, right))

    with running(tmp_path, "--auth", "s3cret-token") as server:
        asyncio.run(play(server))


@pytest.mark.req("S-18")
def test_a_user_and_a_password_may_be_in_the_url(tmp_path: Path) -> None:
    async def play(server: NatsServer) -> None:
        host = f"127.0.0.1:{server.port}/x"
        async with sender() as made:
            assert "no stream" in str(await fails(made, endpoint(f"nats://me:p%40ss@{host}")))
            assert "credentials" in str(await fails(made, endpoint(f"nats://me:pass@{host}")))

    with running(tmp_path, "--user", "me", "--pass", "p@ss") as server:
        asyncio.run(play(server))


@pytest.mark.req("O-22")
def test_tls_is_to_the_name_and_never_left_out(tmp_path: Path) -> None:
    def trusting() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(PEM))

    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async def play(port: int, name: str) -> str:
        async with sender(resolver=resolver, tls=trusting) as made:
            return str(await fails(made, endpoint(f"tls://u:p@{name}:{port}/x")))

    with running(tmp_path, "--tls", "--tlscert", str(PEM), "--tlskey", str(PEM)) as server:
        assert "no stream" in asyncio.run(play(server.port, "receiver.test"))
        assert "certificate was not accepted" in asyncio.run(play(server.port, "other.test"))


class Listener(threading.Thread):
    """Says one line to whoever comes, and keeps what it hears."""

    def __init__(self, line: bytes) -> None:
        super().__init__(daemon=True)
        self.line, self.heard = line, b""
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def run(self) -> None:
        connection, _ = self.server.accept()
        with self.server, connection:
            connection.settimeout(10)
            connection.sendall(self.line)
            while heard := connection.recv(4096):
                self.heard += heard


@pytest.mark.req("O-22", "O-23")
def test_a_secret_is_not_told_in_plain_text_where_tls_was_asked_for() -> None:
    listener = Listener(b'INFO {"max_payload":1048576,"headers":true,"auth_required":true}\r\n')
    listener.start()

    async def play() -> str:
        async with sender() as made:
            url = f"tls://127.0.0.1:{listener.port}/x"
            return str(await fails(made, endpoint(url, secrets=("s3cret-token",))))

    assert "offers no TLS" in asyncio.run(play())
    listener.join(60)
    assert b"s3cret" not in listener.heard


@pytest.mark.req("O-22")
def test_tls_that_is_not_offered_is_missed_without_credentials_too(
    nats_server: NatsServer,
) -> None:
    async def play() -> str:
        async with sender() as made:
            return str(await fails(made, endpoint(f"tls://127.0.0.1:{nats_server.port}/x")))

    assert "offers no TLS" in asyncio.run(play())


@pytest.mark.req("O-22")
def test_addresses_that_a_server_tells_are_never_gone_to() -> None:
    other = Listener(b"")
    other.start()
    told = json.dumps({"max_payload": 1, "connect_urls": [f"127.0.0.1:{other.port}"]})
    listener = Listener(f"INFO {told}\r\nPONG\r\n-ERR 'Stale Connection'\r\n".encode())
    listener.start()

    async def play() -> None:
        async with sender() as made:
            for _ in range(2):
                with pytest.raises((Retry, Reject)):
                    await made.send(endpoint(f"nats://127.0.0.1:{listener.port}/x"), letter())

    asyncio.run(play())
    assert other.is_alive()
    socket.create_connection(("127.0.0.1", other.port)).close()
    other.join(60)
    listener.join(60)


@pytest.mark.req("S-18")
def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener(b"")
    listener.start()

    async def play() -> str:
        async with sender() as made:
            url = f"nats://127.0.0.1:{listener.port}/x"
            return str(await fails(made, endpoint(url, timeout_seconds=0.2)))

    assert asyncio.run(play()) == "no answer within 0.2 s"
    listener.join(60)


@pytest.mark.req("S-18")
def test_a_server_that_is_gone_is_not_hammered(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[object] = []
    connect = asyncio.open_connection

    async def counted(*arguments: Any, **more: Any) -> Any:
        tries.append(arguments)
        return await connect(*arguments, **more)

    monkeypatch.setattr(asyncio, "open_connection", counted)
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]

    async def play() -> None:
        async with sender() as made:
            await fails(made, endpoint(f"nats://127.0.0.1:{port}/x"))

    asyncio.run(play())
    assert 1 <= len(tries) <= 2


@pytest.mark.req("S-18")
def test_the_number_of_connections_has_a_limit(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "LINES_MAX", 2)

    async def play() -> None:
        async with sender() as made:
            clients = []
            for token in ("a", "b", "a", "c"):
                await fails(made, endpoint(f"{nats_server.url}/x", secrets=(token,)))
                clients.append(list(made._lines.values())[-1].client)
            a, b, again, c = clients
            assert a is again
            assert [one.is_connected for one in (a, b, c)] == [True, False, True]

    asyncio.run(play())


@pytest.mark.req("S-18")
def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nats.aio.client", None)

    async def play() -> str:
        async with sender() as made:
            return str(await fails(made, endpoint("nats://127.0.0.1:4222/x")))

    assert "pip install 'watchkeeper[nats]'" in asyncio.run(play())
