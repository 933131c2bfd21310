"""The sealer: entries get their hashes shortly after they were committed.

Any number of machines may seal at once. What is to be sealed is read and hashed without any
lock, and written by one short statement; who comes second finds that the seals have moved on.
Admissions never wait: the tenant's row is not touched, and on SQLite nothing but that one
statement holds the file.
"""

from __future__ import annotations

from watchkeeper.core import chain
from watchkeeper.core.ids import TenantId
from watchkeeper.store import ledger, seals
from watchkeeper.store.database import Database

BATCH = 1_000
"""Entries that one seal covers at most."""

BATCHES_MAX = 20
"""Of one tenant in a row; then the next tenant's turn comes."""

TENANTS_PAGE = 500
ROUNDS_MAX = 1_000_000


def seal_ledger(db: Database) -> int:
    """Seal what is there of every tenant, in turns; how many entries that was.

    What is added meanwhile is left to the next time, so that this always ends.
    """
    sealed, after = 0, TenantId("")
    waiting: list[TenantId] = []
    while True:
        with db.read_system() as tx:
            page = seals.behind(tx, after, TENANTS_PAGE)
        for tenant_id in page:
            count = _seal_some(db, tenant_id)
            sealed += count
            if count == BATCHES_MAX * BATCH:
                waiting.append(tenant_id)
        if len(page) < TENANTS_PAGE:
            break
        after = page[-1]
    return sealed + sum(seal_tenant(db, tenant_id) for tenant_id in waiting)


def seal_tenant(db: Database, tenant_id: TenantId) -> int:
    """Seal what is there of one tenant; how many entries that was."""
    with db.read(tenant_id) as tx:
        most = seals.tail(tx, seals.head(tx).seq).unsealed
    sealed = 0
    for _ in range(ROUNDS_MAX):
        if sealed >= most:
            break
        count = seal_batch(db, tenant_id)
        if not count:
            break
        sealed += count
    return sealed


def seal_batch(db: Database, tenant_id: TenantId) -> int:
    """Seal the next entries after the last seal; none when there are none, or another did."""
    with db.read(tenant_id) as tx:
        start = seals.head(tx)
        entries = ledger.as_stored(tx, start.seq, BATCH)
    hashes = chain.links(start, entries)
    if not hashes:
        return 0
    with db.begin(tenant_id) as tx:
        return len(hashes) if seals.add(tx, start, hashes) else 0


def _seal_some(db: Database, tenant_id: TenantId) -> int:
    sealed = 0
    for _ in range(BATCHES_MAX):
        count = seal_batch(db, tenant_id)
        sealed += count
        if count < BATCH:
            break
    return sealed
