"""What the database itself refuses of plans, steps and intents, whoever asks."""

import itertools
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

import watchkeeper
from tests.carrying import ACME, Look, Orchestrator
from tests.databases import Databases, Place
from tests.power_cut import contents
from watchkeeper.core.ids import TenantId
from watchkeeper.core.plans import (
    ENDED,
    INTENT_MOVES,
    OPEN,
    PLAN_MOVES,
    STEP_MOVES,
    IntentState,
    PlanStatus,
    StepStatus,
)
from watchkeeper.ids import new_id

REFUSED = (sqlite3.IntegrityError, psycopg.errors.IntegrityError)
MIGRATIONS = Path(watchkeeper.__file__).parent / "store" / "migrations" / "versions"
BORN = {
    "plans": {PlanStatus.DRAFT},
    "plan_steps": {StepStatus.PENDING},
    "intents": {IntentState.PENDING_APPROVAL, IntentState.APPROVED, IntentState.REJECTED},
}


class Rows:
    """Rows made by hand, each brought to a status by ways that are allowed."""

    def __init__(self, place: Place) -> None:
        self.look = Look(place)

    def run(self, statement: str) -> list[tuple]:
        return self.look.execute(statement)

    def plan(self, status: PlanStatus = PlanStatus.DRAFT, account: str | None = None) -> str:
        plan_id = new_id()
        self.run(
            "insert into plans (tenant_id, plan_id, account_id, plan_type, objective, status,"
            " source, created_at, created_by, expires_at)"
            f" values ('acme', '{plan_id}', '{account or plan_id}', 'X', 'o', 'DRAFT', 't', 1,"
            " 't', 9)"
        )
        for one in way(PLAN_MOVES, PlanStatus.DRAFT, status):
            self.move_plan(plan_id, one)
        return plan_id

    def move_plan(self, plan_id: str, status: PlanStatus) -> None:
        ended = "1" if status in ENDED else "null"
        reason = "'objective_met'" if status is PlanStatus.COMPLETED else "null"
        self.run(
            f"update plans set status = '{status}', approved_at = 1, ended_at = {ended},"
            f" completion_reason = {reason} where plan_id = '{plan_id}'"
        )

    def step(self, status: StepStatus = StepStatus.PENDING) -> str:
        plan_id = self.plan()
        self.run(
            "insert into plan_steps (tenant_id, plan_id, step_id, action_type, position, sequence,"
            f" status) values ('acme', '{plan_id}', 's', 'DO', 0, 1, 'PENDING')"
        )
        self.move_plan(plan_id, PlanStatus.APPROVED)
        self.move_plan(plan_id, PlanStatus.ACTIVE)
        for one in way(STEP_MOVES, StepStatus.PENDING, status):
            self.move_step(plan_id, one)
        return plan_id

    def move_step(self, plan_id: str, status: StepStatus, more: str = "") -> None:
        started = status in (StepStatus.PENDING_APPROVAL, StepStatus.AUTO_EXECUTED)
        counted = "attempts = attempts + 1, " if started else ""
        self.run(
            f"update plan_steps set {counted}status = '{status}'{more} where plan_id = '{plan_id}'"
        )

    def intent(
        self,
        state: IntentState = IntentState.PENDING_APPROVAL,
        plan_id: str | None = None,
        attempt: int = 1,
    ) -> str:
        intent_id = new_id()
        born = IntentState.PENDING_APPROVAL
        self.run(
            "insert into intents (tenant_id, intent_id, plan_id, step_id, attempt, account_id,"
            " action_type, state, created_at, deadline_at, approval) values ('acme',"
            f" '{intent_id}', '{plan_id or self.plan(PlanStatus.ACTIVE)}', 's', {attempt}, 'a',"
            f" 'DO', '{born}', 1, 9, 'x')"
        )
        for one in way(INTENT_MOVES, born, state):
            self.move_intent(intent_id, one)
        return intent_id

    def move_intent(self, intent_id: str, state: IntentState) -> None:
        ended = "null" if state in OPEN else "1"
        self.run(
            f"update intents set state = '{state}', ended_at = {ended}"
            f" where intent_id = '{intent_id}'"
        )


