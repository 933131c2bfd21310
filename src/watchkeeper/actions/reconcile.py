"""The reconciliation of cost: every debit has its usage event, and every event its debit.

It only reads, each question in a transaction of its own, and may run beside servers and
workers. What is found is either wrong, or waits for somebody: a receiver that is away is no
contradiction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.actions.verify import (
    ENTRIES_MAX,
    GRACE_US,
    Audit,
    Finding,
    ask_settle,
    every_tenant,
)
from watchkeeper.core.ids import TenantId
from watchkeeper.store.database import Database
from watchkeeper.store.questions_settle import ATTENTION, SETTLE_QUESTIONS

ALL = 1 << 62
"""Where a number of turns or entries is asked for, and every one is meant."""


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What must hold, each with the rows that break it, and what somebody should look at."""

    findings: tuple[Finding, ...]
    attention: tuple[Finding, ...]

    @property
    def is_clean(self) -> bool:
        return all(finding.is_clean for finding in self.findings)


def reconcile(
    db: Database,
    tenants: Sequence[TenantId] | None = None,
    *,
    newest: int = ENTRIES_MAX,
    grace_us: int = GRACE_US,
) -> Reconciliation:
    """Compare turns, quota, usage events and ledger: of all tenants, or of those named.

    Of each tenant the newest turns and entries are looked at; a bucket that began before the
    oldest of them is left out.
    """
    asked = (*SETTLE_QUESTIONS, *ATTENTION)
    found: dict[str, list[dict[str, object]]] = {one.name: [] for one in asked}
    for tenant_id in every_tenant(db) if tenants is None else tenants:
        ask_settle(Audit(db, tenant_id, newest, grace_us, found), asked)
    told = [Finding(one.name, one.holds, tuple(found[one.name])) for one in asked]
    cut = len(SETTLE_QUESTIONS)
    return Reconciliation(tuple(told[:cut]), tuple(told[cut:]))
