"""What a route may ask for: who is calling, for which tenant, and where the state is."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Protocol

from anyio import CapacityLimiter
from fastapi import Depends, Request

from watchkeeper.actions.admit import Admission
from watchkeeper.actions.answer_once import Once
from watchkeeper.actions.follow_ledger import Feed
from watchkeeper.actions.locate_tenant import Thing, locate_tenant
from watchkeeper.actions.plans import Plans
from watchkeeper.actions.population import Populations
from watchkeeper.actions.travel import Travels
from watchkeeper.actions.turns import Turns
from watchkeeper.actions.views import tenant_exists
from watchkeeper.core.ids import TenantId
from watchkeeper.errors import Invalid, NotFound
from watchkeeper.handlers.registry import Registry
from watchkeeper.http.access import Caller
from watchkeeper.http.failed_logins import FailedLogins
from watchkeeper.http.glances import Glances
from watchkeeper.http.keys import Keyring
from watchkeeper.http.session import Sessions
from watchkeeper.http.shared import Shared
from watchkeeper.http.views import rendered
from watchkeeper.inputs import parse_tenant_id
from watchkeeper.plan_methods import Proposer
from watchkeeper.settings import Settings
from watchkeeper.store.database import Database

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Workers(Protocol):
    """Who works beside the server, as far as a route has to do with it."""

    registry: Registry

    def drain(self) -> Counter[str]:
        """Deliver everything that is due; how much of which topic."""


@dataclass(slots=True)
class Server:
    """One server: what all its requests share."""

    db: Database
    settings: Settings
    admission: Admission
    turns: Turns
    keyring: Keyring
    registry: Registry
    carrier: Plans
    proposers: Mapping[str, Proposer] = field(default_factory=dict)
    dev: bool = False
    workers: Workers | None = None
    stopping: threading.Event = field(default_factory=threading.Event)
    feed: Feed = field(init=False)
    sessions: Sessions = field(init=False)
    populations: Populations = field(init=False)
    glances: Glances = field(default_factory=Glances)
    failed_logins: FailedLogins = field(default_factory=FailedLogins)
    travels: Travels = field(default_factory=Travels)
    readiness: Shared[bool] = field(default_factory=Shared)
    measures: Shared[bytes] = field(default_factory=Shared)
    health_threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(2))
    feed_threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(4))

    def __post_init__(self) -> None:
        most = self.settings.followers_max
        self.feed = Feed(self.db, rendered, self.stopping, followers_max=most)
        self.sessions = Sessions(self.keyring, dev=self.dev)
        self.populations = Populations(self.db)


@dataclass(frozen=True, slots=True)
class Context:
    server: Server
    caller: Caller
    request_id: str
    once: Once | None = None  # of a request with an Idempotency-Key

    @property
    def db(self) -> Database:
        return self.server.db

    @property
    def makes_tenants(self) -> bool:
        """Whether a change may make its tenant by first use: in development only."""
        return self.server.dev

    def tenant(self, named: str | None) -> TenantId:
        """The tenant whose things are asked for. Another one than the key's does not exist."""
        tenant_id = self._wanted(named)
        if self.caller.tenant_id is None and not tenant_exists(self.db, tenant_id):
            raise no_tenant(tenant_id)
        return tenant_id

    def tenant_to_write(self, named: str | None) -> TenantId:
        """The same for a change; where first use may, the change itself makes an unknown tenant."""
        return self._wanted(named) if self.makes_tenants else self.tenant(named)

    def tenant_to_admit(self, named: str | None, at: str = "tenant_id") -> TenantId:
        """The same where admission itself sees to it that the tenant exists."""
        return self._wanted(named, at)

    def tenant_if_named(self, named: str | None) -> TenantId | None:
        """None: a key for all tenants named none, and means all of them."""
        if named is None and self.caller.tenant_id is None:
            return None
        return self.tenant(named)

    def tenant_of(self, thing: Thing, name: str, named: str | None) -> TenantId:
        """Whose this is: a key for all tenants need not say so."""
        if named is None and self.caller.tenant_id is None:
            return locate_tenant(self.db, thing, name)
        return self.tenant(named)

    def _wanted(self, named: str | None, at: str = "tenant_id") -> TenantId:
        own = self.caller.tenant_id
        if named is None:
            if own is None:
                raise Invalid.at(at, "is required: this key is for all tenants")
            return own
        tenant_id = TenantId(parse_tenant_id(named))
        if own is not None and tenant_id != own:
            raise no_tenant(tenant_id)
        return tenant_id


def no_tenant(tenant_id: str) -> NotFound:
    return NotFound(f"there is no tenant {tenant_id}", tenant_id=tenant_id)


def is_identifier(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def identifier(text: str, what: str) -> str:
    """An id of ours as it is stored; one that cannot be ours names nothing."""
    lowered = text.lower()
    if not is_identifier(lowered):
        raise NotFound(f"there is no {what} of this id")
    return lowered


async def context(request: Request) -> Context:
    server: Server = request.app.state.server
    once: Once | None = getattr(request.state, "once", None)
    return Context(server, request.state.caller, request.state.request_id, once)


Ctx = Annotated[Context, Depends(context)]
