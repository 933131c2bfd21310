"""Plans by their status, and intents that wait for a person: bounded however many there are.

A count stops at COUNTED_MAX. There is no index by type: the plans of one are looked for among the
newest SCANNED_MAX of a status.
"""

from __future__ import annotations

from collections.abc import Mapping

from watchkeeper.core.plans import Intent, IntentState, PlanStatus
from watchkeeper.store import intents, plans
from watchkeeper.store.plans import Loaded
from watchkeeper.store.statement import same
from watchkeeper.store.transaction import Tx

COUNTED_MAX = 1_000
SCANNED_MAX = 10_000

_WAITING = same(
    "select intent_id from intents where tenant_id = %s and state = %s order by intent_id limit %s"
)
_COUNT_WAITING = same(
    "select count(*) from (select 1 from intents where tenant_id = %s and state = %s limit %s) x"
)


def count(tx: Tx, filters: Mapping[str, str]) -> dict[PlanStatus, int]:
    """How many plans have each status; one more than COUNTED_MAX means: more than those."""
    found = {}
    for status in PlanStatus:
        inner, parameters = _of(tx, {**filters, "status": status.value}, "1", None)
        sql = f"select count(*) from ({inner} limit {COUNTED_MAX + 1}) x"
        found[status] = int(tx.rows(same(sql), parameters)[0][0])
    return found


def page(tx: Tx, filters: Mapping[str, str], *, before: str | None, limit: int) -> list[Loaded]:
    """Plans that match every filter, the newest first, with their steps."""
    inner, parameters = _of(tx, filters, "plan_id", before)
    sql = same(f"{inner} order by plan_id desc limit %s")
    wanted = [row[0] for row in tx.rows(sql, (*parameters, limit))]
    found = plans.load(tx, wanted)
    return [found[plan_id] for plan_id in wanted]


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
