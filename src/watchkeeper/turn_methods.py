"""The part of the door for Python programs that is about cost: turns and quota."""

from __future__ import annotations

from collections.abc import Mapping

from watchkeeper import inputs
from watchkeeper.actions.reconcile import Reconciliation, reconcile
from watchkeeper.actions.show_turn import show_quota, show_turn
from watchkeeper.actions.turns import Turns
from watchkeeper.core.ids import TenantId
from watchkeeper.core.quota import Asked
from watchkeeper.core.turns import TurnState, Usage
from watchkeeper.ids import new_id
from watchkeeper.input_types import TurnOutcome
from watchkeeper.store.database import Database
from watchkeeper.turn_results import QuotaBucket, Settlement, Turn, settlement_of, turn_of


class TurnMethods:
    """What `App` can do with turns."""

    db: Database
    turns: Turns

    def reserve_turn(
        self,
        tenant_id: str,
        *,
        request_id: str,
        model: str,
        estimated_input_tokens: int,
        max_output_tokens: int,
        user_id: str | None = None,
        turn_id: str | None = None,
    ) -> Turn:
        """Reserve quota before the work starts. Use the turn's `effective_model` for it.

        Raises QuotaExceeded when no model of the cascade has room. The same request id again
        returns the same turn.
        """
        given = {
            "turn_id": turn_id,
            "request_id": request_id,
            "user_id": user_id,
            "model": model,
            "estimated_input_tokens": estimated_input_tokens,
            "max_output_tokens": max_output_tokens,
        }
        turn = inputs.parse(inputs.TurnIn, given)
        reserved = self.turns.reserve(_tenant(tenant_id), asked_of(turn))
        return turn_of(reserved.turn, existing=not reserved.is_new)

    def progress_turn(self, tenant_id: str, turn_id: str) -> None:
        """Report that the work of a turn goes on. Conflict: the turn has ended, stop the work."""
        self.turns.progress(_tenant(tenant_id), inputs.parse_id(turn_id, "turn_id"))

    def finalize_turn(
        self,
        tenant_id: str,
        turn_id: str,
        *,
        outcome: TurnOutcome,
        started: bool = True,
        usage: Mapping[str, int] | None = None,
    ) -> Settlement:
        """End a turn and settle it, once. `won` is true if this call ended it."""
        given = {
            "outcome": outcome,
            "started": started,
            "usage": None if usage is None else dict(usage),
        }
        told = inputs.parse(inputs.FinalizeIn, given)
        finalized = self.turns.finalize(
            _tenant(tenant_id),
            inputs.parse_id(turn_id, "turn_id"),
            TurnState(told.outcome),
            started=told.started,
            usage=usage_of(told.usage),
        )
        return settlement_of(finalized)

    def turn(self, tenant_id: str, turn_id: str) -> Turn:
        """Show a turn, and where its usage event is."""
        return show_turn(self.db, _tenant(tenant_id), turn_id)

    def quota(self, tenant_id: str, *, user_id: str | None = None) -> list[QuotaBucket]:
        """Show how full the tenant's buckets are now, or those of one of its users."""
        return show_quota(self.db, _tenant(tenant_id), user_id)

    def reconcile(self, *, tenant_id: str | None = None) -> Reconciliation:
        """Compare charges and usage events, of one tenant or of all."""
        return reconcile(self.db, None if tenant_id is None else [_tenant(tenant_id)])


def asked_of(turn: inputs.TurnIn) -> Asked:
    return Asked(
        turn_id=turn.turn_id or new_id(),
        request_id=turn.request_id,
        model=turn.model,
        estimated_input_tokens=turn.estimated_input_tokens,
        max_output_tokens=turn.max_output_tokens,
        user_id=turn.user_id,
    )


def usage_of(usage: inputs.UsageIn | None) -> Usage | None:
    return None if usage is None else Usage(usage.input_tokens, usage.output_tokens)


def _tenant(tenant_id: str) -> TenantId:
    return TenantId(inputs.parse_tenant_id(tenant_id))
