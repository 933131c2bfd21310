"""Why a pull or a turn was refused, from its entry in the ledger alone.

Unlike a verdict's, these entries hold what bound and not every number that was looked
at: so what is told is what was recorded, and the change that would have helped is the
least that was in the way, not one that was tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from watchkeeper.actions.scan_ledger import newest_entries
from watchkeeper.core import quota
from watchkeeper.core.ids import TenantId
from watchkeeper.core.ledger import Kind, Recorded
from watchkeeper.core.policy import path_part
from watchkeeper.core.pulls import PullReason
from watchkeeper.core.quota import BucketKey, Period
from watchkeeper.core.time import DAY, Instant, to_iso
from watchkeeper.errors import NotFound
from watchkeeper.store import ledger
from watchkeeper.store.database import Database
from watchkeeper.store.json import loads
from watchkeeper.store.transaction import ReadTx

PAGE = 500
LOOKED_THROUGH_MAX = 10_000
"""Refused pulls that are looked through for one id, the newest first."""

KINDS = {Kind.TURN_REFUSED: "turn", Kind.PULL_DECIDED: "pull"}
_BUDGETS = (PullReason.BUDGET_EXCEEDED, PullReason.NO_BUDGET)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused pull or turn: each thing that stood in its way, the one that bound last."""

    kind: str  # pull or turn
    id: str
    entry_id: str
    at: Instant
    reason: str
    checks: tuple[dict[str, Any], ...]
    earliest_pass_at: Instant | None
    smallest_change: str | None

    def to_json(self) -> dict[str, Any]:
        earliest = self.earliest_pass_at
        return {
            "refused": {
                "kind": self.kind,
                "id": self.id,
                "entry_id": self.entry_id,
                "at": to_iso(self.at),
                "reason": self.reason,
            },
            "checks": list(self.checks),
            "binding_check": self.checks[-1]["name"] if self.checks else None,
            "earliest_pass_at": None if earliest is None else to_iso(earliest),
            "smallest_change": self.smallest_change,
        }


def explain_refusal(db: Database, tenant_id: TenantId, name: str) -> Refusal:
    """By the id of the turn, of the pull, or of the entry. The newest refusal of that id."""
    with db.read(tenant_id) as tx:
        found = _by_entry(tx, name) or _of_turn(tx, name)
    found = found or _of_pull(db, tenant_id, name)
    if found is None:
        raise NotFound(f"no pull and no turn {name} was refused", id=name)
    return _refusal(found)


def explain_refused_entry(db: Database, tenant_id: TenantId, entry_id: str) -> Refusal | None:
    """The same by the id of the entry alone, which takes no searching; None if it is no refusal."""
    with db.read(tenant_id) as tx:
        found = _by_entry(tx, entry_id)
    return None if found is None else _refusal(found)


def explain_refused_turn(db: Database, tenant_id: TenantId, turn_id: str) -> Refusal:
    """The newest refusal of this turn. Raises NotFound for one that was never refused."""
    with db.read(tenant_id) as tx:
        found = _of_turn(tx, turn_id)
    if found is None:
        raise NotFound(f"no turn {turn_id} was refused", turn_id=turn_id)
    return _refusal(found)


def explain_refused_pull(db: Database, tenant_id: TenantId, pull_job_id: str) -> Refusal:
    """The same of a pull."""
    found = _of_pull(db, tenant_id, pull_job_id)
    if found is None:
        raise NotFound(f"no pull {pull_job_id} was refused", pull_job_id=pull_job_id)
    return _refusal(found)


def _refusal(found: Recorded) -> Refusal:
    data = loads(found.entry.data)
    return _pull(found, data) if found.entry.kind is Kind.PULL_DECIDED else _turn(found, data)


def _by_entry(tx: ReadTx, name: str) -> Recorded | None:
    try:
        entry_id = str(UUID(name))
    except ValueError:
        return None
    found = ledger.by_ids(tx, [entry_id]).get(entry_id)
    is_one = found is not None and found.entry.kind in KINDS and found.entry.reason is not None
    return found if is_one else None


def _of_turn(tx: ReadTx, turn_id: str) -> Recorded | None:
    rows = ledger.newest(tx, {"kind": Kind.TURN_REFUSED, "subject": turn_id}, limit=1)
    return rows[0] if rows else None


def _of_pull(db: Database, tenant_id: TenantId, pull_job_id: str) -> Recorded | None:
    before: int | None = None
    wanted = {"kind": Kind.PULL_DECIDED.value, "result": "REFUSED"}
    for _ in range(0, LOOKED_THROUGH_MAX, PAGE):
        rows = newest_entries(db, tenant_id, wanted, before=before, limit=PAGE)
        for found in rows:
            if loads(found.entry.data)["pull_job_id"] == pull_job_id:
                return found
        if len(rows) < PAGE:
            return None
        before = rows[-1].seq
    return None


def _pull(found: Recorded, data: dict[str, Any]) -> Refusal:
    entry = found.entry
    reason, needed, left = str(entry.reason), data["units"], data.get("remaining")
    earliest = data.get("retry_at")
    change = None
    if reason in _BUDGETS:
        earliest = (entry.at // DAY + 1) * DAY
        short = needed - (left or 0)
        change = f"{short} more units a day for {data['connector_id']}, or for the tenant"
    check = {
        "name": reason.lower(),
        "compared": data.get("explanation", ""),
        "threshold": None if left is None else f"{left} units",
        "source": "budget" if reason in _BUDGETS else "connector",
        "outcome": "bound",
    }
    return Refusal(
        "pull", data["pull_job_id"], entry.entry_id, entry.at, reason, (check,), earliest, change
    )


def _turn(found: Recorded, data: dict[str, Any]) -> Refusal:
    entry, refused = found.entry, data["refused"]
    resets = [
        quota.next_start(_bucket(one, entry.at))
        for one in refused
        if "bucket" in one and one["reserve_micro"] <= one["limit_micro"]
    ]
    least = [one for one in refused if "bucket" in one]
    change = None if not least else _limit(least[-1])
    return Refusal(
        "turn",
        entry.subject,
        entry.entry_id,
        entry.at,
        str(entry.reason),
        tuple(_check(one) for one in refused),
        min(resets, default=None),
        change,
    )


def _check(one: dict[str, Any]) -> dict[str, Any]:
    if "kill_switch" in one:
        compared, threshold, source = f"{one['kill_switch']} is on", None, "kill switch"
    else:
        needed = f"{one['reserve_micro']} more on {one['used_micro']}"
        compared, threshold, source = needed, str(one["limit_micro"]), _path(one)
    return {
        "name": f"model {one['model']}",
        "compared": compared,
        "threshold": threshold,
        "source": source,
        "outcome": "bound",
    }


def _limit(one: dict[str, Any]) -> str:
    return f"{_path(one)} = {one['used_micro'] + one['reserve_micro']}"


def _path(one: dict[str, Any]) -> str:
    scope = "user" if "user_id" in one else "tenant"
    tier = one["bucket"].removeprefix("tier:")
    last = quota.TOTAL if one["bucket"] == quota.TOTAL else f"tiers.{path_part(tier)}"
    return f"quota.{scope}.{one['period']}.{last}"


def _bucket(one: dict[str, Any], at: Instant) -> BucketKey:
    period = Period(one["period"])
    start = quota.day_start(at) if period is Period.DAILY else quota.month_start(at)
    return BucketKey(one.get("user_id", quota.TENANT_WIDE), period, start, one["bucket"])
