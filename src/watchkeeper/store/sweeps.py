"""How far the sweep over a tenant's accounts has come. One sweeper moves it on, the others see."""

from __future__ import annotations

from typing import NamedTuple

from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

_GET = same("select round_at, after_account, finished_at from sweeps where tenant_id = %s")
_START = same(
    "insert into sweeps (tenant_id, round_at, after_account) values (%s, %s, '')"
    " on conflict (tenant_id) do nothing returning tenant_id"
)
_MOVE = same(
    "update sweeps set round_at = %s, after_account = %s, finished_at = %s"
    " where tenant_id = %s and round_at = %s and after_account = %s returning tenant_id"
)


class Sweep(NamedTuple):
    round_at: Instant  # when this round began
    after_account: str
    finished_at: Instant | None = None  # when the last whole round began


def get(tx: Tx) -> Sweep | None:
    rows = tx.rows(_GET, (tx.tenant_id,))
    return Sweep(*rows[0]) if rows else None


def start(tx: Tx, round_at: Instant) -> bool:
    """The first round begins then; False when there is one."""
    return bool(tx.rows(_START, (tx.tenant_id, round_at)))


def move(tx: Tx, before: Sweep, after: Sweep) -> bool:
    """Go on from where it stood; False when another sweeper has."""
    asked = (*after[:2], after.finished_at, tx.tenant_id, *before[:2])
    return bool(tx.rows(_MOVE, asked))
