"""Plans by their status, and intents that wait for a person: bounded however many there are.

A count stops at COUNTED_MAX. There is no index by type: the plans of one are looked for among the
newest SCANNED_MAX of a status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from watchkeeper.core.ids import PlanId
from watchkeeper.core.plans import Intent, IntentState, PlanStatus
from watchkeeper.store import intents, plans
from watchkeeper.store.plans import Loaded
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

COUNTED_MAX = 1_000
SCANNED_MAX = 2_000


class Paged(NamedTuple):
    """`next`: there may be more behind it. `is_cut`: because enough was looked through."""

    plans: list[Loaded]
    next: PlanId | None
    is_cut: bool


_WAITING = same(
    "select intent_id from intents where tenant_id = %s and state = %s order by intent_id limit %s"
)
_COUNT_WAITING = same(
    "select count(*) from (select 1 from intents where tenant_id = %s and state = %s limit %s) x"
)


def count(tx: Tx, filters: Mapping[str, str]) -> dict[PlanStatus, int]:
    """How many plans have each status; one more than COUNTED_MAX means: more than those."""
    parts, parameters = [], []
    for status in PlanStatus:
        inner, given = _of(tx, {**filters, "status": status.value}, "1", None)
        parts.append(f"select '{status.value}', count(*) from ({inner} limit %s) x")
        parameters += [*given, COUNTED_MAX + 1]
    rows = tx.rows(same(" union all ".join(parts)), parameters)
    return {PlanStatus(status): int(number) for status, number in rows}


def newest(tx: Tx, filters: Mapping[str, str], limit: int) -> dict[PlanStatus, list[Loaded]]:
    """The newest plans of each status, with their steps."""
    parts, parameters = [], []
    for status in PlanStatus:
        inner, given = _of(tx, {**filters, "status": status.value}, "plan_id", None)
        parts.append(f"select plan_id from ({inner} order by plan_id desc limit %s) x")
        parameters += [*given, limit]
    rows = tx.rows(same(" union all ".join(parts)), parameters)
    board: dict[PlanStatus, list[Loaded]] = {status: [] for status in PlanStatus}
    for _, one in sorted(plans.load(tx, [row[0] for row in rows]).items(), reverse=True):
        board[one.plan.status].append(one)
    return board


def page(tx: Tx, filters: Mapping[str, str], *, before: str | None, limit: int) -> Paged:
    """Plans that match every filter, the newest first, with their steps."""
    inner, parameters = _of(tx, filters, "plan_id", before)
    sql = same(f"{inner} order by plan_id desc limit %s")
    wanted = [row[0] for row in tx.rows(sql, (*parameters, limit))]
    found = plans.load(tx, wanted)
    shown = [found[plan_id] for plan_id in wanted]
    if len(wanted) == limit:
        return Paged(shown, PlanId(wanted[-1]), is_cut=False)
    end = _end_of_scan(tx, filters, before)
    return Paged(shown, end, is_cut=end is not None)


def _end_of_scan(tx: Tx, filters: Mapping[str, str], before: str | None) -> PlanId | None:
    """The last plan that was looked at for its type; None where that were all."""
    if "plan_type" not in filters:
        return None
    others = {name: value for name, value in filters.items() if name != "plan_type"}
    inner, parameters = _of(tx, others, "plan_id", before)
    sql = same(f"{inner} order by plan_id desc limit 1 offset %s")
    rows = tx.rows(sql, (*parameters, SCANNED_MAX - 1))
    return PlanId(rows[0][0]) if rows else None


def waiting(tx: Tx, limit: int) -> list[Intent]:
    """What has waited longest comes first."""
    asked = (tx.tenant_id, IntentState.PENDING_APPROVAL.value)
    wanted = [row[0] for row in tx.rows(_WAITING, (*asked, limit))]
    found = intents.read(tx, wanted)
    return [found[intent_id] for intent_id in wanted]


def count_waiting(tx: Tx) -> int:
    asked = (tx.tenant_id, IntentState.PENDING_APPROVAL.value, COUNTED_MAX + 1)
    return int(tx.rows(_COUNT_WAITING, asked)[0][0])


def _of(
    tx: Tx, filters: Mapping[str, str], columns: str, before: str | None
) -> tuple[str, list[object]]:
    assert set(filters) <= set(plans.FILTERS)
    indexed = {name: value for name, value in filters.items() if name != "plan_type"}
    clauses = "".join(f" and {name} = %s" for name in indexed)
    parameters: list[object] = [tx.tenant_id, *indexed.values()]
    if before is not None:
        clauses += " and plan_id < %s"
        parameters.append(before)
    if "plan_type" not in filters:
        return f"select {columns} from plans where tenant_id = %s{clauses}", parameters
    scanned = (
        f"select plan_id, plan_type from plans where tenant_id = %s{clauses}"
        f" order by plan_id desc limit {SCANNED_MAX}"
    )
    parameters.append(filters["plan_type"])
    return f"select {columns} from ({scanned}) s where plan_type = %s", parameters
