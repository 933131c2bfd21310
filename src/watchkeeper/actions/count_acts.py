"""Plans as numbers: what became of them, of their steps and of what they asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from watchkeeper import telemetry
from watchkeeper.core.ledger import Entry, Kind
from watchkeeper.store import intents
from watchkeeper.store.database import Database

_PLAN, _STEP = "PLAN_", "STEP_"
_START = Kind.STEP_STARTED
_INTENTS: Mapping[str, str] = {
    Kind.INTENT_APPROVED: "approved",
    Kind.INTENT_REJECTED: "rejected",
    Kind.OUTCOME_LATE: "outcome_late",
}


def count_acts(entries: Sequence[Entry], approvals: Counter[str]) -> None:
    """Count what a transaction wrote down. Reasons that people type are no labels.

    Of starts: who had to say yes.
    """
    counts = Counter([(str(e.kind), _reason(e)) for e in entries if e.kind is not _START])
    counts += Counter({(str(_START), approval): n for approval, n in approvals.items()})
    for (kind, reason), count in counts.items():
        if kind.startswith(_PLAN):
            telemetry.PLANS.labels(kind.removeprefix(_PLAN).lower()).inc(count)
        elif kind.startswith(_STEP):
            telemetry.PLAN_STEPS.labels(kind.removeprefix(_STEP).lower(), reason).inc(count)
        elif kind in _INTENTS:
            telemetry.INTENTS.labels(_INTENTS[kind]).inc(count)


def _reason(entry: Entry) -> str:
    """Of a failure: which one it was."""
    return entry.reason or "" if entry.kind == Kind.STEP_FAILED else ""


def count_cycle(counts: Counter[str]) -> None:
    telemetry.CYCLES.inc()
    for deed, count in counts.items():
        telemetry.CYCLE_DEEDS.labels(deed).inc(count)


def count_open_intents(db: Database) -> list[tuple[str, int]]:
    """State and how many, of what is asked for and has not ended, over all tenants."""
    with db.read_system() as tx:
        return intents.count_open(tx)
