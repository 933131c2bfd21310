"""What a question to a live database is: an invariant, and the SQL that finds what breaks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.core.ids import TenantId
from watchkeeper.core.time import Instant
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import ReadTx, Row

ROWS_MAX = 20
"""Offending rows that one question returns."""


@dataclass(frozen=True, slots=True)
class Question:
    """An invariant, in words and as the SQL that finds what breaks it."""

    name: str
    holds: str
    columns: tuple[str, ...]
    sql: str
    is_sliced: bool = False  # its rows are those of one account: asked of some accounts at a time


@dataclass(frozen=True, slots=True)
class Scope:
    """What the questions look at: one tenant, the entries after a place, and when."""

    tenant_id: TenantId
    after_seq: int
    after_at: Instant  # of the entry at that place: windows that began earlier are not whole
    kept_since: Instant  # messages that ended before may have been removed
    stale_before: Instant  # what should have ended by then is late


def given(tx: ReadTx, scope: Scope) -> Row:
    """The parameters that every question begins with."""
    place = (scope.tenant_id, scope.after_seq, scope.after_at)
    return (*place, scope.kept_since, scope.stale_before, tx.now)


def told(question: Question, rows: Sequence[Row]) -> list[dict[str, object]]:
    return [dict(zip(question.columns, row, strict=True)) for row in rows]


PRUNED_ID = (
    "coalesce((select cast(p.last_entry_id as text) from ledger_prunes p"
    " where p.tenant_id = (select tenant_id from given)), '')"
)
"""Entries with greater ids were never pruned; of one with a smaller id nobody can say."""

_PLACE = same(
    "select l.seq, l.at, p.seq, p.newest_at from tenants t left join ledger l"
    " on l.tenant_id = t.tenant_id and l.seq = t.ledger_seq - %s"
    " left join ledger_prunes p on p.tenant_id = t.tenant_id where t.tenant_id = %s"
)


def place_before_newest(tx: ReadTx, entries: int) -> tuple[int, Instant]:
    """Where the newest so many entries begin: the place before them and its time.

    What was pruned lies before them in any case.
    """
    for seq, at, pruned_seq, pruned_at in tx.rows(_PLACE, (entries, tx.tenant_id)):
        found = max((int(seq or 0), int(at or 0)), (int(pruned_seq or 0), int(pruned_at or 0)))
        return found[0], Instant(found[1])
    return 0, Instant(0)


_HEAD = same("select ledger_seq from tenants where tenant_id = %s")


def head(tx: ReadTx) -> int:
    """The place of the tenant's newest entry."""
    rows = tx.rows(_HEAD, (tx.tenant_id,))
    return int(rows[0][0]) if rows else 0
