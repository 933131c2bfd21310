"""A slice of a tenant's accounts, as a sweep sees it: where it ends, and what is missing in it."""

from __future__ import annotations

from typing import Any, NamedTuple

from watchkeeper.core.time import Instant
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Tx

_SLICE = (
    "from (select account_id from accounts where tenant_id = %s"
    " and account_id > %s order by account_id limit %s) x"
)
_NEXT = Statement(
    f"select max(account_id), count(*), {NOW_SQL} {_SLICE}",
    same(f"select max(account_id), count(*), null {_SLICE}").sqlite,
)
RANGE = "tenant_id = %s and account_id > %s and account_id <= %s"
"""The rows of a slice, in every table whose key begins with the account."""

# Counts are a tenth of a comparison, and tell whether it is worth its while.
_CADENCED = "select connector_id from connectors where has_cadence"
_COUNTED = (
    f"select (select count(*) from heats where {RANGE}),"
    f" (select count(*) from next_pulls where {RANGE} and connector_id || '' {{cadenced}}),"
    " (select count(*) from connectors where has_cadence)"
)
_COUNTS = Statement(
    # As an array it is asked once; joined, it may be asked for every row. And no index is to think
    # that the connector would find what the slice finds.
    _COUNTED.format(cadenced=f"= any (array({_CADENCED}))"),
    same(_COUNTED.format(cadenced=f"in ({_CADENCED})")).sqlite,
)


class Slice(NamedTuple):
    """Accounts after one and up to another."""

    after: str
    until: str
    accounts: int

    def of(self, tx: Tx) -> tuple[str, str, str]:
        """What `RANGE` asks for."""
        return tx.tenant_id, self.after, self.until


class Gaps(NamedTuple):
    """Whether accounts of a slice have no heat, or none of the next pulls that they should."""

    in_heats: bool
    in_pulls: bool


def next_slice(tx: Tx, after: str, size: int) -> Slice | None:
    """The next so many accounts; None when there are no more. Tells a batch the time."""
    [(until, count, now)] = tx.rows(_NEXT, (tx.tenant_id, after, size))
    tx.now = tx.now if now is None else Instant(now)
    return None if until is None else Slice(after, str(until), int(count))


def send_counts(tx: Tx, part: Slice) -> Any:
    """Ask what is there; in a batch the answer is read later, with `gaps`."""
    return tx.send(_COUNTS, part.of(tx) * 2)


def gaps(part: Slice, counts: Any) -> Gaps:
    heats, pulls, connectors = counts.fetchone()
    return Gaps(heats < part.accounts, pulls < heats * connectors)