def way(table: Mapping[Any, frozenset[Any]], start: Any, end: Any) -> list[Any]:
    """The shortest way through a table."""
    ways = [[start]]
    while ways[0][-1] is not end:
        first = ways.pop(0)
        ways += [[*first, one] for one in sorted(table[first[-1]]) if one not in first]
    return ways[0][1:]


@pytest.fixture
def rows(place: Place) -> Iterator[Rows]:
    made = Rows(place)
    yield made
    made.look.close()


def refuses(rows: Rows, statement: str) -> None:
    with pytest.raises(REFUSED):
        rows.run(statement)


# -- the ways of each status -----------------------------------------------------------------------


@pytest.mark.req("A-01")
def test_a_plan_goes_the_ways_of_its_table_and_no_other(rows: Rows) -> None:
    for before, after in itertools.permutations(PlanStatus, 2):
        plan_id = rows.plan(before)
        if after in PLAN_MOVES[before]:
            rows.move_plan(plan_id, after)
            continue
        with pytest.raises(REFUSED):
            rows.move_plan(plan_id, after)
        stored = rows.run(f"select status from plans where plan_id = '{plan_id}'")
        assert stored == [(before,)], f"{before} to {after}"


@pytest.mark.req("A-06")
def test_a_step_goes_the_ways_of_its_table_and_no_other(rows: Rows) -> None:
    for before, after in itertools.permutations(StepStatus, 2):
        plan_id = rows.step(before)
        if after in STEP_MOVES[before]:
            rows.move_step(plan_id, after)
            continue
        with pytest.raises(REFUSED):
            rows.move_step(plan_id, after)
        stored = rows.run(f"select status from plan_steps where plan_id = '{plan_id}'")
        assert stored == [(before,)], f"{before} to {after}"


@pytest.mark.req("A-08")
def test_an_intent_goes_the_ways_of_its_table_and_no_other(rows: Rows) -> None:
    for before, after in itertools.permutations(IntentState, 2):
        intent_id = rows.intent(before)
        if after in INTENT_MOVES[before]:
            rows.move_intent(intent_id, after)
            continue
        with pytest.raises(REFUSED):
            rows.move_intent(intent_id, after)
        stored = rows.run(f"select state from intents where intent_id = '{intent_id}'")
        assert stored == [(before,)], f"{before} to {after}"


WAYS = re.compile(r"old\.(\w+) = '(\w+)' and new\.\1 in \(([^)]*)\)")


@pytest.mark.req("A-01", "A-06", "A-08")
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("plans_go_their_ways", PLAN_MOVES),
        ("steps_go_their_ways", STEP_MOVES),
        ("intents_go_their_ways", INTENT_MOVES),
    ],
)
def test_the_triggers_are_the_tables(engine: str, name: str, table: Mapping) -> None:
    source = (MIGRATIONS / f"0004_{engine}.sql").read_text()
    trigger = source[source.index(f"create trigger {name}") :].partition(";")[0]
    found = {
        before: {word.strip(" '") for word in after.split(",")}
        for _, before, after in WAYS.findall(trigger)
    }
    assert found == {str(s): {str(w) for w in ways} for s, ways in table.items() if ways}


@pytest.mark.req("A-01", "A-05")
@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("plans", "status", PlanStatus),
        ("plan_steps", "status", StepStatus),
        ("intents", "state", IntentState),
    ],
)
def test_how_each_is_born(rows: Rows, table: str, column: str, words: Any) -> None:
    rows.step()
    rows.intent()
    for status in words:
        names, copied = copy_of(rows, table, {column: f"'{status}'"})
        if status in (IntentState.REJECTED, *ENDED) and table != "plan_steps":
            copied = copied.replace("ended_at", "1")
        if status in BORN[table]:
            rows.run(f"insert into {table} ({names}) {copied}")
        else:
            refuses(rows, f"insert into {table} ({names}) {copied}")
    names, copied = copy_of(rows, "plan_steps", {"attempts": "1"})
    refuses(rows, f"insert into plan_steps ({names}) {copied}")


