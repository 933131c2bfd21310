"""What a trigger of each type would get now, and why. Nothing is asked for and nothing changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watchkeeper.core.admission import Case, Event, switch_for
from watchkeeper.core.explain import Trail, trail
from watchkeeper.core.ids import AccountId, TenantId
from watchkeeper.core.phrases import phrase
from watchkeeper.core.time import Instant, ceil_second, to_iso
from watchkeeper.errors import NotFound
from watchkeeper.store import accounts, kill_switches, tenants
from watchkeeper.store.database import Database


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a trigger of one type would get at this moment."""

    trigger_type: str
    trail: Trail
    switch: str | None = None  # the kill switch that is on for the type
    switch_reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        verdict, earliest = self.trail.verdict, self.trail.earliest_pass_at
        return {
            "trigger_type": self.trigger_type,
            "result": verdict.result,
            "reason": verdict.reason,
            "explanation": phrase(verdict, self.switch, self.switch_reason),
            "binding_check": self.trail.binding_check,
            "earliest_pass_at": None if earliest is None else to_iso(earliest),
            "never_passes_because": self.trail.never_passes_because,
            "smallest_change": self.trail.smallest_change,
            "no_change_because": self.trail.no_change_because,
        }


@dataclass(frozen=True, slots=True)
class Prospects:
    """The same for every type that the policy knows."""

    tenant_id: TenantId
    account_id: AccountId
    at: Instant
    policy_version: int
    triggers: tuple[Prospect, ...]

    def to_json(self) -> dict[str, Any]:
        """As the HTTP API gives it."""
        return {
            "tenant_id": self.tenant_id,
            "account_id": self.account_id,
            "at": to_iso(self.at),
            "policy_version": self.policy_version,
            "triggers": [one.to_json() for one in self.triggers],
        }


def why_not(db: Database, tenant_id: TenantId, account_id: AccountId) -> Prospects:
    """Ask the gate for each trigger type, from what is stored now, in a transaction that reads."""
    with db.read(tenant_id) as tx:
        account, runs = accounts.get(tx, account_id), tenants.runs(tx)
        if account is None or runs is None:
            raise NotFound(f"there is no account {account_id}", account_id=account_id)
        rules = db.policies.exact(tx).rules
        switches = {switch.name: switch.reason for switch in kill_switches.in_force(tx)}
        now = ceil_second(tx.now)
    found = []
    for name in rules.triggers:
        event = Event(account_id, name, "")
        switch = switch_for(switches, name)
        case = Case(event, account.run_state, runs, rules, now, switch)
        walked = trail(case, switches=switches)
        found.append(Prospect(name, walked, switch, switches.get(switch or "")))
    return Prospects(tenant_id, account_id, now, rules.policy_version, tuple(found))
