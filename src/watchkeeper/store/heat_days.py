"""Where accounts stood at the end of each day: a roll-up, kept for some days, if asked for."""

from __future__ import annotations

from typing import NamedTuple

from watchkeeper.core.heat import Tier
from watchkeeper.core.time import Instant
from watchkeeper.store.slices import RANGE, Slice
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

FORGOTTEN_MAX = 5_000
"""Rows that one transaction removes."""

_ROLL_UP = same(
    "insert into heat_days (tenant_id, account_id, day, tier, heat_micro, expires_at)"
    " select tenant_id, account_id, cast(%s as integer), tier, heat_micro, cast(%s as bigint)"
    f" from heats where {RANGE}"
    " on conflict (tenant_id, account_id, day) do update set tier = excluded.tier,"
    " heat_micro = excluded.heat_micro, expires_at = excluded.expires_at"
)
_OF_ACCOUNT = same(
    "select day, tier, heat_micro from heat_days where tenant_id = %s and account_id = %s"
    " and expires_at > %s order by day desc limit %s"
)
_EXPIRED = same(
    "select tenant_id, account_id, day from heat_days where tenant_id = %s and expires_at <= %s"
    f" order by expires_at limit {FORGOTTEN_MAX}"
)
_FORGET = same("delete from heat_days where tenant_id = %s and account_id = %s and day = %s")


class HeatDay(NamedTuple):
    day: int  # of UTC, counted from 1970
    tier: Tier
    heat_micro: int


def roll_up(tx: Tx, part: Slice, day: int, expires_at: Instant) -> None:
    """Note where the accounts of a slice stand; the last note of a day is the one that stays."""
    tx.run(_ROLL_UP, (day, expires_at, *part.of(tx)))


def of_account(tx: Tx, account_id: str, limit: int) -> list[HeatDay]:
    """The newest first."""
    rows = tx.rows(_OF_ACCOUNT, (tx.tenant_id, account_id, tx.now, limit))
    return [HeatDay(day, Tier(tier), heat_micro) for day, tier, heat_micro in rows]


def forget(tx: Tx) -> int:
    """Remove some whose time is over; how many. Less than the most is all."""
    expired = tx.rows(_EXPIRED, (tx.tenant_id, tx.now))
    if expired:
        tx.run_many(_FORGET, expired)
    return len(expired)
