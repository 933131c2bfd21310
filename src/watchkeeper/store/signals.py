"""Signals as they came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.core.ids import AccountId, SignalId
from watchkeeper.core.time import Instant
from watchkeeper.store.json import encode
from watchkeeper.store.statement import Statement, same
from watchkeeper.store.transaction import Tx

_COLUMNS = (
    "tenant_id, signal_id, account_id, type, occurred_at, recorded_at, seq, correlation_id, data"
)
_INSERT = Statement(
    f"""insert into signals ({_COLUMNS})
    select %s, v.i, v.a, v.y, v.o, %s, v.n, v.c, v.d::json
    from rows from (
        jsonb_to_recordset(%s::jsonb) as (i text, a text, y text, o bigint, n bigint, c text),
        string_to_table(%s, E'\\n')
    ) v (i, a, y, o, n, c, d)""",
    f"insert into signals ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
)
_BETWEEN = same(
    "select seq, signal_id, account_id, type, occurred_at, correlation_id, data from signals"
    " where tenant_id = %s and account_id = %s and seq > %s and seq <= %s"
    " order by seq desc limit %s"
)


@dataclass(frozen=True, slots=True)
class Signal:
    """One piece of news about an account. `data` is JSON text."""

    signal_id: SignalId
    account_id: AccountId
    type: str
    occurred_at: Instant | None  # None: when it is recorded
    correlation_id: str | None
    data: str


def insert(tx: Tx, signals: Sequence[tuple[int, Signal]]) -> None:
    """Store signals, each at the place of its verdict in the ledger.

    The place is what makes a signal one: an id that comes again, for another account or after
    its key has expired, is another signal, and its run is told of it.
    """
    if tx.engine == "sqlite":
        tx.run_many(
            _INSERT,
            [
                (
                    tx.tenant_id,
                    s.signal_id,
                    s.account_id,
                    s.type,
                    tx.now if s.occurred_at is None else s.occurred_at,
                    tx.now,
                    seq,
                    s.correlation_id,
                    s.data,
                )
                for seq, s in signals
            ],
        )
        return
    narrow = [
        {
            "i": s.signal_id,
            "a": s.account_id,
            "y": s.type,
            "o": tx.now if s.occurred_at is None else s.occurred_at,
            "n": seq,
            "c": s.correlation_id,
        }
        for seq, s in signals
    ]
    bodies = "\n".join([s.data for _, s in signals])
    tx.run(_INSERT, (tx.tenant_id, tx.now, encode(narrow), bodies))


def between(tx: Tx, account_id: AccountId, after: int, until: int, limit: int) -> list[Signal]:
    """The newest signals of an account within a stretch of the ledger, oldest first."""
    return list(by_place(tx, account_id, after, until, limit).values())


def by_place(
    tx: Tx, account_id: AccountId, after: int, until: int, limit: int
) -> dict[int, Signal]:
    """The same, each under the place of its verdict."""
    rows = tx.rows(_BETWEEN, (tx.tenant_id, account_id, after, until, limit))
    return {row[0]: Signal(*row[1:]) for row in reversed(rows)}
