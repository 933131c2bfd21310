"""Who is calling, and what each route needs. A route that does not say so cannot be made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from watchkeeper.core.ids import TenantId
from watchkeeper.errors import Forbidden

JSON = "application/json"
FORM_BYTES_MAX = 64 * 1024


class Access(StrEnum):
    """What a route does, in the terms that roles are made of."""

    INGEST = "ingest"
    READ = "read"
    OPERATE = "operate"
    ADMINISTER = "administer"


ROLES: dict[str, frozenset[Access]] = {
    "ingest": frozenset({Access.INGEST}),
    "viewer": frozenset({Access.READ}),
    "operator": frozenset({Access.INGEST, Access.READ, Access.OPERATE}),
    "admin": frozenset(Access),
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who a key speaks for. Without a tenant: for all of them."""

    name: str  # as records name it; never the key itself
    role: str
    tenant_id: TenantId | None = None

    @property
    def party(self) -> str:
        """The sharer of places: a tenant, or a key for all tenants by itself."""
        return f"caller:{self.name}" if self.tenant_id is None else f"tenant:{self.tenant_id}"


@dataclass(frozen=True, slots=True)
class Need:
    """What a route asks of its caller and of the body it is sent."""

    access: Access
    all_tenants: bool = False  # only a key for all tenants reaches it
    media: tuple[str, ...] = (JSON,)
    answers_secret: bool = False  # its answer is shown once, and not kept whole
    form_bytes_max: int = FORM_BYTES_MAX

    def check(self, caller: Caller) -> None:
        if self.access not in ROLES[caller.role]:
            raise Forbidden(f"a key of the role {caller.role} may not {self.access} here")
        if self.all_tenants and caller.tenant_id is not None:
            raise Forbidden("only a key for all tenants may do this")


Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_needs: dict[Callable[..., Any], Need] = {}


def needs(
    access: Access,
    *,
    all_tenants: bool = False,
    media: tuple[str, ...] = (JSON,),
    answers_secret: bool = False,
    form_bytes_max: int = FORM_BYTES_MAX,
) -> Callable[[Endpoint], Endpoint]:
    """Declare what the route below needs."""

    def declare(endpoint: Endpoint) -> Endpoint:
        _needs[endpoint] = Need(access, all_tenants, media, answers_secret, form_bytes_max)
        return endpoint

    return declare


def need_of(endpoint: Callable[..., Any]) -> Need:
    found = _needs.get(endpoint)
    if found is None:
        raise RuntimeError(f"the route {endpoint.__name__} does not say which access it needs")
    return found
