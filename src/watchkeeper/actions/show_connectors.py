"""Connectors as a person looks at them: whether one may pull now, what it costs, how it went."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from watchkeeper.core import limits
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind
from watchkeeper.core.limits import BreakerState, Limit
from watchkeeper.core.pulls import Budget, Consumed
from watchkeeper.core.time import Instant, day_of, hour_of
from watchkeeper.moves import pull_gates
from watchkeeper.store import connectors, overview, pull_budgets, tally_series
from watchkeeper.store.connectors import Connector, ConnectorState
from watchkeeper.store.database import Database
from watchkeeper.store.tally_series import Counted
from watchkeeper.store.transaction import ReadTx

HOURS = 24
"""For so long back it is told how pulls were answered and how they ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorView:
    """One connector for one tenant. `stopped_by` is what refuses the next pull, if anything."""

    shared: Connector
    own: ConnectorState
    breaker: BreakerState
    slots: int
    stopped_by: str | None
    retry_at: Instant | None  # when to ask again, where that is known
    used: Consumed  # today
    cap: int | None  # of today's units; None: only the tenant's total counts
    scheduled: int
    refused: tuple[tuple[str, int], ...]  # reason and how many, the most first
    ended: tuple[tuple[str, int], ...]  # result and how many


@dataclass(frozen=True, slots=True)
class Connectors:
    now: Instant
    budget: Budget | None
    found: tuple[ConnectorView, ...]


_STOPPED = {
    Limit.BREAKER: "the breaker is open",
    Limit.HOLD: "its upstream asked for patience",
    Limit.OWN_RATE: "the tenant's own rate is used up",
    Limit.SHARED_RATE: "the rate that all tenants share is used up",
    Limit.SLOTS: "as many pulls as may be are under way",
}


def show_connectors(db: Database, tenant_id: TenantId, after: str, limit: int) -> Connectors:
    """Those that are known to all or to the tenant, a page of them by name."""
    with db.read(tenant_id) as tx:
        names = overview.connector_names(tx, after, limit)
        seen = pull_gates.see(tx, names)
        slots = connectors.slots(tx, names)
        budget = pull_budgets.get(tx)
        used = pull_budgets.consumed(tx, day_of(tx.now))
        counted = _counted(tx)
        rows = tuple(
            _state(tx, name, seen, slots.get(name, 0), budget, used, counted) for name in names
        )
        return Connectors(tx.now, budget, rows)


def _state(
    tx: ReadTx,
    name: str,
    seen: pull_gates.Seen,
    slots: int,
    budget: Budget | None,
    used: dict[str, Consumed],
    counted: list[Counted],
) -> ConnectorView:
    shared = seen.connectors.get(name) or Connector(name)
    own = seen.states.get(name) or ConnectorState(name)
    stopped_by, retry_at = _stopped(tx, shared, own, seen, slots)
    mine = [one for one in counted if one.name == name]
    refused: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    for one in mine:
        if one.kind == Kind.PULL_ENDED:
            ended[one.result] += one.entries
        elif one.result != "SCHEDULED":
            refused[one.reason or one.result] += one.entries
    return ConnectorView(
        shared=shared,
        own=own,
        breaker=limits.state_of(own.breaker, tx.now),
        slots=slots,
        stopped_by=stopped_by,
        retry_at=retry_at,
        used=used.get(name, Consumed()),
        cap=None if budget is None else budget.cap(name),
        scheduled=sum(one.entries for one in mine if one.result == "SCHEDULED"),
        refused=tuple(refused.most_common()),
        ended=tuple(ended.most_common()),
    )


def _stopped(
    tx: ReadTx, shared: Connector, own: ConnectorState, seen: pull_gates.Seen, slots: int
) -> tuple[str | None, Instant | None]:
    switch = pull_gates.switch_on(seen.switches, shared.connector_id)
    if switch is not None:
        return f"the kill switch {switch} is on", None
    gate = limits.by_clock(pull_gates.gate_of(own, shared, slots), tx.now)
    found = limits.stopped(gate, tx.now)
    return (None, None) if found is None else (_STOPPED[found.limit], found.retry_at)


def _counted(tx: ReadTx) -> list[Counted]:
    """How pulls were answered and how they ended, by connector."""
    last = hour_of(tx.now)
    first = last - HOURS + 1
    found = [
        *tally_series.hours(tx, Kind.PULL_DECIDED, first, last),
        *tally_series.hours(tx, Kind.PULL_ENDED, first, last),
        *tally_series.tail(tx).counted,
    ]
    return [one for one in found if one.name and first <= one.bucket <= last]