def copy_of(rows: Rows, table: str, changes: dict[str, str]) -> tuple[str, str]:
    """Columns and a select that copies a row under another id, with changes."""
    draft = rows.plan()
    changes = {"plan_id": f"'{draft}'", "intent_id": f"'{new_id()}'"} | changes
    if table == "plans":
        changes["plan_id"] = f"'{new_id()}'"
        changes["approved_at"] = changes["account_id"] = "1"
    if rows.look.engine == "postgresql":
        changes = {k: f"{v}::uuid" if k.endswith("plan_id") else v for k, v in changes.items()}
        changes["intent_id"] += "::uuid"
        if "account_id" in changes:
            changes["account_id"] = "'1'"
    told = {
        "plans": "tenant_id, plan_id, account_id, plan_type, objective, status, source, created_at,"
        " created_by, expires_at, approved_at, ended_at, completion_reason",
        "plan_steps": "tenant_id, plan_id, step_id, action_type, position, sequence, status,"
        " attempts",
        "intents": "tenant_id, intent_id, plan_id, step_id, attempt, account_id, action_type,"
        " state, created_at, deadline_at, approval, ended_at",
    }[table]
    chosen = ", ".join(changes.get(name, name) for name in told.split(", "))
    return told, f"select {chosen} from {table} limit 1"


# -- one at a time -----------------------------------------------------------------------------


@pytest.mark.req("A-03")
def test_a_second_active_plan_of_an_account_and_type_is_refused(rows: Rows) -> None:
    first = rows.plan(PlanStatus.ACTIVE, account="ann")
    second = rows.plan(PlanStatus.APPROVED, account="ann")
    with pytest.raises(REFUSED):
        rows.move_plan(second, PlanStatus.ACTIVE)
    rows.plan(PlanStatus.ACTIVE, account="bob")
    rows.move_plan(first, PlanStatus.PAUSED)
    rows.move_plan(second, PlanStatus.ACTIVE)
    with pytest.raises(REFUSED):
        rows.move_plan(first, PlanStatus.ACTIVE)
    rows.move_plan(second, PlanStatus.COMPLETED)
    rows.move_plan(first, PlanStatus.ACTIVE)


@pytest.mark.req("A-05")
def test_a_second_attempt_under_way_is_refused(rows: Rows) -> None:
    for state in OPEN:
        plan_id = rows.plan(PlanStatus.ACTIVE)
        first = rows.intent(state, plan_id)
        with pytest.raises(REFUSED):
            rows.intent(plan_id=plan_id, attempt=2)
        rows.run(f"update intents set is_late = true where intent_id = '{first}'")
        rows.intent(plan_id=plan_id, attempt=2)


@pytest.mark.req("A-05")
def test_an_attempt_is_made_once(rows: Rows) -> None:
    plan_id = rows.plan(PlanStatus.ACTIVE)
    rows.intent(IntentState.REJECTED, plan_id)
    with pytest.raises(REFUSED):
        rows.intent(plan_id=plan_id, attempt=1)
    with pytest.raises(REFUSED):
        rows.intent(plan_id=plan_id, attempt=0)
    rows.intent(plan_id=plan_id, attempt=2)


@pytest.mark.req("A-09")
def test_nothing_is_carried_out_for_a_plan_that_is_not_active(rows: Rows) -> None:
    for status in PlanStatus:
        intent_id = rows.intent(IntentState.APPROVED, rows.plan(status))
        if status is PlanStatus.ACTIVE:
            rows.move_intent(intent_id, IntentState.EXECUTING)
        else:
            with pytest.raises(REFUSED):
                rows.move_intent(intent_id, IntentState.EXECUTING)


def born(rows: Rows, *intents: tuple[str, IntentState]) -> list[str]:
    """Attempts of plans that are written by one statement, each in its state; their ids."""
    ids = [new_id() for _ in intents]
    values = ", ".join(
        f"('acme', '{id}', '{plan_id}', 's', 1, 'a', 'DO', '{state}', 1, 9, 'x')"
        for id, (plan_id, state) in zip(ids, intents, strict=True)
    )
    rows.run(
        "insert into intents (tenant_id, intent_id, plan_id, step_id, attempt, account_id,"
        f" action_type, state, created_at, deadline_at, approval) values {values}"
    )
    return ids


