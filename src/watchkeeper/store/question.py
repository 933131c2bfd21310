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


_PLACE = same(
    "select t.ledger_seq, l.seq, l.at from tenants t left join ledger l"
    " on l.tenant_id = t.tenant_id and l.seq = t.ledger_seq - %s where t.tenant_id = %s"
)


def place_before_newest(tx: ReadTx, entries: int) -> tuple[int, Instant]:
    """Where the newest so many entries begin: the place before them and its time."""
    rows = tx.rows(_PLACE, (entries, tx.tenant_id))
    if not rows or rows[0][1] is None:
        return 0, Instant(0)
    return int(rows[0][1]), Instant(rows[0][2])
