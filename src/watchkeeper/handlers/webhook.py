"""Messages as webhooks: one signed POST per attempt, to an address that was checked.

Signed as Standard Webhooks has it. Every attempt opens a connection of its own: nothing of
one endpoint, no cookie, no address and no open connection, is ever there for another.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import hmac
import ssl
import time
from collections.abc import Callable, Mapping, Sequence

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
from watchkeeper.handlers.results import Reject, Retry, retry_after
from watchkeeper.handlers.secrets import key_of
from watchkeeper.store.leases import Message

USER_AGENT = "watchkeeper"
CONNECT_SECONDS = 5.0
"""For one address, so that a silent one leaves time for the next."""

ADDRESSES_TRIED_MAX = 3
ANSWER_BYTES_MAX = 64 * 1024

REJECTIONS = frozenset({400, 410, 422})
"""The receiver understood and will never take it. Every other failure may pass."""

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody


class WebhookSender:
    """Sends messages to webhook endpoints. Has no state but its settings."""

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        *,
        resolver: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._clock = clock
        self._resolver = resolver
        self._tls_given = tls

    @functools.cached_property
    def _tls(self) -> ssl.SSLContext:
        """Reading the certificates of the system takes a while, and plain HTTP needs none."""
        return httpx2.create_ssl_context() if self._tls_given is None else self._tls_given

    async def send(self, endpoint: Endpoint, message: Message) -> None:
        """Returns when the receiver has answered 2xx; raises Retry or Reject otherwise.

        The deadline is for all of it, from the name to the answer: a receiver cannot hold
        an attempt by sending a byte now and then.
        """
        id, body = event_of(message)
        deadline = asyncio.get_running_loop().time() + endpoint.timeout_seconds
        try:
            headers = signed(endpoint.secrets, id, int(self._clock()), body)
            async with asyncio.timeout_at(deadline):
                answer, transport = await self._post(endpoint, headers, body)
        except TimeoutError:
            raise Retry(f"no answer within {endpoint.timeout_seconds:g} s") from None
        except (Refused, Invalid) as error:
            raise Retry(f"not sent: {error}") from None
        except httpx2.HTTPError as error:
            raise Retry(_failure(error)) from None
        try:
            size = await _drain(answer, deadline)
        finally:
            await transport.aclose()
        judge(answer.status_code, size, answer.headers, self._clock())

    async def close(self) -> None:
        """There is nothing to close."""

    async def _post(
        self, endpoint: Endpoint, headers: Mapping[str, str], body: bytes
    ) -> tuple[httpx2.Response, httpx2.AsyncHTTPTransport]:
        """The answer up to its body, from the first address that can be connected to."""
        url = check_endpoint(endpoint)
        host = url.raw_host.decode("ascii")
        addresses = await resolve(
            host, port_of(url), private_ok=endpoint.private_ok, resolver=self._resolver
        )
        sent = {"host": url.netloc.decode("ascii"), **headers}
        *others, last = addresses[:ADDRESSES_TRIED_MAX]
        for address in others:
            with contextlib.suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                return await self._post_to(url.copy_with(host=address), host, sent, body)
        return await self._post_to(url.copy_with(host=last), host, sent, body)

    async def _post_to(
        self, url: httpx2.URL, name: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[httpx2.Response, httpx2.AsyncHTTPTransport]:
        """A transport, not a client: it follows nothing, keeps nothing, and reads no environment.

        The URL has the address, so nothing is resolved again; the certificate is checked
        for the name.
        """
        timeouts = {"connect": CONNECT_SECONDS, "read": None, "write": None, "pool": None}
        extensions = {"sni_hostname": name, "timeout": timeouts}
        request = httpx2.Request("POST", url, headers=headers, content=body, extensions=extensions)
        tls = self._tls if url.scheme == "https" else _NO_TLS
        transport = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)
        try:
            return await transport.handle_async_request(request), transport
        except BaseException:
            await transport.aclose()
            raise


def signed(secrets: Sequence[str], id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers of one attempt. Each secret signs, so that a receiver may know either."""
    if not secrets:
        raise Invalid.at("secret", "is missing: nothing is sent unsigned")
    content = f"{id}.{timestamp}.".encode() + body
    digests = [hmac.digest(key_of(secret), content, "sha256") for secret in secrets]
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(d).decode()}" for d in digests),
        "content-type": CONTENT_TYPE,
        "user-agent": USER_AGENT,
        "accept-encoding": "identity",
        "connection": "close",
    }


async def _drain(answer: httpx2.Response, deadline: float) -> int:
    """Read the answer's body, so that its sender can finish, and forget it; its size, if small.

    The status has decided already: whatever happens here changes nothing.
    """
    size = 0
    with contextlib.suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout_at(deadline):
            async for chunk in answer.aiter_raw():
                size += len(chunk)
                if size >= ANSWER_BYTES_MAX:
                    break
    return size


def judge(status: int, size: int, headers: Mapping[str, str], now: float) -> None:
    """Returns for a delivery. An error tells status and size, never what the receiver wrote."""
    if 200 <= status < 300:
        return
    more = " or more" if size >= ANSWER_BYTES_MAX else ""
    said = f"answered {status} with {size} bytes{more}"
    if status in REJECTIONS:
        raise Reject(said)
    if 300 <= status < 400:
        said += "; redirects are not followed"
    raise Retry(said, after=retry_after(headers.get("retry-after"), now))


def _failure(error: httpx2.HTTPError) -> str:
    """What went wrong, in our words: an error's own may tell addresses."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate was not accepted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return "the TLS handshake failed"
        cause = cause.__cause__ or cause.__context__
    match error:
        case httpx2.ConnectTimeout():
            return f"no connection within {CONNECT_SECONDS:g} s"
        case httpx2.ConnectError():
            return "the connection was refused"
        case _:
            return f"the connection broke: {type(error).__name__}"