@pytest.mark.req("A-09")
def test_nothing_is_born_as_carried_out_for_a_plan_that_is_not_active(rows: Rows) -> None:
    """Nor is anything else that the same statement writes, wherever in it that one stands."""
    executing, approved = IntentState.EXECUTING, IntentState.APPROVED
    for status in set(PlanStatus) - {PlanStatus.ACTIVE}:
        for place in range(3):
            many = [(rows.plan(PlanStatus.ACTIVE), executing) for _ in range(2)]
            many.insert(place, (rows.plan(status), executing))
            before = rows.run("select count(*) from intents")
            with pytest.raises(REFUSED):
                born(rows, *many)
            assert rows.run("select count(*) from intents") == before, f"{status} {place}"
        with pytest.raises(REFUSED):
            born(rows, (rows.plan(status), executing))
        born(rows, (rows.plan(status), approved), (rows.plan(PlanStatus.ACTIVE), executing))
    with pytest.raises(REFUSED):
        born(rows, (new_id(), executing))
    assert len(born(rows, *[(rows.plan(PlanStatus.ACTIVE), executing) for _ in range(3)])) == 3


@pytest.mark.req("A-05")
def test_attempts_neither_go_back_nor_skip(rows: Rows) -> None:
    plan_id = rows.step(StepStatus.FAILED)
    rows.move_step(plan_id, StepStatus.AUTO_EXECUTED)
    [(attempts,)] = rows.run(f"select attempts from plan_steps where plan_id = '{plan_id}'")
    for wrong in (attempts - 1, attempts + 2):
        refuses(rows, f"update plan_steps set attempts = {wrong} where plan_id = '{plan_id}'")
    rows.move_step(plan_id, StepStatus.FAILED)
    refuses(rows, f"update plan_steps set status = 'AUTO_EXECUTED' where plan_id = '{plan_id}'")
    rows.run(f"update plan_steps set spared = attempts where plan_id = '{plan_id}'")
    refuses(rows, f"update plan_steps set spared = 0 where plan_id = '{plan_id}'")
    refuses(rows, f"update plan_steps set spared = attempts + 1 where plan_id = '{plan_id}'")


# -- what stays --------------------------------------------------------------------------------

TERMS = {
    "account_id": "'eve'",
    "plan_type": "'EVIL'",
    "objective": "'other'",
    "constraints": "'{\"a\": 1}'",
    "expires_at": "expires_at + 1",
    "version": "version + 1",
}
ALWAYS = {"source": "'eve'", "created_at": "7", "created_by": "'eve'", "tenant_id": "'bolt'"}


@pytest.mark.req("A-02")
def test_a_plan_is_edited_as_a_draft_and_never_after(rows: Rows) -> None:
    for status in PlanStatus:
        plan_id = rows.plan(status)
        for column, value in (ALWAYS | TERMS).items():
            statement = f"update plans set {column} = {value} where plan_id = '{plan_id}'"
            if status is PlanStatus.DRAFT and column in TERMS:
                rows.run(statement)
            else:
                refuses(rows, statement)


@pytest.mark.req("A-02")
def test_steps_are_edited_as_long_as_their_plan_is_a_draft(rows: Rows) -> None:
    changes = {
        "step_id": "'x'",
        "action_type": "'EVIL'",
        "position": "7",
        "sequence": "7",
        "dependencies": "'[\"x\"]'",
        "data": "'{\"a\": 1}'",
    }
    for status in PlanStatus:
        plan_id = rows.plan()
        step = (
            "insert into plan_steps (tenant_id, plan_id, step_id, action_type, position, sequence,"
            f" status) values ('acme', '{plan_id}', '%s', 'DO', 0, 1, 'PENDING')"
        )
        rows.run(step % "s")
        for one in way(PLAN_MOVES, PlanStatus.DRAFT, status):
            rows.move_plan(plan_id, one)
        deeds = [
            *[
                f"update plan_steps set {name} = {value} where plan_id = '{plan_id}'"
                for name, value in changes.items()
            ],
            step % "t",
            f"delete from plan_steps where plan_id = '{plan_id}'",
        ]
        for deed in deeds:
            if status is PlanStatus.DRAFT:
                rows.run(deed)
            else:
                refuses(rows, deed)


