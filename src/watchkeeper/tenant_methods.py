"""The part of the door for Python programs that is about tenants: `app.tenants`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Final

from watchkeeper import inputs
from watchkeeper.actions import views
from watchkeeper.actions.change_tenant import change_tenant
from watchkeeper.core.ids import TenantId
from watchkeeper.results import Tenant, tenant_of
from watchkeeper.store.database import Database

PAGE = 100


class Unsaid(Enum):
    """The default of a value that stays as it is, where None would clear it."""

    UNSAID = "unsaid"

    def __repr__(self) -> str:
        return "…"


UNSAID: Final = Unsaid.UNSAID


class TenantDoor:
    """Tenants of an app: set, show and list them."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def set(
        self,
        tenant_id: str,
        *,
        tier: str | Unsaid | None = UNSAID,
        name: str | Unsaid | None = UNSAID,
        installed_at: datetime | str | Unsaid | None = UNSAID,
    ) -> Tenant:
        """Set the tier, the name or the day of installation of a tenant; make it if it is new.

        What is left out stays as it is, None clears it. A tier that the policy does not have is
        refused.
        """
        tenant = TenantId(inputs.parse_tenant_id(tenant_id))
        changes = _changes({"tier": tier, "name": name, "installed_at": installed_at})
        return tenant_of(change_tenant(self._db, tenant, changes, makes_tenant=True))

    def get(self, tenant_id: str) -> Tenant:
        tenant = TenantId(inputs.parse_tenant_id(tenant_id))
        return tenant_of(views.view_tenant(self._db, tenant))

    def list(self, *, after: str = "", limit: int = PAGE) -> list[Tenant]:
        """Tenants by id, those that follow `after`."""
        return [tenant_of(facts) for facts in views.list_tenants(self._db, after, limit)]


def _changes(given: Mapping[str, object]) -> dict[str, str | int | None]:
    said = {name: value for name, value in given.items() if value is not UNSAID}
    asked = inputs.parse(inputs.TenantPatch, said)
    return {name: getattr(asked, name) for name in said}
