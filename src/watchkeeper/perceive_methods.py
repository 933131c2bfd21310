"""The part of the door for Python programs that is about looking: pulls, budgets, heat."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from watchkeeper import inputs, perceive_inputs
from watchkeeper.actions.admit import Admission
from watchkeeper.actions.request_pull import request_pull
from watchkeeper.actions.set_pull_budget import set_pull_budget, show_pull_budget
from watchkeeper.actions.show_heat import show_heat
from watchkeeper.core.heat import Depth
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.input_types import Depth as DepthName
from watchkeeper.perceive_results import Heat, PullAnswer, PullBudget, pull_answer_of
from watchkeeper.store.database import Database

AUTHOR = "python"


class PerceiveMethods:
    """What `App` can do with pulls, their budgets and heat."""

    db: Database
    admission: Admission

    def pull(
        self,
        tenant_id: str,
        account_id: str,
        connector_id: str,
        depth: DepthName = "SHALLOW",
        *,
        pull_job_id: str | None = None,
        correlation_id: str | None = None,
    ) -> PullAnswer:
        """Request one pull of an account by a connector. It starts no cadence.

        Without an id of yours, the same pull within the same hour is one. A refusal is an
        answer: `reason` says why, and `retry_at` when to ask again where that is known.
        """
        asked = inputs.parse(
            perceive_inputs.PullIn,
            {
                "account_id": account_id,
                "connector_id": connector_id,
                "depth": depth,
                "pull_job_id": pull_job_id,
                "correlation_id": correlation_id,
            },
        )
        tenant = _tenant(tenant_id)
        answer = request_pull(
            self.db,
            tenant,
            AccountId(asked.account_id),
            asked.connector_id,
            Depth[asked.depth],
            pull_job_id=asked.pull_job_id,
            correlation_id=asked.correlation_id,
            makes_tenant=True,
        )
        return pull_answer_of(answer, tenant)

    def set_pull_budget(
        self,
        tenant_id: str,
        max_pull_units_per_day: int,
        max_per_connector_per_day: int | Mapping[str, int] | None = None,
    ) -> PullBudget:
        """Set the units that a tenant may pull in a UTC day: in total, and by connector.

        One number is a cap for each connector. What was pulled today counts.
        """
        caps = max_per_connector_per_day
        given = {
            "max_pull_units_per_day": max_pull_units_per_day,
            "max_per_connector_per_day": dict(caps) if isinstance(caps, Mapping) else caps,
        }
        budget = inputs.parse(perceive_inputs.PullBudgetIn, given).budget()
        tenant = _tenant(tenant_id)
        set_pull_budget(self.db, tenant, budget, by=AUTHOR, makes_tenant=True)
        return show_pull_budget(self.db, tenant).shown()

    def remove_pull_budget(self, tenant_id: str) -> None:
        """Remove the pull budget of a tenant. Every later pull is refused: NO_BUDGET."""
        set_pull_budget(self.db, _tenant(tenant_id), None, by=AUTHOR)

    def pull_budget(self, tenant_id: str, date: date | str | None = None) -> PullBudget:
        """Show the units that a tenant pulled on a UTC day (default: today) and has left."""
        day = None if date is None else perceive_inputs.parse_day(date)
        return show_pull_budget(self.db, _tenant(tenant_id), day).shown()

    def heat(self, tenant_id: str, account_id: str) -> Heat:
        """Show the current heat of an account."""
        name = AccountId(inputs.parse_account_id(account_id))
        return show_heat(self.db, _tenant(tenant_id), name)


def _tenant(tenant_id: str) -> TenantId:
    return TenantId(inputs.parse_tenant_id(tenant_id))