@pytest.mark.req("A-08", "A-10")
def test_the_terms_and_the_end_of_an_intent_stay(rows: Rows) -> None:
    terms = {
        "plan_id": f"'{new_id()}'",
        "step_id": "'x'",
        "attempt": "attempt + 1",
        "account_id": "'eve'",
        "action_type": "'EVIL'",
        "created_at": "7",
        "approval": "'eve'",
    }
    end = {"ended_at": "ended_at + 1", "detail": "'other'", "is_late": "true"}
    for state in IntentState:
        intent_id = rows.intent(state)
        for column, value in (terms | ({} if state in OPEN else end)).items():
            refuses(rows, f"update intents set {column} = {value} where intent_id = '{intent_id}'")


@pytest.mark.req("A-02", "A-08")
def test_terms_stay_whatever_else_a_statement_changes(rows: Rows) -> None:
    """One row among several, one column among several: nothing of it is done."""
    first, second = rows.step(), rows.step()
    intents = rows.intent(plan_id=first), rows.intent(plan_id=second)
    plan = f"case plan_id when '{second}' then 'other' else {{}} end"
    one = f"case intent_id when '{intents[1]}' then 'other' else {{}} end"
    deeds = {
        "plans": f"due_at = 3, objective = {plan.format('objective')}",
        "plan_steps": f"reason = 'x', action_type = {plan.format('action_type')}",
        "intents": f"detail = 'x', step_id = {one.format('step_id')}",
    }
    same = {"plans": "'o'", "plan_steps": "'DO'", "intents": "'s'"}
    for table, deed in deeds.items():
        before = rows.run(f"select * from {table} order by 1, 2")
        refuses(rows, f"update {table} set {deed}")
        assert rows.run(f"select * from {table} order by 1, 2") == before
        rows.run(f"update {table} set " + deed.replace("'other'", same[table]))


@pytest.mark.postgresql
@pytest.mark.req("A-02", "A-08")
@pytest.mark.parametrize("engine", ["postgresql"])
def test_a_trigger_that_names_columns_names_all_that_it_compares(place: Place) -> None:
    """One that is not named may be changed past it."""
    found = place.execute(
        "select t.tgname, pg_get_triggerdef(t.oid), array(select a.attname::text"
        " from pg_attribute a where a.attrelid = t.tgrelid and a.attnum = any (t.tgattr))"
        " from pg_trigger t where not t.tgisinternal and cardinality(t.tgattr::int2[]) > 0"
    )
    assert len(found) >= 4
    for name, definition, columns in found:
        compared = set(re.findall(r"new\.(\w+)", definition.lower()))
        assert compared <= set(columns), name


@pytest.mark.req("A-01")
def test_the_end_of_a_plan_stays(rows: Rows) -> None:
    for status in ENDED:
        plan_id = rows.plan(status)
        refuses(rows, f"update plans set ended_at = 2 where plan_id = '{plan_id}'")
        refuses(rows, f"update plans set reason = 'x' where plan_id = '{plan_id}'")
        rows.run(f"update plans set due_at = 3 where plan_id = '{plan_id}'")


@pytest.mark.req("A-01", "A-05", "A-13")
def test_plans_and_intents_are_kept(rows: Rows, place: Place) -> None:
    rows.step()
    rows.intent()
    before = contents(place)
    for table in ("plans", "plan_steps", "intents"):
        refuses(rows, f"delete from {table}")
        if place.engine == "postgresql":
            refuses(rows, f"truncate {table} cascade")
        elif table != "plan_steps":
            refuses(rows, f"insert or replace into {table} select * from {table}")
    assert contents(place) == before


@pytest.mark.postgresql
@pytest.mark.req("A-15")
def test_another_tenants_plans_are_invisible(databases: Databases) -> None:
    with databases.fresh("postgresql") as place:
        one = Orchestrator(place.url)
        try:
            one.active(tenant=ACME)
            one.approved(tenant="bolt")
            one.plans.run_cycle()
            with one.db.begin(TenantId(ACME)) as tx:
                for table in ("plans", "plan_steps", "intents", "plan_cycles", "autonomy_days"):
                    owners = tx.conn.execute(text(f"select distinct tenant_id from {table}")).all()
                    assert owners == [(ACME,)], table
        finally:
            one.close()
