"""Messages to NATS JetStream: published under their id, so that a repeat is stored once.

The URL of an endpoint is `tls://[user:password@]host[:port][/subject]`, or `nats://` where
plain text is allowed; its secret, if it has one, is the token. One connection is kept open
for each server and set of credentials.

The client library reconnects to whatever addresses a server tells it. Those are not checked,
so that is switched off, and a lost connection is opened anew from here.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import httpx2

from watchkeeper.core.cloud_event import CONTENT_TYPE
from watchkeeper.errors import Invalid
from watchkeeper.handlers.address_guard import (
    Refused,
    Resolver,
    check_endpoint,
    port_of,
    resolve,
    system_resolver,
)
from watchkeeper.handlers.endpoint import Endpoint, event_of
from watchkeeper.handlers.results import Reject, Retry
from watchkeeper.store.leases import Message

if TYPE_CHECKING:
    from nats.aio.client import Client

CONNECT_SECONDS = 5
CLOSE_SECONDS = 0.5
ADDRESSES_TRIED_MAX = 3
LINES_MAX = 100
"""Servers that a process is connected to at once; the one unused for longest is let go."""

HEADERS_BYTES = 64  # what NATS writes around the values of our headers, rounded up
TOO_LARGE = 10054
"""JetStream's own code for a message that its stream will never take."""

_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)


class Server(NamedTuple):
    """Whom a connection is to, as whom, and whether it may be nearby."""

    url: str
    token: str
    private_ok: bool


class Line:
    """One connection, or the place for one. It lives on one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.lock = asyncio.Lock()
        self.client: Client | None = None

    async def hang_up(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            await _closed(client)


class NatsSender:
    """Publishes messages to JetStream, and keeps the connections for it."""

    def __init__(
        self,
        *,
        resolver: Resolver = system_resolver,
        tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
    ) -> None:
        self._resolver = resolver
        self._tls = tls
        self._lines: dict[Server, Line] = {}  # the one used last is last

    async def send(self, endpoint: Endpoint, message: Message) -> None:
        """Returns when a stream has stored the message; raises Retry or Reject otherwise."""
        id, body = event_of(message)
        try:
            async with asyncio.timeout(endpoint.timeout_seconds):
                await self._publish(endpoint, message, id, body)
        except TimeoutError:
            raise Retry(f"no answer within {endpoint.timeout_seconds:g} s") from None
        except (Refused, Invalid) as error:
            raise Retry(f"not sent: {error}") from None

    async def close(self) -> None:
        """End the connections of this event loop."""
        lines, self._lines = self._lines, {}
        for line in lines.values():
            if line.loop is asyncio.get_running_loop():
                await line.hang_up()

    async def _publish(self, endpoint: Endpoint, message: Message, id: str, body: bytes) -> None:
        url = check_endpoint(endpoint)
        subject = subject_of(url, message)
        headers = {"Nats-Msg-Id": id, "Content-Type": CONTENT_TYPE}
        client = await self._connected(endpoint, url)
        size = len(body) + sum(map(len, headers.values())) + HEADERS_BYTES
        if size > client.max_payload:  # sent, it would cost everybody the connection
            raise Reject(f"{size} bytes are more than the server takes: {client.max_payload}")
        try:
            await client.jetstream().publish(
                subject, body, timeout=endpoint.timeout_seconds, headers=headers
            )
        except Exception as error:
            raise _result_of(error, subject) from None

    async def _connected(self, endpoint: Endpoint, url: httpx2.URL) -> Client:
        server = Server(str(url.copy_with(path="/")), _token(endpoint, url), endpoint.private_ok)
        line = await self._line(server)
        async with line.lock:
            if line.client is None or not line.client.is_connected:
                await line.hang_up()
                line.client = await self._connect(endpoint, url, server.token)
            return line.client

    async def _line(self, server: Server) -> Line:
        """The line to a server, now the one used last; it makes room for a new one."""
        loop = asyncio.get_running_loop()
        line = self._lines.pop(server, None)
        if line is None or line.loop is not loop:
            line = Line(loop)
        self._lines[server] = line
        if len(self._lines) > LINES_MAX:
            oldest = self._lines.pop(next(iter(self._lines)))
            if oldest.loop is loop:
                await oldest.hang_up()
        return line

    async def _connect(self, endpoint: Endpoint, url: httpx2.URL, token: str) -> Client:
        try:
            from nats.aio.client import Client
        except ImportError:
            raise Retry("NATS needs an extra: pip install 'watchkeeper[nats]'") from None
        host, port = url.raw_host.decode("ascii"), port_of(url)
        found = await resolve(host, port, private_ok=endpoint.private_ok, resolver=self._resolver)
        tls = self._tls()
        client = Client()
        user = url.username if url.password else ""

        def shown(secret: str) -> Callable[[], str] | None:
            """For the handshake: a secret that is told only once the line is encrypted."""
            return (lambda: _sealed(secret, url, tls)) if secret else None

        try:
            await client.connect(
                [f"{url.scheme}://{_bracketed(one)}:{port}" for one in found[:ADDRESSES_TRIED_MAX]],
                error_cb=_ignore,
                allow_reconnect=False,
                dont_randomize=True,
                connect_timeout=CONNECT_SECONDS,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                tls=tls,
                tls_hostname=host,
                user=shown(user),
                password=shown(url.password),
                token=shown(token),
                name="watchkeeper",
            )
            _sealed("", url, tls)
        except BaseException as error:
            await _closed(client)
            if isinstance(error, Exception):
                raise Retry(_failure(error)) from None
            raise
        return client


async def _closed(client: Client) -> None:
    """Close a connection. After a failed handshake the library would wait for its end for ever."""
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.close()


class _Unencrypted(Exception):
    """The server did not ask for TLS although the URL does."""


def _sealed(secret: str, url: httpx2.URL, tls: ssl.SSLContext) -> str:
    """The library takes a server's word for whether to encrypt. We look whether it did."""
    if url.scheme == "tls" and not tls.session_stats()["connect_good"]:
        raise _Unencrypted
    return secret


