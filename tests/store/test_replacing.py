"""Rows that are final refuse REPLACE on SQLite, by each of their keys and by their rowid.

REPLACE deletes the row in the way without asking the triggers of deletes. The tables are found by
their triggers: a new table with a guard of updates or deletes is tried here without being named.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kept_schemas import load_sqlite
from watchkeeper.store.migrations import migrate

GUARDED = """select distinct tbl_name from sqlite_master where type = 'trigger'
    and sql like '%raise(abort%' and (sql like '%before update%' or sql like '%before delete%')
    order by tbl_name"""
DELETABLE = {"plan_steps": "in a draft, steps are deleted and written anew"}
"""Tables whose rows may be replaced by their key, and why; a rowid is refused there too."""

SILENT = {"runs": "upserts of the product find a run that succeeded, and leave it alone"}
"""Tables that leave the row alone without an error, and why."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replacing") / "watchkeeper.db"
    load_sqlite("0010", path)
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture
def conn(file: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as opened:
        opened.row_factory = sqlite3.Row
        opened.execute("begin")
        yield opened
        opened.execute("rollback")


def tables(path: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(path)) as opened:
        return [name for (name,) in opened.execute(GUARDED)]


def add_missing_rows(conn: sqlite3.Connection) -> None:
    """Of what the play leaves empty."""
    conn.execute("insert into milestones values ('acme', 'OWN', 'GENERATED', 'r-1', 5)")
    if conn.execute("select 1 from ledger_prunes").fetchone() is None:
        for name in ("a_pruned_place_is_sealed", "pruning_starts_behind_an_export"):
            conn.execute(f"drop trigger {name}")
        conn.execute("insert into ledger_prunes values ('acme', 1, 'h', 1, 'e', 1, 'ann')")


def keys(conn: sqlite3.Connection, table: str) -> list[list[str]]:
    """The columns of the primary key and of everything else that is unique."""
    info = conn.execute(f"pragma table_info({table})").fetchall()
    found = [[row["name"] for row in info if row["pk"]]]
    for index in conn.execute(f"pragma index_list({table})").fetchall():
        if index["unique"] and not index["partial"] and index["origin"] != "pk":
            found.append([row[2] for row in conn.execute(f"pragma index_info({index['name']})")])
    return found


def final_row(conn: sqlite3.Connection, table: str, key: list[str]) -> dict[str, object]:
    where = " and ".join(["true", *(f"{column} is not null" for column in key)])
    succeeded = " and state = 'SUCCEEDED'" if table == "runs" else ""
    row = conn.execute(f"select rowid as place, * from {table} where {where}{succeeded}").fetchone()
    assert row is not None, f"{table} has no row that is final"
    return dict(row)


def other(row: dict[str, object], but: list[str]) -> dict[str, object]:
    """The same row with every value changed that is part of another key."""
    ids = {"entry_id", "checkpoint_id", "turn_id", "request_id", "plan_id", "intent_id"}
    ids |= {"decision_id", "report_id", "milestone", "step_id"}
    counts = {"seq", "from_seq", "version"}
    changed = {**row}
    for column, value in row.items():
        if column in but or value is None:
            continue
        if column in ids:
            changed[column] = f"{value}x"[-36:]
        elif column in counts:
            changed[column] = 1_000_000
    return changed


def replace(conn: sqlite3.Connection, table: str, row: dict[str, object]) -> None:
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" for _ in row)
    conn.execute(f"insert or replace into {table} ({names}) values ({marks})", [*row.values()])


def refused(conn: sqlite3.Connection, table: str, deed: Callable[[], object]) -> None:
    """Every row is as before, and the deed was told no."""
    before = conn.execute(f"select rowid, * from {table}").fetchall()
    silent = contextlib.suppress(sqlite3.IntegrityError)
    told = pytest.raises(sqlite3.IntegrityError, match=r"refused|can no longer|active")
    with silent if table in SILENT else told:
        deed()
    assert conn.execute(f"select rowid, * from {table}").fetchall() == before, table


@pytest.mark.req("T-01")
def test_no_row_that_is_final_is_replaced_by_a_key(conn: sqlite3.Connection, file: Path) -> None:
    add_missing_rows(conn)
    tried = 0
    for table in tables(file):
        if table in DELETABLE:
            continue
        for key in keys(conn, table):
            row = final_row(conn, table, key)
            del row["place"]
            rival = other(row, key)
            refused(conn, table, lambda t=table, r=rival: replace(conn, t, r))
            tried += 1
    assert tried > 12


def test_no_row_that_is_final_is_replaced_by_its_rowid(
    conn: sqlite3.Connection, file: Path
) -> None:
    add_missing_rows(conn)
    for table in tables(file):
        row = final_row(conn, table, [])
        place = row.pop("place")
        if place == row.get("version"):
            continue  # its key is its rowid
        fresh = {"rowid": place, **other(row, [])}
        refused(conn, table, lambda t=table, r=fresh: replace(conn, t, r))


@pytest.mark.parametrize("column", ["rowid", "_rowid_", "oid"])
def test_no_row_moves_to_the_rowid_of_another(
    conn: sqlite3.Connection, file: Path, column: str
) -> None:
    add_missing_rows(conn)
    for table in tables(file):
        place = final_row(conn, table, [])["place"]
        move = f"update or replace {table} set {column} = {place} + 1 where rowid = {place}"
        refused(conn, table, lambda text=move: conn.execute(text))


def test_no_run_takes_the_key_of_one_that_succeeded(conn: sqlite3.Connection) -> None:
    kept = final_row(conn, "runs", [])
    conn.execute(
        "insert into runs (tenant_id, decision_id, account_id, trigger_type, state)"
        " values ('acme', 'new', 'a', 'T', 'RUNNING')"
    )
    move = f"update or replace runs set decision_id = '{kept['decision_id']}'"
    refused(conn, "runs", lambda: conn.execute(f"{move} where decision_id = 'new'"))


def test_an_active_plan_and_an_open_intent_stay(conn: sqlite3.Connection) -> None:
    plan = final_row(conn, "plans", [])
    del plan["place"]
    for name, status in (("one", "ACTIVE"), ("two", "APPROVED")):
        draft = {**plan, "plan_id": name, "status": "DRAFT", "ended_at": None}
        draft |= {"completion_reason": None, "account_id": "zoe"}
        names = ", ".join(draft)
        marks = ", ".join("?" for _ in draft)
        conn.execute(f"insert into plans ({names}) values ({marks})", [*draft.values()])
        for step in ("APPROVED", status):
            conn.execute("update plans set status = ? where plan_id = ?", (step, name))
    second = "update or replace plans set status = 'ACTIVE' where plan_id = 'two'"
    refused(conn, "plans", lambda: conn.execute(second))
    intent = {**final_row(conn, "intents", []), "plan_id": "one", "state": "PENDING_APPROVAL"}
    del intent["place"]
    intent |= {"ended_at": None, "is_late": 0, "intent_id": "i-1", "attempt": 1}
    replace(conn, "intents", intent)
    rival = {**intent, "intent_id": "i-2", "attempt": 2}
    refused(conn, "intents", lambda: replace(conn, "intents", rival))
    replace(conn, "intents", {**rival, "is_late": 1})
    back = "update or replace intents set is_late = 0 where intent_id = 'i-2'"
    refused(conn, "intents", lambda: conn.execute(back))
