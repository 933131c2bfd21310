"""The virtual clock: a row that every process on the database obeys."""

from __future__ import annotations

from watchkeeper.core.time import SECOND, Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Session, Tx

_READ = same("select now_at from clock")
_START = same(
    'insert into clock ("only", now_at) values (true, %s) on conflict ("only") do nothing'
)
_SET = same("update clock set now_at = %s where now_at < %s")


def virtual_now(session: Session) -> Instant | None:
    """What the virtual clock shows; None where time is real."""
    rows = session.rows(_READ)
    return Instant(rows[0][0]) if rows else None


def start(tx: Tx) -> None:
    """Make time virtual from now on: it stands at the whole second and moves when told."""
    tx.run(_START, (tx.now // SECOND * SECOND,))


def move_to(tx: Tx, at: Instant) -> None:
    """Forward only."""
    tx.run(_SET, (at, at))