def _token(endpoint: Endpoint, url: httpx2.URL) -> str:
    """The secret; or a user without a password, which is how a URL says it."""
    alone = "" if url.password else url.username
    return next(filter(None, endpoint.secrets), alone)


def subject_of(url: httpx2.URL, message: Message) -> str:
    """The URL's subject, or else namespace and topic, in the characters all subjects may have."""
    if named := url.path.strip("/"):
        return named
    parts = f"{message.namespace}.{message.topic}".split(".")
    return ".".join(_OTHER_CHARACTERS.sub("_", part) or "_" for part in parts)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


async def _ignore(_error: Exception) -> None:
    """Errors are answered where they are raised; the library would log them as well."""


def _failure(error: Exception) -> str:
    """Why there is no connection, in our words: the server's are not repeated."""
    match error:
        case TimeoutError():
            return f"no connection within {CONNECT_SECONDS} s"
        case _Unencrypted():
            return "not sent: the server offers no TLS, and the URL asks for it"
        case ssl.SSLCertVerificationError():
            return f"the certificate was not accepted: {error.verify_message}"
        case _ if "authorization" in str(error).lower():
            return "the server did not accept the credentials"
        case _:
            return f"no connection to the server: {type(error).__name__}"


def _result_of(error: Exception, subject: str) -> Retry | Reject:
    from nats.js.errors import APIError, NoStreamResponseError

    match error:
        case TimeoutError():
            return Retry("no acknowledgement in time")
        case APIError(err_code=code) if code == TOO_LARGE:
            return Reject("the message is larger than its stream takes")
        case NoStreamResponseError():
            return Retry(f"no stream takes the subject {subject}")
        case APIError():
            return Retry(f"JetStream answered {error.code}, error {error.err_code}")
        case _:
            return Retry(f"not acknowledged: {type(error).__name__}")
