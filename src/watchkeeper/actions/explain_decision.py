"""Why a decision went as it did, from its entry in the ledger alone; and where its run is now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from watchkeeper.actions.keep_ledger import why_gone
from watchkeeper.core.admission import Reason
from watchkeeper.core.explain import Trail, trail
from watchkeeper.core.ids import SYSTEM, DecisionId, TenantId
from watchkeeper.core.ledger import Kind, Recorded
from watchkeeper.core.policy import rules_for
from watchkeeper.core.time import Instant, to_iso
from watchkeeper.core.verdict_record import read_case, read_verdict
from watchkeeper.errors import NotFound
from watchkeeper.moves.admission import Decided, decided_from
from watchkeeper.results import ShownRun, Verdict, check_json, run_of, verdict_of
from watchkeeper.store import kill_switches, ledger, runs
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.transaction import ReadTx


@dataclass(frozen=True, slots=True)
class Explanation:
    """A recorded verdict and the trail that leads to it."""

    verdict: Verdict
    trail: Trail
    agrees: bool  # what was recorded follows from what was recorded with it
    run: ShownRun | None = None  # as it is now; None where nothing was allowed to run

    def to_json(self) -> dict[str, Any]:
        """As the HTTP API gives it."""
        earliest = self.trail.earliest_pass_at
        return {
            "verdict": self.verdict.to_json(),
            "checks": [check_json(check) for check in self.trail.checks],
            "binding_check": self.trail.binding_check,
            "earliest_pass_at": None if earliest is None else to_iso(earliest),
            "never_passes_because": self.trail.never_passes_because,
            "smallest_change": self.trail.smallest_change,
            "no_change_because": self.trail.no_change_because,
            "agrees": self.agrees,
            "run": None if self.run is None else self.run.to_json(),
        }


def explain_decision(db: Database, tenant_id: TenantId, decision_id: str) -> Explanation:
    """Decide a recorded case again, telling what each check saw. Changes nothing."""
    with db.read(tenant_id) as tx:
        found = recorded_decision(tx, decision_id)
        data = loads(found.entry.data)
        policy = db.policies.recorded(tx, **data["policy"])
        held_since = _held_since(tx, data)
        run = runs.get(tx, DecisionId(decision_id))
    decided = decided_from(found)
    rules = rules_for(policy, tenant_id, data["tenant"]["tier"])
    walked = trail(read_case(data, rules), held_since)
    return Explanation(
        verdict=verdict_of(decided._replace(switch_reason=_switch_reason(db, found, decided))),
        trail=walked,
        agrees=walked.verdict == read_verdict(data),
        run=run_of(decided, run),
    )


def _held_since(tx: ReadTx, data: dict[str, Any]) -> Instant | None:
    """When the decision was given that a repeat repeats."""
    first = data["verdict"].get("duplicate_of")
    found = None if first is None else ledger.by_ids(tx, [first]).get(first)
    return None if found is None else found.entry.at


def _switch_reason(db: Database, found: Recorded, decided: Decided) -> str | None:
    """The reason of the kill switch that refused, from the entries of the ledger before it."""
    if decided.switch is None or decided.verdict.reason is not Reason.KILL_SWITCH:
        return None
    with db.read(TenantId(found.tenant_id)) as tx:
        own = kill_switches.reason_before(tx, decided.switch, found.seq)
    if own is not None:
        return own
    with db.read(SYSTEM) as system:
        return kill_switches.reason_at(system, decided.switch, found.entry.at)


def recorded_decision(tx: ReadTx, decision_id: str) -> Recorded:
    """Its entry; NotFound for what is no decision of this tenant."""
    found = ledger.by_ids(tx, [decision_id]).get(decision_id) if _is_id(decision_id) else None
    if found is None or found.entry.kind is not Kind.VERDICT:
        raise why_gone(tx, "decision", decision_id)
    return found


def is_decision(db: Database, tenant_id: TenantId, name: str) -> bool:
    """Whether there is a decision of this id."""
    try:
        with db.read(tenant_id) as tx:
            recorded_decision(tx, name)
    except NotFound:
        return False
    return True


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
