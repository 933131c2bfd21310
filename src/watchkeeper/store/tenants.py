"""The tenant's row: its lock, the counters of its runs, and the counter of its ledger.

Whatever writes a tenant's run state or ledger takes this row first and keeps it until
the commit. So the ledger's sequence has no gaps and is the order of commits, state
read under the lock is never stale, and a first event races with nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from watchkeeper.core.ids import TenantId
from watchkeeper.core.run_state import TenantRuns
from watchkeeper.core.time import Instant
from watchkeeper.errors import NotFound
from watchkeeper.store.json import dumps, loads
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Session, Tx

_LOCK = Statement(
    """select tier, hour, hour_runs, day, day_runs, ledger_seq, null from tenants
        where tenant_id = %s for no key update""",
    """select tier, hour, hour_runs, day, day_runs, ledger_seq, null from tenants
        where tenant_id = ?""",
)
_LOCK_WITH_TIME = Statement(
    # The clock is read outside the locking scan: inside it, it would be the time before the wait.
    f"""with locked as materialized (
        select tier, hour, hour_runs, day, day_runs, ledger_seq from tenants
        where tenant_id = %s for no key update)
    select locked.*, {NOW_SQL} from locked""",
    _LOCK.sqlite,
)
_SAVE = same(
    "update tenants set hour = %s, hour_runs = %s, day = %s, day_runs = %s, ledger_seq = %s"
    " where tenant_id = %s"
)
_SAVE_SEQ = same("update tenants set ledger_seq = %s where tenant_id = %s")
_MOVE_SEQ = same("update tenants set ledger_seq = ledger_seq + %s where tenant_id = %s")
_CREATE = same(
    "insert into tenants (tenant_id, name, tier, installed_at, created_at)"
    " values (%s, %s, %s, %s, %s) on conflict (tenant_id) do nothing returning tenant_id"
)

_HOLD_TIERS = Statement(
    "select pg_advisory_xact_lock_shared(hashtextextended('watchkeeper tenant tiers', 2))",
    "select 1",
)
_CLOSE_TIERS = Statement(
    "select pg_advisory_xact_lock(hashtextextended('watchkeeper tenant tiers', 2))",
    "select 1",
)
_RUNS = same("select hour, hour_runs, day, day_runs from tenants where tenant_id = %s")


class LockedTenant:
    """The tenant's row while this transaction holds it."""

    __slots__ = ("ledger_seq", "runs", "tier")

    is_read = True

    def __init__(self, tier: str | None, runs: TenantRuns, ledger_seq: int) -> None:
        self.tier = tier
        self.runs = runs
        self.ledger_seq = ledger_seq

    def next_seq(self) -> int:
        self.ledger_seq += 1
        return self.ledger_seq


class UnreadTenant(LockedTenant):
    """The same where nobody waits for the row: its places in the ledger count from the stored one.

    Its runs are not known.
    """

    __slots__ = ()
    is_read = False

    def __init__(self, tier: str | None) -> None:
        super().__init__(tier, TenantRuns(0, {}, 0, 0), 0)


def send_lock(tx: Tx) -> Any:
    """Ask for the lock; `locked` waits for it. Between the two a batch sends what follows.

    Nothing tells the time here: what the batch reads under the lock has to.
    """
    return tx.send(_LOCK, (tx.tenant_id,))


def locked(tx: Tx, cursor: Any) -> LockedTenant:
    """The row that was asked for, held until the transaction ends."""
    row = cursor.fetchone()
    if row is None:
        raise NotFound(f"there is no tenant {tx.tenant_id}", tenant_id=tx.tenant_id)
    tier, hour, hour_runs, day, day_runs, ledger_seq, now = row
    if now is not None:
        tx.now = Instant(now)
    return LockedTenant(tier, TenantRuns(hour, loads(hour_runs), day, day_runs), ledger_seq)


def send_lock_and_time(tx: Tx) -> Any:
    """The same, and `locked` sets `now` to a moment after the wait."""
    return tx.send(_LOCK_WITH_TIME, (tx.tenant_id,))


def lock(tx: Tx) -> LockedTenant:
    """Hold the row until the transaction ends, and set `now` to a moment after that."""
    return locked(tx, send_lock_and_time(tx))


def hold_tiers(tx: Tx) -> None:
    """Keep the tiers of the policy as they are until the commit. Taken before any row."""
    tx.rows(_HOLD_TIERS)


def close_tiers(tx: Tx) -> None:
    """Wait for everybody who gives a tenant a tier, and keep others waiting until the commit."""
    tx.rows(_CLOSE_TIERS)


def runs(tx: Tx) -> TenantRuns | None:
    """The counters as they are, for who only looks."""
    for hour, hour_runs, day, day_runs in tx.rows(_RUNS, (tx.tenant_id,)):
        return TenantRuns(hour, loads(hour_runs), day, day_runs)
    return None


def save(tx: Tx, tenant: LockedTenant) -> None:
    runs = tenant.runs
    tx.run(
        _SAVE,
        (
            runs.hour,
            dumps(runs.hour_runs),
            runs.day,
            runs.day_runs,
            tenant.ledger_seq,
            tx.tenant_id,
        ),
    )


def save_seq(tx: Tx, tenant: LockedTenant) -> None:
    tx.run(_SAVE_SEQ if tenant.is_read else _MOVE_SEQ, (tenant.ledger_seq, tx.tenant_id))


@contextmanager
def saving_seq(tx: Tx, tenant: LockedTenant) -> Iterator[None]:
    """Save the place in the ledger at the end of the block, if it has moved."""
    before = tenant.ledger_seq
    yield
    if tenant.ledger_seq != before:
        save_seq(tx, tenant)


def create(tx: Tx, *, name: str | None, tier: str | None, installed_at: Instant | None) -> bool:
    """Make the tenant's row; False when it was there. Two callers at once make one."""
    return bool(tx.rows(_CREATE, (tx.tenant_id, name, tier, installed_at, tx.now)))


def all_ids(session: Session) -> list[TenantId]:
    return [
        TenantId(row[0]) for row in session.rows(same("select tenant_id from tenants order by 1"))
    ]


_ENDS = same("select tenant_id, ledger_seq from tenants")
_ENDS_OF = Statement(
    """select tenant_id, ledger_seq from tenants
    where tenant_id in (select jsonb_array_elements_text(%s::jsonb))""",
    """select tenant_id, ledger_seq from tenants
    where tenant_id in (select value from json_each(?))""",
)


def ledger_ends(session: Session, wanted: Sequence[TenantId] | None) -> dict[TenantId, int]:
    """Where the ledgers of some tenants end, or of all. Up to there everything is committed."""
    rows = session.rows(_ENDS) if wanted is None else session.rows(_ENDS_OF, (dumps(list(wanted)),))
    return {TenantId(tenant_id): seq for tenant_id, seq in rows}
