"""Keys whose time is over, swept away in slices along the primary key."""

from __future__ import annotations

from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Tx

SLICE = 5_000

_SLICE_END = same(
    "select max(key), count(*) from (select key from reservations"
    f" where tenant_id = %s and key > %s order by key limit {SLICE}) slice"
)
# The expiry is asked again by the statement that deletes: a key that was reserved anew since
# the slice was chosen has a new one.
_FORGET = same(
    "delete from reservations where tenant_id = %s and key > %s and key <= %s and expires_at <= %s"
)
_FORGET_REPLIES = Statement(
    "delete from http_replies where tenant_id = %s and expires_at <= %s",
    "delete from http_replies where tenant_id = ? and expires_at <= ?",
)


def forget_keys(tx: Tx, after: str) -> tuple[int, str | None]:
    """Delete the expired keys of one slice; how many, and where the next slice begins."""
    end, seen = tx.rows(_SLICE_END, (tx.tenant_id, after))[0]
    if end is None:
        return 0, None
    forgotten = tx.changed(_FORGET, (tx.tenant_id, after, end, tx.now))
    return forgotten, end if seen == SLICE else None


def forget_replies(tx: Tx) -> int:
    return tx.changed(_FORGET_REPLIES, (tx.tenant_id, tx.now))
