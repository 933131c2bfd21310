"""What plans are judged by besides themselves, in one question: it is asked with every outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from watchkeeper.core.approvals import Risk
from watchkeeper.core.time import DAY, Instant
from watchkeeper.store.json import loads
from watchkeeper.store.postgres import NOW_SQL
from watchkeeper.store.statement import Statement
from watchkeeper.store.transaction import Tx

_ASKED = """(select coalesce(max(version), 0) from policies),
    (select {object}(action_type, risk) from action_types),
    (select {object}(case when id = '' then scope else scope || ':' || id end, reason)
        from kill_switches where tenant_id in ({tenant}, '_system')),
    (select due_at from plan_cycles where tenant_id = {tenant}),
    (select used from autonomy_days where tenant_id = {tenant} and day = {now} / {day}),
    exists (select 1 from plans where tenant_id = {tenant} and status in ('DRAFT', 'APPROVED')
        and due_at is not null)"""
ASKED = _ASKED.format(object="json_object_agg", tenant="t.id", now="t.now", day=DAY)
"""On PostgreSQL, from a `t` that has the tenant's id and the time."""
_CONTEXT = Statement(
    f"select {ASKED} from (select %s::text as id, {NOW_SQL} as now) t",
    "select "
    + _ASKED.format(object="json_group_object", tenant="t.id", now="t.now", day=DAY)
    + " from (select ? as id, ? as now) t",
)


class PlanContext(NamedTuple):
    policy_version: int
    risks: Mapping[str, Risk]  # as programs said
    switches: Mapping[str, str]  # that are on for this tenant, and why
    cycle_at: Instant | None  # when the tenant's next cycle is due, as far as one is planned
    used_today: int  # actions that went without an approval
    has_waiting: bool  # some plan waits to be activated


def send(tx: Tx) -> Any:
    asked: tuple[object, ...] = (tx.tenant_id,)
    return tx.send(_CONTEXT, (*asked, tx.now) if tx.engine == "sqlite" else asked)


def read(cursor: Any) -> PlanContext:
    return of(cursor.fetchone())


def of(row: Sequence[Any]) -> PlanContext:
    version, risks, switches, cycle_at, used, has_waiting = row
    return PlanContext(
        policy_version=version,
        risks={name: Risk(risk) for name, risk in _object(risks).items()},
        switches=_object(switches),
        cycle_at=None if cycle_at is None else Instant(cycle_at),
        used_today=used or 0,
        has_waiting=bool(has_waiting),
    )


def _object(found: Any) -> dict[str, Any]:
    """PostgreSQL's driver reads JSON by itself, SQLite's gives text."""
    if found is None:
        return {}
    loaded: dict[str, Any] = loads(found) if isinstance(found, str) else found
    return loaded
