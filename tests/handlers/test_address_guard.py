"""No spelling of an inner address gets through: not in a URL, not behind a name."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path

import pytest

from tests.handlers.letters import letter
from watchkeeper.errors import Invalid
from watchkeeper.handlers import address_guard
from watchkeeper.handlers.address_guard import (
    ADDRESSES_MAX,
    URL_LENGTH_MAX,
    Refused,
    allowed,
    check_url,
    is_denied,
    is_own,
    port_of,
    resolve,
    system_resolver,
)
from watchkeeper.handlers.endpoint import Endpoint
from watchkeeper.handlers.results import Retry
from watchkeeper.handlers.secrets import make_secret
from watchkeeper.handlers.webhook import WebhookSender

PUBLIC = ["93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
NEARBY = ["127.0.0.1", "127.8.9.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "::1", "fd12::1"]
NEARBY += ["::ffff:10.0.0.1", "64:ff9b::7f00:1"]
CLOSED = {
    "link-local, where clouds keep credentials": "169.254.169.254",
    "the same, mapped": "::ffff:169.254.169.254",
    "the same, translated": "64:ff9b::a9fe:a9fe",
    "the same of another cloud": "fd00:ec2::254",
    "the same, and public by its number": "168.63.129.16",
    "this network": "0.0.0.0",
    "nowhere": "::",
    "carrier": "100.64.0.1",
    "carrier, a cloud's metadata": "100.100.100.200",
    "protocols": "192.0.0.8",
    "documentation": "192.0.2.1",
    "6to4 relay": "192.88.99.1",
    "benchmarks": "198.18.0.1",
    "documentation 2": "198.51.100.1",
    "documentation 3": "203.0.113.1",
    "multicast": "224.0.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "IPv4 in the old form": "::7f00:1",
    "IPv4 in the old form, public": "::101:101",
    "local translation": "64:ff9b:1::a9fe:a9fe",
    "discarded": "100::1",
    "Teredo": "2001::1",
    "documentation 6": "2001:db8::1",
    "6to4": "2002:7f00:1::",
    "6to4 of a cloud's metadata": "2002:a9fe:a9fe::",
    "documentation 6, later": "3fff::1",
    "link-local 6": "fe80::1",
    "link-local 6 with a zone": "fe80::1%1",
    "site-local": "fec0::1",
    "multicast 6": "ff02::1",
    "not in use": "4000::1",
    "not in use, later": "5f00::1",
    "not an address": "example.com",
    "a number": "2130706433",
    "empty": "",
}
IN_THE_TABLE = [
    *("0.0.0.1", "100.64.0.1", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "3fff::1"),
    *("198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "::7f00:1", "64:ff9b:1::1"),
    *("100::1", "2001::1", "2001:db8::1", "2002:101:101::", "fe80::1", "fec0::1", "ff02::1"),
]


@pytest.mark.req("O-22")
@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert allowed(address, private_ok=False)


@pytest.mark.req("O-22")
@pytest.mark.parametrize("address", NEARBY)
def test_nearby_addresses_are_allowed_where_that_is_said(address: str) -> None:
    assert not allowed(address, private_ok=False)
    assert allowed(address, private_ok=True)


@pytest.mark.req("O-22")
@pytest.mark.parametrize("address", CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize("private_ok", [False, True], ids=["public only", "private too"])
def test_everything_else_is_closed_whatever_is_said(address: str, private_ok: bool) -> None:
    assert not allowed(address, private_ok=private_ok)


@pytest.mark.req("O-22")
@pytest.mark.parametrize("address", IN_THE_TABLE)
def test_the_table_does_not_depend_on_the_version_of_python(address: str) -> None:
    assert is_denied(ip_address(address))


@pytest.mark.req("O-22")
def test_what_python_knows_to_be_private_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_guard, "_DENIED", [])
    assert not allowed("240.0.0.1", private_ok=True)


LITERALS = (Path(__file__).parent / "inner_hosts.txt").read_text().split()
"""Spellings of inner addresses, most of which some resolver understands, and a few broken names."""


@pytest.mark.req("O-22")
@pytest.mark.parametrize("host", LITERALS)
def test_no_spelling_of_an_inner_address_is_taken(host: str) -> None:
    with pytest.raises(Invalid, match="url: "):
        check_url(f"https://{host}/hook", allow_http=False, private_ok=False)


URLS = {
    "ftp://example.com/": "must begin with https:// or http://",
    "file:///etc/passwd": "must begin with https",
    "example.com": "must begin with https",
    "": "must begin with https",
    "http://example.com/": "not encrypted",
    "https://user:pass@example.com/": "user name",
    "https://user@example.com/": "user name",
    "https://@example.com/": "user name",
    "https://example.com@127.0.0.1/": "user name",
    "https://example.com\\@127.0.0.1/": "backslashes",
    "https://exa mple.com/": "spaces",
    "https://example.com/\r\nx: y": "control characters",
    "https://example.com/\u2028": "control characters",
    "https://example.com/#part": "fragment",
    "https://example.com/#": "fragment",
    "https:///hook": "host",
    "https://[2606:4700:4700::1111%25eth0]/": "network interface",
    "https://example.com:22/": "ports 443, 8443",
    "https://example.com:0/": "port from 1",
    "https://example.com:65536/": "port from 1",
    "https://example.com:443:443/": "not a URL",
    "https://example.com/" + "a" * URL_LENGTH_MAX: "at most",
    "https://" + "a" * 64 + ".example/": "domain name",
    "https://" + "a." * 127 + "example/": "domain name",
}


@pytest.mark.req("O-22")
@pytest.mark.parametrize(("url", "said"), URLS.items(), ids=lambda text: text[:40])
def test_a_wrong_url_is_told_what_is_wrong(url: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        check_url(url, allow_http=False, private_ok=False)


@pytest.mark.req("O-22")
@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://example.com/hook?a=@b", "example.com", 443),
        ("https://EXAMPLE.com:8443", "example.com", 8443),
        ("https://faß.example/", "xn--fa-hia.example", 443),
        ("https://xn--fa-hia.example/", "xn--fa-hia.example", 443),
        ("https://my_hooks.example.com/", "my_hooks.example.com", 443),
        ("https://1.1.1.1/", "1.1.1.1", 443),
        ("https://[2606:4700:4700::1111]/", "2606:4700:4700::1111", 443),
    ],
)
def test_a_good_url_has_its_host_in_ascii(url: str, host: str, port: int) -> None:
    found = check_url(url, allow_http=False, private_ok=False)
    assert (found.raw_host.decode(), port_of(found)) == (host, port)


@pytest.mark.req("O-22")
def test_what_may_be_allowed_is_allowed() -> None:
    check_url("http://example.com/", allow_http=True, private_ok=False)
    check_url("https://example.com:9000/", allow_http=False, private_ok=False, ports=(9000,))
    for url in ["http://localhost:8123/", "http://127.0.0.1:1/", "http://[::1]:9/", "http://db/"]:
        check_url(url, allow_http=False, private_ok=True)
    for url in ["http://169.254.169.254/", "http://0.0.0.0:1/", "http://2852039166/"]:
        with pytest.raises(Invalid):
            check_url(url, allow_http=True, private_ok=True)


@pytest.mark.req("O-22")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("tls://nats.example.com", None),
        ("tls://user:pass@nats.example.com:4222/orders.new", None),
        ("nats://nats.example.com", "not encrypted"),
        ("https://nats.example.com", "must begin with tls:// or nats://"),
        ("tls://nats.example.com:22", "ports 443, 4222"),
        ("tls://169.254.169.254", "private or reserved"),
        ("tls://nats.example.com/orders.*", "subject"),
        ("tls://nats.example.com/orders.>", "subject"),
        ("tls://nats.example.com/$JS.API.STREAM.DELETE.orders", "subject"),
        ("tls://nats.example.com/a..b", "subject"),
        ("tls://nats.example.com/a%0D%0APUB%20b", "subject"),
    ],
)
def test_urls_of_nats(url: str, said: str | None) -> None:
    if said is None:
        check_url(url, kind="nats", allow_http=False, private_ok=False)
        return
    with pytest.raises(Invalid, match=said):
        check_url(url, kind="nats", allow_http=False, private_ok=False)


def answers(*addresses: str):
    async def resolver(host: str, port: int) -> Sequence[str]:
        return addresses

    return resolver


def look_up(*addresses: str, private_ok: bool = False, own: str = "") -> list[str]:
    found = resolve(
        "hooks.example.com",
        443,
        private_ok=private_ok,
        resolver=answers(*addresses),
        is_own=lambda address: address == own,
    )
    return asyncio.run(found)


@pytest.mark.req("O-22")
def test_every_address_of_a_name_must_be_allowed() -> None:
    assert look_up("1.1.1.1", "2606:4700:4700::1111", "1.1.1.1") == [
        "1.1.1.1",
        "2606:4700:4700::1111",
    ]
    for inner in ("127.0.0.1", "::ffff:10.0.0.1", "169.254.169.254", "fe80::1%2"):
        with pytest.raises(Refused, match="private or reserved") as refused:
            look_up("1.1.1.1", inner)
        assert inner not in str(refused.value)


@pytest.mark.req("O-22")
def test_a_name_must_have_an_address_and_not_too_many() -> None:
    with pytest.raises(Refused, match="0 addresses"):
        look_up()
    with pytest.raises(Refused, match="addresses"):
        look_up(*(f"1.1.1.{n}" for n in range(ADDRESSES_MAX + 1)))


@pytest.mark.req("O-22")
def test_a_public_address_of_this_machine_is_refused() -> None:
    with pytest.raises(Refused, match="this machine"):
        look_up("1.1.1.1", own="1.1.1.1")
    assert look_up("127.0.0.1", own="127.0.0.1", private_ok=True) == ["127.0.0.1"]


@pytest.mark.req("O-22")
def test_this_machine_knows_its_addresses() -> None:
    assert is_own("127.0.0.1")
    assert not is_own("203.0.113.1")


@pytest.mark.req("O-22")
def test_a_name_that_cannot_be_resolved_is_refused() -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(Refused, match="could not be resolved"):
        asyncio.run(resolve("nowhere.example", 443, private_ok=False, resolver=resolver))


@contextlib.contextmanager
def canary() -> Iterator[tuple[int, list[object]]]:
    """A listener that nobody may reach, and who did."""
    visits: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, visitor = server.accept()
                    connection.close()
                    visits.append(visitor)

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield server.getsockname()[1], visits
        server.shutdown(socket.SHUT_RDWR)
        thread.join(60)


@pytest.mark.req("O-22")
def test_the_system_resolves_what_we_judge() -> None:
    """Its resolver reads odd spellings as inner addresses; the judgement is of what it read."""
    for host in ("127.0.0.1", "2130706433", "0x7f000001", "127.1", "0177.0.0.1", "localhost"):
        found = asyncio.run(system_resolver(host, 80))
        assert set(found) <= {"127.0.0.1", "::1"}
        with pytest.raises(Refused):
            asyncio.run(resolve(host, 80, private_ok=False))


@pytest.mark.req("O-22")
def test_a_canary_hears_nothing() -> None:
    with canary() as (port, visits):
        told = {"name": "hook", "tenant_id": "acme", "kind": "webhook", "allow_http": True}
        sender = WebhookSender(resolver=answers("127.0.0.1"))
        for host in [*LITERALS, "inner.example.com"]:
            endpoint = Endpoint(
                **told, url=f"http://{host}:{port}/", secrets=(make_secret(),), ports=(port,)
            )
            with pytest.raises(Retry, match="not sent: "):
                asyncio.run(sender.send(endpoint, letter()))
        assert visits == []
