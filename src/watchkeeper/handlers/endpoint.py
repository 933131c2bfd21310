"""Where a message leaves to: one receiver outside, as its sender needs to know it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from watchkeeper.core import cloud_event as events
from watchkeeper.core.ids import TenantId
from watchkeeper.store.leases import Message

Kind: TypeAlias = Literal["webhook", "nats"]

TIMEOUT_SECONDS = 15.0
"""How long one attempt may take in all, unless the endpoint says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One receiver. Its secrets are never shown, also not by `repr`."""

    name: str
    tenant_id: TenantId
    kind: Kind
    url: str = field(repr=False)  # it may carry a password
    secrets: tuple[str, ...] = field(default=(), repr=False)  # newest first
    private_ok: bool = False  # loopback and private networks too, on any port, also unencrypted
    allow_http: bool = False  # unencrypted traffic to public addresses
    ports: tuple[int, ...] = ()  # besides the usual ones
    timeout_seconds: float = TIMEOUT_SECONDS


class Sender(Protocol):
    """Takes one message to an endpoint: returns when it has arrived, else raises a result."""

    async def send(self, endpoint: Endpoint, message: Message) -> None: ...

    async def close(self) -> None: ...


def event_of(message: Message) -> tuple[str, bytes]:
    """The id and the body that every delivery of the message has."""
    id = events.event_id(message.id, message.dedupe_key)
    text = events.cloud_event(
        id=id,
        tenant_id=message.tenant_id,
        namespace=message.namespace,
        topic=message.topic,
        created_at=message.created_at,
        payload=message.payload,
    )
    return id, text.encode()
