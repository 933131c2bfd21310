"""The first use of a tenant: where it may, a change makes its tenant in its own transaction.

So a change that is refused makes no tenant either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from watchkeeper.actions.create_tenant import make_tenant
from watchkeeper.core.ids import SYSTEM, TenantId
from watchkeeper.errors import NotFound
from watchkeeper.store.database import Database
from watchkeeper.store.transaction import Tx

T = TypeVar("T")


@contextmanager
def begun(db: Database, tenant_id: TenantId, *, makes_tenant: bool) -> Iterator[Tx]:
    """A transaction of a tenant that exists in it, if the change may make it."""
    with db.begin(tenant_id) as tx:
        make_if_new(db, tx, makes_tenant=makes_tenant)
        yield tx


@contextmanager
def batched(
    db: Database, tenant_id: TenantId, *, makes_tenant: bool, recovering: bool = False
) -> Iterator[Tx]:
    """The same for a hot path, as `on_first_use` tells it: a batch unless the tenant is made."""
    if not makes_tenant:
        with db.batch(tenant_id, recovering=recovering) as tx:
            yield tx
        return
    with begun(db, tenant_id, makes_tenant=True) as tx:
        tx.recovering = recovering
        yield tx


def on_first_use(change: Callable[[bool], T], *, makes_tenant: bool) -> T:
    """Run a change; again where it found no tenant, and is told to make it.

    Tenants that exist cost no statement more.
    """
    try:
        return change(False)
    except NotFound:
        if not makes_tenant:
            raise
    return change(True)


def make_if_new(db: Database, tx: Tx, *, makes_tenant: bool) -> None:
    """Make the tenant of a transaction unless it exists, if the change may."""
    if makes_tenant and tx.tenant_id != SYSTEM:
        make_tenant(db, tx, installed_at=tx.now)
