"""What a tenant may pull in a day is set; and what it has pulled is looked at, for any date."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.actions.first_use import begun
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Entry, Kind, Stage
from watchkeeper.core.pulls import EVERY, TOTAL, Budget, Consumed, remaining
from watchkeeper.core.time import day_of
from watchkeeper.ids import new_id
from watchkeeper.perceive_results import PullBudget, pull_budget_of
from watchkeeper.store import ledger, pull_budgets
from watchkeeper.store.database import Database
from watchkeeper.store.json import dumps


@dataclass(frozen=True, slots=True)
class Spent:
    """What was consumed of a budget on one UTC day; remaining is None where there is no budget."""

    day: int
    total: Consumed
    remaining: int | None
    connectors: dict[str, tuple[Consumed, int | None]]
    budget: Budget | None

    def shown(self) -> PullBudget:
        return pull_budget_of(self.day, self.budget, self.total, self.remaining, self.connectors)


def set_pull_budget(
    db: Database,
    tenant_id: TenantId,
    budget: Budget | None,
    *,
    by: str,
    makes_tenant: bool = False,
) -> None:
    """From now on: what was consumed today counts, also where a cap is below it."""

    def deed() -> None:
        with begun(db, tenant_id, makes_tenant=makes_tenant) as tx:
            if budget is None:
                pull_budgets.remove(tx)
            else:
                pull_budgets.put(tx, budget)
            told = None if budget is None else {**budget._asdict()}
            entry = Entry(
                entry_id=new_id(),
                at=tx.now,
                stage=Stage.PERCEIVE,
                kind=Kind.BUDGET_SET,
                subject=tenant_id,
                data=dumps({"budget": told, "by": by}),
            )
            ledger.record(tx, [entry])

    db.retrying(deed)


def show_pull_budget(db: Database, tenant_id: TenantId, day: int | None = None) -> Spent:
    """Of a UTC day, counted from 1970; today without one."""
    with db.read(tenant_id) as tx:
        date = day_of(tx.now) if day is None else day
        budget = pull_budgets.get(tx)
        consumed = pull_budgets.consumed(tx, date)
    total = consumed.pop(TOTAL, Consumed())
    names = set(consumed) | (set() if budget is None else set(budget.connectors) - {EVERY})
    by_connector = {}
    for name in sorted(names):
        used = consumed.get(name, Consumed())
        left = None if budget is None else remaining(budget, name, used.units, total.units)
        by_connector[name] = (used, left)
    left = None if budget is None else max(0, budget.total - total.units)
    return Spent(date, total, left, by_connector, budget)
