"""Which places outside may be spoken to. Tenants name them, so none is trusted.

A URL is checked for its form when it is set, and again before each use. What counts is the
address: a name is resolved once, every address it has must be allowed, and the connection
goes to one of these. Resolving twice would let a name lead elsewhere the second time.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

import httpx2

from watchkeeper.errors import Invalid
from watchkeeper.handlers.endpoint import Endpoint, Kind

URL_LENGTH_MAX = 2_000
HOST_LENGTH_MAX = 253
PORT_MAX = 65_535
ADDRESSES_MAX = 32
"""Addresses one name may have. More of them are a mistake, or an attempt to hide one."""

SCHEMES: dict[Kind, tuple[str, str]] = {"webhook": ("https", "http"), "nats": ("tls", "nats")}
"""By kind, the scheme that is encrypted and the one that is not."""

DEFAULT_PORTS = {"https": 443, "http": 80, "tls": 4222, "nats": 4222}
PORTS = {
    "https": frozenset({443, 8443}),
    "http": frozenset({80, 8080}),
    "tls": frozenset({443, 4222}),
    "nats": frozenset({4222}),
}
"""Ports that may be named; any other public port may belong to something that is no receiver."""

_AUTHORITY_END = re.compile(r"[/?#]")
_SUBJECT = re.compile(r"/?|/[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)  # a resolver reads such a label as an address

_NAT64 = ip_network("64:ff9b::/96")
_IPV4_BITS = 0xFFFF_FFFF

_UNICAST = [ip_network("0.0.0.0/0"), ip_network("2000::/3")]
"""All that is ever given to hosts on the Internet; the rest of IPv6 is not in use."""

_PRIVATE = [
    ip_network(text)
    for text in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1/128",
        "fc00::/7",
    )
]
"""What `private_ok` opens. Everything else that is not public stays closed with it."""

_METADATA = [
    ip_network(text) for text in ("169.254.0.0/16", "168.63.129.16/32", "fd00:ec2::254/128")
]
"""Where clouds hand credentials to whoever asks from inside."""

_DENIED = [
    ip_network(text)
    for text in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/96",  # an IPv4 address in the deprecated form
        "64:ff9b:1::/48",  # translated by rules of the network in between
        "100::/64",
        "2001::/23",  # Teredo among others
        "2001:db8::/32",
        "2002::/16",  # 6to4: goes wherever the IPv4 address in it says
        "3fff::/20",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
]
"""Not public, whatever the standard library of this Python says about it."""

Network: TypeAlias = IPv4Network | IPv6Network
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]


class Refused(Exception):
    """The place may not be spoken to. The text is fit to be shown to whoever named it."""


def check_endpoint(endpoint: Endpoint) -> httpx2.URL:
    return check_url(
        endpoint.url,
        kind=endpoint.kind,
        allow_http=endpoint.allow_http,
        private_ok=endpoint.private_ok,
        ports=endpoint.ports,
    )


OPENED_BY = " (for receivers of your own network: WATCHKEEPER_WEBHOOKS_PRIVATE)"
"""The setting that opens what is refused. Link-local addresses are never opened."""


def check_url(
    url: str,
    *,
    allow_http: bool,
    private_ok: bool,
    kind: Kind = "webhook",
    ports: Collection[int] = (),
) -> httpx2.URL:
    """The URL as it will be used, its host in ASCII; raises Invalid for any that cannot be.

    `private_ok` stands for a place where everybody may be trusted with everything nearby:
    it opens plain text and all ports too.
    """
    found = _parsed(url)
    encrypted, plain = SCHEMES[kind]
    if found.scheme not in (encrypted, plain):
        raise _wrong(f"must begin with {encrypted}:// or {plain}://")
    if found.scheme == plain and not (allow_http or private_ok):
        told = f"must begin with {encrypted}://: {plain}:// is not encrypted"
        raise _wrong(told + OPENED_BY)
    if kind == "webhook" and "@" in _AUTHORITY_END.split(url.partition("://")[2], maxsplit=1)[0]:
        raise _wrong("must not contain a user name or password")
    if kind == "nats" and not _SUBJECT.fullmatch(found.path):
        raise _wrong("must end in a subject without wildcards, such as /orders.new, or in none")
    port = port_of(found)
    if not 0 < port <= PORT_MAX:
        raise _wrong(f"must have a port from 1 to {PORT_MAX}")
    if not (private_ok or port in PORTS[found.scheme] or port in ports):
        known = ", ".join(map(str, sorted({*PORTS[found.scheme], *ports})))
        raise _wrong(f"must use one of the ports {known}")
    _check_host(found.raw_host.decode("ascii"), private_ok=private_ok)
    return found


def _parsed(url: str) -> httpx2.URL:
    if len(url) > URL_LENGTH_MAX:
        raise _wrong(f"must have at most {URL_LENGTH_MAX} characters")
    if not url.isprintable() or " " in url or "\\" in url:
        raise _wrong("must not contain spaces, backslashes or control characters")
    if "#" in url:
        raise _wrong("must not have a fragment")
    try:
        return httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        raise _wrong("is not a URL") from None


def port_of(url: httpx2.URL) -> int:
    return DEFAULT_PORTS[url.scheme] if url.port is None else url.port


def _check_host(host: str, *, private_ok: bool) -> None:
    if _is_literal(host):
        if "%" in host:
            raise _wrong("must not name a network interface")
        if not allowed(host, private_ok=private_ok):
            opened_by = OPENED_BY if allowed(host, private_ok=True) else ""
            raise _wrong("must not be at a private or reserved address" + opened_by)
        return
    labels = host.split(".")
    if len(host) > HOST_LENGTH_MAX or not all(map(_LABEL.fullmatch, labels)):
        raise _wrong("must have a domain name or an IP address as its host, and no dot after it")
    if _NUMBER.fullmatch(labels[-1]):
        raise _wrong("must write an IPv4 address as four decimal numbers")
    if not private_ok and (len(labels) == 1 or labels[-1] == "localhost"):
        raise _wrong("must have a public domain name as its host" + OPENED_BY)


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _wrong(what: str) -> Invalid:
    return Invalid.at("url", what)


def allowed(address: str, *, private_ok: bool) -> bool:
    """Whether a connection to the address may be opened. What is no address is not allowed."""
    try:
        found = _unwrapped(ip_address(address))
    except ValueError:
        return False
    if _is_in(found, _METADATA):
        return False
    if _is_in(found, _PRIVATE):
        return private_ok
    return found.is_global and _is_in(found, _UNICAST) and not is_denied(found)


def is_denied(address: IPv4Address | IPv6Address) -> bool:
    return _is_in(address, _DENIED)


def _unwrapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 one stands for, where the way it is reached is certain."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & _IPV4_BITS)
    return address.ipv4_mapped or address


def _is_in(address: IPv4Address | IPv6Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


async def system_resolver(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


def is_own(address: str) -> bool:
    """Whether this machine has the address: then it would talk to itself from there.

    Connecting a datagram socket sends nothing; it only asks the system for the way.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
        except OSError:
            return False
        return bool(ip_address(probe.getsockname()[0]) == ip_address(address))


async def resolve(
    host: str,
    port: int,
    *,
    private_ok: bool,
    resolver: Resolver = system_resolver,
    is_own: Callable[[str], bool] = is_own,
) -> list[str]:
    """The addresses of a host, all of them allowed; raises Refused if a single one is not.

    The error does not say which: names inside a network are not for everybody to look up.
    """
    try:
        addresses = list(dict.fromkeys(await resolver(host, port)))
    except (OSError, UnicodeError):
        raise Refused(f"the name {host} could not be resolved") from None
    if not 0 < len(addresses) <= ADDRESSES_MAX:
        raise Refused(f"the name {host} has {len(addresses)} addresses")
    for address in addresses:
        if not allowed(address, private_ok=private_ok):
            raise Refused(f"{host} leads to a private or reserved address")
        if not private_ok and is_own(address):
            raise Refused(f"{host} leads back to this machine")
    return addresses
