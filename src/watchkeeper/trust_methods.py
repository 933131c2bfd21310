"""The part of the door for Python programs that is about trying and proving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper import inputs
from watchkeeper.actions.explain_refusal import Refusal, explain_refusal
from watchkeeper.actions.export_bundle import export_bundle
from watchkeeper.actions.locate_tenant import Thing, locate_tenant
from watchkeeper.actions.plan_policy import Plan, Progress, plan_policy
from watchkeeper.actions.simulate import Progress as SimulationProgress
from watchkeeper.actions.simulate import simulate
from watchkeeper.actions.simulated import Simulation
from watchkeeper.actions.why_not import Prospects, why_not
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.store.database import Database
from watchkeeper.trust_inputs import SimulationIn, parse_span, scene_of


class TrustMethods:
    """What `App` can do with what was recorded."""

    db: Database

    def plan_policy(
        self,
        document: str | Mapping[str, object],
        *,
        since: str = "30d",
        tenant_id: str | None = None,
        processes: int = 1,
        on_progress: Progress | None = None,
    ) -> Plan:
        """Replay recorded events under a policy; show the verdicts that differ, and the costs.

        With more than one process your program must be importable (`if __name__ == ...`).
        """
        return plan_policy(
            self.db,
            document,
            since_us=parse_span(since, "since"),
            tenant_ids=None if tenant_id is None else [TenantId(tenant_id)],
            processes=processes,
            on_progress=on_progress,
        )

    def simulate(
        self,
        policy: str | None = None,
        *,
        on_progress: SimulationProgress | None = None,
        **asked: object,
    ) -> Simulation:
        """Simulate a policy; without one, the policy in force.

        `asked` describes the events: rates and a seed, or `recorded=True` and how far back. It
        is played in memory, on a clock of its own; nothing here is changed.
        """
        self.db.check_open()
        scene = scene_of(inputs.parse(SimulationIn, asked), self.db, policy)
        return simulate(scene, on_progress)

    def why_not(self, account_id: str, *, tenant_id: str | None = None) -> Prospects:
        """Show the verdict that a trigger of each type would get now. Changes nothing."""
        name = AccountId(account_id)
        owner = locate_tenant(self.db, Thing.ACCOUNT, name, tenant_id)
        return why_not(self.db, TenantId(owner), name)

    def explain_refusal(self, tenant_id: str, id: str) -> Refusal:
        """Explain why a pull or a turn was refused, by its id or that of its ledger entry."""
        return explain_refusal(self.db, TenantId(tenant_id), id)

    def bundle(self, decision_id: str, *, tenant_id: str | None = None) -> dict[str, Any]:
        """Export a decision with all its inputs, for `watchkeeper bundle replay`."""
        owner = locate_tenant(self.db, Thing.DECISION, decision_id, tenant_id)
        return export_bundle(self.db, TenantId(owner), decision_id)
